"""How right the arguments of suggested tasks are, judged by the calls of the gold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gateway_project.evaluation.alike import alike
from gateway_project.evaluation.answer import AnsweredTask
from gateway_project.evaluation.gold_calls import Call, is_reference

FIGURES = ("precision", "recall", "unresolved_required")


@dataclass(frozen=True, kw_only=True)
class Count:
    """What was bound in one query, in numbers of arguments.

    Attributes:
        right: Bound as the gold has it.
        bound: Bound at all.
        gold: That the gold gives; not those that may be left out and were.
        unresolved: Required by a schema and not bound.
        required: Required by a schema.
        by_source: Right and bound, by where the value came from.
    """

    right: int = 0
    bound: int = 0
    gold: int = 0
    unresolved: int = 0
    required: int = 0
    by_source: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def figures(self) -> dict[str, float | None]:
        """Return the figures; None where there is nothing to divide by."""
        return {
            "precision": self.right / self.bound if self.bound else None,
            "recall": self.right / self.gold if self.gold else None,
            "unresolved_required": self.unresolved / self.required if self.required else None,
        }


def count(
    tasks: Sequence[AnsweredTask],
    calls: Sequence[Call],
    *,
    required: Mapping[str, frozenset[str]],
) -> Count:
    """Count what was bound in one query.

    A task is judged by the gold call of its tool that it agrees with best, each by another. A
    reference is right if it leads to the task that stands for the right call, by the same pointer;
    where the gold names no field, any field of that call is right.

    Args:
        tasks: As suggested.
        calls: The gold.
        required: Names of the parameters that each tool's schema requires.
    """
    stands_for = _matched(tasks, calls)
    by_source: dict[str, tuple[int, int]] = {}
    gold = sum(len(call.arguments) for call in calls)
    right = 0
    for task in tasks:
        call = stands_for.get(task.id)
        gold -= 0 if call is None else len(_left_out(task, call))
        for name, value in task.arguments.items():
            is_right = call is not None and _is_right(name, value, call, stands_for)
            right += is_right
            source = task.sources.get(name, "unknown")
            of, taken = by_source.get(source, (0, 0))
            by_source[source] = (of + is_right, taken + 1)
    return Count(
        right=right,
        bound=sum(len(task.arguments) for task in tasks),
        gold=gold,
        unresolved=sum(len(required[task.tool] - set(task.arguments)) for task in tasks),
        required=sum(len(required[task.tool]) for task in tasks),
        by_source=by_source,
    )


def _matched(tasks: Sequence[AnsweredTask], calls: Sequence[Call]) -> dict[str, Call]:
    """Say which call each task stands for: the best pairs of one tool first, then in order."""
    pairs = [
        (_agreement(task, call), task, call)
        for task in tasks
        for call in calls
        if task.tool == call.tool
    ]
    found: dict[str, Call] = {}
    taken: set[str] = set()
    for _, task, call in sorted(pairs, key=lambda pair: -pair[0]):
        if task.id not in found and call.id not in taken:
            found[task.id] = call
            taken.add(call.id)
    return found


def _agreement(task: AnsweredTask, call: Call) -> int:
    return sum(_is_right(name, value, call, {}) for name, value in task.arguments.items())


def _left_out(task: AnsweredTask, call: Call) -> frozenset[str]:
    """Return the arguments that the gold has, may be left out, and were."""
    return frozenset(call.optional & set(call.arguments)) - set(task.arguments)


def _is_right(name: str, value: Any, call: Call, stands_for: Mapping[str, Call]) -> bool:
    if name not in call.arguments:
        return False
    gold = call.arguments[name]
    if is_reference(value) or is_reference(gold):
        if not (is_reference(value) and is_reference(gold)):
            return False
        giver = stands_for.get(value["$ref"])
        is_giver = giver is not None and giver.id == gold["$ref"]
        return is_giver and gold["pointer"] in {"", value["pointer"]}
    return any(alike(value, one) for one in call.accepted.get(name, (gold,)))


def means(counts: Iterable[Count]) -> dict[str, float | None]:
    """Return the mean of each figure over the queries that have it."""
    rows = [one.figures for one in counts]
    return {name: _mean([row[name] for row in rows]) for name in FIGURES}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def pooled(counts: Iterable[Count]) -> Count:
    """Add up the counts of several queries."""
    total = Count()
    for one in counts:
        sources = dict(total.by_source)
        for source, (right, bound) in one.by_source.items():
            of, taken = sources.get(source, (0, 0))
            sources[source] = (of + right, taken + bound)
        total = Count(
            right=total.right + one.right,
            bound=total.bound + one.bound,
            gold=total.gold + one.gold,
            unresolved=total.unresolved + one.unresolved,
            required=total.required + one.required,
            by_source=sources,
        )
    return total
