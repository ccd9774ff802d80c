"""Models of runs (executions, tasks, events, payloads, commands, approvals) and of predictions."""

from execution.models.control import Approval, RunCommand
from execution.models.runs import ExecutionEvent, Payload, TaskRun, WorkflowExecution
from execution.models.speculation import Speculation

__all__ = [
    "Approval",
    "ExecutionEvent",
    "Payload",
    "RunCommand",
    "Speculation",
    "TaskRun",
    "WorkflowExecution",
]
