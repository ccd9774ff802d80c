"""What a run would do: at its start, and instead of what it has not begun."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from execution.changes import WHOLE_TASK
from execution.control import NotPossible
from execution.planning import parse, plan
from execution.planning import replan as replanning
from execution.planning.parse import InvalidWorkflow
from execution.planning.plan import Plan
from execution.planning.replan import Merged
from execution.status import TaskStatus
from execution.view import RunView
from execution.workflow import Options, Task, Workflow
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.schema import Problem
from gateway_project.run_face.request import RunRequest
from tools.catalogue import Catalogue, UnknownTool

if TYPE_CHECKING:
    from execution.runs import Runs


MAX_TOLD: Final = 20
"""Problems that one line names."""
REPEAT: Final = "a replan repeats the tasks that have not begun and are to stay"


class RunEffects(Protocol):
    """What running workflows reaches for; see `gateway_project.effects.Effects`."""

    @property
    def catalogue(self) -> Callable[[], Catalogue]:
        """What is known of servers and tools right now."""

    @property
    def runs(self) -> Runs:
        """The runs of the installation."""


class NotRunnable(Exception):
    """A workflow was understood, and cannot be run as it is.

    Attributes:
        problems: What is wrong, each with its place in the workflow.
    """

    code: ClassVar[str] = "workflow_not_runnable"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        listed = "; ".join(problem.message for problem in problems[:MAX_TOLD])
        more = f"; and {len(problems) - MAX_TOLD} more" if len(problems) > MAX_TOLD else ""
        super().__init__(f"the workflow cannot be run as it is: {listed}{more}")
        self.problems = problems


@dataclass(frozen=True, kw_only=True)
class Controlled:
    """A run that was told something.

    Attributes:
        view: How it stands.
        merged: What was replanned; None: nothing was.
    """

    view: RunView
    merged: Merged | None = None


@dataclass(frozen=True, kw_only=True)
class Replanned:
    """A workflow for the rest of a run.

    Attributes:
        workflow: As given, with canonical ids of tools.
        merged: What becomes of the run's own.
    """

    workflow: Workflow
    merged: Merged


def planned(request: RunRequest, *, caller: Caller, catalogue: Catalogue) -> Plan:
    """Return what a run would do, with all that is wrong.

    Raises:
        InvalidWorkflow: If it is no workflow, and more than a plan is wanted.
    """
    try:
        workflow = parse.parse(request.workflow)
    except InvalidWorkflow as error:
        if not request.dry_run:
            raise
        return Plan(
            workflow=Workflow(tasks=()),
            options=request.options,
            layers=(),
            problems=error.problems,
            effects={},
            approvals={},
            repeatable={},
            warnings=(),
        )
    return plan.plan(workflow, request.options, caller=caller, catalogue=catalogue)


def replanned(view: RunView, given: Any, *, caller: Caller, catalogue: Catalogue) -> Replanned:
    """Judge what a run is to do instead of what it has not begun.

    Args:
        view: How the run stands, with its workflow.
        given: The workflow, as it came.
        caller: Who asks.
        catalogue: What is known of servers and tools.

    Raises:
        NotPossible: If the run's own workflow is kept no longer.
        InvalidWorkflow: If it is none, or changes what has begun.
        NotRunnable: If it cannot be run by this caller with these tools.
    """
    if view.workflow is None:
        raise NotPossible(
            "run_not_open",
            "what the run was given is kept no longer; start another",
        )
    begun, old = _begun(view), parse.parse(view.workflow)
    new = _parsed(given, old, begun)
    new = Workflow(tasks=tuple(_canonical(task, caller, catalogue) for task in new.tasks))
    merged = replanning.merge(old, new, begun)
    fitted = plan.plan(merged.workflow, Options(), caller=caller, catalogue=catalogue)
    problems = tuple(_of_new(fitted.problems, merged.workflow, begun))
    if problems:
        raise NotRunnable(problems)
    return Replanned(workflow=new, merged=merged)


def _begun(view: RunView) -> dict[str, TaskStatus]:
    return {
        task.task: task.status
        for task in view.tasks
        if task.item == WHOLE_TASK and task.status is not TaskStatus.PENDING
    }


def _parsed(given: Any, old: Workflow, begun: Collection[str]) -> Workflow:
    """Read a new workflow, that may refer to what has begun.

    Raises:
        InvalidWorkflow: Saying what to do where it refers to what was there and has not begun.
    """
    try:
        return parse.parse(given, known=begun)
    except InvalidWorkflow as error:
        others = _wrong(given, known=old.by_id)
        problems = [
            one if one.path in others else replace(one, message=f"{one.message}; {REPEAT}")
            for one in error.problems
        ]
        raise InvalidWorkflow(problems) from None


def _wrong(given: Any, *, known: Collection[str]) -> set[str]:
    """Return the places of what is wrong with a workflow that may refer to these tasks."""
    try:
        parse.parse(given, known=known)
    except InvalidWorkflow as error:
        return {one.path for one in error.problems}
    return set()


def _canonical(task: Task, caller: Caller, catalogue: Catalogue) -> Task:
    try:
        return replace(task, tool=catalogue.find(task.tool, caller).tool)
    except UnknownTool:  # which the plan tells
        return task


def _of_new(
    problems: tuple[Problem, ...], workflow: Workflow, begun: Mapping[str, TaskStatus]
) -> Iterator[Problem]:
    """Yield the problems of tasks that have not begun: the others are past mending."""
    for problem in problems:
        parts = problem.path.split("/")
        place = parts[2] if len(parts) > 2 and parts[1] == "tasks" else ""
        if not (place.isdecimal() and workflow.tasks[int(place)].id in begun):
            yield problem
