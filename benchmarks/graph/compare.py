"""Compares all libraries on the same graphs, each in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx
import numpy as np

from benchmarks.graph import peers
from benchmarks.graph.question import Question
from benchmarks.tables import markdown
from graph.algorithms.communities import compute_modularity
from graph.algorithms.matrix import Matrix, matrix_from_arrays
from graph.algorithms.pagerank import MIN_TOLERANCE, compute_pagerank

SIZES = ((1_000, 8_000), (10_000, 100_000), (100_000, 1_000_000))
PATHS, EXPANSIONS, SEEDS = 1_000, 300, 5
ROOT = Path(__file__).resolve().parent.parent.parent
HEADINGS = (
    "tools / relations",
    "library",
    "build ms",
    "PageRank ms",
    "its error",
    "communities ms",
    "modularity",
    "path µs, p50 / p95",
    "related µs, p50 / p95",
    "update µs",
    "MB",
)
LEFT_OUT = "-"


def run() -> str:
    """Run the same tasks in every library, on graphs of three sizes."""
    rows = [row for size in SIZES for row in _compare(*size)]
    return markdown(HEADINGS, rows)


def question(tools: int, arcs: int, *, seed: int = 1) -> Question:
    """Make a random graph in which few tools have many relations.

    The n-th most popular tool is drawn with weight 1 / sqrt(n), as source and as target.
    """
    random = np.random.default_rng(seed)
    popularity = 1.0 / np.sqrt(np.arange(1, tools + 1))
    popularity /= popularity.sum()
    names = random.permutation(tools)
    ends = names[random.choice(tools, (2, 2 * arcs), p=popularity)]
    places = np.unique(ends[0][ends[0] != ends[1]] * tools + ends[1][ends[0] != ends[1]])
    places = random.permutation(places)[:arcs]
    return Question(
        tools=tools,
        sources=(places // tools).tolist(),
        targets=(places % tools).tolist(),
        weights=(1.0 - random.random(arcs)).tolist(),
        pairs=random.choice(tools, (PATHS, 2)).tolist(),
        seeds=random.choice(tools, (EXPANSIONS, SEEDS)).tolist(),
    )


def _compare(tools: int, arcs: int) -> Iterator[tuple[str, ...]]:
    asked = question(tools, arcs)
    ends = np.array(asked.sources), np.array(asked.targets)
    truth = matrix_from_arrays(*ends, np.array(asked.weights), tools=np.arange(tools))
    ways = {
        "Foregate": [sys.executable, "-m", "benchmarks.graph.foregate_way"],
        f"graphology {peers.GRAPHOLOGY}": peers.graphology(),
        f"networkx {networkx.__version__}": [
            *(sys.executable, "-m", "benchmarks.graph.networkx_way"),
        ],
        f"igraph {peers.IGRAPH}": peers.igraph(),
    }
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder, "question"), Path(folder, "answer")
        asked.write(file)
        for name, command in ways.items():
            print(f"{name}, {arcs:,} relations", file=sys.stderr, flush=True)
            subprocess.run([*command, str(file), str(result)], cwd=ROOT, check=True)
            size = f"{tools:,} / {arcs:,}" if name == "Foregate" else ""
            yield (size, name, *_row(json.loads(result.read_text()), truth))


def _row(answer: Mapping[str, Any], truth: Matrix) -> Iterator[str]:
    made = f" + {answer['matrix']:,.0f}" if "matrix" in answer else ""
    true_ranks = compute_pagerank(truth, tolerance=MIN_TOLERANCE).values
    yield f"{answer['build']:,.0f}{made}"
    yield f"{answer['pagerank']:,.1f}"
    yield f"{np.abs(np.array(answer['ranks']) - true_ranks).sum():.0e}"
    if "communities" in answer:
        yield f"{answer['communities']:,.0f}"
        yield f"{compute_modularity(truth, np.array(answer['labels'])):.3f}"
    else:
        yield from (LEFT_OUT, LEFT_OUT)
    for name in ("path", "related"):
        yield " / ".join(f"{us:,.0f}" for us in answer[name])
    yield f"{answer['update']:,.1f}"
    yield f"{answer['mb']:,.0f}"
