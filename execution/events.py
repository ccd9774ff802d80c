"""The kinds of events of a run, as they are stored, streamed and shown."""

from __future__ import annotations

from typing import Final

RUN_QUEUED: Final = "run_queued"
RUN_STARTED: Final = "run_started"
RUN_ADOPTED: Final = "run_adopted"
"""A process adopted the run after the previous one was lost."""
RUN_PAUSED: Final = "run_paused"
RUN_RESUMED: Final = "run_resumed"
RUN_WAITING: Final = "run_waiting"
RUN_REPLANNED: Final = "run_replanned"
RUN_UNKNOWN: Final = "run_unknown"
RUN_ENDED: Final = "run_ended"
LAYER_COMPLETE: Final = "layer_complete"
TASK_STARTED: Final = "task_started"
TASK_RETRIED: Final = "task_retried"
TASK_WAITING_APPROVAL: Final = "task_waiting_approval"
TASK_SUCCEEDED: Final = "task_succeeded"
TASK_FAILED: Final = "task_failed"
TASK_SKIPPED: Final = "task_skipped"
TASK_CANCELLED: Final = "task_cancelled"
TASK_UNKNOWN: Final = "task_unknown"
APPROVAL_DECIDED: Final = "approval_decided"
COMMAND_APPLIED: Final = "command_applied"
