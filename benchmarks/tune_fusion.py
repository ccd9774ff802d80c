"""Reproduce the default fusion weights by cross-validation over public data sets.

    FOREGATE_DATA=FOLDER python -m benchmarks.tune_fusion [--limit N]

FOLDER holds the data sets, one folder each. Candidates come from the real search, on tables of
their own. Queries that are paraphrases of one gold stay on one side of every split.
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDS = 5
RATIOS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06, 0.1)
DEPTH = 10
NEWTON_STEPS = 25
RIDGE = 1e-3

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Candidates of one query.

    Attributes:
        fold: Side of the splits that its group stands on.
        dense: Cosines.
        lexical: BM25.
        ids: The data set's ids of the candidates.
        slots: The gold.
    """

    fold: int
    dense: Floats
    lexical: Floats
    ids: tuple[str, ...]
    slots: tuple[frozenset[str], ...]

    def ndcg(self, ratio: float) -> float:
        """NDCG@10 of the ranking by cosine + ratio x BM25."""
        from gateway_project.evaluation import metrics

        order = np.argsort(-(self.dense + ratio * self.lexical), kind="stable")[:DEPTH]
        gained = metrics.gains([self.ids[index] for index in order], self.slots)
        return metrics.ndcg(gained, needed=len(self.slots), k=DEPTH)


def gather(folder: Path, *, limit: int) -> list[Judged]:
    """Search for a sample of a set's queries and keep what speaks for each candidate."""
    from django.conf import settings

    from gateway_project.evaluation import dataset, kept_vectors, run
    from gateway_project.evaluation.scratch import scratch_schema
    from tools import ids, query_text
    from tools.embed.load import embedder_for
    from tools.embed_catalogue import embed_missing
    from tools.search import POOL
    from tools.store import search
    from tools.store.search import Scope

    data = dataset.load(folder)
    step = max(1, len(data.queries) // limit)
    judged = []
    config = settings.FOREGATE
    with kept_vectors.open_kept(config.home / "cache") as store, scratch_schema():
        embedder = kept_vectors.KeptEmbedder(embedder_for(config), store)
        names = run.store_tools(data.tools)
        embed_missing(embedder)
        for query in data.queries[::step]:
            read = query_text.read(query.text)
            plan = search.plan(read.words, model=embedder.model, scope=Scope())
            found = search.candidates(
                plan,
                vectors=embedder.embed([read.text, *read.sentences], kind="query"),
                model=embedder.model,
                scope=Scope(),
                limit=POOL,
            )
            if query.slots:
                judged.append(
                    Judged(
                        fold=zlib.crc32(query.group.encode()) % FOLDS,
                        dense=np.array([item.similarity or 0.0 for item in found]),
                        lexical=np.array([item.bm25 for item in found]),
                        ids=tuple(names[ids.join(item.server, item.name)] for item in found),
                        slots=query.slots,
                    )
                )
    return judged


def best_ratio(sets: list[list[Judged]]) -> float:
    """Ratio with the highest nDCG@10, each set counting alike."""
    means = [
        np.mean([np.mean([q.ndcg(ratio) for q in rows]) for rows in sets]) for ratio in RATIOS
    ]
    return RATIOS[int(np.argmax(means))]


def calibrate(sets: list[list[Judged]], ratio: float) -> tuple[float, float]:
    """Fit scale and bias of the log-odds that a candidate is gold, each set counting alike."""
    values, gold, weight = [], [], []
    for rows in sets:
        total = sum(len(row.ids) for row in rows)
        for row in rows:
            wanted = frozenset().union(*row.slots)
            values.append(row.dense + ratio * row.lexical)
            gold.append(np.array([float(name in wanted) for name in row.ids]))
            weight.append(np.full(len(row.ids), 1 / total))
    x, y, w = np.concatenate(values), np.concatenate(gold), np.concatenate(weight)
    design = np.stack([x, np.ones_like(x)], axis=1)
    beta = np.zeros(2)
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-design @ beta))
        gradient = design.T @ (w * (y - p)) - RIDGE * beta * [1, 0]
        hessian = (design * (w * p * (1 - p))[:, None]).T @ design + RIDGE * np.diag([1, 0])
        beta = beta + np.linalg.solve(hessian, gradient)
    return float(beta[0]), float(beta[1])


def main() -> None:
    """Gather, cross-validate, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=int, default=400, help="queries of each set, about")
    arguments = parser.parse_args()
    root = os.environ.get("FOREGATE_DATA")
    if not root:
        sys.exit("set FOREGATE_DATA to the folder of the data sets")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django

    django.setup()
    from django.conf import settings

    from gateway_project.foundation import telemetry
    from gateway_project.foundation.postgres import migrate

    telemetry.configure(settings.FOREGATE, process="tune", quiet=True)
    migrate.migrate_once()
    folders = sorted(path.parent for path in Path(root).glob("*/queries.jsonl"))
    sets = {folder.name: gather(folder, limit=arguments.limit) for folder in folders}
    report(sets)


def report(sets: dict[str, list[Judged]]) -> None:
    """Print held-out figures and the weights fitted on everything."""
    held_out: dict[str, list[float]] = {name: [] for name in sets}
    for fold in range(FOLDS):
        train = [[q for q in rows if q.fold != fold] for rows in sets.values()]
        ratio = best_ratio(train)
        print(f"fold {fold}: best ratio {ratio}")
        for name, rows in sets.items():
            held_out[name] += [q.ndcg(ratio) for q in rows if q.fold == fold]
    for name, rows in sets.items():
        curve = " ".join(f"{100 * np.mean([q.ndcg(r) for q in rows]):5.1f}" for r in RATIOS)
        print(f"{name:16s} held out {100 * np.mean(held_out[name]):5.1f}   by ratio {curve}")
    ratio = best_ratio(list(sets.values()))
    scale, bias = calibrate(list(sets.values()), ratio)
    print(f"Weights(dense={scale:.2f}, lexical={scale * ratio:.3f}, bias={bias:.2f})")


if __name__ == "__main__":
    main()
