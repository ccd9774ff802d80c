"""Codes and outcomes that are kept of runs, their calls, and what they were told."""

from __future__ import annotations

from typing import Final

TOOL_ERROR: Final = "tool_error"
"""The tool itself said that it failed."""
INTERNAL_ERROR: Final = "internal_error"
"""The gateway broke down; its log says why."""
EXPIRED: Final = "expired"
"""What the run was given is kept no longer."""
APPROVAL_REJECTED: Final = "approval_rejected"
"""A person rejected the call."""
APPROVAL_EXPIRED: Final = "approval_expired"
"""Nobody approved the call in time."""
DONE: Final = "done"
"""Outcome of a command that was carried out."""
RUN_OVER: Final = "run_over"
"""Outcome of a command whose run ended first."""
