"""Stored error codes and command outcomes."""

from __future__ import annotations

from typing import Final

TOOL_ERROR: Final = "tool_error"
"""The tool itself reported a failure."""
INTERNAL_ERROR: Final = "internal_error"
"""The gateway failed; its log says why."""
EXPIRED: Final = "expired"
"""The run's payloads have expired."""
SEALED: Final = "sealed"
"""No key opens the run's payloads."""
NOT_PERMITTED: Final = "not_permitted"
"""The run's user may not run anything now."""
APPROVAL_REJECTED: Final = "approval_rejected"
"""A person rejected the call."""
APPROVAL_EXPIRED: Final = "approval_expired"
"""Nobody approved the call in time."""
DONE: Final = "done"
"""Outcome of a command that was carried out."""
RUN_ALREADY_ENDED: Final = "run_over"
"""Outcome of a command whose run ended first."""
RUN_RESTORED: Final = "restored"
"""Outcome of a command that a backup held open; why the run of a backup is paused."""
