"""What past runs show of where arguments come from."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from graph.binding.found import Found
from graph.binding.schemas import Parameter, schema_of
from graph.binding.secrets import is_learnable
from graph.binding.steps import Source
from graph.binding.values import normal, same, stated_values
from graph.references import Target, as_literal, as_reference, marks, unescaped

if TYPE_CHECKING:
    from graph.binding.steps import BindTool
    from graph.intent.reading import Reading

ParameterKey = tuple[int, str]
"""A tool's primary key and the name of one of its parameters."""

PAIRED: Final = -1
"""`nth` where both tools recur equally often, and the k-th task takes from the k-th."""
MAX_CHARS = 1_000
"""Length as JSON from which on a value is not repeated."""
TELLING = 3
"""Uses from which on it is told how often intents state a parameter."""
SEEN = 2
"""Times a value must have been given to be a habit."""
MOSTLY = 0.6
"""Share of a parameter's uses that had the value."""
GIVEN = 0.5
"""Share of a tool's tasks in which the parameter was given at all."""
STATED = 0.5
"""Share of the value's uses in which the intent stated it, from which on it is no habit."""


class Observed(StrEnum):
    """What an argument of a finished run was."""

    REFERENCE = "reference"
    ENUMERATION = "enumeration"
    BOOLEAN = "boolean"
    DEFAULT = "default"
    LITERAL = "literal"


class RanTask(Protocol):
    """A task of a run, as binding reads it."""

    @property
    def id(self) -> str:
        """Return its id, unique in the run."""

    @property
    def tool(self) -> int:
        """Return the primary key of its tool."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Return its arguments, references among them."""


@dataclass(frozen=True, kw_only=True)
class ObservedBinding:
    """Where one argument of a finished run came from.

    Attributes:
        task: Id of the task in its run.
        tool: Primary key of its tool.
        parameter: Name of the argument.
        kind: What it was. A literal's value may be kept only as a keyed digest, or sealed; all
            other kinds may be kept in clear.
        value: Of all kinds but references.
        giver: Of a reference, the primary key of the tool it led to.
        pointer: Of a reference, the JSON pointer into that tool's result.
        nth: Of a reference, which of the run's earlier tasks of that tool gave, from 0; PAIRED
            where the k-th task of the one takes from the k-th of the other.
        is_stated: Whether the intent states the value.
    """

    task: str
    tool: int
    parameter: str
    kind: Observed
    value: Any = None
    giver: int | None = None
    pointer: str = ""
    nth: int = 0
    is_stated: bool = False


class Reference(NamedTuple):
    """What a parameter was taken from: a tool, a pointer into its result, which of its tasks."""

    giver: int
    pointer: str
    nth: int = 0


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A value that a parameter often has.

    Attributes:
        value: In clear, or unsealed.
        count: How often it was given.
        stated: How often the intent stated it.
    """

    value: Any
    count: int
    stated: int


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What the past runs of a scope show of arguments.

    Attributes:
        references: By parameter, how often it was taken from where.
        constants: By parameter, its values that may be told.
        totals: By parameter, how often it was given at all, also as what may not be told.
        runs: By tool, how many of its tasks were seen.
        stated: By parameter, in how many of its uses the intent stated the value; those of which
            that is not known are left out.
    """

    references: Mapping[ParameterKey, Mapping[Reference, int]] = field(default_factory=dict)
    constants: Mapping[ParameterKey, Sequence[Constant]] = field(default_factory=dict)
    totals: Mapping[ParameterKey, int] = field(default_factory=dict)
    runs: Mapping[int, int] = field(default_factory=dict)
    stated: Mapping[ParameterKey, int] = field(default_factory=dict)


NOTHING: Final = Knowledge()


def observe(
    tasks: Sequence[RanTask], *, reading: Reading, tools: Mapping[int, BindTool]
) -> tuple[ObservedBinding, ...]:
    """Say of every argument of a finished run where it came from.

    Args:
        tasks: Of the run, in the order they ran.
        reading: Of its intent.
        tools: By primary key; tasks of others are left out.

    Returns:
        In the order of the tasks. A reference to a task that is not an earlier one of the run is
        left out, and so are a value that holds references deeper inside and all that is secret.
    """
    found = []
    for place, task in enumerate(tasks):
        if task.tool not in tools:
            continue
        known = schema_of(tools[task.tool]).parameters
        for name, value in task.arguments.items():
            target = as_reference(value)
            if target is not None:
                one = _reference(tasks, place, name, target)
            elif _holds_reference(value) or not is_learnable(known.get(name), name, value):
                one = None
            else:
                one = _literal(task, name, unescaped(value), known.get(name), reading)
            if one is not None:
                found.append(one)
    return tuple(found)


def _reference(
    tasks: Sequence[RanTask], place: int, name: str, target: Target
) -> ObservedBinding | None:
    to, pointer = target
    at = next((n for n in range(place) if tasks[n].id == to), None)
    if at is None:
        return None
    task, giver = tasks[place], tasks[at]
    givers = [n for n, one in enumerate(tasks) if one.tool == giver.tool]
    takers = [n for n, one in enumerate(tasks) if one.tool == task.tool]
    nth = givers.index(at)
    if len(givers) == len(takers) > 1 and takers.index(place) == nth:
        nth = PAIRED
    return ObservedBinding(
        task=task.id,
        tool=task.tool,
        parameter=name,
        kind=Observed.REFERENCE,
        giver=giver.tool,
        pointer=pointer,
        nth=nth,
    )


def _literal(
    task: RanTask, name: str, value: Any, parameter: Parameter | None, reading: Reading
) -> ObservedBinding:
    return ObservedBinding(
        task=task.id,
        tool=task.tool,
        parameter=name,
        kind=_kind(value, parameter),
        value=value,
        is_stated=is_stated(value, reading.text),
    )


def _kind(value: Any, parameter: Parameter | None) -> Observed:
    if isinstance(value, bool):
        return Observed.BOOLEAN
    if parameter is None:
        return Observed.LITERAL
    if parameter.has_default and _equal(value, parameter.default):
        return Observed.DEFAULT
    items = value if isinstance(value, list) and parameter.is_array else [value]
    if parameter.members and all(any(_equal(i, m) for m in parameter.members) for i in items):
        return Observed.ENUMERATION
    return Observed.LITERAL


def _equal(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def is_stated(value: Any, text: str) -> bool:
    """Whether an intent states a value, however it is written there."""
    told = normal(value)
    if len(told) > 1 and told in normal(text):
        return True
    return any(same(one.value, value) for one in stated_values(text))


def _holds_reference(value: Any) -> bool:
    return any(as_literal(mark.value) is None for mark in marks(value))


def knowledge_of(runs: Sequence[Sequence[ObservedBinding]], *, least: int = 1) -> Knowledge:
    """Count what runs have shown.

    Args:
        runs: What `observe` said of each.
        least: Times a literal must have been seen to be told.
    """
    references: dict[ParameterKey, Counter[Reference]] = defaultdict(Counter)
    values: dict[ParameterKey, dict[str, list[ObservedBinding]]] = defaultdict(dict)
    totals: Counter[ParameterKey] = Counter()
    tasks: set[tuple[int, str, int]] = set()
    for number, run in enumerate(runs):
        for one in run:
            key = (one.tool, one.parameter)
            totals[key] += 1
            tasks.add((number, one.task, one.tool))
            if one.kind is Observed.REFERENCE and one.giver is not None:
                references[key][Reference(one.giver, one.pointer, one.nth)] += 1
            else:
                values[key].setdefault(normal(one.value), []).append(one)
    constants = {
        key: tuple(
            Constant(
                value=same[0].value,
                count=len(same),
                stated=sum(one.is_stated for one in same),
            )
            for same in by_value.values()
            if same[0].kind is not Observed.LITERAL or len(same) >= least
        )
        for key, by_value in values.items()
    }
    told = Counter((one.tool, one.parameter) for run in runs for one in run if one.is_stated)
    stated = {key: told[key] for key in totals}
    seen = Counter(tool for _, _, tool in tasks)
    return Knowledge(
        references=references, constants=constants, totals=totals, runs=seen, stated=stated
    )


def stated_rate(tool: int, name: str, knowledge: Knowledge) -> float | None:
    """Return in which share of its past uses the intent stated a parameter, smoothed.

    None where it was used less than `TELLING` times, or that is not known.
    """
    key = (tool, name)
    total, stated = knowledge.totals.get(key, 0), knowledge.stated.get(key)
    return None if stated is None or total < TELLING else (stated + 1) / (total + 2)


def is_long(value: Any) -> bool:
    """Whether a value is too long to be repeated in a workflow."""
    return len(json.dumps(value, ensure_ascii=False, default=str)) > MAX_CHARS


def habitual(tool: int, parameter: Parameter, knowledge: Knowledge) -> Found | None:
    """Return the value that a parameter mostly has, where intents mostly do not state it.

    None where it is secret, or too long to repeat.
    """
    key = (tool, parameter.name)
    known = knowledge.constants.get(key, ())
    if not known:
        return None
    best = max(known, key=lambda one: one.count)
    total = max(knowledge.totals.get(key, 0), best.count)
    tasks = max(knowledge.runs.get(tool, 0), total)
    is_habit = best.count >= SEEN and best.count >= MOSTLY * total and total >= GIVEN * tasks
    if not is_habit or best.stated >= STATED * best.count or is_long(best.value):
        return None
    if not is_learnable(parameter, parameter.name, best.value):
        return None
    return Found(
        value=best.value,
        source=Source.LEARNED,
        evidence=f"it had this value in {best.count} of {total} past uses",
        confidence=(best.count + 1) / (total + 2),
    )
