"""Plans a workflow: what a run would do and its problems, before anything is called."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from execution import approval
from execution.availability import require_usable
from execution.call_errors import ArgumentsTooCostly, CallNotPermitted, ToolUnavailable
from execution.planning import order
from execution.planning.output_schema import OutputSchema, WorkBudget
from execution.planning.parse_task import ProblemList
from execution.workflow import RunOptions, Workflow, WorkflowTask
from gateway_project.foundation import canonical, schema, schema_conversion
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.references import (
    ITEM,
    REFERENCE,
    ReferenceTarget,
    parse_item,
    parse_literal,
    parse_reference,
)
from gateway_project.foundation.schema_conversion import Conversion
from gateway_project.foundation.schema_normalise import normalise
from gateway_project.foundation.schema_problems import ArgumentProblem
from gateway_project.foundation.schema_validation import HOLE
from graph.exchange.document import quote_value
from tools.catalogue import Catalogue, CatalogueTool, UnknownTool
from tools.danger import Danger

SCOPE: Final = "call"
"""Scope required to call tools."""
MAX_UNKNOWN_SUGGESTIONS: Final = 5
"""Unknown tools for which similar ones are suggested; each costs milliseconds."""
MAX_WARNINGS: Final = 20
"""Warnings listed individually; the rest are only counted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The plan of a run.

    Attributes:
        workflow: With canonical tool ids, primary keys and converted arguments, where known.
        options: Options of the run.
        layers: Ids of tasks; each depends only on tasks of earlier layers.
        problems: Problems that prevent a run; paths start at the workflow.
        tools: The tool of each task, where known.
        approval_reasons: Why calls need approval, by task; others are omitted.
        warnings: Possible misunderstandings and likely failures, one line each.
        converted: What of the arguments was converted; pointers start at the workflow.
    """

    workflow: Workflow
    options: RunOptions
    layers: tuple[tuple[str, ...], ...] = ()
    problems: tuple[ArgumentProblem, ...] = ()
    tools: Mapping[str, CatalogueTool] = field(default_factory=dict)
    approval_reasons: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    converted: tuple[Conversion, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the answer of a dry run, without the arguments, which the caller has."""
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
                    "tool": tool.tool,
                    "danger": tool.danger.value,
                    "repeatable": tool.repeatable,
                }
                for task, tool in self.tools.items()
                if tool.danger is not Danger.READ
            ],
            "approvals_needed": [
                {"task": task, "tool": self.tools[task].tool, "reason": reason}
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
    return _Planner(workflow, caller, catalogue, validated).plan(options)


class _Planner:
    """Checks the tasks of one workflow against their tools."""

    def __init__(
        self, workflow: Workflow, caller: Caller, catalogue: Catalogue, validated: Collection[str]
    ) -> None:
        self._workflow = workflow
        self._caller = caller
        self._catalogue = catalogue
        self._validated_tasks = validated
        self._problems = ProblemList()
        self._warnings: list[str] = []
        self._arguments: dict[str, Mapping[str, Any]] = {}
        self._converted: list[Conversion] = []
        self._tools_by_name: dict[str, CatalogueTool | str] = {}
        self._bare_names: frozenset[str] | None = None
        self._outputs: dict[str, OutputSchema | None] = {}
        self._budget = WorkBudget()
        self._steps = schema.StepBudget()

    def plan(self, options: RunOptions) -> Plan:
        if not self._caller.has_scope(SCOPE):
            self._problems.add("", str(CallNotPermitted(self._caller)), f"scope {SCOPE}")
        found = {task.id: self._find_tool(task.tool) for task in self._workflow.tasks}
        tools = {task: tool for task, tool in found.items() if not isinstance(tool, str)}
        for index, task in enumerate(self._workflow.tasks):
            tool = found[task.id]
            if isinstance(tool, str):
                self._note_problem(index, task, "/tool", tool, "id of a tool, server:tool")
            else:
                self._check_task(index, task, tools)
        more = len(self._warnings) - MAX_WARNINGS
        beyond = (f"{more:,} more warnings",) if more > 0 else ()
        reasons = {
            task: approval.explain_approval(tool, caller=self._caller, catalogue=self._catalogue)
            for task, tool in tools.items()
        }
        return Plan(
            workflow=Workflow(
                tasks=tuple(self._settle(task, tools) for task in self._workflow.tasks)
            ),
            options=options,
            layers=order.group_layers({task.id: task.waits_for for task in self._workflow.tasks}),
            problems=self._problems.to_tuple(),
            tools=tools,
            approval_reasons={task: reason for task, reason in reasons.items() if reason},
            warnings=(*self._warnings[:MAX_WARNINGS], *beyond),
            converted=tuple(self._converted),
        )

    def _settle(self, task: WorkflowTask, tools: Mapping[str, CatalogueTool]) -> WorkflowTask:
        """Return a task as it is run: with its tool and converted arguments."""
        if task.id not in tools:
            return task
        tool, arguments = tools[task.id], self._arguments.get(task.id, task.arguments)
        return replace(task, tool=tool.tool, pk=tool.pk, arguments=arguments)

    def _note_problem(
        self, index: int, task: WorkflowTask, path: str, message: str, expected: str
    ) -> None:
        text = f"task {quote_value(task.id)}: {message}"
        self._problems.add(f"/tasks/{index}{path}", text, expected)

    def _add_warning(self, task: WorkflowTask, message: str) -> None:
        self._warnings.append(f"task {quote_value(task.id)}: {message}")

    def _find_tool(self, name: str) -> CatalogueTool | str:
        """Return a tool, or a message if there is none."""
        if name not in self._tools_by_name:
            self._tools_by_name[name] = self._look_up_tool(name)
        return self._tools_by_name[name]

    def _look_up_tool(self, name: str) -> CatalogueTool | str:
        unknown = sum(isinstance(entry, str) for entry in self._tools_by_name.values())
        if unknown >= MAX_UNKNOWN_SUGGESTIONS and not self._is_known_tool(name):
            return f"no tool {quote_value(name)}"
        try:
            return self._catalogue.find_tool(name, self._caller)
        except UnknownTool as error:
            return str(error)

    def _is_known_tool(self, name: str) -> bool:
        """Whether a tool with this name may exist; without looking for similar ones."""
        if self._bare_names is None:
            self._bare_names = frozenset(
                tool.name for tool in self._catalogue.list_usable(self._caller)
            )
        known = name in self._catalogue.tools or self._catalogue.exposed_id(name)
        return bool(known) or name in self._bare_names

    def _check_task(
        self, index: int, task: WorkflowTask, tools: Mapping[str, CatalogueTool]
    ) -> None:
        tool = tools[task.id]
        try:
            require_usable(tool, self._catalogue)
        except ToolUnavailable as error:
            self._note_problem(index, task, "/tool", str(error), "a tool that may be called")
            return
        contents = _ArgumentContents(task_ids=self._workflow.by_id)
        arguments = contents.replace_with_holes(task.arguments, "")
        for path in contents.suspicious_paths:
            self._add_warning(
                task,
                f"the value at {quote_value(path)} is sent as is: a reference has exactly "
                f"{REFERENCE} and pointer, an item exactly {ITEM}",
            )
        if task.id not in self._validated_tasks:
            self._check_arguments(index, task, tool, arguments)
        if task.for_each is not None:
            self._check_list(index, task, task.for_each, tools)
        for path, target in contents.references:
            self._check_reference(index, task, path, target, tools)
        self._check_items(task, contents.item_pointers, tools)

    def _check_arguments(
        self, index: int, task: WorkflowTask, tool: CatalogueTool, arguments: Any
    ) -> None:
        try:
            found = self._find_problems(tool, arguments)
            if found and self._convert_arguments(index, task, tool):
                return
        except schema.StepBudgetExceeded as error:
            reason = f"checking those of all tasks takes more than {error.bound}"
            too_costly = ArgumentsTooCostly(tool.tool, reason)
            message = f"{too_costly.code}: {too_costly}"
            self._note_problem(index, task, "/arguments", message, "fewer or smaller items")
            return
        except schema.UnusableSchema as error:
            self._note_problem(
                index, task, "/tool", f"{tool.tool} cannot be called safely: {error}", ""
            )
            return
        for problem in found:
            self._note_problem(
                index, task, f"/arguments{problem.path}", problem.message, problem.expected
            )

    def _find_problems(self, tool: CatalogueTool, arguments: Any) -> tuple[ArgumentProblem, ...]:
        return schema.validate_arguments(
            tool.input_schema,
            arguments,
            cache_key=tool.definition_hash,
            has_holes=True,
            steps=self._steps,
        )

    def _convert_arguments(self, index: int, task: WorkflowTask, tool: CatalogueTool) -> bool:
        """Convert arguments that do not fit; false if that leaves a doubt."""

        def fill(arguments: Any) -> tuple[Any, _ArgumentContents]:
            contents = _ArgumentContents(task_ids=self._workflow.by_id)
            return contents.replace_with_holes(arguments, ""), contents

        found = schema_conversion.convert_arguments(
            task.arguments, lambda changed: self._find_problems(tool, fill(changed)[0])
        )
        if found is None:
            return False
        converted, notes = found
        # A text may hold what looks like a reference: it was none when the tasks were ordered.
        if fill(converted)[1] != fill(task.arguments)[1]:
            return False
        self._arguments[task.id] = converted
        self._converted += (
            {**note, "pointer": f"/tasks/{index}/arguments{note['pointer']}"} for note in notes
        )
        return True

    def _check_reference(
        self,
        index: int,
        task: WorkflowTask,
        path: str,
        target: ReferenceTarget,
        tools: Mapping[str, CatalogueTool],
    ) -> None:
        source_task = self._workflow.by_id.get(target.task)
        if source_task is None or source_task.id not in tools:
            return
        pointer = target.pointer
        if target.select and not pointer:  # of a list, too, since it may select from each item
            return
        if source_task.for_each is not None and pointer:
            step, _, rest = pointer[1:].partition("/")
            if not step.isdecimal():
                message = (
                    f"nothing can be at {quote_value(pointer)}: task "
                    f"{quote_value(source_task.id)} returns a list with one result per item"
                )
                self._note_problem(index, task, path, message, 'a pointer such as "/0/id", or ""')
                return
            pointer = f"/{rest}" if rest else ""
        output = self._load_output_schema(tools[source_task.id])
        if output is not None and pointer and not output.resolve_schemas(pointer):
            self._add_warning(
                task,
                f"{self._describe_output_schema(tools[source_task.id])} nothing at "
                f"{quote_value(pointer)}",
            )

    def _check_list(
        self,
        index: int,
        task: WorkflowTask,
        target: ReferenceTarget,
        tools: Mapping[str, CatalogueTool],
    ) -> None:
        """Check that the `for_each` reference can yield a list."""
        self._check_reference(index, task, "/for_each", target, tools)
        source_task = self._workflow.by_id.get(target.task)
        if source_task is None or source_task.id not in tools or source_task.for_each is not None:
            return
        output = self._load_output_schema(tools[source_task.id])
        if target.select or output is None or not output.resolve_schemas(target.pointer):
            return
        if not output.resolve_item_schemas(target.pointer):
            what = quote_value(target.pointer) if target.pointer else "its root"
            self._add_warning(
                task,
                f"{self._describe_output_schema(tools[source_task.id])} no list at "
                f"{what} for for_each",
            )

    def _check_items(
        self, task: WorkflowTask, pointers: list[str], tools: Mapping[str, CatalogueTool]
    ) -> None:
        """Check that the referenced places in an item can exist."""
        target = task.for_each
        source_task = self._workflow.by_id.get(target.task) if target is not None else None
        if (
            target is None
            or target.select
            or source_task is None
            or source_task.for_each is not None
            or source_task.id not in tools
        ):
            return
        output = self._load_output_schema(tools[source_task.id])
        if output is None or not output.resolve_item_schemas(target.pointer):
            return
        for pointer in pointers:
            if not output.resolve_schemas(f"{target.pointer}/0{pointer}"):
                declaration = self._describe_output_schema(tools[source_task.id])
                self._add_warning(
                    task, f"{declaration} nothing at {quote_value(pointer)} of an item"
                )

    def _describe_output_schema(self, tool: CatalogueTool) -> str:
        return f"the output schema of {tool.tool} declares"

    def _load_output_schema(self, tool: CatalogueTool) -> OutputSchema | None:
        """Return a tool's output schema; None if it has none."""
        if tool.tool not in self._outputs:
            declared = tool.output_schema
            self._outputs[tool.tool] = (
                OutputSchema(normalise(declared), self._budget) if declared else None
            )
        return self._outputs[tool.tool]


@dataclass(kw_only=True)
class _ArgumentContents:
    """References found in a task's arguments.

    Attributes:
        task_ids: Ids of the workflow's tasks.
        references: References with their paths from the task.
        item_pointers: Pointers into the item.
        suspicious_paths: Paths to values that look like references but are not.
    """

    task_ids: Mapping[str, Any]
    references: list[tuple[str, ReferenceTarget]] = field(default_factory=list)
    item_pointers: list[str] = field(default_factory=list)
    suspicious_paths: list[str] = field(default_factory=list)

    def replace_with_holes(self, value: Any, path: str) -> Any:
        """Replace references by holes, and literals by their values."""
        if isinstance(value, Mapping):
            return self._replace_in_object(value, path)
        if isinstance(value, list | tuple):
            return [
                self.replace_with_holes(one, f"{path}/{step}") for step, one in enumerate(value)
            ]
        return value

    def _replace_in_object(self, value: Mapping[str, Any], path: str) -> Any:
        literal = parse_literal(value)
        if literal is not None:
            return literal.value
        target, item = parse_reference(value), parse_item(value)
        if target is not None:
            self.references.append((f"/arguments{path}", target))
            return HOLE
        if item is not None:
            self.item_pointers.append(item)
            return HOLE
        named = value.get(REFERENCE)
        if (isinstance(named, str) and named in self.task_ids) or ITEM in value:
            self.suspicious_paths.append(path)
        return {
            key: self.replace_with_holes(one, f"{path}/{canonical.escape_token(key)}")
            for key, one in value.items()
        }
