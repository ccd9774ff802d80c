"""Describe candidates by numbers that mean the same for every tool and every team."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graph.suggestion.next_call.candidates import Candidate, Choice, share_item
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
    rows: dict[int, list[float]] = {}
    sources = _measure_sources(state, model, candidates)
    for tool, group in by_tool.items():
        of_tool = _describe_tool(state, model, tool)
        company = _measure_company(state, model, tool)
        clauses = _describe_clause(state, tool)
        said = _sum_said(state, model, tool)
        found = _describe_found(state, tool)
        overlap = _measure_name_overlap(state, tool)
        reads = math.log1p(state.tools.reads_of_server[state.tools.tools[tool].server])
        ranked = sorted(group, key=lambda c: -c.share)
        total = sum(c.share for c in group) or 1.0
        for rank, candidate in enumerate(ranked):
            rows[id(candidate)] = [
                of_session["sessions"],
                *of_tool,
                *_describe_candidate(state, candidate, sources),
                math.log1p(len(group)),
                math.log1p(rank),
                candidate.share / total,
                _measure_coherence(candidate),
                of_session["failed"],
                of_session["write"],
                *company,
                *_find_least_source_after(candidate, sources, of_tool),
                overlap,
                math.log1p(len(candidates)),
                reads,
                *clauses,
                _measure_clause_distance(state, candidate),
                said,
                _measure_schema_values(candidate),
                *found,
            ]
    return [rows[id(candidate)] for candidate in candidates]


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
        _logit(after),
        _logit(after2),
        _logit(anyway),
        _logit(following),
        math.log1p(seen),
        _logit(again),
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
    return [_logit(max(seen)), _logit(sum(seen) / len(seen)), _logit(max(said))]


@dataclass(frozen=True, slots=True)
class MeasuredSource:
    """How often values from one source led to the call.

    Attributes:
        chance: Share that did, in [0, 1].
        observed: How often such a value was there.
        chance_after: Share that did after such a last call; None for a value of the schema.
    """

    chance: float
    observed: float
    chance_after: float | None


def _measure_sources(
    state: SessionState, model: NextCallModel, candidates: Sequence[Candidate]
) -> dict[int, MeasuredSource]:
    """Measure the source of each choice once, by the id of the choice: candidates share them."""
    measured: dict[int, MeasuredSource] = {}
    by_key: dict[tuple[object, ...], MeasuredSource] = {}
    newest = len(state.order) - 1
    for candidate in candidates:
        for choice in candidate.choices:
            if id(choice) in measured:
                continue
            place = choice.occurrence
            key = (
                (candidate.tool, choice.name, choice.observed)
                if place is None
                else (candidate.tool, choice.name, place.source, place.step == newest)
            )
            if key not in by_key:
                by_key[key] = _measure_source(state, model, candidate.tool, choice)
            measured[id(choice)] = by_key[key]
    return measured


def _measure_source(
    state: SessionState, model: NextCallModel, tool: int, choice: Choice
) -> MeasuredSource:
    if choice.occurrence is None:
        return MeasuredSource(1.0, choice.observed, None)
    counts = model.counts
    is_newest = choice.occurrence.step == len(state.order) - 1
    key = (tool, choice.name, choice.occurrence.source)
    there = counts["chance", *key, is_newest]
    chance = (counts["chance+", *key, is_newest] + 2 * 0.1) / (there + 2)
    last = state.order[-1]
    used_after = counts["chance after+", *key, last] + 3 * chance
    return MeasuredSource(chance, there, used_after / (counts["chance after", *key, last] + 3))


def _find_least_source_after(
    candidate: Candidate, sources: Mapping[int, MeasuredSource], of_tool: Sequence[float]
) -> list[float]:
    """Return how often values from these sources led to the call after such a last call."""
    found = [sources[id(choice)].chance_after for choice in candidate.choices]
    least = min(
        (chance for chance in found if chance is not None),
        default=1 / (1 + math.exp(-of_tool[0])),
    )
    return [least, _logit(least)]


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


def _measure_clause_distance(state: SessionState, candidate: Candidate) -> float:
    """Return how many clauses lie between what speaks of a tool and the values stated for it."""
    clause = state.stated_clauses.get(candidate.tool)
    found = [
        state.clause_of_number.get(c.number) for c in candidate.choices if c.number is not None
    ]
    stated = [other for other in found if other is not None]
    if clause is None or not stated:
        return -1.0
    return sum(min(3, abs(clause - other)) for other in stated) / len(stated)


def _sum_said(state: SessionState, model: NextCallModel, tool: int) -> float:
    """Return how much likelier the tools that the client spoke of make this one (naive Bayes)."""
    counts = model.counts
    anyway = (counts["any", tool] + 0.5) / (counts["points",] + 20)
    total = 0.0
    for stated in list(state.stated_tools)[:MAX_SAID]:
        share = (counts["said+", stated, tool] + 2 * anyway) / (counts["said", stated] + 2)
        total += math.log(share / anyway)
    return max(-3.0, min(6.0, total))


def _measure_schema_values(candidate: Candidate) -> float:
    """Return how many values of the schema the client named, less those chosen instead."""
    return sum(2 * c.fits_shape - 1 for c in candidate.choices if c.occurrence is None)


def _measure_name_overlap(state: SessionState, tool: int) -> float:
    """Return which share of a tool's name the name of the last called tool has in common."""
    profile, last = state.tools.tools[tool], state.tools.tools.get(_last_tool(state))
    if last is None or last.tool == tool:
        return 0.0
    return len(profile.stems & last.stems) / max(1, len(profile.stems))


def _last_tool(state: SessionState) -> int:
    return state.calls[-1].tool if state.calls else 0


def _describe_candidate(
    state: SessionState, candidate: Candidate, sources: Mapping[int, MeasuredSource]
) -> list[float]:
    choices = candidate.choices
    shares = [choice.share for choice in choices]
    measured = [sources[id(choice)] for choice in choices]
    chance, observed = min(((m.chance, m.observed) for m in measured), default=(-1.0, 0.0))
    similarities = [c.similarity for c in choices if c.occurrence is not None]
    lead = _find_lead(choices)
    return [
        float(len(choices)),
        candidate.share / (math.prod(shares) or 1.0),
        math.log(math.prod(shares) + 1e-6),
        min(shares, default=1.0),
        chance,
        math.log(chance + 0.01) if choices and chance >= 0 else 0.0,
        math.log1p(observed),
        min(similarities, default=1.0),
        sum(similarities) / len(similarities) if similarities else 1.0,
        min((c.fits_shape for c in choices), default=1.0),
        *_describe_items(state, candidate.tool, lead),
        *_describe_values(state, choices),
        *_count_equal_calls(state, candidate),
    ]


def _find_lead(choices: Sequence[Choice]) -> Choice | None:
    """Return the argument that comes from the list with the most items."""
    placed = [choice for choice in choices if choice.occurrence is not None]
    return max(placed, key=lambda c: c.occurrence.siblings if c.occurrence else 0, default=None)


def _describe_items(state: SessionState, tool: int, lead: Choice | None) -> list[float]:
    """Describe the place of a value in its list, and which of its siblings were asked for."""
    occurrence = lead.occurrence if lead else None
    if lead is None or occurrence is None:
        return [0.0, 0.0, 0.0, 0.0, 0.0]
    siblings = [o for o in state.by_source[occurrence.source][-64:] if o.step == occurrence.step]
    place = next((i for i, o in enumerate(siblings) if o is occurrence), 0)
    used = [(tool, lead.name, o.number) in state.used_since_write for o in siblings]
    last = state.calls[-1] if state.calls else None
    asked = last.arguments.get(lead.name) if last and last.tool == tool else None
    return [
        math.log1p(occurrence.siblings),
        math.log1p(place),
        sum(used) / len(used),
        float(place > 0 and used[place - 1] and not used[place]),
        float(asked is not None and any(o.number == asked for o in siblings)),
    ]


def _describe_values(state: SessionState, choices: Sequence[Choice]) -> list[float]:
    newest = len(state.order) - 1
    placed = [choice.occurrence for choice in choices if choice.occurrence is not None]
    if not placed:
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, float(bool(choices)), 0.0]
    steps = [occurrence.step for occurrence in placed]
    stated = [state.stated_numbers.get(occurrence.number, -1) for occurrence in placed]
    kinds = {occurrence.source[0] for occurrence in placed}
    seen = min([len(state.by_number[occurrence.number]) for occurrence in placed])
    return [
        math.log1p(newest - min(steps)),
        float(max(steps) == newest),
        float(min(stated) >= 0),
        float(state.last_statement >= 0 and state.last_statement in stated),
        float("stated" in kinds),
        float("argument" in kinds),
        float(len(placed) < len(choices)),
        math.log1p(seen),
    ]


def matches_call(
    candidate: Candidate, arguments: Mapping[str, int], positions: Mapping[str, int]
) -> bool:
    """Return whether a call has exactly these arguments."""
    if len(candidate.choices) != len({*arguments, *positions}):
        return False
    return all(
        (c.number is not None and arguments.get(c.name) == c.number)
        or (c.position is not None and positions.get(c.name) == c.position)
        for c in candidate.choices
    )


def _count_equal_calls(state: SessionState, candidate: Candidate) -> tuple[float, float]:
    """Return whether exactly this call is answered and valid, and how often it was made."""
    made = [
        index
        for index in state.calls_of.get(candidate.tool, ())
        if matches_call(
            candidate, state.calls[index].arguments, state.calls[index].schema_arguments
        )
    ]
    is_answered = bool(made) and made[-1] >= len(state.calls) - len(state.since_write)
    return float(is_answered), float(min(3, len(made)))


def _measure_coherence(candidate: Candidate) -> float:
    """Return the share of neighbouring arguments that come from one item."""
    placed = [choice for choice in candidate.choices if choice.occurrence is not None]
    if len(placed) < 2:
        return 1.0
    together = sum(
        share_item(first.occurrence, second.occurrence) for first, second in pairwise(placed)
    )
    return together / (len(placed) - 1)


def _logit(share: float) -> float:
    bounded = min(max(share, 1e-3), 1 - 1e-3)
    return math.log(bounded / (1 - bounded))
