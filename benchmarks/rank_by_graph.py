"""Tests by cross-validation whether the graph helps to rank the intended tool first.

    FOREGATE_DATA=FOLDER python -m benchmarks.rank_by_graph

FOLDER contains `toollinkos`, whose gold is a tool with everything that it requires. The ten hits
of a query are ranked by search's own sum plus one more piece of evidence, weighted by the best fit
on the other folds (multinomial logit); queries of one group stay in one fold. Each hit is then
followed by the tools it requires, as in search_tools, and the list is evaluated.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.judged import FOLDS, RATIO, Floats, JudgedQuery, judge_all_sets

DEPTH = 10
STEPS = 200
RATE = 3.0
RIDGE = 1e-3
FIGURES = ("ndcg@10", "complete@10", "ap@10")

Needs = Mapping[str, Sequence[str]]
"""Direct and indirect requirements of each tool, nearest first."""
Evidence = Callable[[JudgedQuery, Sequence[int], Needs, Mapping[str, int]], Floats]


def main() -> None:
    """Print the held-out figures with each piece of evidence, and its weight."""
    queries = judge_all_sets(limit=10_000, only="toollinkos")["toollinkos"]
    needs, dependents = _graph(Path(os.environ["FOREGATE_DATA"]) / "toollinkos")
    print(f"{'beside the sum':34s} first right  " + "  ".join(FIGURES) + "  weight")
    for name, evidence in EVIDENCE.items():
        rows = [_features(query, evidence, needs, dependents) for query in queries]
        ranked = _rank_held_out(queries, rows)
        first = np.mean([_is_main(query, order[0], needs) for query, order in ranked])
        figures = [_figures(query, order, needs) for query, order in ranked]
        means = "  ".join(f"{100 * value:9.2f}" for value in np.mean(figures, axis=0))
        weights = _fit([row for row in rows if row[2] is not None])
        print(f"{name:34s} {100 * first:10.1f}  {means}  {weights[1] / weights[0]:+.3f}")


def _graph(folder: Path) -> tuple[Needs, Mapping[str, int]]:
    from benchmarks.evaluation import dataset
    from graph.enhance.required import collect_required
    from graph.relations import Relation, RelationKind
    from graph.topology import Topology, accept_every_tool

    data = dataset.load_dataset(folder)
    keys = {tool.id: number for number, tool in enumerate(data.tools)}
    names = list(keys)
    topology = Topology(
        Relation(keys[stated.source], keys[stated.target], stated.kind, 1.0)
        for stated in data.relations
    )
    needs = {
        name: [
            names[k]
            for k in collect_required(
                topology, key, usable=accept_every_tool, satisfied=()
            ).required_by
        ]
        for name, key in keys.items()
    }
    dependents = {
        name: sum(1 for _ in topology.incoming_relations(key, RelationKind.DEPENDS_ON))
        for name, key in keys.items()
    }
    return needs, dependents


def _sum(query: JudgedQuery) -> Floats:
    return query.dense + RATIO * query.lexical


def _nothing(_query: JudgedQuery, best: Sequence[int], *_: object) -> Floats:
    return np.zeros(len(best))


def _is_required(query: JudgedQuery, best: Sequence[int], needs: Needs, *_: object) -> Floats:
    names = [query.ids[at] for at in best]
    worth = dict(zip(names, _sum(query)[list(best)], strict=True))
    return np.array([max((worth[o] for o in names if n in needs[o]), default=0.0) for n in names])


def _requires_hits(query: JudgedQuery, best: Sequence[int], needs: Needs, *_: object) -> Floats:
    names = {query.ids[at] for at in best}
    return np.array([float(bool(names & set(needs[query.ids[at]]))) for at in best])


def _is_general(
    query: JudgedQuery, best: Sequence[int], _needs: Needs, dependents: Mapping[str, int]
) -> Floats:
    return np.array([math.log1p(dependents[query.ids[at]]) for at in best])


def _needs_fit(
    query: JudgedQuery, best: Sequence[int], needs: Needs, dependents: Mapping[str, int]
) -> Floats:
    worth = dict(zip(query.ids, _sum(query), strict=True))
    rarity = {name: 1.0 / (1.0 + dependents[name]) for name in worth}
    return np.array(
        [
            max((worth[n] * rarity[n] for n in needs[query.ids[at]] if n in worth), default=0.0)
            for at in best
        ]
    )


def _size(query: JudgedQuery, best: Sequence[int], needs: Needs, *_: object) -> Floats:
    return np.array([math.log1p(len(needs[query.ids[at]])) for at in best])


def _known(query: JudgedQuery, best: Sequence[int], needs: Needs, *_: object) -> Floats:
    """Return perfect evidence, as an upper bound."""
    return np.array([float(_is_main(query, query.ids[at], needs)) for at in best])


EVIDENCE: Mapping[str, Evidence] = {
    "nothing": _nothing,
    "a better hit requires it": _is_required,
    "it requires other hits": _requires_hits,
    "how many tools require it": _is_general,
    "what it requires fits the query": _needs_fit,
    "how much it requires": _size,
    "knowing which one is meant": _known,
}

Row = tuple[list[int], Floats, int | None]


def _features(
    query: JudgedQuery, evidence: Evidence, needs: Needs, dependents: Mapping[str, int]
) -> Row:
    """Return the best hits, the evidence for each, and the rank of the intended one."""
    worth = _sum(query)
    best = np.argsort(-worth, kind="stable")[:DEPTH].tolist()
    values = np.stack([worth[best], evidence(query, best, needs, dependents)], axis=1)
    meant = [place for place, at in enumerate(best) if _is_main(query, query.ids[at], needs)]
    return best, values, meant[0] if meant else None


def _is_main(query: JudgedQuery, name: str, needs: Needs) -> bool:
    """Whether a tool is the intended one: it is in the gold, and requires all the rest of it."""
    wanted = frozenset().union(*query.slots)
    return name in wanted and wanted <= {name, *needs[name]}


def _rank_held_out(
    queries: Sequence[JudgedQuery], rows: Sequence[Row]
) -> list[tuple[JudgedQuery, list[str]]]:
    ranked = []
    for fold in range(FOLDS):
        known = [r for q, r in zip(queries, rows, strict=True) if q.fold != fold]
        weights = _fit([row for row in known if row[2] is not None])
        for query, (best, values, _) in zip(queries, rows, strict=True):
            if query.fold == fold:
                order = np.argsort(-(values @ weights), kind="stable")
                ranked.append((query, [query.ids[best[place]] for place in order]))
    return ranked


def _fit(rows: Sequence[Row]) -> Floats:
    """Fit a multinomial logit by gradient ascent; the hits of a query are the choices."""
    weights = np.array([10.0, 0.0])
    for _ in range(STEPS):
        slope = -RIDGE * weights
        for _, values, meant in rows:
            odds = values @ weights
            chance = np.exp(odds - odds.max())
            slope += (values[meant] - (chance / chance.sum()) @ values) / len(rows)
        weights = weights + RATE * slope
    return weights


def _figures(query: JudgedQuery, order: Sequence[str], needs: Needs) -> list[float]:
    from benchmarks.evaluation import metrics

    shown = list(dict.fromkeys(tool for name in order for tool in (name, *needs[name])))
    gained, needed = metrics.compute_gains(shown, query.slots), len(query.slots)
    return [
        metrics.ndcg_at(gained, needed=needed, k=DEPTH),
        metrics.completeness_at(gained, needed=needed, k=DEPTH),
        metrics.average_precision_at(gained, needed=needed, k=DEPTH),
    ]


if __name__ == "__main__":
    main()
