"""Plans a workflow: what a run would do and its problems, before anything is called."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from execution import approval
from execution.planning import check_task, order
from execution.workflow import RunOptions, Workflow
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.schema_conversion import Conversion
from gateway_project.foundation.schema_problems import ArgumentProblem
from tools.catalogue import Catalogue
from tools.danger import Danger


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The plan of a run.

    Attributes:
        workflow: With canonical tool ids, where known.
        options: Options of the run.
        layers: Ids of tasks; each depends only on tasks of earlier layers.
        problems: Problems that prevent a run.
        dangers: Danger class of each task's calls.
        approval_reasons: Why calls need approval, by task; others are omitted.
        repeatable: Whether a task's calls may be repeated after an unknown outcome.
        warnings: Possible misunderstandings and likely failures, one line each.
        converted: What of the arguments was converted; pointers start at the workflow.
    """

    workflow: Workflow
    options: RunOptions
    layers: tuple[tuple[str, ...], ...]
    problems: tuple[ArgumentProblem, ...]
    dangers: Mapping[str, Danger]
    approval_reasons: Mapping[str, str]
    repeatable: Mapping[str, bool]
    warnings: tuple[str, ...]
    converted: tuple[Conversion, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the answer of a dry run, without the arguments, which the caller has."""
        tools = {task.id: task.tool for task in self.workflow.tasks}
        answer = {
            "plan": [
                {"task": task.id, "tool": task.tool, "waits_for": list(task.waits_for)}
                | ({"for_each": task.for_each.task} if task.for_each is not None else {})
                for task in self.workflow.tasks
            ],
            "layers": [list(layer) for layer in self.layers],
            "validation_errors": [
                {"path": problem.path, "message": problem.message, "expected": problem.expected}
                for problem in self.problems
            ],
            "side_effects": [
                {
                    "task": task,
                    "tool": tools[task],
                    "danger": danger.value,
                    "repeatable": self.repeatable[task],
                }
                for task, danger in self.dangers.items()
                if danger is not Danger.READ
            ],
            "approvals_needed": [
                {"task": task, "tool": tools[task], "reason": reason}
                for task, reason in self.approval_reasons.items()
            ],
            "warnings": list(self.warnings),
        }
        return answer | ({"converted": list(self.converted)} if self.converted else {})


def plan_workflow(
    workflow: Workflow,
    options: RunOptions,
    *,
    caller: Caller,
    catalogue: Catalogue,
    validated: Collection[str] = (),
) -> Plan:
    """Plan a run without calling anything.

    Args:
        workflow: As parsed.
        options: Options of the run.
        caller: The caller.
        catalogue: Servers and tools.
        validated: Ids of tasks whose arguments are known to fit, by this same catalogue.
    """
    checked = check_task.check_tasks(
        workflow, caller=caller, catalogue=catalogue, validated=validated
    )
    tools = checked.tools
    return Plan(
        workflow=Workflow(
            tasks=tuple(
                replace(
                    task,
                    tool=tools[task.id].tool,
                    arguments=checked.arguments.get(task.id, task.arguments),
                )
                if task.id in tools
                else task
                for task in workflow.tasks
            )
        ),
        options=options,
        layers=order.group_layers({task.id: task.waits_for for task in workflow.tasks}),
        problems=checked.problems,
        dangers={task: tool.danger for task, tool in tools.items()},
        approval_reasons={
            task: reason
            for task, tool in tools.items()
            if (reason := approval.explain_approval(tool, caller=caller, catalogue=catalogue))
        },
        repeatable={task: tool.repeatable for task, tool in tools.items()},
        warnings=checked.warnings,
        converted=checked.converted,
    )
