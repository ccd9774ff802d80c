"""Judge the tasks of a workflow by what is known of their tools, before anything is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from execution.call_errors import NotPermitted, ToolUnavailable
from execution.planning import output_schema
from execution.planning.parse_task import Problems
from execution.usable import require_usable
from execution.workflow import Reference, Task, Workflow
from gateway_project.foundation import canonical, schema
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.schema_holes import HOLE
from gateway_project.foundation.schema_normalise import normalise
from gateway_project.foundation.schema_problems import Problem
from graph.exchange.document import shown
from graph.references import ITEM, REFERENCE, as_item, as_literal, as_reference
from tools.catalogue import Catalogue, CatalogueTool, UnknownTool

SCOPE: Final = "call"
"""What a caller needs in order to call tools."""
MAX_UNKNOWN: Final = 5
"""Unknown tools that similar ones are looked for; that costs milliseconds each."""
MAX_WARNINGS: Final = 20
"""Warnings told one by one; of the rest only how many there are."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What was found out about the tasks of a workflow.

    Attributes:
        tools: By task; of those whose tool is known.
        problems: What is wrong; paths begin at the workflow.
        warnings: What may be meant otherwise, or will probably fail.
    """

    tools: Mapping[str, CatalogueTool]
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]


def check(workflow: Workflow, *, caller: Caller, catalogue: Catalogue) -> Checked:
    """Judge tasks by what is known of their tools.

    Args:
        workflow: As parsed.
        caller: Who asks.
        catalogue: What is known of servers and tools.
    """
    return _Checker(workflow, caller, catalogue).check()


class _Checker:
    """Judges the tasks of one workflow."""

    def __init__(self, workflow: Workflow, caller: Caller, catalogue: Catalogue) -> None:
        self._workflow = workflow
        self._caller = caller
        self._catalogue = catalogue
        self._problems = Problems()
        self._warnings: list[str] = []
        self._found: dict[str, CatalogueTool | str] = {}
        self._bare: frozenset[str] | None = None
        self._outputs: dict[str, Mapping[str, Any] | None] = {}

    def check(self) -> Checked:
        if not self._caller.may(SCOPE):
            self._problems.note("", str(NotPermitted(self._caller)), f"scope {SCOPE}")
        found = {task.id: self._tool(task.tool) for task in self._workflow.tasks}
        tools = {task: tool for task, tool in found.items() if not isinstance(tool, str)}
        for place, task in enumerate(self._workflow.tasks):
            said = found[task.id]
            if isinstance(said, str):
                self._note(place, task, "/tool", said, "id of a tool, server:tool")
            else:
                self._judge(place, task, tools)
        more = len(self._warnings) - MAX_WARNINGS
        beyond = (f"{more:,} more warnings",) if more > 0 else ()
        return Checked(
            tools=tools,
            problems=self._problems.all(),
            warnings=(*self._warnings[:MAX_WARNINGS], *beyond),
        )

    def _note(self, place: int, task: Task, path: str, message: str, expected: str) -> None:
        text = f"task {shown(task.id)}: {message}"
        self._problems.note(f"/tasks/{place}{path}", text, expected)

    def _warn(self, task: Task, message: str) -> None:
        self._warnings.append(f"task {shown(task.id)}: {message}")

    def _tool(self, name: str) -> CatalogueTool | str:
        """Return a tool, or what is to be said where there is none."""
        if name not in self._found:
            self._found[name] = self._looked_up(name)
        return self._found[name]

    def _looked_up(self, name: str) -> CatalogueTool | str:
        unknown = sum(isinstance(one, str) for one in self._found.values())
        if unknown >= MAX_UNKNOWN and not self._is_known(name):
            return f"no tool {shown(name)}"
        try:
            return self._catalogue.find(name, self._caller)
        except UnknownTool as error:
            return str(error)

    def _is_known(self, name: str) -> bool:
        """Whether a tool may be found by a name, told without looking for similar ones."""
        if self._bare is None:
            self._bare = frozenset(one.name for one in self._catalogue.visible(self._caller))
        known = name in self._catalogue.tools or self._catalogue.exposed_id(name)
        return bool(known) or name in self._bare

    def _judge(self, place: int, task: Task, tools: Mapping[str, CatalogueTool]) -> None:
        tool = tools[task.id]
        try:
            require_usable(tool, self._catalogue)
        except ToolUnavailable as error:
            self._note(place, task, "/tool", str(error), "a tool that may be called")
            return
        given = _Given(ids=self._workflow.by_id)
        arguments = given.with_holes(task.arguments, "")
        for path in given.suspicious:
            self._warn(
                task,
                f"what stands at {shown(path)} is sent as it is: a reference has exactly "
                f"{REFERENCE} and pointer, an item exactly {ITEM}",
            )
        self._judge_arguments(place, task, tool, arguments)
        if task.for_each is not None:
            self._judge_list(place, task, task.for_each, tools)
        for path, target in given.references:
            self._judge_reference(place, task, path, target, tools)
        self._judge_items(task, given.items, tools)

    def _judge_arguments(
        self, place: int, task: Task, tool: CatalogueTool, arguments: Any
    ) -> None:
        try:
            found = schema.validate(
                tool.input_schema, arguments, cache_key=tool.definition_hash, has_holes=True
            )
        except schema.SchemaUnusable as error:
            self._note(place, task, "/tool", f"{tool.tool} cannot be called safely: {error}", "")
            return
        for one in found:
            self._note(place, task, f"/arguments{one.path}", one.message, one.expected)

    def _judge_reference(
        self,
        place: int,
        task: Task,
        path: str,
        target: Reference,
        tools: Mapping[str, CatalogueTool],
    ) -> None:
        giver = self._workflow.by_id.get(target.task)
        if giver is None or giver.id not in tools:
            return
        pointer = target.pointer
        if giver.for_each is not None and pointer:
            index, _, rest = pointer[1:].partition("/")
            if not index.isdecimal():
                message = (
                    f"nothing can be at {shown(pointer)}: task {shown(giver.id)} gives a list, "
                    "one result for each item"
                )
                self._note(place, task, path, message, 'a pointer such as "/0/id", or ""')
                return
            pointer = f"/{rest}" if rest else ""
        output = self._output(tools[giver.id])
        if output is not None and pointer and not output_schema.follow(output, pointer):
            self._warn(task, f"{self._says(tools[giver.id])} nothing at {shown(pointer)}")

    def _judge_list(
        self,
        place: int,
        task: Task,
        target: Reference,
        tools: Mapping[str, CatalogueTool],
    ) -> None:
        """Judge whether what a task runs for each of is a list."""
        self._judge_reference(place, task, "/for_each", target, tools)
        giver = self._workflow.by_id.get(target.task)
        if giver is None or giver.id not in tools or giver.for_each is not None:
            return
        output = self._output(tools[giver.id])
        if output is None or not output_schema.follow(output, target.pointer):
            return
        if not output_schema.items(output, target.pointer):
            what = shown(target.pointer) if target.pointer else "its root"
            self._warn(task, f"{self._says(tools[giver.id])} no list at {what} for for_each")

    def _judge_items(
        self, task: Task, pointers: list[str], tools: Mapping[str, CatalogueTool]
    ) -> None:
        """Judge whether what is taken from an item is there."""
        target = task.for_each
        giver = self._workflow.by_id.get(target.task) if target is not None else None
        if target is None or giver is None or giver.for_each is not None or giver.id not in tools:
            return
        output = self._output(tools[giver.id])
        if output is None or not output_schema.items(output, target.pointer):
            return
        for pointer in pointers:
            if not output_schema.follow(output, f"{target.pointer}/0{pointer}"):
                says = self._says(tools[giver.id])
                self._warn(task, f"{says} nothing at {shown(pointer)} of an item")

    def _says(self, tool: CatalogueTool) -> str:
        return f"the output schema of {tool.tool} tells of"

    def _output(self, tool: CatalogueTool) -> Mapping[str, Any] | None:
        """Return the schema of what a tool gives; None where it does not say."""
        if tool.tool not in self._outputs:
            told = tool.output_schema
            self._outputs[tool.tool] = normalise(told).schema if told else None
        return self._outputs[tool.tool]


@dataclass(kw_only=True)
class _Given:
    """What a task's arguments hold.

    Attributes:
        ids: Of the workflow's tasks.
        references: Each with the path to it, from the task.
        items: Pointers into the item.
        suspicious: Paths to what looks like a reference and is none.
    """

    ids: Mapping[str, Any]
    references: list[tuple[str, Reference]] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    suspicious: list[str] = field(default_factory=list)

    def with_holes(self, value: Any, path: str) -> Any:
        """Return a value with holes for what is known later, literals as they will be."""
        if isinstance(value, Mapping):
            return self._object(value, path)
        if isinstance(value, list | tuple):
            return [self.with_holes(one, f"{path}/{step}") for step, one in enumerate(value)]
        return value

    def _object(self, value: Mapping[str, Any], path: str) -> Any:
        literal = as_literal(value)
        if literal is not None:
            return literal.value
        target, item = as_reference(value), as_item(value)
        if target is not None:
            found = Reference(task=target.task, pointer=target.pointer)
            self.references.append((f"/arguments{path}", found))
            return HOLE
        if item is not None:
            self.items.append(item)
            return HOLE
        named = value.get(REFERENCE)
        if (isinstance(named, str) and named in self.ids) or ITEM in value:
            self.suspicious.append(path)
        return {
            key: self.with_holes(one, f"{path}/{canonical.escape(key)}")
            for key, one in value.items()
        }
