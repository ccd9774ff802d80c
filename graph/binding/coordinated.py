"""Find values that a text lists side by side: "a.txt, b.txt and c.txt"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graph.binding.value_patterns import Kind

if TYPE_CHECKING:
    from graph.binding.values import StatedValue

BETWEEN: Final = re.compile(
    r"['\"”’`]?\s*(?:,|;|，|、|\band\b|\bor\b|\bas well as\b|\bplus\b)"  # noqa: RUF001
    r"\s*(?:\b(?:and|or|also|then)\b\s*)?"
    r"(?:\b(?:in|for|from|to|of|on|at|with|about|near)\b\s*)?(?:\b(?:the|a|an)\b\s*)?"
    r"['\"“‘`]?"  # noqa: RUF001 - as typed
)
"""Matches, as a whole, what stands between two values that are listed side by side."""
_WORD: Final = re.compile(r"\b(?:and|plus|as well as)\b")
LISTED: Final = frozenset(Kind) - {Kind.PHRASE, Kind.WORD, Kind.NUMBER_WORD, Kind.LIST}


def are_listed(text: str, one: StatedValue, other: StatedValue) -> bool:
    """Whether nothing but a comma or a conjunction stands between two values, the first before."""
    return one.end < other.start and BETWEEN.fullmatch(text, one.end, other.start) is not None


def are_joined(text: str, one: StatedValue, other: StatedValue) -> bool:
    """Whether two values are listed side by side and both are meant: a word says so, no "or"."""
    return are_listed(text, one, other) and _WORD.search(text, one.end, other.start) is not None


def runs(text: str, values: Sequence[StatedValue]) -> Iterator[tuple[StatedValue, ...]]:
    """Yield the longest lists of values of one kind, of two or more."""
    by_kind: dict[Kind, list[StatedValue]] = {}
    for one in values:
        if one.kind in LISTED:
            by_kind.setdefault(one.kind, []).append(one)
    for same_kind in by_kind.values():
        yield from _joined(text, _shortest(same_kind))


def _shortest(values: list[StatedValue]) -> list[StatedValue]:
    """Leave out values that hold others, in the order of the text."""
    ordered = sorted(values, key=lambda one: (one.start, -one.end))
    return [
        one
        for one, after in zip(ordered, [*ordered[1:], None], strict=True)
        if after is None or after.start >= one.end
    ]


def _joined(text: str, values: list[StatedValue]) -> Iterator[tuple[StatedValue, ...]]:
    run = values[:1]
    for one, other in pairwise(values):
        if are_listed(text, one, other):
            run.append(other)
            continue
        if len(run) > 1:
            yield tuple(run)
        run = [other]
    if len(run) > 1:
        yield tuple(run)
