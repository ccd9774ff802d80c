"""Models of runs and approvals, of predictions, and of permissions to call ahead of requests."""

from execution.models.control import Approval, RunCommand
from execution.models.grants import SpeculationControl, SpeculationGrant
from execution.models.runs import ExecutionEvent, Payload, TaskRun, WorkflowExecution
from execution.models.speculation import Speculation

__all__ = [
    "Approval",
    "ExecutionEvent",
    "Payload",
    "RunCommand",
    "Speculation",
    "SpeculationControl",
    "SpeculationGrant",
    "TaskRun",
    "WorkflowExecution",
]
