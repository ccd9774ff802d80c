"""A tool's result as the server sent it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mcp_types import CallToolResult, ContentBlock
from pydantic import TypeAdapter, ValidationError

from gateway_project.foundation.redaction import Redactor
from tools.mcp_tasks import RESULT_TYPE

_INTERIM_TYPES = frozenset({"input_required", RESULT_TYPE})

_block: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)


@dataclass(frozen=True, kw_only=True)
class UpstreamResult:
    """A tool's result exactly as received over the wire, valid or not.

    The SDK's models drop unknown fields, so a result is never passed on through them. The parsed
    properties are computed lazily.

    Attributes:
        raw: The result exactly as received.
        redactor: Removes the server's secrets from quoted parts.
    """

    raw: dict[str, Any] = field(repr=False)
    redactor: Redactor = field(default_factory=Redactor, repr=False, compare=False)

    def redact(self, text: str) -> str:
        """Redact a part of the result for an error, an event or a log."""
        return self.redactor.redact(text)

    @property
    def is_error(self) -> bool:
        """Whether the tool itself reports a failure."""
        return self.raw.get("isError") is True

    @property
    def is_interim(self) -> bool:
        """Whether it ends nothing yet: it asks for input, or is the handle of a task."""
        return self.raw.get("resultType") in _INTERIM_TYPES

    @property
    def is_valid(self) -> bool:
        """Whether the result conforms to the protocol."""
        return self._validated is not None

    @property
    def content(self) -> list[ContentBlock]:
        """The content blocks that can be parsed."""
        return self._readable_result.content

    @property
    def structured_content(self) -> Any:
        """The structured content, if any."""
        return self._readable_result.structured_content

    @property
    def meta(self) -> Mapping[str, Any] | None:
        """The result's `_meta`."""
        return self._readable_result.meta

    @cached_property
    def _validated(self) -> CallToolResult | None:
        try:
            return CallToolResult.model_validate(self.raw, by_name=False)
        except ValidationError:
            return None

    @cached_property
    def _readable_result(self) -> CallToolResult:
        return self._validated or _parse_readable_parts(self.raw)


def _parse_readable_parts(raw: Mapping[str, Any]) -> CallToolResult:
    content = raw.get("content")
    meta = raw.get("_meta")
    return CallToolResult.model_construct(
        content=[*_parse_readable_blocks(content if isinstance(content, list) else [])],
        structured_content=raw.get("structuredContent"),
        is_error=raw.get("isError") is True,
        meta=meta if isinstance(meta, dict) else None,
    )


def _parse_readable_blocks(blocks: list[Any]) -> list[ContentBlock]:
    readable = []
    for block in blocks:
        try:
            readable.append(_block.validate_python(block, by_name=False))
        except ValidationError:
            continue
    return readable
