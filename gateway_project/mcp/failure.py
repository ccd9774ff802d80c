"""The tool result that reports a failure to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp_types import CallToolResult, TextContent

META_KEY: Final = "foregate/error"


def report_failure(
    code: str, message: str, *, hint: str = "", data: Mapping[str, Any] | None = None
) -> CallToolResult:
    """Report a failure inside a result, where the model reads it, not as a protocol error.

    Args:
        code: Stable word for programs, listed in docs/errors.md.
        message: One line that says what to do.
        hint: More lines for the model.
        data: More fields for programs.
    """
    text = f"{code}: {message}" + (f"\n{hint}" if hint else "")
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        is_error=True,
        _meta={META_KEY: {"code": code, **(data or {})}},
    )
