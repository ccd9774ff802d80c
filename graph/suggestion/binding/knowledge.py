"""Learn from past runs where arguments come from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gateway_project.foundation.references import (
    ReferenceTarget,
    iterate_marks,
    parse_literal,
    parse_reference,
    unescape_literals,
)
from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.schemas import ToolParameter, load_schema
from graph.suggestion.binding.secrets import is_learnable
from graph.suggestion.binding.tasks import BindingSource, BoundArgument
from graph.suggestion.binding.values import extract_values, is_same_value, normalize_value
from graph.suggestion.binding.vocabulary import DESTRUCTIVE_WORDS, normalize_words

if TYPE_CHECKING:
    from graph.patterns import RunTask
    from graph.suggestion.binding.tasks import WorkflowTool
    from graph.suggestion.intent.reading import IntentReading

ParameterKey = tuple[int, str]
"""A tool's primary key and the name of one of its parameters."""

PAIRED_OCCURRENCE: Final = -1
"""`occurrence` if both tools repeat equally often and the k-th task takes from the k-th."""
MAX_CHARS = 1_000
"""Maximum JSON length of a value to be reused."""
MIN_OBSERVATIONS = 3
"""Minimum uses to estimate how often intents state a parameter."""
MIN_CONSTANT_COUNT = 2
"""Minimum uses of a value to be a habit."""
MIN_CONSTANT_SHARE = 0.6
"""Minimum share of a parameter's uses that had the value."""
MIN_GIVEN_SHARE = 0.5
"""Minimum share of a tool's tasks that had the parameter at all."""
MAX_STATED_SHARE = 0.5
"""A value that intents stated in at least this share of its uses is no habit."""


MIN_IDENTIFYING_NUMBER: Final = 1_000
"""Numbers from this one on may be identifiers."""
_IDENTIFYING_LIST: Final = (
    "id ids uuid guid identifier number reference ref handle account order booking ticket "
    "reservation transaction invoice user username email phone sha hash revision commit"
)
IDENTIFYING_WORDS: Final = normalize_words(_IDENTIFYING_LIST.split())
"""Words of parameters that say which thing is meant."""
_CANCELLING_LIST: Final = (
    "cancel refund void close archive block ban disable deactivate unsubscribe"
)
CANCELLING_WORDS: Final = normalize_words(_CANCELLING_LIST.split())
"""Words of names of tools whose effects are hard to undo, beside `DESTRUCTIVE_WORDS`."""
_IDENTIFIER: Final = re.compile(
    r"(?=\S*\d)(?=\S*[A-Za-z_#-])[\w#.:/-]{3,}|\d{4,}|[0-9a-fA-F-]{32,36}|\S+@\S+"
)
"""Matches entirely a word that looks like an identifier: letters and digits, or many digits."""


class ObservedArgument(StrEnum):
    """Kind of an argument of a finished run."""

    REFERENCE = "reference"
    ENUMERATION = "enumeration"
    BOOLEAN = "boolean"
    DEFAULT = "default"
    LITERAL = "literal"


@dataclass(frozen=True, kw_only=True)
class ObservedBinding:
    """The origin of one argument of a finished run.

    Attributes:
        task: Id of the task in its run.
        tool: Primary key of its tool.
        parameter: Name of the argument.
        kind: Kind of the argument. Values of literals may be stored only as keyed digests or
            sealed; those of all other kinds in plain text.
        value: The value; None for references.
        source_tool: For references, the primary key of the tool that provided it.
        pointer: For references, the JSON pointer into that tool's result.
        occurrence: For references, which of that tool's tasks in the run provided it, from 0;
            `PAIRED_OCCURRENCE` if the k-th task takes from the k-th.
        is_stated: Whether the intent states the value.
    """

    task: str
    tool: int
    parameter: str
    kind: ObservedArgument
    value: Any = None
    source_tool: int | None = None
    pointer: str = ""
    occurrence: int = 0
    is_stated: bool = False


class ReferenceSource(NamedTuple):
    """Source of a parameter: a tool, a pointer into its result, and which of its tasks."""

    source_tool: int
    pointer: str
    occurrence: int = 0


@dataclass(frozen=True, kw_only=True)
class FrequentConstant:
    """A value that a parameter often has.

    Attributes:
        value: In plain text.
        count: Number of its uses.
        stated_count: Number of uses in which the intent stated it.
    """

    value: Any
    count: int
    stated_count: int


@dataclass(frozen=True, kw_only=True)
class BindingKnowledge:
    """Argument statistics of a scope's past runs.

    Attributes:
        references: By parameter, counts of its sources.
        constants: By parameter, its values that may be disclosed.
        totals: By parameter, the number of its uses, including undisclosed values.
        run_counts: By tool, the number of its tasks.
        stated_counts: By parameter, the number of its uses in which the intent stated the value;
            parameters without that information are missing.
    """

    references: Mapping[ParameterKey, Mapping[ReferenceSource, int]] = field(default_factory=dict)
    constants: Mapping[ParameterKey, Sequence[FrequentConstant]] = field(default_factory=dict)
    totals: Mapping[ParameterKey, int] = field(default_factory=dict)
    run_counts: Mapping[int, int] = field(default_factory=dict)
    stated_counts: Mapping[ParameterKey, int] = field(default_factory=dict)


EMPTY_KNOWLEDGE: Final = BindingKnowledge()


def observe_arguments(
    tasks: Sequence[RunTask], *, reading: IntentReading, tools: Mapping[int, WorkflowTool]
) -> tuple[ObservedBinding, ...]:
    """Determine the origin of every argument of a finished run.

    Args:
        tasks: Tasks of the run, in run order.
        reading: The run's intent.
        tools: By primary key; tasks of other tools are skipped.

    Returns:
        In the order of the tasks. Skips references to tasks that are not earlier in the run,
        values with nested references, and secrets.
    """
    found = []
    for position, task in enumerate(tasks):
        if task.tool not in tools:
            continue
        parameters = load_schema(tools[task.tool]).parameters
        for name, value in task.arguments.items():
            target = parse_reference(value)
            if target is not None:
                observed = _observe_reference(tasks, position, name, target)
            elif _has_reference(value) or not is_learnable(parameters.get(name), name, value):
                observed = None
            else:
                observed = _observe_literal(
                    task, name, unescape_literals(value), parameters.get(name), reading
                )
            if observed is not None:
                found.append(observed)
    return tuple(found)


def _observe_reference(
    tasks: Sequence[RunTask], position: int, name: str, target: ReferenceTarget
) -> ObservedBinding | None:
    source_id, pointer, expression = target
    if expression:  # only whole values are learned
        return None
    source_position = next((n for n in range(position) if tasks[n].id == source_id), None)
    if source_position is None:
        return None
    task, producer = tasks[position], tasks[source_position]
    producers = [n for n, one in enumerate(tasks) if one.tool == producer.tool]
    consumers = [n for n, one in enumerate(tasks) if one.tool == task.tool]
    occurrence = producers.index(source_position)
    if len(producers) == len(consumers) > 1 and consumers.index(position) == occurrence:
        occurrence = PAIRED_OCCURRENCE
    return ObservedBinding(
        task=task.id,
        tool=task.tool,
        parameter=name,
        kind=ObservedArgument.REFERENCE,
        source_tool=producer.tool,
        pointer=pointer,
        occurrence=occurrence,
    )


def _observe_literal(
    task: RunTask,
    name: str,
    value: Any,
    parameter: ToolParameter | None,
    reading: IntentReading,
) -> ObservedBinding:
    return ObservedBinding(
        task=task.id,
        tool=task.tool,
        parameter=name,
        kind=_classify_value(value, parameter),
        value=value,
        is_stated=is_stated_in_text(value, reading.text),
    )


def _classify_value(value: Any, parameter: ToolParameter | None) -> ObservedArgument:
    if isinstance(value, bool):
        return ObservedArgument.BOOLEAN
    if parameter is None:
        return ObservedArgument.LITERAL
    if parameter.has_default and _is_same_json_value(value, parameter.default):
        return ObservedArgument.DEFAULT
    items = value if isinstance(value, list) and parameter.is_array else [value]
    if parameter.members and all(
        any(_is_same_json_value(i, m) for m in parameter.members) for i in items
    ):
        return ObservedArgument.ENUMERATION
    return ObservedArgument.LITERAL


def _is_same_json_value(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def is_stated_in_text(value: Any, text: str) -> bool:
    """Whether an intent states a value, in any spelling."""
    normalized = normalize_value(value)
    if len(normalized) > 1 and normalized in normalize_value(text):
        return True
    return any(is_same_value(one.value, value) for one in extract_values(text))


def _has_reference(value: Any) -> bool:
    return any(parse_literal(mark.value) is None for mark in iterate_marks(value))


def compute_stated_rate(tool: int, name: str, knowledge: BindingKnowledge) -> float | None:
    """Return the smoothed share of a parameter's past uses that the intent stated.

    None if it was used fewer than `MIN_OBSERVATIONS` times, or the share is unknown.
    """
    key = (tool, name)
    total, stated = knowledge.totals.get(key, 0), knowledge.stated_counts.get(key)
    return None if stated is None or total < MIN_OBSERVATIONS else (stated + 1) / (total + 2)


def is_too_long_to_reuse(value: Any) -> bool:
    """Whether a value is too long to be reused in a workflow."""
    return len(json.dumps(value, ensure_ascii=False, default=str)) > MAX_CHARS


def _is_of_closed_set(parameter: ToolParameter, value: object) -> bool:
    """Whether a value is a switch, a member of an enumeration or the schema's default."""
    return _classify_value(value, parameter) is not ObservedArgument.LITERAL


def is_identifying(parameter: ToolParameter, value: object) -> bool:
    """Whether a value identifies one thing: by its parameter's name, or by its form.

    Numbers below `MIN_IDENTIFYING_NUMBER` are amounts.

    Example:
        >>> from graph.suggestion.binding.schemas import load_schema
        >>> from graph.suggestion.binding.tasks import WorkflowTool
        >>> schema = {"properties": {"unit": {"type": "string"}, "booking_id": {}}}
        >>> tool = WorkflowTool(pk=1, tool="s:t", name="t", input_schema=schema)
        >>> parameters = load_schema(tool).parameters
        >>> [is_identifying(parameters["unit"], value) for value in ("metric", "BK-4711", 7)]
        [False, True, False]
        >>> is_identifying(parameters["booking_id"], "latest")
        True
    """
    if parameter.is_identifier or parameter.name_words & IDENTIFYING_WORDS:
        return True
    items = value if isinstance(value, list | tuple) else [value]
    return any(_looks_like_identifier(item) for item in items)


def _looks_like_identifier(value: object) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return abs(value) >= MIN_IDENTIFYING_NUMBER
    return any(_IDENTIFIER.fullmatch(word) is not None for word in str(value).split())


def is_destructive_name(name: str) -> bool:
    """Whether a tool's name says that it may delete, cancel or overwrite something."""
    words = normalize_words(split_raw_name(name))
    return not words.isdisjoint(DESTRUCTIVE_WORDS | CANCELLING_WORDS)


def habitual_value(
    tool: WorkflowTool, parameter: ToolParameter, knowledge: BindingKnowledge
) -> BoundArgument | None:
    """Return the usual value of a parameter that intents mostly do not state.

    None if there is none, or it is secret or too long to reuse. A value outside a closed set must
    have been the same in every use, must not look like an identifier, and never goes to a tool
    that may destroy something: what an old run acted on is not what this intent means.
    """
    key = (tool.pk, parameter.name)
    constants = knowledge.constants.get(key, ())
    if not constants:
        return None
    best = max(constants, key=lambda one: one.count)
    total = max(knowledge.totals.get(key, 0), best.count)
    tasks = max(knowledge.run_counts.get(tool.pk, 0), total)
    is_habit = (
        best.count >= MIN_CONSTANT_COUNT
        and best.count >= MIN_CONSTANT_SHARE * total
        and total >= MIN_GIVEN_SHARE * tasks
    )
    if (
        not is_habit
        or best.stated_count >= MAX_STATED_SHARE * best.count
        or is_too_long_to_reuse(best.value)
    ):
        return None
    if not is_learnable(parameter, parameter.name, best.value):
        return None
    if not _is_of_closed_set(parameter, best.value) and (
        best.count < total
        or is_identifying(parameter, best.value)
        or is_destructive_name(tool.name)
    ):
        return None
    return BoundArgument(
        value=best.value,
        source=BindingSource.LEARNED,
        evidence=f"it had this value in {best.count} of {total} past uses",
        confidence=(best.count + 1) / (total + 2),
    )
