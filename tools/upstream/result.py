"""A tool's result as the server sent it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from mcp_types import CallToolResult, ContentBlock
from pydantic import TypeAdapter, ValidationError

_block: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)


@dataclass(frozen=True, kw_only=True)
class UpstreamResult:
    """Exactly what came over the wire, whatever it holds.

    The SDK's models drop fields they do not know, so a result is never passed on through them.
    What they make of it is there for who asks, and read only then.

    Attributes:
        raw: The result exactly as received.
    """

    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def from_wire(cls, raw: dict[str, Any]) -> Self:
        """Take the `result` member of a response."""
        return cls(raw=raw)

    @property
    def is_error(self) -> bool:
        """Whether the tool itself reports a failure."""
        return self.raw.get("isError") is True

    @property
    def needs_input(self) -> bool:
        """Whether the server wants answers before it goes on; `raw` says which."""
        return self.raw.get("resultType") == "input_required"

    @property
    def conforms(self) -> bool:
        """Whether the result has the shape the protocol asks for."""
        return self._valid is not None

    @property
    def content(self) -> list[ContentBlock]:
        """The blocks that can be read."""
        return self._read.content

    @property
    def structured_content(self) -> Any:
        """The structured content, if any."""
        return self._read.structured_content

    @property
    def meta(self) -> Mapping[str, Any] | None:
        """What the server says beside the result."""
        return self._read.meta

    @cached_property
    def _valid(self) -> CallToolResult | None:
        try:
            return CallToolResult.model_validate(self.raw, by_name=False)
        except ValidationError:
            return None

    @cached_property
    def _read(self) -> CallToolResult:
        return self._valid or _as_far_as_readable(self.raw)


def _as_far_as_readable(raw: Mapping[str, Any]) -> CallToolResult:
    content = raw.get("content")
    meta = raw.get("_meta")
    return CallToolResult.model_construct(
        content=[*_readable(content if isinstance(content, list) else [])],
        structured_content=raw.get("structuredContent"),
        is_error=raw.get("isError") is True,
        meta=meta if isinstance(meta, dict) else None,
    )


def _readable(blocks: list[Any]) -> list[ContentBlock]:
    readable = []
    for block in blocks:
        try:
            readable.append(_block.validate_python(block, by_name=False))
        except ValidationError:
            continue
    return readable
