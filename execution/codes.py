"""Stored error codes and command outcomes."""

from __future__ import annotations

from typing import Final

TOOL_ERROR: Final = "tool_error"
"""The tool itself reported a failure."""
INTERNAL_ERROR: Final = "internal_error"
"""The gateway failed; its log says why."""
EXPIRED: Final = "expired"
"""The run's payloads have expired."""
APPROVAL_REJECTED: Final = "approval_rejected"
"""A person rejected the call."""
APPROVAL_EXPIRED: Final = "approval_expired"
"""Nobody approved the call in time."""
DONE: Final = "done"
"""Outcome of a command that was carried out."""
RUN_ALREADY_ENDED: Final = "run_over"
"""Outcome of a command whose run ended first."""
