"""Read finished runs: check them, and extract what is stored of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from gateway_project.foundation import canonical
from gateway_project.foundation.sealing import Sealer
from graph import patterns
from graph.exchange.document import quote_value
from graph.patterns import InvalidRun, PastRun, RunTask
from graph.store.binding_uses import CALL, OTHER, BindingUse
from graph.store.recording import RecordableRun
from graph.store.team_names import TeamName
from tools.definition import make_storable

if TYPE_CHECKING:
    from graph.suggestion.binding.knowledge import ObservedBinding
    from graph.suggestion.binding.tasks import WorkflowTool

MAX_PARAMETER_CHARS: Final = 200
MAX_VALUE_CHARS: Final = 1_000
"""Longer values are counted by digest only and never stored."""


def read_run(
    run: PastRun,
    *,
    team: int | None,
    tools: Mapping[int, WorkflowTool],
    private: Mapping[int, TeamName],
    sealer: Sealer,
) -> RecordableRun:
    """Check a run and prepare it, without vectors and sources of its arguments.

    Raises:
        InvalidRun: If it cannot be recorded, or called a tool that not all who would learn from
            it can see.
        QueryError: If its intent has no searchable text.
    """
    from graph.suggestion.intent import reading as reader

    if not 0 < len(run.key) <= patterns.MAX_KEY_CHARS or make_storable(run.key) != run.key:
        raise InvalidRun(f"its id must have 1 to {patterns.MAX_KEY_CHARS} plain characters")
    for task in run.tasks:
        _check_task(task, tools)
        _check_visibility(task, team, tools, private)
    workflow = patterns.abstract_workflow(run.tasks)
    reading = reader.read_intent(run.intent)
    document = patterns.workflow_to_document(
        workflow, {pk: tool.tool for pk, tool in tools.items()}
    )
    normalized = patterns.normalize_intent(reading.embedded_masked_text)
    by_id = {task.id: task for task in run.tasks}
    return RecordableRun(
        run=replace(run, tasks=tuple(by_id[task_id] for task_id in workflow.ids)),
        reading=reading,
        pattern_key=(
            sealer.digest("intent", team, normalized),
            patterns.compute_workflow_hash(document),
        ),
        workflow=document,
        intent=sealer.seal(reading.masked),
    )


def _check_task(task: RunTask, tools: Mapping[int, WorkflowTool]) -> None:
    if task.tool not in tools:
        raise InvalidRun(f"no tool has the key {task.tool}; it was deleted, or never stored")
    try:
        canonical.dumps(task.arguments)
    except canonical.NotCanonicalizable as error:
        raise InvalidRun(f"arguments of its task {quote_value(task.id)}: {error}") from None


def _check_visibility(
    task: RunTask,
    team: int | None,
    tools: Mapping[int, WorkflowTool],
    private: Mapping[int, TeamName],
) -> None:
    owner = private.get(task.tool)
    if owner is None or owner.team == team:
        return
    raise InvalidRun(
        f"only the team {quote_value(owner.name)} sees the tool "
        f"{quote_value(tools[task.tool].tool)}: import "
        "such runs with --team, naming that team"
    )


def collect_binding_uses(
    run: RecordableRun, *, team: int | None, tools: Mapping[int, WorkflowTool], sealer: Sealer
) -> tuple[BindingUse, ...]:
    """Return the sources of a run's arguments; none for a failed run.

    Of each task the first `MAX_ARGUMENTS` that its tool's schema declares are read.
    """
    from graph.suggestion.binding import knowledge

    if not run.teaches_bindings:
        return ()
    tasks = [_limit_arguments(task, tools) for task in run.run.tasks]
    bindings = knowledge.observe_arguments(tasks, reading=run.reading, tools=tools)
    calls = [BindingUse(tool=task.tool, parameter="", kind=CALL) for task in run.run.tasks]
    return (*calls, *(use for binding in bindings for use in _iterate_uses(binding, team, sealer)))


def _limit_arguments(task: RunTask, tools: Mapping[int, WorkflowTool]) -> RunTask:
    from graph.suggestion.binding.schemas import load_schema

    declared = load_schema(tools[task.tool]).parameters
    names = (
        name for name in task.arguments if name in declared and len(name) <= MAX_PARAMETER_CHARS
    )
    selected = tuple(islice(names, patterns.MAX_ARGUMENTS))
    return replace(task, arguments={name: task.arguments[name] for name in selected})


def _iterate_uses(
    binding: ObservedBinding, team: int | None, sealer: Sealer
) -> Iterator[BindingUse]:
    from graph.suggestion.binding.knowledge import ObservedArgument

    parameter = make_storable(binding.parameter)
    if binding.kind is ObservedArgument.REFERENCE:
        pointer = make_storable(binding.pointer)
        if pointer != patterns.mask_pointer(pointer):
            yield BindingUse(tool=binding.tool, parameter=parameter, kind=OTHER)
            return
        yield BindingUse(
            tool=binding.tool,
            parameter=parameter,
            kind=binding.kind.value,
            key=canonical.hash_json([binding.source_tool, pointer, binding.occurrence]),
            source_tool=binding.source_tool,
            pointer=pointer,
            occurrence=binding.occurrence,
        )
        return
    value = make_storable(binding.value)
    is_short = len(canonical.dumps(binding.value)) <= MAX_VALUE_CHARS
    is_open = binding.kind is not ObservedArgument.LITERAL and is_short
    kind = binding.kind if is_open else ObservedArgument.LITERAL
    digest = canonical.hash_json if is_open else sealer.digest
    yield BindingUse(
        tool=binding.tool,
        parameter=parameter,
        kind=kind.value,
        key=digest([team, binding.tool, parameter, value]),
        value=value if is_open else None,
        literal=value if is_short and not is_open else None,
        stated=binding.is_stated,
    )
