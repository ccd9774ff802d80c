"""Bind an argument to an earlier task's result, by habits of past runs or by data flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.references import make_reference
from graph.suggestion.binding.knowledge import PAIRED_OCCURRENCE, BindingKnowledge
from graph.suggestion.binding.tasks import BindingSource, BoundArgument, FeedLookup
from graph.suggestion.binding.vocabulary import PREPOSITIONS

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.tasks import SuggestedTask
    from graph.suggestion.binding.values import StatedValue

MIN_HABIT_SHARE = 0.5
"""Minimum share of a parameter's past uses for a reference to be a habit."""
CONFIDENCE_TOLERANCE = 0.05
"""Sources whose confidences differ by no more are equally good."""
MIN_OPTIONAL_CONFIDENCE = 0.75
"""Minimum confidence of data flow to bind an optional argument."""
MIN_REQUIRED_CONFIDENCE = 0.3
"""The same of a required one."""
FIRST_ITEM_FACTOR = 0.5
"""Factor on the confidence if any list item would do and the first is taken."""
ANY_ITEM: Final = "*"

IntroducingWords = Callable[[str], frozenset[str]]
"""Returns the words by which the intent introduces a step's values, by the step's id."""


@dataclass(frozen=True, kw_only=True)
class AmbiguousReference:
    """Several tasks, fields of one task, or items of a list are equally good sources.

    Attributes:
        steps: Ids of the tasks; the consumer runs after them.
        is_item: Whether the ambiguity is which item of one task's list is meant.
    """

    steps: tuple[str, ...]
    is_item: bool = False


@dataclass(frozen=True, kw_only=True)
class BindingHabit:
    """The usual source of an argument in past runs.

    Attributes:
        source_tool: Primary key of the tool it was taken from.
        pointer: JSON pointer into that tool's result.
        occurrence_counts: Counts by which of the tool's tasks provided it, see
            `ReferenceSource.occurrence`.
        total: Number of uses of the argument from any source.
    """

    source_tool: int
    pointer: str
    occurrence_counts: Mapping[int, int]
    total: int


def find_habit(
    steps: Sequence[SuggestedTask],
    position: int,
    parameter: ToolParameter,
    knowledge: BindingKnowledge,
) -> BindingHabit | None:
    """Return the usual source of an argument among the tools of earlier steps; None if none."""
    key = (steps[position].tool.pk, parameter.name)
    earlier = {step.tool.pk for step in steps[:position]}
    counts_by_source = {
        reference: count
        for reference, count in knowledge.references.get(key, {}).items()
        if reference.source_tool in earlier
    }
    total = max(knowledge.totals.get(key, 0), sum(counts_by_source.values()))
    if not counts_by_source or sum(counts_by_source.values()) < MIN_HABIT_SHARE * total:
        return None
    sources: dict[tuple[int, str], dict[int, int]] = {}
    for (producer, pointer, occurrence), count in counts_by_source.items():
        sources.setdefault((producer, pointer), {})[occurrence] = count
    (producer, pointer), counts = max(
        sources.items(), key=lambda item: (sum(item[1].values()), item[0])
    )
    return BindingHabit(
        source_tool=producer, pointer=pointer, occurrence_counts=counts, total=total
    )


def apply_habit(
    steps: Sequence[SuggestedTask],
    position: int,
    *,
    parameter: ToolParameter,
    habit: BindingHabit,
    introduced: IntroducingWords,
) -> BoundArgument | AmbiguousReference:
    """Apply a habit to these steps."""
    producers = [n for n in range(position) if steps[n].tool.pk == habit.source_tool]
    usual, count = max(habit.occurrence_counts.items(), key=lambda item: (item[1], -item[0]))
    is_usual = 2 * count > sum(habit.occurrence_counts.values())
    chosen = _choose_source_step(
        steps, position, producers, parameter, introduced, usual if is_usual else None
    )
    if chosen is None:
        return AmbiguousReference(steps=tuple(steps[n].id for n in producers))
    uses = sum(habit.occurrence_counts.values())
    producer = steps[chosen]
    return BoundArgument(
        value=make_reference(producer.id, habit.pointer),
        source=BindingSource.REFERENCE,
        evidence=f"past runs took it from {producer.tool.tool} in {uses} of {habit.total} uses",
        confidence=(uses + 1) / (habit.total + 2),
        source_step=producer.id,
    )


def _choose_source_step(
    steps: Sequence[SuggestedTask],
    position: int,
    producers: list[int],
    parameter: ToolParameter,
    introduced: IntroducingWords,
    usual: int | None,
) -> int | None:
    """Return which of a tool's tasks provides an argument; None if that is ambiguous."""
    if len(producers) == 1:
        return producers[0]
    named = [n for n in producers if _matches_parameter(introduced(steps[n].id), parameter)]
    if len(named) == 1:
        return named[0]
    consumers = [n for n, step in enumerate(steps) if step.tool.pk == steps[position].tool.pk]
    if len(consumers) == len(producers) and usual in (None, PAIRED_OCCURRENCE):
        return producers[consumers.index(position)]
    if usual is not None and 0 <= usual < len(producers):
        return producers[usual]
    return None


def _matches_parameter(words: frozenset[str], parameter: ToolParameter) -> bool:
    return any(not parameter.name_words.isdisjoint(PREPOSITIONS.get(word, ())) for word in words)


def find_introducing_words(values: Sequence[StatedValue], text: str) -> frozenset[str]:
    """Return the words directly before values of an intent, in lower case."""
    before = (text[: value.start].rstrip(" \"'“‘").split()[-1:] for value in values)  # noqa: RUF001
    return frozenset(word[0].lower() for word in before if word)


@dataclass(frozen=True, kw_only=True)
class _SourceField:
    """A field of an earlier step's result that may provide an argument."""

    step: int
    output_pointer: str
    confidence: float


def find_data_flow_reference(
    steps: Sequence[SuggestedTask],
    position: int,
    *,
    parameter: ToolParameter,
    feeds: FeedLookup,
    introduced: IntroducingWords,
) -> BoundArgument | AmbiguousReference | None:
    """Return a reference by data flow between tools; None if there is none.

    If any item of a list would do, the first is taken, but only for required arguments of
    read-only tools: deleting the wrong item costs more than asking.
    """
    sources = _find_source_fields(steps, position, parameter, feeds)
    if not sources:
        return None
    best = max(way.confidence for way in sources)
    enough = MIN_REQUIRED_CONFIDENCE if parameter.is_required else MIN_OPTIONAL_CONFIDENCE
    good = [way for way in sources if way.confidence >= max(best - CONFIDENCE_TOLERANCE, enough)]
    if not good:
        return None
    fields = {(steps[way.step].tool.pk, way.output_pointer) for way in good}
    producers = sorted({way.step for way in good})
    chosen = _choose_source_step(steps, position, producers, parameter, introduced, None)
    output = good[0].output_pointer
    if len(fields) > 1 or chosen is None or not output:
        return AmbiguousReference(steps=tuple(steps[n].id for n in producers))
    is_any = ANY_ITEM in output.split("/")
    if is_any and not (parameter.is_required and steps[position].is_read_only):
        return AmbiguousReference(steps=(steps[chosen].id,), is_item=True)
    return _reference_to_field(steps[chosen], output, best, parameter, enough)


def _find_source_fields(
    steps: Sequence[SuggestedTask], position: int, parameter: ToolParameter, feeds: FeedLookup
) -> list[_SourceField]:
    consumer = steps[position].tool.pk
    return [
        _SourceField(step=n, output_pointer=pair.output, confidence=pair.confidence)
        for n in range(position)
        if steps[n].tool.pk != consumer
        for pair in feeds(steps[n].tool.pk, consumer)
        if pair.input == parameter.pointer
    ]


def _reference_to_field(
    producer: SuggestedTask,
    output: str,
    confidence: float,
    parameter: ToolParameter,
    enough: float,
) -> BoundArgument | AmbiguousReference:
    steps = output.split("/")
    is_any = ANY_ITEM in steps
    confidence_left = confidence * (FIRST_ITEM_FACTOR if is_any else 1.0)
    if is_any and confidence_left < enough:
        return AmbiguousReference(steps=(producer.id,), is_item=True)
    pointer = "/".join("0" if step == ANY_ITEM else step for step in steps)
    reference = make_reference(producer.id, pointer)
    described = "the first item of the output" if is_any else "the output"
    return BoundArgument(
        value=[reference] if is_any and parameter.is_array else reference,
        source=BindingSource.REFERENCE,
        evidence=f"data flow: {described} of {producer.tool.tool} at {output}",
        confidence=confidence_left,
        source_step=producer.id,
    )
