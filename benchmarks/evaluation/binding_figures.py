"""Judge the bound arguments of suggested tasks by the gold calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.evaluation.answer import SuggestedCall
from benchmarks.evaluation.equivalence import is_equivalent
from benchmarks.evaluation.gold_calls import GoldCall, is_reference

BINDING_FIGURES = ("precision", "recall", "unresolved_required")


@dataclass(frozen=True, kw_only=True)
class BindingCounts:
    """Counts of bound arguments in one query.

    Attributes:
        correct: Bound to the gold value.
        bound: Bound to any value.
        gold: In the gold, except optional ones that were left out.
        unresolved: Required by a schema but not bound.
        required: Required by a schema.
        by_source: Correct and bound, by source of the value.
    """

    correct: int = 0
    bound: int = 0
    gold: int = 0
    unresolved: int = 0
    required: int = 0
    by_source: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def rates(self) -> dict[str, float | None]:
        """The figures; None where the denominator is 0."""
        return {
            "precision": self.correct / self.bound if self.bound else None,
            "recall": self.correct / self.gold if self.gold else None,
            "unresolved_required": self.unresolved / self.required if self.required else None,
        }


def count_bindings(
    tasks: Sequence[SuggestedCall],
    calls: Sequence[GoldCall],
    *,
    required: Mapping[str, frozenset[str]],
) -> BindingCounts:
    """Count the bound arguments of one query.

    Each task is matched to the gold call of its tool that agrees with it best, one call per task.
    A reference is correct if it leads to the task matched to the right call, by the same pointer;
    if the gold names no field, any field of that call is correct.

    Args:
        tasks: The suggested tasks.
        calls: The gold calls.
        required: Names of the parameters that each tool's schema requires.
    """
    call_by_task = _match_calls(tasks, calls)
    by_source: dict[str, tuple[int, int]] = {}
    gold = sum(len(call.arguments) for call in calls)
    correct = 0
    for task in tasks:
        call = call_by_task.get(task.id)
        gold -= 0 if call is None else len(_find_omitted_optional(task, call))
        for name, value in task.arguments.items():
            is_correct = call is not None and _is_argument_right(name, value, call, call_by_task)
            correct += is_correct
            source = task.sources.get(name, "unknown")
            source_correct, source_bound = by_source.get(source, (0, 0))
            by_source[source] = (source_correct + is_correct, source_bound + 1)
    return BindingCounts(
        correct=correct,
        bound=sum(len(task.arguments) for task in tasks),
        gold=gold,
        unresolved=sum(len(required[task.tool] - set(task.arguments)) for task in tasks),
        required=sum(len(required[task.tool]) for task in tasks),
        by_source=by_source,
    )


def _match_calls(tasks: Sequence[SuggestedCall], calls: Sequence[GoldCall]) -> dict[str, GoldCall]:
    """Match tasks to calls of the same tool, pairs with most agreements first, then in order."""
    pairs = [
        (_count_agreements(task, call), task, call)
        for task in tasks
        for call in calls
        if task.tool == call.tool
    ]
    matches: dict[str, GoldCall] = {}
    taken: set[str] = set()
    for _, task, call in sorted(pairs, key=lambda pair: -pair[0]):
        if task.id not in matches and call.id not in taken:
            matches[task.id] = call
            taken.add(call.id)
    return matches


def _count_agreements(task: SuggestedCall, call: GoldCall) -> int:
    return sum(_is_argument_right(name, value, call, {}) for name, value in task.arguments.items())


def _find_omitted_optional(task: SuggestedCall, call: GoldCall) -> frozenset[str]:
    """Return the optional arguments of the gold that the task leaves out."""
    return frozenset(call.optional & set(call.arguments)) - set(task.arguments)


def _is_argument_right(
    name: str, value: Any, call: GoldCall, call_by_task: Mapping[str, GoldCall]
) -> bool:
    if name not in call.arguments:
        return False
    gold = call.arguments[name]
    if is_reference(value) or is_reference(gold):
        if not (is_reference(value) and is_reference(gold)):
            return False
        source_call = call_by_task.get(value["$ref"])
        is_same_source = source_call is not None and source_call.id == gold["$ref"]
        return is_same_source and gold["pointer"] in {"", value["pointer"]}
    return any(is_equivalent(value, accepted) for accepted in call.accepted.get(name, (gold,)))


def mean_figures(counts: Iterable[BindingCounts]) -> dict[str, float | None]:
    """Return the mean of each figure over the queries that have it."""
    rows = [query_counts.rates for query_counts in counts]
    return {name: _mean_of_known([row[name] for row in rows]) for name in BINDING_FIGURES}


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    values_present = [value for value in values if value is not None]
    return float(np.mean(values_present)) if values_present else None


def pool_counts(counts: Iterable[BindingCounts]) -> BindingCounts:
    """Add up the counts of several queries."""
    total = BindingCounts()
    for query_counts in counts:
        sources = dict(total.by_source)
        for source, (correct, bound) in query_counts.by_source.items():
            total_correct, total_bound = sources.get(source, (0, 0))
            sources[source] = (total_correct + correct, total_bound + bound)
        total = BindingCounts(
            correct=total.correct + query_counts.correct,
            bound=total.bound + query_counts.bound,
            gold=total.gold + query_counts.gold,
            unresolved=total.unresolved + query_counts.unresolved,
            required=total.required + query_counts.required,
            by_source=sources,
        )
    return total
