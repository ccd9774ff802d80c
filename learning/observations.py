"""What an ended run shows of the tools it called, and of how they go together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Final

from execution.ended_run import Answered, EndedRun
from execution.workflow import Task
from graph.record import Observation
from graph.relations import Kind

MAX_TOGETHER: Final = 40
"""Tools of a run beyond which it says nothing of any two of them going together."""

Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Calls:
    """Calls of a tool that a server answered.

    Attributes:
        held: Those that succeeded.
        failed: Those of which the tool itself said that they failed.
    """

    held: int = 0
    failed: int = 0


def calls(run: EndedRun, tools: Mapping[str, int]) -> dict[int, Calls]:
    """Return the calls of each tool, by primary key; those of unknown tools are left out."""
    found: dict[int, Calls] = {}
    for one in run.answered:
        if one.tool in tools:
            known = found.get(tools[one.tool], Calls())
            found[tools[one.tool]] = Calls(
                held=known.held + one.held, failed=known.failed + one.failed
            )
    return found


def used(run: EndedRun, tools: Mapping[str, int]) -> frozenset[int]:
    """Return the tools that a workflow used with success; a single call is no workflow."""
    if run.is_direct:
        return frozenset()
    return frozenset(tool for tool, one in calls(run, tools).items() if one.held)


def ordered(run: EndedRun, tools: Mapping[str, int]) -> list[Observation]:
    """Return which tools followed others, and which were given something by others.

    A task speaks for that if what it waits for succeeded and its own call was answered: for it
    where that succeeded, against it where the tool said that it failed. What was not called, or
    not answered, says nothing. A run is one observation of two tools, however many of its tasks
    and items show it: what part of them succeeded is its success, the rest its failure.

    Args:
        run: The run.
        tools: Primary keys by canonical id; other tools are left out.
    """
    if run.workflow is None:
        return []
    by_task = {one.task: one for one in run.answered if one.tool in tools}
    shown: dict[tuple[int, int, Kind], list[_Followed]] = defaultdict(list)
    for task in run.workflow.tasks:
        for kind, before, after in _followed(task, by_task):
            key = (tools[before.tool], tools[after.tool], kind)
            if key[0] != key[1]:
                shown[key].append(_Followed.of(before, after))
    return [_observation(*key, seen, at=run.ended_at) for key, seen in sorted(shown.items())]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Followed:
    """A task that followed another: the share of it that succeeded, and after how long."""

    share: float
    seconds: float

    @classmethod
    def of(cls, before: Answered, after: Answered) -> _Followed:
        waited = (after.started_at - before.ended_at).total_seconds()
        share = after.held / (after.held + after.failed)
        return cls(share=share, seconds=max(waited, 0.0))


def _followed(
    task: Task, by_task: Mapping[str, Answered]
) -> Iterator[tuple[Kind, Answered, Answered]]:
    after = by_task.get(task.id)
    if after is None:
        return
    givers = {*task.references}
    for name in task.waits_for:
        before = by_task.get(name)
        if before is None or not before.held:
            continue
        yield Kind.PRECEDES, before, after
        if name in givers:
            yield Kind.PROVIDES, before, after


def _observation(
    source: int, target: int, kind: Kind, seen: list[_Followed], *, at: datetime
) -> Observation:
    share = _mean([one.share for one in seen])
    held = [one.seconds for one in seen if one.share]
    return Observation(
        source=source,
        target=target,
        kind=kind,
        successes=share,
        failures=1.0 - share,
        seconds=_mean(held) if held and kind is Kind.PRECEDES else None,
        at=at,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def together(
    now_used: Collection[int],
    *,
    known: Collection[Pair],
    before: Mapping[int, float],
    at: datetime,
) -> list[Observation]:
    """Return what a run adds to how often tools are used together.

    So that successes are co-occurrences, and successes and failures together the runs of the tool
    that is used more: a pair seen for the first time brings along the runs that went before, and
    one of which only one tool was used fails as far as that raises the larger usage.

    Args:
        now_used: Primary keys of what the run used.
        known: The pairs seen together before, the smaller key first.
        before: In how many runs tools were used before this one; not those in none.
        at: When the run ended.
    """
    if not 0 < len(now_used) <= MAX_TOGETHER:
        return []
    found: list[Observation] = []
    seen = set(known)
    for one, other in combinations(sorted(now_used), 2):
        older = max(before.get(one, 0.0), before.get(other, 0.0))
        missed = 0.0 if (one, other) in seen else older
        found.append(_together(one, other, held=1.0, missed=missed, at=at))
    for one, other in sorted(seen):
        if (one in now_used) is not (other in now_used):
            alone, rest = (one, other) if one in now_used else (other, one)
            missed = before.get(alone, 0.0) + 1.0 - before.get(rest, 0.0)
            if missed > 0.0:
                missed = min(missed, 1.0)
                found.append(_together(one, other, held=0.0, missed=missed, at=at))
    return found


def _together(one: int, other: int, *, held: float, missed: float, at: datetime) -> Observation:
    return Observation(
        source=one,
        target=other,
        kind=Kind.OFTEN_USED_WITH,
        successes=held,
        failures=missed,
        at=at,
    )
