"""Find the tools that may serve each request of an intent: by meaning, words, action, reading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.binding.values import ValueKind, extract_values
from graph.suggestion.workflow.request_fit import measure_action, measure_reading
from tools.name_words import split_name_words

if TYPE_CHECKING:
    from graph.suggestion.binding.tasks import WorkflowTool
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.intent.requests import StatedRequest
    from graph.suggestion.ranking.rank import Ranking
    from graph.suggestion.ranking.request_scores import RequestCandidate
    from graph.suggestion.workflow.types import SuggestionContext
    from tools.embed.reader import ReadStatements

ASKED_WEIGHTS: Final[Mapping[str, float]] = {"action": 0.48, "server_named": 1.8}
"""Log-odds by which a tool is likelier than another, per unit of these measures, beside those of
`request_scores`. Both and `COVERAGE_WEIGHTS` are printed by `python -m benchmarks.fit_plan`."""
NEAR_SERVER_BONUS: Final = 2.5
"""Of tools of one server for neighbouring requests: steps of one wish tend to concern one product.
Beside weights a third smaller, 2 was the best on everyday wishes of 0, 1, 1.5, 2, 3 and 4."""
SAME_OBJECT_BONUS: Final = 1.5
"""Further bonus if the later request refers back ("close it"), the tool does what is asked for,
and the request leads nowhere else: it names no server, and no address, path or the like."""
REPETITION_COST: Final = 2.0
"""Of one tool for neighbouring requests that ask for different actions."""
FURTHER_OBJECT_LEAD: Final = 1.0
"""Lead over the second best from which a further object of a request gets a tool of its own."""

COVERAGE_WEIGHTS: Final[Mapping[str, float]] = {
    "cosine": 4.94,
    "z_score": 0.588,
    "bm25": 0.057,
    "word_share": 0.597,
    "server_named": 1.018,
    "length": 0.306,
    "intercept": -5.36,
}
"""Coefficients of the log-odds that the best tool of a request serves it. They were fitted beside
one for kinds of values (0.291), which was left out without a new fit: it told served wishes from
others by half a point of AUROC."""
READING_WEIGHTS: Final[Mapping[str, float]] = {
    "taken": 3.57,
    "optional": 1.15,
    "missing": -0.41,
    "asked": -0.09,
}
"""Log-odds, per unit of `request_fit.Reading`, by which a tool is likelier than a rival, as
`python -m benchmarks.fit_rivals` prints them."""
MAX_RIVALS: Final = 4
MAX_RIVAL_GAP: Final = 2.0
"""Log-odds that a tool may be behind the best one and still be read for."""
MAX_COUNTED_BM25: Final = 40.0
SHORT_CHARS: Final = 60
LONG_CHARS: Final = 120
"""Length counts from `SHORT_CHARS`, 0, to `LONG_CHARS`, 1: long wishes have lower cosines."""
_BACK_REFERENCE: Final = re.compile(
    r"\b(?:it|its|them|there|that|this|those|these|results?)\b", re.IGNORECASE
)

_PLACES: Final = frozenset({ValueKind.URL, ValueKind.EMAIL, ValueKind.PATH, ValueKind.IP})
"""Kinds of values by which a request leads somewhere."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredTool:
    """A tool that may serve a request, with its scores.

    Attributes:
        tool: The tool.
        score: Evidence that the request asks for it rather than for another, in log-odds.
        coverage: Evidence that it serves the request at all, in log-odds.
        action: Agreement of the request's action with its name; see `measure_action`.
    """

    tool: WorkflowTool
    score: float
    coverage: float
    action: float

    @property
    def pk(self) -> int:
        """Primary key of the tool."""
        return self.tool.pk


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedRequest:
    """A request with the tools that may serve it.

    Attributes:
        request: A part of the intent.
        tools: Callable tools, the best first; may be empty.
        is_skipped: Whether it is a further object that no tool stands out for.
    """

    request: StatedRequest
    tools: tuple[ScoredTool, ...]
    is_skipped: bool = False

    @property
    def best(self) -> ScoredTool | None:
        """The best tool; None if there is none."""
        return self.tools[0] if self.tools else None


def plan_requests(
    reading: IntentReading, ranking: Ranking, context: SuggestionContext
) -> tuple[PlannedRequest, ...]:
    """Find the best tools for each request, in the order of the text; empty if none was scored."""
    if len(ranking.requests) != len(reading.requests):
        return ()
    scored = [
        _read_rivals(request, _score_tools(request, candidates, reading, context), context.read)
        for request, candidates in zip(reading.requests, ranking.requests, strict=True)
    ]
    certain = [at for at, one in enumerate(reading.requests) if one.is_certain and scored[at]]
    linked = _link_requests(
        [reading.requests[at] for at in certain], [scored[at] for at in certain]
    )
    for at, tools in zip(certain, linked, strict=True):
        scored[at] = tools
    return tuple(
        PlannedRequest(
            request=request,
            tools=tools,
            is_skipped=not request.is_certain and _measure_lead(tools) < FURTHER_OBJECT_LEAD,
        )
        for request, tools in zip(reading.requests, scored, strict=True)
    )


def _measure_lead(tools: Sequence[ScoredTool]) -> float:
    """Return how far the best tool is ahead of the second best, in log-odds."""
    return tools[0].score - tools[1].score if len(tools) > 1 else np.inf


def _score_tools(
    request: StatedRequest,
    candidates: Sequence[RequestCandidate],
    reading: IntentReading,
    context: SuggestionContext,
) -> tuple[ScoredTool, ...]:
    """Return the callable tools by what a request says by itself, the best first."""
    scored = []
    for candidate in candidates:
        tool = context.find_tool(candidate.tool)
        if tool is None or not tool.is_usable:
            continue
        asked = measure_asked(request, tool)
        evidence = measure_coverage(candidate, asked, reading)
        scored.append(
            ScoredTool(
                tool=tool,
                score=candidate.score + _sum_weighted(ASKED_WEIGHTS, asked),
                coverage=_sum_weighted(COVERAGE_WEIGHTS, evidence),
                action=asked["action"],
            )
        )
    return _sort_best_first(scored)


def _read_rivals(
    request: StatedRequest, tools: tuple[ScoredTool, ...], read: ReadStatements | None
) -> tuple[ScoredTool, ...]:
    """Return tools, the best first, in the light of what the request states for each.

    Only those near the best one are read for. What is read never makes a tool that may destroy
    something overtake one that does not.
    """
    rivals = select_rivals(tools)
    if read is None or len(rivals) < 2:
        return tools
    found = [
        _sum_weighted(READING_WEIGHTS, measure_reading(request, one.tool, read)._asdict())
        for one in rivals
    ]
    more = dict.fromkeys((one.pk for one in tools), 0.0)
    for one, evidence in zip(rivals, found, strict=True):
        is_graver = one.tool.is_destructive and not tools[0].tool.is_destructive
        more[one.pk] = min(evidence - found[0], 0.0) if is_graver else evidence - found[0]
    return _sort_best_first(replace(one, score=one.score + more[one.pk]) for one in tools)


def select_rivals(tools: Sequence[ScoredTool]) -> list[ScoredTool]:
    """Return those of some tools, the best first, that are near the first one."""
    return [one for one in tools[:MAX_RIVALS] if one.score >= tools[0].score - MAX_RIVAL_GAP]


def _sort_best_first(tools: Iterable[ScoredTool]) -> tuple[ScoredTool, ...]:
    return tuple(sorted(tools, key=lambda one: -one.score))


def _sum_weighted(weights: Mapping[str, float], measures: Mapping[str, float]) -> float:
    return sum(weight * measures[name] for name, weight in weights.items())


def measure_asked(request: StatedRequest, tool: WorkflowTool) -> dict[str, float]:
    """Return how far a request asks for a tool's action and server, by `ASKED_WEIGHTS`."""
    return {
        "action": measure_action(request, tool.name),
        "server_named": float(_is_named(tool.server, request.text)),
    }


def measure_coverage(
    candidate: RequestCandidate, asked: Mapping[str, float], reading: IntentReading
) -> dict[str, float]:
    """Return the measures of whether a tool serves a request at all, by `COVERAGE_WEIGHTS`."""
    length = (len(reading.text) - SHORT_CHARS) / (LONG_CHARS - SHORT_CHARS)
    return {
        "cosine": (2 * candidate.cosine + candidate.whole_cosine) / 3,
        "z_score": candidate.z_score,
        "bm25": min(candidate.bm25, MAX_COUNTED_BM25),
        "word_share": candidate.word_share,
        "server_named": asked["server_named"],
        "length": min(max(length, 0.0), 1.0),
        "intercept": 1.0,
    }


@lru_cache(maxsize=4_096)
def _is_named(server: str, text: str) -> bool:
    """Whether a text mentions all words of a server's name."""
    words = split_name_words(server)
    return bool(words) and set(words) <= set(split_name_words(text))


def _link_requests(
    requests: Sequence[StatedRequest], scored: Sequence[tuple[ScoredTool, ...]]
) -> list[tuple[ScoredTool, ...]]:
    """Return the tools of each request, the best first, in the light of its neighbours' tools.

    The tools of all requests are chosen together (Viterbi): the sum of their scores and of what
    neighbours add to them is the highest.
    """
    if len(requests) < 2:
        return list(scored)
    links = [
        _compare_neighbours(requests[at], scored[at], requests[at + 1], scored[at + 1])
        for at in range(len(requests) - 1)
    ]
    chosen = _choose_together(
        [np.array([tool.score for tool in tools]) for tools in scored], links
    )
    found = []
    for at, tools in enumerate(scored):
        bonus, means_object = np.zeros(len(tools)), False
        before = scored[at - 1][chosen[at - 1]] if at else None
        if at:
            bonus += links[at - 1][chosen[at - 1]]
            means_object = _means_object(requests[at], tools)
        if at < len(links):
            bonus += links[at][:, chosen[at + 1]]
        found.append(
            _sort_best_first(
                replace(
                    tool,
                    score=tool.score + float(more),
                    coverage=tool.coverage
                    + _favour_object(before, tool, means_object=means_object),
                )
                for tool, more in zip(tools, bonus, strict=True)
            )
        )
    return found


def _compare_neighbours(
    before: StatedRequest,
    earlier: Sequence[ScoredTool],
    after: StatedRequest,
    later: Sequence[ScoredTool],
) -> Floats:
    """Return what each pair of tools adds to the scores, shape (len(earlier), len(later))."""
    repeats = REPETITION_COST if before.action != after.action else 0.0
    means_object = _means_object(after, later)
    return np.array(
        [
            [
                NEAR_SERVER_BONUS * (one.tool.server == other.tool.server)
                + _favour_object(one, other, means_object=means_object)
                - repeats * (one.pk == other.pk)
                for other in later
            ]
            for one in earlier
        ]
    )


def _favour_object(before: ScoredTool | None, after: ScoredTool, *, means_object: bool) -> float:
    """Return the bonus of a tool that acts on what the tool before it was about."""
    if before is None or not means_object:
        return 0.0
    is_about = before.tool.server == after.tool.server and after.action > 0
    return SAME_OBJECT_BONUS if is_about else 0.0


def _means_object(request: StatedRequest, tools: Sequence[ScoredTool]) -> bool:
    """Whether a request refers back and leads nowhere else."""
    return (
        _BACK_REFERENCE.search(request.english) is not None
        and not any(one.kind in _PLACES for one in extract_values(request.text))
        and not any(_is_named(one.tool.server, request.text) for one in tools)
    )


def _choose_together(scores: Sequence[Floats], links: Sequence[Floats]) -> list[int]:
    """Return the choice of one alternative at each place that has the highest sum.

    Args:
        scores: Of the alternatives at each place.
        links: What each pair of alternatives at neighbouring places adds.
    """
    best, origins = scores[0], []
    for link, own in zip(links, scores[1:], strict=True):
        sums = best[:, None] + link
        origins.append(sums.argmax(axis=0))
        best = own + sums.max(axis=0)
    choice = [int(best.argmax())]
    for origin in reversed(origins):
        choice.append(int(origin[choice[-1]]))
    return choice[::-1]
