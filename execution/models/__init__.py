"""Models of runs and approvals, and of permissions to call ahead of requests."""

from execution.models.control import Approval, RunCommand
from execution.models.grants import SpeculationControl, SpeculationGrant
from execution.models.runs import ExecutionEvent, Payload, TaskRun, WorkflowExecution

__all__ = [
    "Approval",
    "ExecutionEvent",
    "Payload",
    "RunCommand",
    "SpeculationControl",
    "SpeculationGrant",
    "TaskRun",
    "WorkflowExecution",
]
