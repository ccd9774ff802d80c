"""MCP tasks: handles that a server returns instead of a call's result (the extension `tasks`).

Not to be confused with the tasks of a workflow.

References:
    SEP-2663, Tasks extension of MCP 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

EXTENSION: Final = "io.modelcontextprotocol/tasks"
RESULT_TYPE: Final = "task"
GET_METHOD: Final = "tasks/get"
UPDATE_METHOD: Final = "tasks/update"
CANCEL_METHOD: Final = "tasks/cancel"
TASK_METHODS: Final = frozenset({GET_METHOD, UPDATE_METHOD, CANCEL_METHOD})
ID_FIELD: Final = "taskId"
"""Parameter of `TASK_METHODS` that names the task; over HTTP the header `Mcp-Name` repeats it."""
CANCELLED, COMPLETED, FAILED = "cancelled", "completed", "failed"
ENDED: Final = frozenset({CANCELLED, COMPLETED, FAILED})


def is_task(raw: Mapping[str, Any]) -> bool:
    """Whether a result is the handle of a task."""
    return raw.get("resultType") == RESULT_TYPE


def declares_tasks(capabilities: Mapping[str, Any]) -> bool:
    """Whether capabilities of a client declare the extension.

    Example:
        >>> declares_tasks({"extensions": {"io.modelcontextprotocol/tasks": {}}})
        True
    """
    extensions = capabilities.get("extensions")
    return isinstance(extensions, Mapping) and EXTENSION in extensions
