"""Describe candidates by numbers that mean the same for every tool and every team."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from graph.suggestion.next_call.argument_features import (
    ArgumentDescriber,
    compute_logit,
    matches_call,
)
from graph.suggestion.next_call.counts import MAX_AGAIN, MAX_SAID
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.observation import ObservedPlan
from graph.suggestion.next_call.occurrence import Candidate
from graph.suggestion.next_call.session import STATEMENT, SessionState

STATED_RANK: Final = 15
"""Place of `stated_rank` among what `_describe_tool` returns."""
NO_WORDS_NOW: Final = (0.0, 0.0, 0.0, 0.0)


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
        of_tool = _describe_group(state, model, group, len(candidates))
        describer = ArgumentDescriber(state, model, tool)
        for rank, candidate in enumerate(sorted(group, key=_read_share, reverse=True)):
            arguments = describer.describe(candidate)
            share = candidate.share / of_tool.total_share
            rows[id(candidate)] = [
                *of_tool.order,
                *arguments.origin,
                of_tool.competitors,
                math.log1p(rank),
                share,
                arguments.coherence,
                *of_tool.company,
                *(arguments.source_after or of_tool.source_after),
                *of_tool.names,
                arguments.clause_distance,
                of_tool.said,
                arguments.named_values,
                *of_tool.found,
                compute_logit(of_tool.calls * candidate.share / of_tool.total_share),
                arguments.order,
                arguments.repeated,
                *of_tool.words_now,
                *_describe_planned(of_tool.planned, candidate, best),
            ]
    return [rows[id(candidate)] for candidate in candidates]


class ToolFeatures(NamedTuple):
    """The features that all candidates of a tool share, in the order of `chance.FEATURES`.

    Attributes:
        order: From `sessions` to `stated_share`.
        competitors: How many candidates the tool has.
        company: From `last_failed` to `said_most`.
        source_after: `source_after_last` and its log-odds of a candidate without a value of the
            session.
        names: From `name_overlap` to `clause_is_next`.
        said: `said_sum`.
        found: From `found_score` to `found_rank`.
        words_now: From `said_sum_now` to `found_server`.
        planned: Suggested calls of the tool, each with how many others come before it.
        total_share: Sum of the shares of its candidates.
        calls: How many different calls of the tool come where one comes.
    """

    order: Sequence[float]
    competitors: float
    company: Sequence[float]
    source_after: Sequence[float]
    names: Sequence[float]
    said: float
    found: Sequence[float]
    words_now: Sequence[float]
    planned: Sequence[tuple[ObservedPlan, int]]
    total_share: float
    calls: float


def _describe_group(
    state: SessionState, model: NextCallModel, group: Sequence[Candidate], candidates: int
) -> ToolFeatures:
    """Describe what the candidates of one tool share."""
    tool, counts = group[0].tool, model.counts
    of_session = _describe_session(state, model)
    of_tool = _describe_tool(state, model, tool)
    after = 1 / (1 + math.exp(-of_tool[0]))
    said = _sum_said(state, model, tool)
    found = _describe_found(state, tool)
    now = [said, found[0], found[2], of_tool[STATED_RANK]]
    is_now = state.order[-1] == STATEMENT
    return ToolFeatures(
        order=[of_session["sessions"], *of_tool],
        competitors=math.log1p(len(group)),
        company=[
            of_session["failed"],
            of_session["write"],
            *_measure_company(state, model, tool),
        ],
        source_after=[after, compute_logit(after)],
        names=[
            _measure_name_overlap(state, tool),
            math.log1p(candidates),
            math.log1p(state.tools.reads_of_server[state.tools.tools[tool].server]),
            *_describe_clause(state, tool),
        ],
        said=said,
        found=found,
        words_now=[*(now if is_now else NO_WORDS_NOW), _measure_found_server(state, tool)],
        planned=_list_planned(state, tool),
        total_share=sum([candidate.share for candidate in group]) or 1.0,
        calls=(counts["any calls", tool] + 2) / (counts["any", tool] + 2),
    )


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
        0.5 if previous is None else float(previous.server == profile.server),
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


def _measure_found_server(state: SessionState, tool: int) -> float:
    """Return which share of the answer to the last statement is of the tool's server."""
    tools = state.tools.tools
    total = sum(state.found_tools.values())
    if not total:
        return 0.0
    server = tools[tool].server
    same = [
        p for one, p in state.found_tools.items() if one in tools and tools[one].server == server
    ]
    return sum(same) / total


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
