"""Models of runs: executions, tasks, events, payloads, commands and approvals."""

from execution.models.control import Approval, RunCommand
from execution.models.runs import ExecutionEvent, Payload, TaskRun, WorkflowExecution

__all__ = [
    "Approval",
    "ExecutionEvent",
    "Payload",
    "RunCommand",
    "TaskRun",
    "WorkflowExecution",
]
