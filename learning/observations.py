"""Derives observations of tools and their relations from an ended run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Final

from execution.ended_run import AnsweredCalls, EndedRun
from execution.workflow import WorkflowTask
from graph.record import CallCount, RelationObservation
from graph.relations import RelationKind

MAX_CO_USED_TOOLS: Final = 40
"""Runs with more tools say nothing about pairs of them."""

ToolPair = tuple[int, int]


def collect_calls(run: EndedRun, tools: Mapping[str, int]) -> dict[int, CallCount]:
    """Return the answered calls by primary key of the tool; unknown tools are omitted."""
    found: dict[int, CallCount] = {}
    for one in run.answered_calls:
        if one.tool in tools:
            known = found.get(tools[one.tool], CallCount(0, 0))
            found[tools[one.tool]] = known + CallCount(one.succeeded + one.failed, one.failed)
    return found


def collect_used_tools(run: EndedRun, tools: Mapping[str, int]) -> frozenset[int]:
    """Return the tools that a workflow used successfully; a direct call is not a workflow."""
    if run.is_direct:
        return frozenset()
    calls = collect_calls(run, tools)
    return frozenset(tool for tool, one in calls.items() if one.calls > one.failures)


def observe_order(run: EndedRun, tools: Mapping[str, int]) -> list[RelationObservation]:
    """Observe which tools preceded others, and which provided their inputs.

    A pair of tasks counts if the earlier one succeeded and the later one's call was answered: in
    favour if that succeeded, against if the tool reported a failure. A run is one observation of
    each pair of tools, however many tasks and items show it: the share that succeeded is its
    success, the rest its failure, both times the run's weight.
    """
    if run.workflow is None:
        return []
    by_task = {one.task: one for one in run.answered_calls if one.tool in tools}
    shown: dict[tuple[int, int, RelationKind], list[_Succession]] = defaultdict(list)
    for task in run.workflow.tasks:
        for kind, before, after in _iterate_successions(task, by_task):
            key = (tools[before.tool], tools[after.tool], kind)
            if key[0] != key[1]:
                shown[key].append(_Succession.from_calls(before, after))
    return [_build_observation(*key, seen, run=run) for key, seen in sorted(shown.items())]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Succession:
    """A task that followed another: its success share, and the delay in seconds."""

    success_share: float
    delay_s: float

    @classmethod
    def from_calls(cls, before: AnsweredCalls, after: AnsweredCalls) -> _Succession:
        waited = (after.started_at - before.ended_at).total_seconds()
        share = after.succeeded / (after.succeeded + after.failed)
        return cls(success_share=share, delay_s=max(waited, 0.0))


def _iterate_successions(
    task: WorkflowTask, by_task: Mapping[str, AnsweredCalls]
) -> Iterator[tuple[RelationKind, AnsweredCalls, AnsweredCalls]]:
    after = by_task.get(task.id)
    if after is None:
        return
    givers = {*task.references}
    for name in task.waits_for:
        before = by_task.get(name)
        if before is None or not before.succeeded:
            continue
        yield RelationKind.PRECEDES, before, after
        if name in givers:
            yield RelationKind.PROVIDES, before, after


def _build_observation(
    source: int, target: int, kind: RelationKind, seen: list[_Succession], *, run: EndedRun
) -> RelationObservation:
    share = _mean([one.success_share for one in seen])
    held = [one.delay_s for one in seen if one.success_share]
    return RelationObservation(
        source=source,
        target=target,
        kind=kind,
        successes=run.weight * share,
        failures=run.weight * (1.0 - share),
        seconds=_mean(held) if held and kind is RelationKind.PRECEDES else None,
        at=run.ended_at,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def observe_co_use(
    now_used: Collection[int],
    *,
    known: Collection[ToolPair],
    before: Mapping[int, float],
    weight: float = 1.0,
    at: datetime,
) -> list[RelationObservation]:
    """Observe which tools are used together.

    Keeps successes equal to co-occurrences, and the total equal to the runs of the more used tool:
    a new pair brings along the earlier runs as failures, and if only one tool of a pair was used,
    the pair fails as far as that raises the larger usage.

    Args:
        now_used: Primary keys of the tools the run used.
        known: Pairs seen together before, the smaller key first.
        before: Number of earlier runs by tool, by weight; tools without any are omitted.
        weight: Weight of the run.
        at: When the run ended.
    """
    if not 0 < len(now_used) <= MAX_CO_USED_TOOLS:
        return []
    found: list[RelationObservation] = []
    seen = set(known)
    for one, other in combinations(sorted(now_used), 2):
        older = max(before.get(one, 0.0), before.get(other, 0.0))
        missed = 0.0 if (one, other) in seen else older
        found.append(_build_co_use(one, other, held=weight, missed=missed, at=at))
    for one, other in sorted(seen):
        if (one in now_used) is not (other in now_used):
            alone, rest = (one, other) if one in now_used else (other, one)
            missed = before.get(alone, 0.0) + weight - before.get(rest, 0.0)
            if missed > 0.0:
                missed = min(missed, weight)
                found.append(_build_co_use(one, other, held=0.0, missed=missed, at=at))
    return found


def _build_co_use(
    one: int, other: int, *, held: float, missed: float, at: datetime
) -> RelationObservation:
    return RelationObservation(
        source=one,
        target=other,
        kind=RelationKind.OFTEN_USED_WITH,
        successes=held,
        failures=missed,
        at=at,
    )
