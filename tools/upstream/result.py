"""A tool's result as the server sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from mcp_types import CallToolResult, ContentBlock
from pydantic import PrivateAttr, TypeAdapter, ValidationError, model_serializer

_block: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)


class UpstreamResult(CallToolResult):
    """A `CallToolResult` that also holds, and serializes to, exactly what came over the wire.

    The SDK's models drop fields they do not know. Dumping this one gives the raw result in any
    mode. Where that does not conform to the protocol, the fields hold what could be read.
    """

    _raw: dict[str, Any] = PrivateAttr(default_factory=dict)
    _conforms: bool = PrivateAttr(default=True)

    @classmethod
    def from_wire(cls, raw: dict[str, Any]) -> Self:
        """Read the `result` member of a response, whatever it holds."""
        try:
            result = cls.model_validate(raw, by_name=False)
        except ValidationError:
            result = cls._as_far_as_readable(raw)
            result._conforms = False
        result._raw = raw
        return result

    @classmethod
    def _as_far_as_readable(cls, raw: Mapping[str, Any]) -> Self:
        content = raw.get("content")
        meta = raw.get("_meta")
        return cls.model_construct(
            content=[*_readable(content if isinstance(content, list) else [])],
            structured_content=raw.get("structuredContent"),
            is_error=raw.get("isError") is True,
            meta=meta if isinstance(meta, dict) else None,
        )

    @property
    def raw(self) -> dict[str, Any]:
        """The result exactly as received."""
        return self._raw

    @property
    def conforms(self) -> bool:
        """Whether the result has the shape the protocol asks for."""
        return self._conforms

    @property
    def needs_input(self) -> bool:
        """Whether the server wants answers before it goes on; `raw` says which."""
        return self._raw.get("resultType") == "input_required"

    @model_serializer(mode="plain")
    def _as_received(self) -> dict[str, Any]:
        return self._raw


def _readable(blocks: list[Any]) -> list[ContentBlock]:
    readable = []
    for block in blocks:
        try:
            readable.append(_block.validate_python(block, by_name=False))
        except ValidationError:
            continue
    return readable
