"""Plan a run at its start, and the replacement of its unstarted part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from execution.availability import require_for_models
from execution.call_errors import ToolUnavailable
from execution.changes import WHOLE_TASK
from execution.control import ActionNotPossible
from execution.planning import parse, plan
from execution.planning import replan as replanning
from execution.planning.parse import InvalidWorkflow
from execution.planning.plan import Plan
from execution.planning.replan import MergedWorkflow
from execution.status import TaskStatus
from execution.view import RunView
from execution.workflow import RunOptions, Workflow, WorkflowTask
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.schema import ArgumentProblem
from gateway_project.foundation.user_error import UserError
from gateway_project.runs.request import RunRequest
from tools.catalogue import Catalogue, UnknownTool

MAX_NAMED_PROBLEMS: Final = 20
"""Problems listed in one message."""
REPEAT_HINT: Final = "a replan must repeat the unstarted tasks it keeps"


class WorkflowNotRunnable(UserError):
    """A well-formed workflow cannot be run.

    Attributes:
        problems: Each with its place in the workflow.
    """

    code = "workflow_not_runnable"

    def __init__(self, problems: tuple[ArgumentProblem, ...]) -> None:
        listed = "; ".join(problem.message for problem in problems[:MAX_NAMED_PROBLEMS])
        more = (
            f"; and {len(problems) - MAX_NAMED_PROBLEMS} more"
            if len(problems) > MAX_NAMED_PROBLEMS
            else ""
        )
        super().__init__(f"the workflow cannot be run as is: {listed}{more}")
        self.problems = problems


def plan_request(request: RunRequest, *, caller: Caller, catalogue: Catalogue) -> Plan:
    """Plan a run, collecting all problems.

    Raises:
        InvalidWorkflow: If the workflow is malformed, unless it is a dry run.
    """
    try:
        workflow = parse.parse(request.workflow)
    except InvalidWorkflow as error:
        if not request.dry_run:
            raise
        return Plan(workflow=Workflow(tasks=()), options=request.options, problems=error.problems)
    planned = plan.plan_workflow(workflow, request.options, caller=caller, catalogue=catalogue)
    hidden = tuple(_iterate_hidden_tools(workflow, caller, catalogue))
    return replace(planned, problems=planned.problems + hidden) if hidden else planned


def plan_replan(
    view: RunView, new_workflow: Any, *, caller: Caller, catalogue: Catalogue
) -> MergedWorkflow:
    """Plan the replacement of a run's unstarted part.

    Args:
        view: The run, with its workflow.
        new_workflow: The new workflow, not validated yet.
        caller: Whose run it is.
        catalogue: The current servers and tools.

    Returns:
        The run's workflow merged with the new one, both with canonical tool ids.

    Raises:
        ActionNotPossible: If the run's own workflow is no longer stored.
        InvalidWorkflow: If it is malformed or changes tasks that have begun.
        WorkflowNotRunnable: If this caller cannot run it with these tools.
    """
    begun, old = _begun_statuses(view), _parse_own(view)
    replacement = parse_replan(view, new_workflow)
    replacement = Workflow(
        tasks=tuple(_resolve_tool(task, caller, catalogue) for task in replacement.tasks)
    )
    merged = replanning.merge_workflows(old, replacement, begun)
    planned = plan.plan_workflow(merged.workflow, RunOptions(), caller=caller, catalogue=catalogue)
    found = (*planned.problems, *_iterate_hidden_tools(merged.workflow, caller, catalogue))
    problems = tuple(_iterate_pending_problems(found, merged.workflow, begun))
    if problems:
        raise WorkflowNotRunnable(problems)
    return merged


def parse_replan(view: RunView, new_workflow: Any) -> Workflow:
    """Parse the replacement of a run's unstarted part, which may refer to tasks that have begun.

    Args:
        view: The run, with its workflow.
        new_workflow: The new workflow, not validated yet.

    Raises:
        ActionNotPossible: If the run's own workflow is no longer stored.
        InvalidWorkflow: If it is malformed, with a hint if it refers to unstarted tasks of the
            old workflow.
    """
    old = _parse_own(view)
    try:
        return parse.parse(new_workflow, known=_begun_statuses(view))
    except InvalidWorkflow as error:
        other_paths = _find_problem_paths(new_workflow, known=old.by_id)
        problems = [
            problem
            if problem.path in other_paths
            else replace(problem, message=f"{problem.message}; {REPEAT_HINT}")
            for problem in error.problems
        ]
        raise InvalidWorkflow(problems) from None


def _parse_own(view: RunView) -> Workflow:
    if view.workflow is None:
        raise ActionNotPossible(
            "run_not_open",
            "the run's inputs are no longer stored; start another",
        )
    return parse.parse(view.workflow)


def _begun_statuses(view: RunView) -> dict[str, TaskStatus]:
    return {
        task.task: task.status
        for task in view.tasks
        if task.item == WHOLE_TASK and task.status is not TaskStatus.PENDING
    }


def _find_problem_paths(new_workflow: Any, *, known: Collection[str]) -> set[str]:
    """Return the places of a workflow's problems, given tasks that it may refer to."""
    try:
        parse.parse(new_workflow, known=known)
    except InvalidWorkflow as error:
        return {problem.path for problem in error.problems}
    return set()


def _resolve_tool(task: WorkflowTask, caller: Caller, catalogue: Catalogue) -> WorkflowTask:
    try:
        return replace(task, tool=catalogue.find_tool(task.tool, caller).tool)
    except UnknownTool:  # reported by the plan
        return task


def _iterate_hidden_tools(
    workflow: Workflow, caller: Caller, catalogue: Catalogue
) -> Iterator[ArgumentProblem]:
    """Yield a problem for each task whose tool its server keeps for its own pages."""
    for index, task in enumerate(workflow.tasks):
        try:
            require_for_models(catalogue.find_tool(task.tool, caller))
        except UnknownTool:  # reported by the plan
            continue
        except ToolUnavailable as error:
            place, expected = f"/tasks/{index}/tool", "id of a tool, server:tool"
            message = f"task {task.id!r}: {error}"
            yield ArgumentProblem(path=place, message=message, expected=expected)


def _iterate_pending_problems(
    problems: Iterable[ArgumentProblem], workflow: Workflow, begun: Mapping[str, TaskStatus]
) -> Iterator[ArgumentProblem]:
    """Yield the problems of unstarted tasks; those of others can no longer be fixed."""
    for problem in problems:
        parts = problem.path.split("/")
        place = parts[2] if len(parts) > 2 and parts[1] == "tasks" else ""
        if not (place.isdecimal() and workflow.tasks[int(place)].id in begun):
            yield problem
