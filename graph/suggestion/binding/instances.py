"""Count how often a tool must occur in a workflow because the intent lists several values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.suggestion.binding.arguments import NOT_CONVERTIBLE, convert_value
from graph.suggestion.binding.questions import ask_about
from graph.suggestion.binding.schemas import load_schema
from graph.suggestion.binding.values import (
    StatedValue,
    are_listed_together,
    extract_values,
    iterate_value_lists,
)
from graph.suggestion.binding.vocabulary import normalize_words
from tools.embed.stated_words import weigh_values

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.tasks import SuggestedTask
    from tools.embed.reader import Answer, MarkedWord, ReadStatements

MAX_INSTANCES: Final = 5
TARGET_WORDS: Final = normalize_words(
    ["path", "file", "directory", "source", "destination", "url"]
)
"""Words of parameters that name the target of an action."""
MIN_LISTED: Final = 0.4
"""Least probability of all values of a list together to be what a parameter asks for."""
MIN_STATED: Final = 0.5
"""Probability from which a parameter counts as stated."""
MIN_RIVAL_RATIO: Final = 0.5
"""Ratio to that probability from which another parameter competes for the values."""


def count_instances(
    steps: Sequence[SuggestedTask], *, text: str, read: ReadStatements
) -> dict[str, int]:
    """Return, by step id, the number of tasks its tool must become, at least 1.

    "What time is it in Tokyo and in Paris" asks twice: two values of a list fit the same required
    parameter. `statements` gives one to each task, in the order of the text. A tool that takes a
    list, or that occurs several times already, counts once.

    Args:
        steps: One for each chosen tool.
        text: The intent.
        read: The reader.
    """
    counts = {step.id: 1 for step in steps}
    lists = list_conjunctions(text)
    if not lists:
        return counts
    asked = [(step, list(_ask_required(step, text, read))) for step in steps]
    occurring = Counter(step.tool.pk for step in steps)
    for step, parameters in asked:
        for parameter, answer in parameters:
            parts = find_listed(parameter, answer, lists)
            if occurring[step.tool.pk] > 1 or not parts or not _may_repeat(step, parameter):
                continue
            share = _sum_shares(answer, parts)
            rivals = (
                _claim(one, other, parts)
                for another, its in asked
                if another is step or all(found.probability >= MIN_STATED for _, found in its)
                for one, other in its
                if one is not parameter
            )
            if max(rivals, default=0.0) < MIN_RIVAL_RATIO * share:
                counts[step.id] = max(counts[step.id], min(len(parts), MAX_INSTANCES))
    return counts


def list_conjunctions(text: str) -> list[tuple[StatedValue, ...]]:
    """Return the lists of values that "and" joins; commas alone may be part of one value."""
    return [
        values
        for values in iterate_value_lists(text, extract_values(text))
        if any(are_listed_together(text, one, other) for one, other in pairwise(values))
    ]


def find_listed(
    parameter: ToolParameter, answer: Answer, lists: Sequence[tuple[StatedValue, ...]]
) -> tuple[StatedValue, ...]:
    """Return the values of a list that a parameter asks for one after another; empty if none."""
    if parameter.is_array or parameter.is_boolean or answer.probability < MIN_STATED:
        return ()
    for values in lists:
        if any(convert_value(parameter, one) is NOT_CONVERTIBLE for one in values):
            continue
        if _sum_shares(answer, values) >= MIN_LISTED:
            return values
    return ()


def _ask_required(
    step: SuggestedTask, text: str, read: ReadStatements
) -> Iterator[tuple[ToolParameter, Answer]]:
    """Yield what the intent states for the parameters without which a tool cannot be called."""
    parameters = load_schema(step.tool).parameters
    required = [
        one
        for one in parameters.values()
        if (one.is_required or len(parameters) == 1) and one.takes_values and not one.is_private
    ]
    answers = read(text, [ask_about(step.tool, one) for one in required])
    yield from zip(required, answers, strict=True)


def _may_repeat(step: SuggestedTask, parameter: ToolParameter) -> bool:
    """Whether a tool's tasks would not all act on the same target: two texts for one file."""
    return step.is_read_only or not any(
        one.is_required and one is not parameter and not one.name_words.isdisjoint(TARGET_WORDS)
        for one in load_schema(step.tool).parameters.values()
    )


def _claim(parameter: ToolParameter, answer: Answer, parts: Sequence[StatedValue]) -> float:
    """Return how likely a parameter asks for the values, or for the list of them."""
    if not parameter.is_array:
        return _sum_shares(answer, parts)
    inside = [word.inside for word in answer.words if any(_covers(one, word) for one in parts)]
    return answer.probability * (sum(inside) / len(inside) if inside else 0.0)


def _sum_shares(answer: Answer, parts: Sequence[StatedValue]) -> float:
    """Return the probability that one of these values is what is asked for."""
    if not answer.words:
        return 0.0
    runs = weigh_values(answer.words, [one.span for one in parts])
    total = 0.0
    for one in parts:
        places = np.flatnonzero([_covers(one, word) for word in answer.words])
        total += float(runs[places[0], places[-1]]) if places.size else 0.0
    return answer.probability * total


def _covers(value: StatedValue, word: MarkedWord) -> bool:
    return value.start < word.end and word.start < value.end
