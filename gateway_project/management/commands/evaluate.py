"""Measure search and suggestion on a data set with known answers, on tables of its own."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

HEADS = {
    "recall@1": "R@1",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "ndcg@10": "nDCG",
    "complete@10": "comp",
    "ap@10": "AP",
}
"""Heads of columns, so short that the table fits 80 characters."""
LEGEND = "in %; R: recall; comp: all found; nDCG, comp, AP: of the first 10"


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


class Command(BaseCommand):
    help = (
        "Run the real search and suggestion over a data set and report how much of what is needed "
        "they find: with the graph, without it, and by simpler ways; and how right the workflows "
        "are that are suggested after a history. The installation's own data stays untouched."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("dataset", type=Path, help="folder: tools.jsonl and queries.jsonl")
        parser.add_argument("--history", type=Path, help="past runs, in the shape of queries")
        parser.add_argument("--queries", type=Path, help="queries; default: the folder's")
        parser.add_argument("--limit", type=_positive, help="take so many queries only")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        from django.conf import settings

        from gateway_project.evaluation import dataset, graph, kept_vectors, run
        from gateway_project.foundation import telemetry
        from gateway_project.foundation.postgres import migrate
        from gateway_project.management.progress import progress
        from tools.embed.embedder import EmbeddingUnavailable
        from tools.embed.load import embedder_for
        from tools.embed.recipes import UnknownModel

        config = settings.FOREGATE
        telemetry.configure(config, process="evaluate", quiet=True)
        migrate.migrate_once()
        try:
            data = dataset.load(
                options["dataset"],
                queries=options["queries"],
                history=options["history"],
                limit=options["limit"],
            )
            embedder = embedder_for(config)
            with kept_vectors.open_kept(config.home / "cache") as store, progress() as on_progress:
                kept = kept_vectors.KeptEmbedder(embedder, store)
                report = run.evaluate(
                    data,
                    embedder=embedder,
                    kept=kept,
                    token_budget=config.token_budget,
                    on_progress=on_progress,
                )
        except (
            dataset.DatasetError,
            EmbeddingUnavailable,
            UnknownModel,
            graph.GraphBusy,
        ) as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(run.to_json(report), indent=2))
        else:
            _print_table(data.name, report)
            _print_suggested(run.to_json(report))
            for note in report.notes:
                print(f"note: {note}")


def _print_table(name: str, report: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    from gateway_project.evaluation.run import FIGURES, TITLES

    table = Table(
        title=f"{name}: {report.n} queries, {report.tools} tools, {report.relations} relations\n"
        + LEGEND
    )
    table.add_column("")
    for figure in FIGURES:
        table.add_column(HEADS[figure], justify="right", no_wrap=True)
    for way, figures in report.retrieval.items():
        table.add_row(TITLES[way], *(f"{100 * figures[figure]:.1f}" for figure in FIGURES))
    console = Console(file=sys.stdout, soft_wrap=True)
    console.print(table)
    for what, difference in (
        ("with the graph minus without", report.graph_minus_none),
        (f"fused minus {report.best}, no graph", report.fused_minus_best),
    ):
        if difference is not None:
            console.print(
                f"nDCG, {what}: {100 * difference.mean:+.2f} "
                f"(95 % interval {100 * difference.low:+.2f} to {100 * difference.high:+.2f})"
            )
    for what, taken in (
        ("one search", report.latency_ms),
        ("without embedding", report.search_ms),
        ("what the graph adds", report.enhancement_ms),
    ):
        console.print(f"{what}: p50 {taken['p50']:.2f} ms, p95 {taken['p95']:.2f} ms")


def _print_suggested(found: dict[str, Any]) -> None:
    """Tell how right suggestions were, in a few lines; nothing where none was judged."""
    workflow, slices = found["workflow"], found["slices"]
    if workflow["node_f1"] is None:
        return
    print(f"suggested after {slices['history']['runs']} past runs, in %: {_percents(workflow)}")
    print(f"calibration, in %: {_percents(found['calibration'])}")
    if found["binding"]["recall"] is not None:
        print(f"bindings, in %: {_percents(found['binding'])}")
        given = slices["binding_given_calls"]
        print(f"bindings if the right calls were known, in %: {_percents(given)}")
    taken = slices["suggestion_without_embedding_ms"]
    print(f"one suggestion after embedding: p50 {taken['p50']:.2f} ms, p95 {taken['p95']:.2f} ms")


def _percents(figures: dict[str, float | None]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {100 * value:.1f}"
        for name, value in figures.items()
        if value is not None
    )
