"""Learn how intents are planned request by request: `python -m benchmarks.fit_plan evidence|sure`.

`evidence` prints the weights by which a tool is chosen for a request (`COSINE_WEIGHT` to
`WORD_SHARE_WEIGHT`, `assign_tools.ASKED_WEIGHTS`) and those of whether it serves it at all
(`assign_tools.COVERAGE_WEIGHTS`), learned on everyday wishes. Each half of the sets is read by an
adapter that was trained on the other half alone, since on its own wishes it is too good.

`sure`, run with these weights in place, prints the coefficients of `plan.TOOL_EVIDENCE` and
`plan.CONFIDENCE`, learned on public sets and on the same wishes. UltraTool is left out: its own
repository states no licence.

FOREGATE_DATA is the folder of the sets, see `benchmarks.fit_adapter`; vectors are cached in
FOREGATE_HOME. For each set it is told how well what the others teach does on it. Needs the extra
sentence-transformers; some fifteen minutes.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.evaluation.inputs import EncodedQuery
    from benchmarks.fit_adapter import Encoder
    from benchmarks.fit_prior.indexed import IndexedSet
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.intent.requests import StatedRequest
    from graph.suggestion.ranking.rank import Ranking
    from graph.suggestion.ranking.request_scores import RequestCandidate
    from graph.suggestion.workflow.types import SuggestionContext
    from tools.embed.embedder import Embedder, TextKind, Vectors

PUBLIC_SETS = (
    "bfcl_live",
    "bfcl_multiturn",
    "livemcpbench",
    "nestful",
    "sealtools",
    "tmdb",
    "toole",
)
EVERYDAY_PREFIX = "everyday_"
MAX_QUERIES = 300
MAX_WEIGHT = 100
"""Queries of a set count as at most so many."""
FOREIGN = 25
"""Wishes of each other set that no tool of a set serves, but by chance."""
EVIDENCE_PRECISION = 5.0
COVERAGE_PRECISION = 0.3
MIN_PLANS = 20
PRECISION = 0.1
"""Precision of the coefficient of each measure around zero: of 1, 0.3 and 0.1, the one by which
the other sets predict the plans of a set best."""
LEVEL_PRECISION = 0.3
"""Precision of each set's level around zero."""
SEED = 0

Floats = NDArray[np.float64]


def main() -> None:
    """Gather evidence, fit and print."""
    fits = {"evidence": fit_evidence, "sure": fit_confidence}
    if len(sys.argv) != 2 or sys.argv[1] not in fits:
        sys.exit(f"say what to fit: {' or '.join(fits)}")
    root = Path(os.environ.get("FOREGATE_DATA") or sys.exit("set FOREGATE_DATA to the data sets"))
    prepare()
    fits[sys.argv[1]](root)


# ---------------------------------------------------------------- gathering


@dataclass(frozen=True, kw_only=True, eq=False)
class RequestEvidence:
    """The tools that may serve one request.

    Attributes:
        asked: Measures by which one is chosen, shape (m, `len(ASKED)`).
        coverage: Measures of whether it serves the request, shape (m, `len(COVERAGE_WEIGHTS)`).
        servers: Name of the server of each.
        is_right: Whether each serves it, shape (m,); none does if nobody knows, or none can.
    """

    asked: Floats
    coverage: Floats
    servers: tuple[str, ...]
    is_right: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class WishEvidence:
    """A wish as it is planned.

    Attributes:
        steps: How many tools it needs; 0 if it is a wish of another set.
        requests: Those that are certain.
        measures: `plan.measure_plan` if it is planned.
        tool_measures: Lead and coverage of the best tool of each request that gets one.
        tools_right: Whether each of these is right.
        is_right: Whether exactly the tools that it needs are planned.
    """

    steps: int
    requests: tuple[RequestEvidence, ...]
    measures: tuple[float, float, float] | None
    tool_measures: tuple[tuple[float, float], ...]
    tools_right: tuple[bool, ...]
    is_right: bool


ASKED = ("cosine", "whole_cosine", "bm25", "word_share", "action", "server_named")


def gather(
    folder: Path, *, queries: Embedder | None = None, foreign: Sequence[str] = ()
) -> list[WishEvidence]:
    """Plan a sample of a set's queries, and wishes of others, without history.

    Args:
        folder: The set.
        queries: Embeds the wishes; None: the shipped model.
        foreign: Wishes that no tool of the set serves.
    """
    from benchmarks.fit_prior.indexed import indexed

    with indexed(folder) as one:
        context = make_context(one)
        own = [query for query in one.data.queries if query.slots]
        own = own[:: max(1, len(own) // MAX_QUERIES)]
        texts = [*(query.text for query in own), *foreign]
        needs = [[{one.keys[tool] for tool in slot} for slot in query.slots] for query in own]
        needs += [[] for _ in foreign]
        return [
            _plan_wish(intent, ranking, context, needed)
            for (intent, ranking), needed in zip(
                rank_texts(one, texts, queries or one.embedder), needs, strict=True
            )
        ]


def rank_texts(
    one: IndexedSet, texts: Sequence[str], queries: Embedder
) -> Iterator[tuple[EncodedQuery, Ranking]]:
    """Yield each text as it was read, with its ranking among the tools of a set, untaught."""
    from benchmarks.evaluation.inputs import encode_queries
    from graph.suggestion.ranking.fit import fit_ranker
    from graph.suggestion.ranking.rank import rank_tool_sets
    from graph.suggestion.ranking.tool_view import ToolView

    view = ToolView.for_team(one.index, team=None)
    ranker = fit_ranker([], view)
    for intent in encode_queries(texts, embedder=queries):
        yield intent, rank_tool_sets(intent.encoded, view, ranker)


def make_context(one: IndexedSet) -> SuggestionContext:
    """Return the tools of a set as a suggestion sees them, without history or reader."""
    from graph.suggestion.binding.tasks import WorkflowTool
    from graph.suggestion.workflow.types import SuggestionContext

    tools = {
        one.keys[tool.id]: WorkflowTool(
            pk=one.keys[tool.id],
            tool=f"{tool.server}:{tool.name}",
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
        )
        for tool in one.data.tools
    }
    return SuggestionContext(find_tool=tools.get)


def _plan_wish(
    intent: EncodedQuery, ranking: Ranking, context: SuggestionContext, needs: list[set[int]]
) -> WishEvidence:
    from graph.suggestion.workflow import plan
    from graph.suggestion.workflow.assign_tools import plan_requests

    reading = intent.reading
    certain = [
        (request, candidates)
        for request, candidates in zip(reading.requests, ranking.requests, strict=True)
        if request.is_certain and candidates
    ]
    right = needs if len(certain) == len(needs) else [set() for _ in certain]
    planned = plan_requests(reading, ranking, context)
    is_planned = plan.is_planned(ranking, planned, reading)
    used = plan.select_used(planned) if is_planned else []
    chosen = list(dict.fromkeys(one.tools[0].pk for one in used))
    return WishEvidence(
        steps=len(needs),
        requests=tuple(
            _rate_request(*one, reading, context, tools)
            for one, tools in zip(certain, right, strict=True)
        ),
        measures=plan.measure_plan(planned, ranking) if is_planned else None,
        tool_measures=tuple(plan.measure_tools([one]) for one in used),
        tools_right=tuple(any(one.tools[0].pk in slot for slot in needs) for one in used),
        is_right=_is_exact(chosen, needs),
    )


def _rate_request(
    request: StatedRequest,
    candidates: Sequence[RequestCandidate],
    reading: IntentReading,
    context: SuggestionContext,
    right: set[int],
) -> RequestEvidence:
    from graph.suggestion.workflow.assign_tools import measure_asked, measure_coverage

    found = [(one, context.find_tool(one.tool)) for one in candidates]
    tools = [tool for _, tool in found if tool is not None]
    candidates = [one for one, tool in found if tool is not None]
    asked = [measure_asked(request, tool) for tool in tools]
    text = [(one.cosine, one.whole_cosine, one.bm25, one.word_share) for one in candidates]
    coverage = [
        list(measure_coverage(one, how, reading).values())
        for one, how in zip(candidates, asked, strict=True)
    ]
    return RequestEvidence(
        asked=np.array([[*a, *b.values()] for a, b in zip(text, asked, strict=True)]),
        coverage=np.array(coverage),
        servers=tuple(tool.server for tool in tools),
        is_right=np.array([tool.pk in right for tool in tools]),
    )


def _is_exact(tools: Sequence[int], needs: Sequence[set[int]]) -> bool:
    """Whether tools serve what a wish needs, each one need, and none is left over."""
    left = list(needs)
    for tool in tools:
        need = next((one for one in left if tool in one), None)
        if need is None:
            return False
        left.remove(need)
    return not left


def gather_everyday(root: Path) -> dict[str, list[WishEvidence]]:
    """Gather the evidence of the sets of everyday wishes, each read by the others' adapter."""
    from benchmarks import fit_adapter
    from benchmarks.evaluation.dataset import load_dataset

    folders = sorted(path.parent for path in root.glob(f"{EVERYDAY_PREFIX}*/queries.jsonl"))
    wishes = {
        folder.name: [one.text for one in load_dataset(folder).queries if len(one.slots) == 1]
        for folder in folders
    }
    found = {}
    for half in (folders[::2], folders[1::2]):
        encoder = fit_adapter.Encoder()
        learned = [fit_adapter.load_set(folder) for folder in folders if folder not in half]
        fit_adapter.train(learned, encoder)
        for folder in half:
            rng = np.random.default_rng(SEED)
            foreign = [
                text
                for name, texts in wishes.items()
                if name != folder.name
                for text in rng.permutation(texts)[:FOREIGN].tolist()
            ]
            queries = AdaptedQueries(encoder)
            found[folder.name] = gather(folder, queries=queries, foreign=foreign)
            print(f"{folder.name}: {len(found[folder.name])} wishes", flush=True)
    return found


class AdaptedQueries:
    """Embeds queries by an adapter in training."""

    model = "adapted"
    dimensions = 384

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Embed queries, shape (n, d)."""
        if kind != "query":
            raise ValueError("only queries are adapted")
        return self._encoder.embed(texts)


# ---------------------------------------------------------------- evidence


def fit_evidence(root: Path) -> None:
    """Fit and print the weights by which tools are chosen, and serve requests."""
    sets = gather_everyday(root)
    report_evidence(sets)


def report_evidence(sets: Mapping[str, list[WishEvidence]]) -> None:
    """Print how well weights of the other sets choose tools for each, and those of all."""
    from graph.suggestion.workflow.assign_tools import COVERAGE_WEIGHTS

    for name in sets:
        weights = _fit_asked([wishes for other, wishes in sets.items() if other != name])
        rows, right = _stack_best([sets[name]], weights)
        coverage = _fit_coverage([one for other, one in sets.items() if other != name], weights)
        own = [one for one in sets[name] if one.steps == 1 and len(one.requests) == 1]
        first = np.mean([_is_best_right(one.requests[0], weights) for one in own])
        chances = predict(coverage, rows)
        print(
            f"{name}: first for {first:.3f} of {len(own)} wishes of one step; "
            f"AUROC of a right tool {_auroc(chances[right > 0], chances[right == 0]):.3f}, "
            f"right {right.mean():.3f}, predicted {chances.mean():.3f}"
        )
    every = list(sets.values())
    weights = _fit_asked(every)
    named = zip((*ASKED, "near server"), weights.round(2).tolist(), strict=True)
    print("asked for:", dict(named))
    found = _fit_coverage(every, weights).round(3).tolist()
    print("serves:", dict(zip(COVERAGE_WEIGHTS, found, strict=True)))


def _fit_asked(sets: Sequence[list[WishEvidence]]) -> Floats:
    """Fit a conditional logit of the tool of each request; the last weight is of a near server."""
    from graph.suggestion.ranking.choice import fit_choice

    groups, weights = [], []
    for wishes in sets:
        own = list(_iterate_choices(wishes))
        groups += own
        weights += [min(1.0, MAX_WEIGHT / len(own))] * len(own)
    scale = np.concatenate([rows for rows, _ in groups]).std(axis=0) + 1e-2
    found = fit_choice(
        groups,
        prior=np.zeros(len(scale)),
        scale=scale,
        l2=EVIDENCE_PRECISION,
        weights=weights,
    )
    return np.asarray(found / scale)


def _iterate_choices(wishes: Sequence[WishEvidence]) -> Iterator[tuple[Floats, Floats]]:
    for wish in wishes:
        before = ""
        for request in wish.requests:
            near = np.array([bool(before) and name == before for name in request.servers])
            if request.is_right.any():
                right = request.is_right.astype(np.float64)
                yield np.column_stack((request.asked, near)), right / right.sum()
                before = request.servers[int(right.argmax())]


def _score(request: RequestEvidence, weights: Floats) -> Floats:
    return np.asarray(request.asked @ weights[:-1])


def _is_best_right(request: RequestEvidence, weights: Floats) -> bool:
    return bool(request.is_right[_score(request, weights).argmax()])


def _stack_best(sets: Sequence[list[WishEvidence]], weights: Floats) -> tuple[Floats, Floats]:
    """Return the coverage measures of the best tool of each wish of one request, and its truth."""
    rows, right = [], []
    for wishes in sets:
        for wish in wishes:
            if len(wish.requests) == 1 and wish.steps < 2:
                (request,) = wish.requests
                rows.append(request.coverage[_score(request, weights).argmax()])
                right.append(_is_best_right(request, weights))
    return np.array(rows), np.array(right, dtype=np.float64)


def _fit_coverage(sets: Sequence[list[WishEvidence]], weights: Floats) -> Floats:
    from graph.suggestion.ranking.logistic import fit_logistic

    stacked = [_stack_best([wishes], weights) for wishes in sets]
    return fit_logistic(
        np.concatenate([rows for rows, _ in stacked]),
        np.concatenate([right for _, right in stacked]),
        prior=np.zeros(stacked[0][0].shape[1]),
        l2=COVERAGE_PRECISION,
        weights=np.concatenate(
            [np.full(len(right), min(1.0, MAX_WEIGHT / len(right))) for _, right in stacked]
        ),
    )


def _auroc(above: Floats, below: Floats) -> float:
    pairs = above[:, None] - below
    return float(((pairs > 0) + 0.5 * (pairs == 0)).mean())


# ---------------------------------------------------------------- confidence


def fit_confidence(root: Path) -> None:
    """Fit and print how sure a tool of a request, and a whole plan, is to be right."""
    sets = {name: gather(root / name) for name in PUBLIC_SETS} | gather_everyday(root)
    report_confidence(sets)


def report_confidence(sets: Mapping[str, list[WishEvidence]]) -> None:
    """Print how far plans' chances by the other sets are off on each, and the coefficients."""
    from graph.suggestion.workflow.plan import CONFIDENCE, TOOL_EVIDENCE

    plans = {name: _stack_plans(wishes) for name, wishes in sets.items()}
    tools = {name: _stack_tools(wishes) for name, wishes in sets.items()}
    for name, (rows, right) in plans.items():
        others = [one for other, one in plans.items() if other != name]
        chances = predict(fit(others), rows)
        print(
            f"{name}: {len(right)} planned, {right.mean():.3f} right, "
            f"{chances.mean():.3f} predicted by the others"
        )
    for what, names, measured in (("tool", TOOL_EVIDENCE, tools), ("plan", CONFIDENCE, plans)):
        coefficients = fit(list(measured.values())).round(2)
        print(f"{what}:", dict(zip(names, coefficients.tolist(), strict=True)))


def _stack_plans(wishes: Sequence[WishEvidence]) -> tuple[Floats, Floats]:
    own = [one for one in wishes if one.steps and one.measures is not None]
    rows = np.array([one.measures for one in own], dtype=np.float64).reshape(-1, 3)
    return rows, np.array([one.is_right for one in own], dtype=np.float64)


def _stack_tools(wishes: Sequence[WishEvidence]) -> tuple[Floats, Floats]:
    rows = [row for one in wishes for row in one.tool_measures]
    right = [right for one in wishes for right in one.tools_right]
    return np.array(rows, dtype=np.float64).reshape(-1, 2), np.array(right, dtype=np.float64)


def fit(sets: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Fit the coefficients of the measures, and a level in the middle of those of the sets.

    How often plans are right depends on the set (its tasks may always need several tools), so each
    has a level of its own: otherwise the difference between two sets would pass for the effect of
    a measure. No set counts more than `MAX_WEIGHT` plans, and sets with few plans are left out.
    """
    from graph.suggestion.ranking.logistic import fit_logistic

    sets = [one for one in sets if len(one[0]) >= MIN_PLANS]
    sizes = [len(rows) for rows, _ in sets]
    scale = (PRECISION / LEVEL_PRECISION) ** 0.5
    levels = np.repeat(np.eye(len(sets)) * scale, sizes, axis=0)
    rows = np.column_stack((np.concatenate([rows for rows, _ in sets]), levels))
    found = fit_logistic(
        rows,
        np.concatenate([right for _, right in sets]),
        prior=np.zeros(rows.shape[1]),
        l2=PRECISION,
        weights=np.repeat([min(1.0, MAX_WEIGHT / size) for size in sizes], sizes),
    )
    return np.append(found[: -len(sets)], scale * found[-len(sets) :].mean())


def predict(coefficients: Floats, rows: Floats) -> Floats:
    """Return the probability of each row; a level is added if its coefficient has no measure."""
    if rows.shape[1] < len(coefficients):
        rows = np.column_stack((rows, np.ones(len(rows))))
    return np.asarray(1 / (1 + np.exp(-(rows @ coefficients))))


def prepare() -> None:
    """Set Django up, with its tables."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django

    django.setup()
    from django.conf import settings

    from gateway_project.foundation import telemetry
    from gateway_project.foundation.postgres import migrate

    telemetry.configure_logging(settings.FOREGATE, process="fit", quiet=True)
    migrate.migrate_once()


if __name__ == "__main__":
    main()
