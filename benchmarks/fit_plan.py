"""Learn how often a plan of requests is right: `python -m benchmarks.fit_plan`.

Prints the coefficients of `graph.suggestion.workflow.plan.CONFIDENCE`, and for each set how far
those learned on the others are off on it. FOREGATE_DATA is the folder of the sets; vectors are
cached in FOREGATE_HOME. UltraTool is left out: its own repository states no licence.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway_project.evaluation.dataset import DatasetQuery

SETS = ("bfcl_live", "bfcl_multiturn", "livemcpbench", "nestful", "sealtools", "tmdb", "toole")
MAX_QUERIES = 300
MAX_WEIGHT = 100
MIN_PLANS = 20
PRECISION = 0.1
"""Precision of the coefficient of each measure around zero: of 1, 0.3 and 0.1, the one by which
the other sets predict the plans of a set best."""
LEVEL_PRECISION = 0.3
"""Precision of each set's level around zero."""

Floats = NDArray[np.float64]


def main() -> None:
    """Measure the plans of each set, fit the coefficients and print them."""
    root = os.environ.get("FOREGATE_DATA") or sys.exit("set FOREGATE_DATA to the data sets")
    _prepare()
    from graph.suggestion.workflow.plan import CONFIDENCE

    measured = {name: measure_set(Path(root) / name) for name in SETS}
    for name, (rows, right) in measured.items():
        others = [one for other, one in measured.items() if other != name]
        chances = predict(fit(others), rows)
        print(
            f"{name}: {len(right)} planned, {right.mean():.3f} right, "
            f"{chances.mean():.3f} predicted by the others"
        )
    coefficients = fit(list(measured.values())).round(2)
    print(dict(zip(CONFIDENCE, coefficients.tolist(), strict=True)))


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
    """Return the probability that each plan is right."""
    odds = np.column_stack((rows, np.ones(len(rows)))) @ coefficients
    return np.asarray(1 / (1 + np.exp(-odds)))


def measure_set(folder: Path) -> tuple[Floats, Floats]:
    """Plan a sample of a set's queries; return `measure_plan` of each, and whether it is right."""
    from benchmarks.fit_prior.indexed import indexed
    from gateway_project.evaluation.inputs import encode_queries
    from graph.suggestion.ranking.fit import fit_ranker
    from graph.suggestion.ranking.rank import rank_tool_sets
    from graph.suggestion.ranking.tool_view import ToolView
    from graph.suggestion.workflow import plan
    from graph.suggestion.workflow.types import SuggestionContext, SuggestTool

    rows, right = [], []
    with indexed(folder) as one:
        names = {pk: name for name, pk in one.keys.items()}
        tools = {
            one.keys[tool.id]: SuggestTool(
                pk=one.keys[tool.id],
                tool=f"{tool.server}:{tool.name}",
                name=tool.name,
                input_schema=tool.input_schema,
            )
            for tool in one.data.tools
        }
        context = SuggestionContext(find_tool=tools.get)
        view = ToolView.for_team(one.index, team=None)
        ranker = fit_ranker([], view)
        queries = one.data.queries[:: max(1, len(one.data.queries) // MAX_QUERIES)]
        encoded = encode_queries([query.text for query in queries], embedder=one.embedder)
        for query, intent in zip(queries, encoded, strict=True):
            ranking = rank_tool_sets(intent.encoded, view, ranker)
            planned = plan.plan_requests(intent.reading, ranking, context)
            chosen = plan.apply_plan(ranking, planned, intent.reading).best
            if chosen is None or chosen is ranking.best or not query.slots:
                continue
            rows.append(plan.measure_plan(planned, ranking))
            right.append(is_exact([names[pk] for pk in chosen.tools], query))
    return np.array(rows, dtype=np.float64).reshape(-1, 3), np.array(right, dtype=np.float64)


def is_exact(tools: list[str], query: DatasetQuery) -> bool:
    """Whether tools serve what a query needs, each one slot, and none is left over."""
    slots = list(dict.fromkeys(query.slots))
    for tool in tools:
        slot = next((one for one in slots if tool in one), None)
        if slot is None:
            return False
        slots.remove(slot)
    return not slots


def _prepare() -> None:
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
