"""Models of runs and approvals, of predictions, and of permissions to call ahead of requests."""

from execution.models.budgets import (
    BudgetReservation,
    SpeculationAgreement,
    SpeculationBudget,
)
from execution.models.control import Approval, RunCommand
from execution.models.grants import SpeculationControl, SpeculationGrant
from execution.models.runs import ExecutionEvent, Payload, TaskRun, WorkflowExecution
from execution.models.speculation import Speculation

__all__ = [
    "Approval",
    "BudgetReservation",
    "ExecutionEvent",
    "Payload",
    "RunCommand",
    "Speculation",
    "SpeculationAgreement",
    "SpeculationBudget",
    "SpeculationControl",
    "SpeculationGrant",
    "TaskRun",
    "WorkflowExecution",
]
