"""Read from finished runs what is kept of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation.sealing import Sealer
from graph import patterns
from graph.exchange.document import shown
from graph.patterns import InvalidRun, PastRun, RunTask, Workflow
from graph.store.called import Owner
from graph.store.learned import CALL, OTHER, Use
from graph.store.recording import Row
from tools.definition import storable

if TYPE_CHECKING:
    from graph.binding.learned import ObservedBinding
    from graph.binding.steps import BindTool
    from graph.intent.encoded import Encoded
    from graph.intent.reading import Reading
    from tools.search_index import SearchIndex

MAX_PARAMETER_CHARS: Final = 200
MAX_VALUE_CHARS: Final = 1_000
"""A longer value is counted by its digest and kept in no form."""
SHARE_WIDTH: Final = 0.08
"""How fast a tool's share of a clause falls with its distance to the best tool, in cosine."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadRun:
    """A run that can be recorded.

    Attributes:
        run: As it was handed in.
        reading: Of its intent.
        workflow: What it did, without values.
        row: What is kept of it, but for vectors and what its arguments show.
    """

    run: PastRun
    reading: Reading
    workflow: Workflow
    row: Row

    @property
    def tasks(self) -> tuple[RunTask, ...]:
        """Its tasks in an order in which they can run."""
        by_id = {task.id: task for task in self.run.tasks}
        return tuple(by_id[one] for one in self.workflow.ids)

    @property
    def teaches_bindings(self) -> bool:
        """Whether its arguments are worth looking at."""
        return self.run.succeeded and any(task.arguments for task in self.run.tasks)


def read(
    run: PastRun,
    *,
    team: int | None,
    tools: Mapping[int, BindTool],
    private: Mapping[int, Owner],
    sealer: Sealer,
) -> ReadRun:
    """Check a run, and read from it what is kept without vectors.

    Args:
        run: The run.
        team: Whose it is.
        tools: By primary key.
        private: Whose those of them are that only one team sees.
        sealer: Seals its intent, and digests it.

    Raises:
        InvalidRun: If it cannot be recorded, or called a tool that those who would learn from it
            do not all see.
        QueryError: If its intent says nothing.
    """
    from graph.intent import reading as reader  # noqa: PLC0415 - not before a run is recorded

    if not 0 < len(run.key) <= patterns.MAX_KEY_CHARS or storable(run.key) != run.key:
        raise InvalidRun(f"its id must have 1 to {patterns.MAX_KEY_CHARS} plain characters")
    for task in run.tasks:
        _check(task, tools)
        _check_seen(task, team, tools, private)
    done = patterns.workflow(run.tasks)
    reading = reader.read(run.intent)
    kept = patterns.document(done, {pk: tool.tool for pk, tool in tools.items()})
    known_by = patterns.normal_intent(reading.masked_view)
    row = Row(
        key=run.key,
        pair=(sealer.digest("intent", team, known_by), patterns.workflow_hash(kept)),
        tasks=kept,
        tools=done.tools,
        intent=sealer.seal(reading.masked),
        is_masked=reading.masked_view == reading.masked,
        encoded=None,
        succeeded=run.succeeded,
        at=run.at,
    )
    return ReadRun(run=run, reading=reading, workflow=done, row=row)


def _check(task: RunTask, tools: Mapping[int, BindTool]) -> None:
    if task.tool not in tools:
        raise InvalidRun(f"no tool has the key {task.tool}; it was deleted, or never stored")
    try:
        canonical.dumps(task.arguments)
    except canonical.NotCanonical as error:
        raise InvalidRun(f"arguments of its task {shown(task.id)}: {error}") from None


def _check_seen(
    task: RunTask, team: int | None, tools: Mapping[int, BindTool], private: Mapping[int, Owner]
) -> None:
    owner = private.get(task.tool)
    if owner is None or owner.team == team:
        return
    raise InvalidRun(
        f"only the team {shown(owner.name)} sees the tool {shown(tools[task.tool].tool)}: import "
        "such runs with --team, naming that team"
    )


def uses(
    one: ReadRun, *, team: int | None, tools: Mapping[int, BindTool], sealer: Sealer
) -> tuple[Use, ...]:
    """Return where the arguments of a run came from; none of a run that failed.

    Of each task the first `MAX_ARGUMENTS` that its tool's schema names are looked at.
    """
    from graph.binding import learned  # noqa: PLC0415 - not before a run is recorded

    if not one.teaches_bindings:
        return ()
    tasks = [_bounded(task, tools) for task in one.tasks]
    seen = learned.observe(tasks, reading=one.reading, tools=tools)
    calls = [Use(tool=task.tool, parameter="", kind=CALL) for task in one.run.tasks]
    return (*calls, *(use for binding in seen for use in _uses(binding, team, sealer)))


def _bounded(task: RunTask, tools: Mapping[int, BindTool]) -> RunTask:
    from graph.binding.schemas import schema_of  # noqa: PLC0415 - not before a run is recorded

    known = schema_of(tools[task.tool]).parameters
    named = (name for name in task.arguments if name in known and len(name) <= MAX_PARAMETER_CHARS)
    kept = tuple(islice(named, patterns.MAX_ARGUMENTS))
    return replace(task, arguments={name: task.arguments[name] for name in kept})


def _uses(seen: ObservedBinding, team: int | None, sealer: Sealer) -> Iterator[Use]:
    from graph.binding.learned import Observed  # noqa: PLC0415 - likewise

    parameter = storable(seen.parameter)
    if seen.kind is Observed.REFERENCE:
        pointer = storable(seen.pointer)
        if pointer != patterns.masked_pointer(pointer):
            yield Use(tool=seen.tool, parameter=parameter, kind=OTHER)
            return
        yield Use(
            tool=seen.tool,
            parameter=parameter,
            kind=seen.kind.value,
            key=canonical.digest([seen.giver, pointer, seen.nth]),
            giver=seen.giver,
            pointer=pointer,
            nth=seen.nth,
        )
        return
    value, is_short = storable(seen.value), len(canonical.dumps(seen.value)) <= MAX_VALUE_CHARS
    is_open = seen.kind is not Observed.LITERAL and is_short
    kind = seen.kind if is_open else Observed.LITERAL
    digest = canonical.digest if is_open else sealer.digest
    yield Use(
        tool=seen.tool,
        parameter=parameter,
        kind=kind.value,
        key=digest([team, seen.tool, parameter, value]),
        value=value if is_open else None,
        literal=value if is_short and not is_open else None,
        stated=seen.is_stated,
    )


def sample(
    one: ReadRun, *, encoded: Encoded, tools: Mapping[int, BindTool], index: SearchIndex
) -> bytes:
    """Return what a run shows of which stated value goes where; empty where it shows nothing."""
    from graph.binding import model  # noqa: PLC0415 - heavy
    from graph.binding.steps import Step  # noqa: PLC0415 - with it

    if not one.teaches_bindings:
        return b""
    shares = clause_shares(encoded, index, one.workflow.tools)
    steps = [
        Step(id=task.id, tool=tools[task.tool], shares=shares.get(task.tool)) for task in one.tasks
    ]
    given = {task.id: task.arguments for task in one.tasks}
    return model.sample(steps, given=given, reading=one.reading)


def clause_shares(encoded: Encoded, index: SearchIndex, wanted: Collection[int]) -> dict[int, Any]:
    """Return how near tools are to each clause, beside the nearest of all tools.

    Args:
        encoded: An intent of c clauses.
        index: Holds the vectors of the tools, by the same model.
        wanted: Primary keys; those without a vector are left out.

    Returns:
        By tool, shape (c,), float32, in (0, 1].
    """
    import numpy as np  # noqa: PLC0415 - heavy

    if not len(index.tools) or index.vectors.shape[1] != encoded.clauses.shape[1]:
        return {}
    cosines = index.vectors @ encoded.clauses.T
    best = cosines.max(axis=0)
    places = {tool: int(at) for tool, at in zip(*_places(index, wanted), strict=True)}
    return {
        tool: np.exp((cosines[at] - best) / SHARE_WIDTH).astype(np.float32)
        for tool, at in places.items()
    }


def _places(index: SearchIndex, wanted: Collection[int]) -> tuple[Sequence[int], Sequence[int]]:
    import numpy as np  # noqa: PLC0415 - heavy

    tools = np.array(sorted(set(wanted)), dtype=np.int64)
    at = np.minimum(np.searchsorted(index.tools, tools), len(index.tools) - 1)
    known = (index.tools[at] == tools) & (index.embeddings[at] != 0)
    return tools[known].tolist(), at[known].tolist()
