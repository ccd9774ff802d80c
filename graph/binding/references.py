"""Find which earlier task gives an argument: as past runs show, or as data flow says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graph.binding.found import Found
from graph.binding.learned import PAIRED, Knowledge
from graph.binding.steps import Feeds, Least, Source
from graph.binding.vocabulary import PREPOSITIONS
from graph.references import reference

if TYPE_CHECKING:
    from graph.binding.schemas import Parameter
    from graph.binding.steps import Step
    from graph.binding.values import StatedValue

HABIT = 0.5
"""Share of a parameter's past uses from which on a reference is how it is given."""
AS_SURE = 0.05
"""Two ways to give an argument whose confidences differ by no more are equally good."""
OPTIONAL_FLOW = 0.75
"""Confidence from which on data flow gives an argument that need not be given."""
FIRST_ITEM = 0.5
"""What is left of the confidence where any item of a list would do and the first is taken."""
ANY_ITEM: Final = "*"

Introduced = Callable[[str], frozenset[str]]
"""Says by which words the intent introduces the values that a step of an id was given."""


@dataclass(frozen=True, kw_only=True)
class Unsure:
    """Several tasks, several fields of one, or several items of a list would do equally well.

    Attributes:
        steps: Ids of the tasks; what takes the argument runs after them.
        is_item: Whether any item of what the one task gives would do.
    """

    steps: tuple[str, ...]
    is_item: bool = False


@dataclass(frozen=True, kw_only=True)
class Habit:
    """How past runs gave an argument.

    Attributes:
        giver: Primary key of the tool it was taken from.
        pointer: JSON pointer into that tool's result.
        counts: How often from which of the tool's tasks, see `Reference.nth`.
        total: How often the argument was given at all.
    """

    giver: int
    pointer: str
    counts: Mapping[int, int]
    total: int


def habit(
    steps: Sequence[Step], place: int, parameter: Parameter, knowledge: Knowledge
) -> Habit | None:
    """Return how past runs mostly took an argument from a tool that runs earlier here too."""
    key = (steps[place].tool.pk, parameter.name)
    earlier = {step.tool.pk for step in steps[:place]}
    known = {
        reference: count
        for reference, count in knowledge.references.get(key, {}).items()
        if reference.giver in earlier
    }
    total = max(knowledge.totals.get(key, 0), sum(known.values()))
    if not known or sum(known.values()) < HABIT * total:
        return None
    ways: dict[tuple[int, str], dict[int, int]] = {}
    for (giver, pointer, nth), count in known.items():
        ways.setdefault((giver, pointer), {})[nth] = count
    (giver, pointer), counts = max(ways.items(), key=lambda way: (sum(way[1].values()), way[0]))
    return Habit(giver=giver, pointer=pointer, counts=counts, total=total)


def follow(
    steps: Sequence[Step],
    place: int,
    *,
    parameter: Parameter,
    known: Habit,
    introduced: Introduced,
) -> Found | Unsure:
    """Return the reference that a habit comes to among these steps."""
    givers = [n for n in range(place) if steps[n].tool.pk == known.giver]
    usual, count = max(known.counts.items(), key=lambda item: (item[1], -item[0]))
    is_usual = 2 * count > sum(known.counts.values())
    chosen = _which(steps, place, givers, parameter, introduced, usual if is_usual else None)
    if chosen is None:
        return Unsure(steps=tuple(steps[n].id for n in givers))
    times = sum(known.counts.values())
    giver = steps[chosen]
    return Found(
        value=reference(giver.id, known.pointer),
        source=Source.REFERENCE,
        evidence=f"past runs took it from {giver.tool.tool} in {times} of {known.total} uses",
        confidence=(times + 1) / (known.total + 2),
        giver=giver.id,
    )


def _which(
    steps: Sequence[Step],
    place: int,
    givers: list[int],
    parameter: Parameter,
    introduced: Introduced,
    usual: int | None,
) -> int | None:
    """Return which of a tool's tasks gives an argument; None where that cannot be told."""
    if len(givers) == 1:
        return givers[0]
    named = [n for n in givers if _introduces(introduced(steps[n].id), parameter)]
    if len(named) == 1:
        return named[0]
    takers = [n for n, step in enumerate(steps) if step.tool.pk == steps[place].tool.pk]
    if len(takers) == len(givers) and usual in (None, PAIRED):
        return givers[takers.index(place)]
    if usual is not None and 0 <= usual < len(givers):
        return givers[usual]
    return None


def _introduces(words: frozenset[str], parameter: Parameter) -> bool:
    return any(not parameter.words.isdisjoint(PREPOSITIONS.get(word, ())) for word in words)


def introduced_by(values: Sequence[StatedValue], text: str) -> frozenset[str]:
    """Return the words that stand right before some values of an intent, in lower case."""
    before = (text[: value.start].rstrip(" \"'“‘").split()[-1:] for value in values)  # noqa: RUF001
    return frozenset(word[0].lower() for word in before if word)


@dataclass(frozen=True, kw_only=True)
class _Way:
    """A field of an earlier step's result that may give an argument."""

    step: int
    output: str
    confidence: float


def flow(
    steps: Sequence[Step],
    place: int,
    *,
    parameter: Parameter,
    feeds: Feeds,
    least: Least,
    introduced: Introduced,
) -> Found | Unsure | None:
    """Return the reference that data flow between tools comes to; None where there is none.

    Where any item of a list would do, the first is taken, only for what is required and only by a
    tool that is known to only read: the wrong item deleted costs more than a question.
    """
    ways = _ways(steps, place, parameter, feeds)
    if not ways:
        return None
    best = max(way.confidence for way in ways)
    enough = least.required if parameter.is_required else OPTIONAL_FLOW
    good = [way for way in ways if way.confidence >= max(best - AS_SURE, enough)]
    if not good:
        return None
    fields = {(steps[way.step].tool.pk, way.output) for way in good}
    givers = sorted({way.step for way in good})
    chosen = _which(steps, place, givers, parameter, introduced, None)
    output = good[0].output
    if len(fields) > 1 or chosen is None or not output:
        return Unsure(steps=tuple(steps[n].id for n in givers))
    is_any = ANY_ITEM in output.split("/")
    if is_any and not (parameter.is_required and steps[place].is_read_only):
        return Unsure(steps=(steps[chosen].id,), is_item=True)
    return _taken(steps[chosen], output, best, parameter, enough)


def _ways(steps: Sequence[Step], place: int, parameter: Parameter, feeds: Feeds) -> list[_Way]:
    taker = steps[place].tool.pk
    return [
        _Way(step=n, output=pair.output, confidence=pair.confidence)
        for n in range(place)
        if steps[n].tool.pk != taker
        for pair in feeds(steps[n].tool.pk, taker)
        if pair.input == parameter.pointer
    ]


def _taken(
    giver: Step, output: str, confidence: float, parameter: Parameter, enough: float
) -> Found | Unsure:
    steps = output.split("/")
    is_any = ANY_ITEM in steps
    sure = confidence * (FIRST_ITEM if is_any else 1.0)
    if is_any and sure < enough:
        return Unsure(steps=(giver.id,), is_item=True)
    pointer = "/".join("0" if step == ANY_ITEM else step for step in steps)
    taken = reference(giver.id, pointer)
    what = "the first item of what" if is_any else "what"
    return Found(
        value=[taken] if is_any and parameter.is_array else taken,
        source=Source.REFERENCE,
        evidence=f"data flow: {what} {giver.tool.tool} gives at {output}",
        confidence=sure,
        giver=giver.id,
    )
