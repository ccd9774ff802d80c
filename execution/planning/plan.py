"""Say before anything is called what a run of a workflow would do, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from execution import approval
from execution.planning import check_task, order
from execution.workflow import Options, Workflow
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.schema_problems import Problem
from tools.catalogue import Catalogue
from tools.danger import Danger


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """What a run would do.

    Attributes:
        workflow: With canonical ids of tools, as far as they are known.
        options: How it would be carried out.
        layers: Ids of tasks; each needs only those of layers before its own.
        problems: What is wrong; nothing may be run before it is mended.
        effects: Worst that a call may do, by task.
        approvals: Why a person has to approve its calls, by task; the others are left out.
        repeatable: Whether a call may be made again when nobody knows how it ended, by task.
        warnings: What may be meant otherwise, or will probably fail, a line each.
    """

    workflow: Workflow
    options: Options
    layers: tuple[tuple[str, ...], ...]
    problems: tuple[Problem, ...]
    effects: Mapping[str, Danger]
    approvals: Mapping[str, str]
    repeatable: Mapping[str, bool]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what a dry run answers with; arguments, which the caller has, are left out."""
        tools = {task.id: task.tool for task in self.workflow.tasks}
        return {
            "plan": [
                {"task": task.id, "tool": task.tool, "waits_for": list(task.waits_for)}
                | ({"for_each": task.for_each.task} if task.for_each is not None else {})
                for task in self.workflow.tasks
            ],
            "layers": [list(layer) for layer in self.layers],
            "validation_errors": [
                {"path": one.path, "message": one.message, "expected": one.expected}
                for one in self.problems
            ],
            "side_effects": [
                {
                    "task": task,
                    "tool": tools[task],
                    "danger": danger.value,
                    "repeatable": self.repeatable[task],
                }
                for task, danger in self.effects.items()
                if danger is not Danger.READ
            ],
            "approvals_needed": [
                {"task": task, "tool": tools[task], "reason": reason}
                for task, reason in self.approvals.items()
            ],
            "warnings": list(self.warnings),
        }


def plan(workflow: Workflow, options: Options, *, caller: Caller, catalogue: Catalogue) -> Plan:
    """Return what a run would do; nothing is called.

    Args:
        workflow: As parsed.
        options: How it would be carried out.
        caller: Who asks.
        catalogue: What is known of servers and tools.
    """
    checked = check_task.check(workflow, caller=caller, catalogue=catalogue)
    tools = checked.tools
    return Plan(
        workflow=Workflow(
            tasks=tuple(
                replace(task, tool=tools[task.id].tool) if task.id in tools else task
                for task in workflow.tasks
            )
        ),
        options=options,
        layers=order.layers({task.id: task.waits_for for task in workflow.tasks}),
        problems=checked.problems,
        effects={task: tool.danger for task, tool in tools.items()},
        approvals={
            task: reason
            for task, tool in tools.items()
            if (reason := approval.reason(tool, caller=caller, catalogue=catalogue))
        },
        repeatable={task: tool.repeatable for task, tool in tools.items()},
        warnings=checked.warnings,
    )
