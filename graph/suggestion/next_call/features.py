"""Describe candidates by numbers that mean the same for every tool and every team."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from graph.suggestion.next_call.argument_features import ArgumentDescriber, compute_logit
from graph.suggestion.next_call.candidates import Candidate
from graph.suggestion.next_call.counts import MAX_AGAIN, MAX_SAID
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.session import STATEMENT, SessionState


def compute_features(
    state: SessionState, model: NextCallModel, candidates: Sequence[Candidate]
) -> list[list[float]]:
    """Return the features of each candidate, shape (n, f), in the order of `chance.FEATURES`."""
    by_tool: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_tool[candidate.tool].append(candidate)
    of_session = _describe_session(state, model)
    considered = math.log1p(len(candidates))
    rows: dict[int, Sequence[float]] = {}
    for tool, group in by_tool.items():
        describer = ArgumentDescriber(state, model, tool)
        of_tool = _describe_tool(state, model, tool)
        after = 1 / (1 + math.exp(-of_tool[0]))
        after_any = after, compute_logit(after)
        before = [of_session["sessions"], *of_tool]
        between = [
            of_session["failed"],
            of_session["write"],
            *_measure_company(state, model, tool),
        ]
        reads = math.log1p(state.tools.reads_of_server[state.tools.tools[tool].server])
        beside = [
            _measure_name_overlap(state, tool),
            considered,
            reads,
            *_describe_clause(state, tool),
        ]
        said = _sum_said(state, model, tool)
        found = _describe_found(state, tool)
        competitors = math.log1p(len(group))
        total = sum([c.share for c in group]) or 1.0
        calls = (model.counts["any calls", tool] + 2) / (model.counts["any", tool] + 2)
        for rank, candidate in enumerate(sorted(group, key=_read_share, reverse=True)):
            arguments = describer.describe(candidate)
            rows[id(candidate)] = [
                *before,
                *arguments.origin,
                competitors,
                math.log1p(rank),
                candidate.share / total,
                arguments.coherence,
                *between,
                *(arguments.source_after or after_any),
                *beside,
                arguments.clause_distance,
                said,
                arguments.named_values,
                *found,
                compute_logit(calls * candidate.share / total),
                arguments.order,
                arguments.repeated,
            ]
    return [rows[id(candidate)] for candidate in candidates]


def _read_share(candidate: Candidate) -> float:
    return candidate.share


def _describe_session(state: SessionState, model: NextCallModel) -> dict[str, float]:
    last = state.calls[-1] if state.calls else None
    return {
        "sessions": math.log1p(model.counts["sessions",]),
        "failed": float(last is not None and last.is_error),
        "write": float(last is not None and not last.is_read_only),
    }


def _describe_tool(state: SessionState, model: NextCallModel, tool: int) -> list[float]:
    counts = model.counts
    last = state.order[-1]
    before = state.order[-2] if len(state.order) > 1 else 0
    anyway = (counts["any", tool] + 0.5) / (counts["points",] + 20)
    seen = counts["after", last]
    after = (counts["then", last, tool] + 3 * anyway) / (seen + 3)
    seen2 = counts["after2", before, last]
    after2 = (counts["then2", before, last, tool] + 3 * after) / (seen2 + 3)
    following = (counts["next", last, tool] + 3 * anyway * 0.5) / (seen + 3)
    times = state.counts_since_write.get(tool, 0)
    capped = min(times, MAX_AGAIN)
    again = (counts["again+", tool, capped] + 3 * after2) / (counts["again", tool, capped] + 3)
    profile, previous = state.tools.tools[tool], state.tools.tools.get(_last_tool(state))
    score = state.stated_tools.get(tool, 0.0)
    best = max(state.stated_tools.values(), default=0.0)
    total = sum(state.stated_tools.values()) or 1.0
    return [
        compute_logit(after),
        compute_logit(after2),
        compute_logit(anyway),
        compute_logit(following),
        math.log1p(seen),
        compute_logit(again),
        float(times),
        float(last == tool),
        math.log1p(state.calls_since_write),
        math.log1p(len(state.calls)),
        math.log1p(counts["calls", tool]),
        float(previous is not None and previous.server == profile.server),
        float(last == STATEMENT),
        math.log1p(len(state.order) - 1 - state.last_statement)
        if state.last_statement > 0
        else -1.0,
        score,
        score / best if best else 0.0,
        state.all_stated_tools.get(tool, 0.0),
        score / total,
    ]


def _measure_company(state: SessionState, model: NextCallModel, tool: int) -> list[float]:
    """Return how often the tool came after the tools of this session, and after such words."""
    counts = model.counts
    anyway = (counts["any", tool] + 0.5) / (counts["points",] + 20)
    seen = [
        (counts["seen+", earlier, tool] + 3 * anyway) / (counts["seen", earlier] + 3)
        for earlier in list(state.distinct_tools)[-8:]
    ] or [anyway]
    said = [
        (counts["said+", stated, tool] + 2 * anyway) / (counts["said", stated] + 2)
        for stated in list(state.stated_tools)[:MAX_SAID]
        if state.order[-1] == STATEMENT
    ] or [anyway]
    return [
        compute_logit(max(seen)),
        compute_logit(sum(seen) / len(seen)),
        compute_logit(max(said)),
    ]


def _describe_found(state: SessionState, tool: int) -> list[float]:
    """Return how likely the answer to the last statement says that a tool is needed.

    First whether or not the tool was called since, then only if it was not, then beside the best
    of those that were not.
    """
    score = state.found_tools.get(tool, 0.0)
    if not score or tool in state.called_since_statement:
        return [score, 0.0, 0.0]
    ahead = state.found_tools.keys() - state.called_since_statement
    best = max(state.found_tools[one] for one in ahead)
    return [score, score, score / best]


def _describe_clause(state: SessionState, tool: int) -> list[float]:
    """Return how many clauses after the last one done speaks of a tool, and if it is the next."""
    clause = state.stated_clauses.get(tool)
    if clause is None:
        return [0.0, 0.0]
    ahead = clause - state.clause_done
    nearer = any(state.clause_done < other < clause for other in state.stated_clauses.values())
    return [float(max(-3, min(3, ahead))), float(ahead > 0 and not nearer)]


def _sum_said(state: SessionState, model: NextCallModel, tool: int) -> float:
    """Return how much likelier the tools that the client spoke of make this one (naive Bayes)."""
    counts = model.counts
    anyway = (counts["any", tool] + 0.5) / (counts["points",] + 20)
    total = 0.0
    for stated in list(state.stated_tools)[:MAX_SAID]:
        share = (counts["said+", stated, tool] + 2 * anyway) / (counts["said", stated] + 2)
        total += math.log(share / anyway)
    return max(-3.0, min(6.0, total))


def _measure_name_overlap(state: SessionState, tool: int) -> float:
    """Return which share of a tool's name the name of the last called tool has in common."""
    profile, last = state.tools.tools[tool], state.tools.tools.get(_last_tool(state))
    if last is None or last.tool == tool:
        return 0.0
    return len(profile.stems & last.stems) / max(1, len(profile.stems))


def _last_tool(state: SessionState) -> int:
    return state.calls[-1].tool if state.calls else 0
