"""Fit the estimate of whether any tool fits a query: `python -m benchmarks.fit_closeness`.

Each catalogue is asked queries of its own set, which it has tools for, and queries of the other
sets, which it has none for. FOREGATE_DATA names the folder of the data sets. Prints the weights,
and how well those fitted on the other sets tell the two apart.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.scratch_home import scratch_home

SETS: Final = (
    "livemcpbench",
    "tmdb",
    "bfcl_multiturn",
    "nestful",
    "ultratool",
    "toollinkos",
    "bfcl_live",
    "toole",
)
OWN: Final = 60
"""Queries of its own that each catalogue is asked."""
FOREIGN: Final = 12
"""Queries of each other set that it is asked."""
WARNED_SHARE: Final = 0.05
"""Share of the queries that a tool fits below the threshold."""
SEED: Final = 5
PENALTY: Final = 1.0
FEATURES: Final = ("cosine", "BM25")

Rows = NDArray[np.float64]


def main() -> None:
    """Gather the evidence, fit, and print."""
    root = Path(os.environ.get("FOREGATE_DATA", ""))
    missing = [name for name in SETS if not (root / name / "queries.jsonl").is_file()]
    if missing:
        sys.exit(f"set FOREGATE_DATA to the folder of the data sets: {', '.join(missing)} missing")
    with scratch_home():
        import django

        django.setup()
        from gateway_project.foundation.postgres import migrate

        migrate.migrate_once()
        judged = _gather([root / name for name in SETS])
    for name in judged:
        rest = {other: rows for other, rows in judged.items() if other != name}
        weights = _fit(rest)
        fitting, foreign = (_score(rows, weights) for rows in judged[name])
        print(f"{name}: AUROC {_auroc(fitting, foreign):.3f} by the other sets")
    weights = _fit(judged)
    scores = np.concatenate([_score(fitting, weights) for fitting, _ in judged.values()])
    threshold = 1 / (1 + np.exp(-np.quantile(scores, WARNED_SHARE)))
    named = zip((*FEATURES, "bias"), weights, strict=True)
    print(", ".join(f"{name} {weight:.3f}" for name, weight in named), f"at {threshold:.3f}")


def _gather(folders: Sequence[Path]) -> Mapping[str, tuple[Rows, Rows]]:
    """Return the evidence for the best matches of own and of foreign queries, by set."""
    from django.conf import settings

    from benchmarks.evaluation import dataset, run
    from benchmarks.evaluation.scratch import open_scratch_schema
    from tools.embed.cache import CachedEmbedder
    from tools.embed.load import make_embedder
    from tools.embed_catalogue import embed_missing
    from tools.store import search_index

    chance = np.random.default_rng(SEED)
    sets = {}
    for folder in folders:
        data = dataset.load_dataset(folder)
        texts = [query.text for query in data.queries if query.slots]
        sets[folder.name] = data, [texts[at] for at in chance.permutation(len(texts))[:OWN]]
    embedder = CachedEmbedder(make_embedder(settings.FOREGATE))
    found = {}
    for name, (data, texts) in sets.items():
        with open_scratch_schema():
            run.store_tools(data.tools)
            embed_missing(embedder)
            index = search_index.refresh_index(
                None, model=embedder.model, max_bytes=run.MAX_INDEX_BYTES
            )
            foreign = [
                text
                for other, (_, rest) in sets.items()
                if other != name
                for text in rest[:FOREIGN]
            ]
            found[name] = (
                _measure(texts, embedder, index),
                _measure(foreign, embedder, index),
            )
    return found


def _measure(texts: Sequence[str], embedder: Any, index: Any) -> Rows:
    from tools import search

    rows = []
    for text in texts:
        request = search.SearchRequest(query=text)
        best = search.search(request, embedder=embedder, index=index).hits[0]
        rows.append((best.dense or 0.0, best.lexical or 0.0))
    return np.array(rows)


def _fit(judged: Mapping[str, tuple[Rows, Rows]]) -> Rows:
    """Return the weights of the features and the bias."""
    from graph.suggestion.ranking.logistic import fit_logistic

    parts = [(part, 1.0 - place) for both in judged.values() for place, part in enumerate(both)]
    rows = np.concatenate([part for part, _ in parts])
    targets = np.concatenate([np.full(len(part), target) for part, target in parts])
    means, scales = rows.mean(axis=0), rows.std(axis=0)
    scaled = np.column_stack(((rows - means) / scales, np.ones(len(rows))))
    fitted = fit_logistic(scaled, targets, prior=np.zeros(scaled.shape[1]), l2=PENALTY)
    weights = fitted[:-1] / scales
    return np.append(weights, fitted[-1] - weights @ means)


def _score(rows: Rows, weights: Rows) -> Rows:
    return np.asarray(rows @ weights[:-1] + weights[-1])


def _auroc(fitting: Rows, foreign: Rows) -> float:
    above = fitting[:, None] - foreign
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


if __name__ == "__main__":
    main()
