"""Take over what an ended run teaches: once, whoever does it and however often it is tried.

The pattern is recorded first, by the run's id, so that doing it again changes nothing. All else is
one transaction with the note that the run was learned from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from uuid import UUID

import structlog

from execution.ended_run import EndedRun
from execution.store import transactions, unlearned_runs
from gateway_project.foundation.reasons import first_line
from graph.patterns import InvalidRun
from graph.record import Observation
from graph.record_runs import record_runs
from graph.store import relations, shapes, together, usage, writing
from graph.store.recording import TeamGone
from graph.store.usage import Count, Place
from learning import latency, observations, past_run
from learning.learned import Learned, Means
from learning.observations import Calls
from learning.store import experience, seen_tools
from learning.store.experience import Seen
from learning.store.seen_tools import SeenTool
from tools.query_text import QueryError

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """What is written down of a run, beside its pattern."""

    calls: Mapping[int, Calls]
    used: frozenset[int]
    seen: Mapping[int, Seen]
    ordered: list[Observation]
    shapes: list[shapes.Seen]


def learn(run: UUID, means: Means, *, at: datetime) -> Learned | None:
    """Take over what an ended run teaches; blocking.

    Args:
        run: Its id.
        means: What to work with.
        at: Time of it.

    Returns:
        None where there is nothing to learn: the run has not ended, is gone, or was learned from
        already, by whomever.
    """
    one = unlearned_runs.load(run, sealer=means.payloads, bounds_ms=latency.BOUNDS_MS)
    if one is None:
        return None
    tools = seen_tools.find(_named(one), team=one.team)
    pattern, unembedded = _record(one, tools, means)
    told = _shown(one, tools)
    written = writing.retried(lambda: _write(one, told, at=at))
    if written is None:
        return None
    counted, changed, usages = written
    return Learned(
        pattern=pattern, unembedded=unembedded, relations=counted, shapes=changed, usage=usages
    )


def _named(one: EndedRun) -> set[str]:
    tasks = () if one.workflow is None else one.workflow.tasks
    return {call.tool for call in one.answered} | {task.tool for task in tasks}


def _record(one: EndedRun, tools: Mapping[str, SeenTool], means: Means) -> tuple[bool, bool]:
    """Record the run in its pattern; say whether it counts there, and lacks its vectors."""
    run = past_run.past_run(one, _pks(tools))
    if run is None:
        return False, False
    try:
        recorded = record_runs(
            [run],
            team=one.team,
            embedder=means.embedder,
            sealer=means.sealer,
            index=means.index if means.embedder else None,
        )
    except (InvalidRun, QueryError, TeamGone) as error:
        log.info("run.teaches_no_pattern", run=str(one.run), reason=first_line(error))
        return False, False
    return True, bool(recorded.unembedded)


def _shown(one: EndedRun, tools: Mapping[str, SeenTool]) -> _Shown:
    pks = _pks(tools)
    used = observations.used(one, pks)
    return _Shown(
        calls=observations.calls(one, pks),
        used=used,
        seen=_seen(one, pks, used),
        ordered=observations.ordered(one, pks),
        shapes=list(_shapes(one, tools)),
    )


def _pks(tools: Mapping[str, SeenTool]) -> dict[str, int]:
    return {name: tool.pk for name, tool in tools.items()}


def _seen(one: EndedRun, tools: Mapping[str, int], used: frozenset[int]) -> dict[int, Seen]:
    counts: dict[int, list[int]] = {tool: [0] * latency.BUCKETS for tool in used}
    total_ms: dict[int, float] = defaultdict(float)
    for timed in one.timed:
        if timed.tool in tools:
            tool = tools[timed.tool]
            counts.setdefault(tool, [0] * latency.BUCKETS)[timed.bucket] += timed.calls
            total_ms[tool] += timed.total_ms
    return {
        tool: Seen(is_use=tool in used, total_ms=total_ms[tool], latencies=latencies)
        for tool, latencies in counts.items()
    }


def _shapes(one: EndedRun, tools: Mapping[str, SeenTool]) -> Iterable[shapes.Seen]:
    """Yield the shape of each tool's results, of tools that are defined as they were then."""
    if not one.results:
        return
    from graph import output_shape  # noqa: PLC0415 - not needed before a tool has answered

    found: dict[str, list[output_shape.Shape]] = defaultdict(list)
    for result in one.results:
        tool = tools.get(result.tool)
        if tool is None or tool.definition_hash != result.definition_hash:
            continue
        shape = output_shape.shape_of(result.raw)
        if shape is not None:
            found[result.tool].append(shape)
    for name, each in found.items():
        yield shapes.Seen(
            tool=tools[name].pk,
            team=one.team,
            definition_hash=tools[name].definition_hash,
            shape=reduce(output_shape.merge, each),
        )


def _write(
    one: EndedRun, told: _Shown, *, at: datetime
) -> tuple[int, int, Mapping[Place, int]] | None:
    """Write everything down, and that it was; None where somebody has done so before."""
    from graph import output_shape  # noqa: PLC0415 - not needed before a tool has answered

    with transactions.short():
        if not unlearned_runs.mark(one.run, at=at):
            return None
        observed = [*told.ordered, *_together(one, told)]
        experience.add(one.team, told.seen, at=one.ended_at)
        relations.observe(one.team, observed)
        counts = {
            (tool, one.team): Count(calls.held + calls.failed, calls.failed)
            for tool, calls in told.calls.items()
        }
        usages = usage.add(counts, at=one.ended_at)
        changed = shapes.record(told.shapes, merge=output_shape.merge, at=one.ended_at)
    return len(observed), changed, usages


def _together(one: EndedRun, told: _Shown) -> list[Observation]:
    if not told.used:
        return []
    experience.lock(one.team, told.seen)
    known = together.partners(one.team, told.used)
    wanted = told.used.union(*known)
    before = experience.runs(one.team, wanted, at=one.ended_at)
    return observations.together(told.used, known=known, before=before, at=one.ended_at)
