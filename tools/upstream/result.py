"""A tool's result as the server sent it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway_project.foundation.redaction import Redactor
from tools.mcp_tasks import RESULT_TYPE

_INTERIM_TYPES = frozenset({"input_required", RESULT_TYPE})


@dataclass(frozen=True, kw_only=True)
class UpstreamResult:
    """A tool's result exactly as received over the wire, valid or not.

    The SDK's models drop unknown fields, so a result is never passed on through them.

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
