"""Describe candidates by numbers that mean the same for every tool and every team."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from graph.suggestion.next_call.argument_features import (
    ArgumentDescriber,
    compute_logit,
    matches_call,
)
from graph.suggestion.next_call.chance import FEATURES
from graph.suggestion.next_call.counts import MAX_AGAIN, MAX_FOUND_COUNTED
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.observation import ObservedPlan
from graph.suggestion.next_call.occurrence import Candidate
from graph.suggestion.next_call.session import STATEMENT, SessionState

AFTER_LAST: Final = FEATURES.index("after_last")


def compute_features(
    state: SessionState, model: NextCallModel, candidates: Sequence[Candidate]
) -> list[list[float]]:
    """Return the features of each candidate, shape (n, f), in the order of `chance.FEATURES`."""
    by_tool: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_tool[candidate.tool].append(candidate)
    rows: dict[int, list[float]] = {}
    best = max((one.chance for one in state.planned), default=0.0)
    for tool, group in by_tool.items():
        of_tool = [
            *_describe_tool(state, model, tool),
            *_describe_found(state, tool),
            _weigh_found(state, model, tool),
            math.log1p(len(group)),
            math.log1p(len(candidates)),
        ]
        describer = ArgumentDescriber(state, model, tool, after_last=of_tool[AFTER_LAST])
        planned = _list_planned(state, tool)
        total = sum([candidate.share for candidate in group]) or 1.0
        different = (model.counts["any calls", tool] + 2) / (model.counts["any", tool] + 2)
        for rank, candidate in enumerate(sorted(group, key=_read_share, reverse=True)):
            share = candidate.share / total
            rows[id(candidate)] = [
                *of_tool,
                *describer.describe(candidate),
                math.log1p(rank),
                share,
                compute_logit(different * share),
                *_describe_planned(planned, candidate, best),
            ]
    return [rows[id(candidate)] for candidate in candidates]


def _read_share(candidate: Candidate) -> float:
    return candidate.share


def _describe_tool(state: SessionState, model: NextCallModel, tool: int) -> list[float]:
    """Return the features from `sessions` to `server_reads`."""
    counts = model.counts
    last = state.order[-1]
    before = state.order[-2] if len(state.order) > 1 else 0
    anyway = (counts["any", tool] + 0.5) / (counts["points",] + 20)
    seen = counts["after", last]
    after = (counts["then", last, tool] + 3 * anyway) / (seen + 3)
    seen2 = counts["after2", before, last]
    after2 = (counts["then2", before, last, tool] + 3 * after) / (seen2 + 3)
    following = (counts["next", last, tool] + 3 * anyway * 0.5) / (seen + 3)
    times = min(state.counts_since_write.get(tool, 0), MAX_AGAIN)
    again = (counts["again+", tool, times] + 3 * after2) / (counts["again", tool, times] + 3)
    return [
        math.log1p(counts["sessions",]),
        compute_logit(after),
        compute_logit(after2),
        compute_logit(anyway),
        compute_logit(following),
        math.log1p(seen),
        compute_logit(again),
        float(last == tool),
        math.log1p(state.calls_since_write),
        math.log1p(counts["calls", tool]),
        float(last == STATEMENT),
        _measure_name_overlap(state, tool),
        math.log1p(state.tools.reads_of_server[state.tools.tools[tool].server]),
    ]


def _describe_found(state: SessionState, tool: int) -> list[float]:
    """Return how likely the answer to the last statement says that a tool is needed.

    First whether or not the tool was called since, then only if it was not, then beside the best
    of those that were not; last the first and the third right after the statement alone.
    """
    score = state.found_tools.get(tool, 0.0)
    ahead, rank = 0.0, 0.0
    if score and tool not in state.called_since_statement:
        others = state.found_tools.keys() - state.called_since_statement
        ahead, rank = score, score / max([state.found_tools[one] for one in others])
    now = [score, rank] if state.order[-1] == STATEMENT else [0.0, 0.0]
    return [score, ahead, rank, *now]


def _weigh_found(state: SessionState, model: NextCallModel, tool: int) -> float:
    """Return how much likelier the tools in the answer make this one (naive Bayes)."""
    counts = model.counts
    anyway = (counts["any", tool] + 0.5) / (counts["points",] + 20)
    total = 0.0
    for found in list(state.found_tools)[:MAX_FOUND_COUNTED]:
        share = (counts["found+", found, tool] + 2 * anyway) / (counts["found", found] + 2)
        total += math.log(share / anyway)
    return max(-3.0, min(6.0, total))


def _list_planned(state: SessionState, tool: int) -> list[tuple[ObservedPlan, int]]:
    """Return the suggested calls of a tool, each with how many are to come before it."""
    found, ahead = [], 0
    for planned in state.planned:
        if planned.tool == tool and not state.is_planned_call_done(planned):
            found.append((planned, ahead))
        elif planned.tool not in state.called_since_statement:
            ahead += 1
    return found


def _describe_planned(
    planned: Sequence[tuple[ObservedPlan, int]], candidate: Candidate, best: float
) -> tuple[float, ...]:
    """Return how likely a candidate is the suggested call of its tool, and when that comes.

    First how likely it is needed if it has the suggested arguments, the same if it comes next,
    then with whatever arguments, how many suggested calls come before it, how likely the likeliest
    suggested call of all is needed, and the log-odds of the first.
    """
    if not planned:
        return 0.0, 0.0, 0.0, 0.0, best, 0.0
    likely = max(one.chance for one, _ in planned)
    equal = [
        (one.chance, -ahead)
        for one, ahead in planned
        if one.is_complete and matches_call(candidate, one.arguments, one.schema_arguments)
    ]
    if not equal:
        return 0.0, 0.0, likely, 0.0, best, 0.0
    chance, behind = max(equal)
    sure = compute_logit(chance)
    return chance, 0.0 if behind else chance, likely, math.log1p(-behind), best, sure


def _measure_name_overlap(state: SessionState, tool: int) -> float:
    """Return which share of a tool's name the name of the last called tool has in common."""
    profile, last = state.tools.tools[tool], None
    if state.calls:
        last = state.tools.tools.get(state.calls[-1].tool)
    if last is None or last.tool == tool:
        return 0.0
    return len(profile.stems & last.stems) / max(1, len(profile.stems))
