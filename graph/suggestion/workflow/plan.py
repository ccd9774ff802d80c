"""Plan an intent request by request: the best tool for each, and which requests are covered.

Ranking whole sets finds workflows that resemble past ones, or texts that describe a goal at
length. For a short instruction to a new installation, what each of its requests says is better
evidence: one request, one tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.suggestion.ranking.calibrate import UNFITTED_CALIBRATOR
from graph.suggestion.ranking.rank import MAX_ALTERNATIVES, RankedSet

if TYPE_CHECKING:
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.ranking.rank import Ranking
    from graph.suggestion.workflow.assign_tools import PlannedRequest, ScoredTool
    from graph.suggestion.workflow.choose import ChosenTools

MAX_FAMILIARITY: Final = 0.5
"""From this familiarity on, past runs decide."""
MAX_SINGLE_CHARS: Final = 250
MAX_CHARS: Final = 160
MAX_PLANNED_REQUESTS: Final = 3
MAX_UNSPLIT_CLAUSES: Final = 2
"""Longer intents, of more requests or with many clauses that are none, describe a goal rather than
steps: ranked sets serve them better (on ultratool by six points of node F1)."""
MIN_ASKED_PROBABILITY: Final = 0.3
"""Least probability of a tool whose name states the action that its request asks for; enough for
a draft with a destructive tool, see `choose.MIN_RISKY_PROBABILITY`."""
MAX_LEAD: Final = 6.0
"""Cap of a best tool's lead over the second best, in log-odds: more says no more."""
MAX_OTHER_PROBABILITY: Final = 0.9999
"""Cap of the probability of a tool that was left out, where its logarithm is taken."""
TOOL_EVIDENCE: Final[Mapping[str, float]] = {"lead": 0.37, "coverage": 0.67, "intercept": -0.62}
"""Coefficients of the log-odds that a request's tool is right; they decide which tools are likely
enough for a draft, not how sure the workflow is."""
CONFIDENCE: Final[Mapping[str, float]] = {
    "lead": 0.36,
    "coverage": 0.5,
    "completeness": 0.49,
    "intercept": -0.42,
}
"""Coefficients of the log-odds that a plan is exactly right, for `measure_plan` and a constant, as
`python -m benchmarks.fit_plan` prints them."""

MIN_COVERAGE: Final = -1.8
"""Log-odds below which no tool serves the only request of an intent: a probability of 0.14."""
MIN_STEP_COVERAGE: Final = -2.5
"""The same of one of several, which say less each: of everyday wishes' steps whose best tool is
right, 6 % are below it, 23 % below the other."""
MIN_LISTED_COVERAGE: Final = -4.7
"""The same of a step whose tools a search lists, beside a step that is served: a list may hold
what a workflow may not. Of 139 everyday wishes of several steps, all steps of 87 % are among the
first five that way, of 83 % with the bound above."""
MIN_FAMILIAR_COVERAGE: Final = -4.7
"""The same if past runs are familiar with the intent: then texts say less."""
MIN_FORGOTTEN_COVERAGE: Final = -0.5
MIN_FORGOTTEN_PROBABILITY: Final = 0.1
"""Of 200 intents of ultratool after 1,672 runs, these name a part of 9 %, of whose workflows 39 %
are right, of the others 68 %. The probability is not asked for of intents up to `MAX_CHARS`: with
it, of 125 wishes never taught beside others taught twice 9 were wrong, sure and runnable, without
it 6 (`benchmarks.taught_wishes`)."""
MAX_SCORE_GAP: Final = 2.0
"""A chosen tool covers a request if its score is at most this far below the best."""
KNOWN_SIMILARITY: Final = 0.9
"""Similarity of a past intent from which its workflow is known to cover the intent: where
`history_features.measure_repetition` passes one half."""
MAX_PARTIAL_CONFIDENCE: Final = 0.5
"""Cap of the confidence if a part of the intent is not covered; below the suggestion threshold."""


def apply_plan(
    ranking: Ranking, plan: Sequence[PlannedRequest], reading: IntentReading
) -> Ranking:
    """Put the planned set of tools first if the plan is better evidence than ranked sets.

    Args:
        ranking: Ranked sets.
        plan: The planned requests.
        reading: The intent.
    """
    if not is_planned(ranking, plan, reading):
        return ranking
    used = select_used(plan)
    best = RankedSet(
        tools=tuple(dict.fromkeys(one.tools[0].pk for one in used)),
        confidence=estimate_confidence(plan, ranking),
        probability=0.0,
    )
    alternatives = [one for one in ranking.sets if set(one.tools) != set(best.tools)]
    probabilities = dict(ranking.tool_probabilities)
    for one in used:
        tool = one.tools[0]
        own = max(_estimate_tool(one), MIN_ASKED_PROBABILITY if tool.action > 0 else 0.0)
        probabilities[tool.pk] = max(own, probabilities.get(tool.pk, 0.0))
    return replace(
        ranking,
        best=best,
        alternatives=tuple(alternatives[:MAX_ALTERNATIVES]),
        tool_probabilities=probabilities,
    )


def list_step_tools(
    ranking: Ranking, plan: Sequence[PlannedRequest], reading: IntentReading
) -> tuple[tuple[ScoredTool, ...], ...]:
    """Return the tools of each step of a short wish that clearly has several, best first.

    Empty unless a tool serves one of them, and another may be served by a tool of its own.
    """
    if not is_planned(ranking, plan, reading):
        return ()
    found = [one.tools for one in plan if one.best is not None and not one.is_skipped]
    steps = [tools for tools in found if tools[0].coverage >= MIN_LISTED_COVERAGE]
    is_served = any(tools[0].coverage >= MIN_STEP_COVERAGE for tools in steps)
    distinct = {tools[0].pk for tools in steps}
    return tuple(steps) if is_served and len(distinct) > 1 else ()


def serves_nothing(ranking: Ranking, plan: Sequence[PlannedRequest]) -> bool:
    """Whether no request of the intent is served by any tool, nor by past runs."""
    best = [one.best for one in plan if one.best is not None]
    if not best or ranking.familiarity >= MAX_FAMILIARITY:
        return False
    least = _find_least_coverage(plan)
    return all(tool.coverage < least for tool in best)


def _find_least_coverage(plan: Sequence[PlannedRequest]) -> float:
    """Return the evidence from which a tool serves a request of this intent."""
    is_only = sum(one.request.is_certain for one in plan) == 1
    return MIN_COVERAGE if is_only else MIN_STEP_COVERAGE


def is_planned(ranking: Ranking, plan: Sequence[PlannedRequest], reading: IntentReading) -> bool:
    """Whether the tools are chosen request by request."""
    certain = sum(one.request.is_certain for one in plan)
    if not certain or ranking.familiarity >= MAX_FAMILIARITY:
        return False
    if any(one.best is None for one in plan if one.request.is_certain):
        return False
    length, clauses = len(reading.text), len(reading.clauses)
    if certain == 1 and length <= MAX_SINGLE_CHARS:
        return True
    is_split = clauses <= MAX_UNSPLIT_CLAUSES or clauses <= len(plan)
    return length <= MAX_CHARS and is_split and certain <= MAX_PLANNED_REQUESTS


def select_used(plan: Sequence[PlannedRequest]) -> list[PlannedRequest]:
    """Return the requests that get a task: those a tool serves, or else the best-served one."""
    found = [one for one in plan if one.best is not None and not one.is_skipped]
    served = [one for one in found if one.tools[0].coverage >= _find_least_coverage(plan)]
    return served or sorted(found, key=lambda one: -one.tools[0].coverage)[:1]


def estimate_confidence(plan: Sequence[PlannedRequest], ranking: Ranking) -> float:
    """Return the probability that the planned tools are exactly the right ones, in [0, 1].

    Args:
        plan: The planned requests.
        ranking: The ranking before the plan was applied to it.
    """
    odds = _sum_evidence(CONFIDENCE, measure_plan(plan, ranking))
    return ranking.calibrator.predict_text_only(odds)


def _estimate_tool(one: PlannedRequest) -> float:
    """Return the probability that the best tool of a request is right, in [0, 1]."""
    odds = _sum_evidence(TOOL_EVIDENCE, measure_tools([one]))
    return UNFITTED_CALIBRATOR.predict_text_only(odds)


def _sum_evidence(coefficients: Mapping[str, float], measures: Sequence[float]) -> float:
    return float(np.array([*measures, 1.0]) @ np.array(list(coefficients.values())))


def measure_plan(plan: Sequence[PlannedRequest], ranking: Ranking) -> tuple[float, float, float]:
    """Return the lowest lead, capped, and coverage of the best tools, and the completeness.

    Completeness is the log-probability, <= 0, that no other tool belongs to the workflow, by the
    tool model: a request may need more than it names, such as the look-up of an identifier.

    Args:
        plan: The planned requests.
        ranking: The ranking before the plan was applied to it.
    """
    used = select_used(plan)
    planned = {one.tools[0].pk for one in used}
    others = [chance for pk, chance in ranking.tool_probabilities.items() if pk not in planned]
    chances = np.minimum(np.array(others, dtype=np.float64), MAX_OTHER_PROBABILITY)
    return (*measure_tools(used), float(np.log1p(-chances).sum()))


def measure_tools(used: Sequence[PlannedRequest]) -> tuple[float, float]:
    """Return the lowest lead, capped, and the lowest coverage of the best tools."""
    leads = [one.tools[0].score - one.tools[1].score for one in used if len(one.tools) > 1]
    return min((*leads, MAX_LEAD)), min(one.tools[0].coverage for one in used)


def find_uncovered(
    plan: Sequence[PlannedRequest],
    tools: AbstractSet[int],
    ranking: Ranking,
    reading: IntentReading,
) -> tuple[str, ...]:
    """Return the texts of the requests that none of the chosen tools serves.

    A further object counts as part of its request. If past runs are not familiar with the intent,
    a tool serves a request if the evidence suffices and no tool that was left out fits it far
    better. If they are, they know what texts do not say: then a request is uncovered only if no
    chosen tool has anything to do with it, or the tool that fits it best was left out, of a long
    intent one that past runs count on.
    """
    is_familiar = ranking.familiarity >= MAX_FAMILIARITY
    is_short = len(reading.text) <= MAX_CHARS
    least = 0.0 if is_short else MIN_FORGOTTEN_PROBABILITY
    return tuple(
        one.request.text
        for one in plan
        if one.request.is_certain
        and (
            _is_forgotten(one, tools, ranking, least=least)
            if is_familiar
            else not any(_is_serving(plan, one, tool) for tool in one.tools if tool.pk in tools)
        )
    )


def serves_request(tool: int, plan: Sequence[PlannedRequest]) -> bool:
    """Whether a tool serves one of the requests about as well as the best one for it."""
    return any(
        _is_serving(plan, one, scored) for one in plan for scored in one.tools if scored.pk == tool
    )


def _is_serving(plan: Sequence[PlannedRequest], one: PlannedRequest, tool: ScoredTool) -> bool:
    return (
        tool.coverage >= _find_least_coverage(plan)
        and tool.score >= one.tools[0].score - MAX_SCORE_GAP
        and not (tool.action < 0 and _is_claimed(plan, one, tool))
    )


def _is_forgotten(
    one: PlannedRequest, tools: AbstractSet[int], ranking: Ranking, *, least: float
) -> bool:
    """Whether the tools that past runs suggest leave a request out."""
    chosen = [tool for tool in one.tools if tool.pk in tools]
    if max((tool.coverage for tool in chosen), default=-np.inf) < MIN_FAMILIAR_COVERAGE:
        return True
    best = one.tools[0]
    return (
        best.pk not in tools
        and best.coverage >= MIN_FORGOTTEN_COVERAGE
        and best.action >= 0
        and ranking.tool_probabilities.get(best.pk, 0.0) >= least
        and all(tool.score < best.score - MAX_SCORE_GAP for tool in chosen)
    )


def _is_claimed(plan: Sequence[PlannedRequest], one: PlannedRequest, tool: ScoredTool) -> bool:
    """Whether another request asks for a tool in its own words: "comment on it, then close it"."""
    return any(
        other is not one
        and other.best is not None
        and other.best.pk == tool.pk
        and other.best.action > 0
        for other in plan
    )


def is_known_workflow(chosen: ChosenTools, ranking: Ranking) -> bool:
    """Whether exactly these tools served nearly the same intent before."""
    tools = set(chosen.ranked_set.tools)
    return any(
        neighbour.similarity >= KNOWN_SIMILARITY
        and neighbour.successes > 0
        and set(neighbour.tools) == tools
        for neighbour in ranking.neighbours
    )


def limit_confidence(confidence: float, ignored: Sequence[object]) -> float:
    """Return the confidence of a workflow that ignores parts of the intent: a draft's."""
    return min(confidence, MAX_PARTIAL_CONFIDENCE) if ignored else confidence


def locate_requests(
    plan: Sequence[PlannedRequest], replaced_tools: Mapping[int, int]
) -> dict[int, tuple[int, int]]:
    """Return where the intent asks for each tool: start and end of the one request it is best for.

    Args:
        plan: The planned requests.
        replaced_tools: A tool used instead of another, to that other one.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for one in plan:
        if one.best is not None and not one.is_skipped:
            span = (one.request.start, one.request.start + len(one.request.text))
            found.setdefault(one.best.pk, []).append(span)
    located = {tool: spans[0] for tool, spans in found.items() if len(spans) == 1}
    return located | {new: located[old] for new, old in replaced_tools.items() if old in located}
