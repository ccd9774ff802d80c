"""What `manage.py evaluate` does: judges and prints, or writes the report as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, OutputWrapper
from rich.console import Console
from rich.table import Table

from benchmarks.evaluation import dataset, run, vector_cache
from benchmarks.evaluation import report as reports
from benchmarks.evaluation.dataset import QUERIES_FILE, DatasetError
from benchmarks.evaluation.graph import GraphBusy
from benchmarks.evaluation.plan_words import plan_statements
from benchmarks.evaluation.prefetch import evaluate_prefetch
from benchmarks.evaluation.report import METHOD_TITLES, RETRIEVAL_FIGURES
from benchmarks.evaluation.search_words import make_word_search
from benchmarks.evaluation.session_files import load_sessions
from gateway_project.foundation import telemetry
from gateway_project.foundation.embedding_models import UnknownModel
from gateway_project.foundation.postgres import migrate
from gateway_project.management.progress import show_progress
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.load import make_embedder

COLUMN_HEADS = {
    "recall@1": "R@1",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "ndcg@10": "nDCG",
    "complete@10": "comp",
    "ap@10": "AP",
}
"""Column headings, short enough for a table of 80 characters."""
LEGEND = "in %; R: recall; comp: all found; nDCG, comp, AP: of the first 10"


def evaluate(options: Mapping[str, Any], out: OutputWrapper) -> None:
    """Judge a data set and print what was found.

    Args:
        options: Those of the command.
        out: Where JSON is written to.

    Raises:
        CommandError: If the data set or the embedding model cannot be used.
    """
    if options["session_history"] and not options["sessions"]:
        raise CommandError("--session-history needs --sessions: it is what they learn from")
    telemetry.configure_logging(settings.FOREGATE, process="evaluate", quiet=True)
    try:
        prefetch = _evaluate_sessions(options) if options["sessions"] else None
        has_queries = options["queries"] or (options["dataset"] / QUERIES_FILE).exists()
        report = None if prefetch and not has_queries else _evaluate_queries(options)
    except (DatasetError, EmbeddingUnavailable, UnknownModel, GraphBusy) as error:
        raise CommandError(str(error)) from None
    if options["json"]:
        out.write(json.dumps(_write_json(report, prefetch), indent=2))
        return
    if report is not None:
        _print_report(options["dataset"].resolve().name, report)
    if prefetch is not None:
        _print_prefetch(prefetch)


def _evaluate_sessions(options: Mapping[str, Any]) -> dict[str, Any]:
    migrate.migrate_once()
    data = load_sessions(
        options["dataset"],
        sessions=options["sessions"],
        history=options["session_history"],
        limit=options["limit"],
    )
    with show_progress() as on_progress:
        embedder = make_embedder(settings.FOREGATE)
        find = make_word_search(data.tools, embedder)
        plan = plan_statements(data, embedder, on_progress=on_progress)
        return evaluate_prefetch(data, on_progress=on_progress, find=find, plan=plan)


def _evaluate_queries(options: Mapping[str, Any]) -> Any:
    config = settings.FOREGATE
    migrate.migrate_once()
    data = dataset.load_dataset(
        options["dataset"],
        queries=options["queries"],
        history=options["history"],
        limit=options["limit"],
    )
    embedder = make_embedder(config)
    with (
        vector_cache.open_vector_store(config.home / "cache") as store,
        show_progress() as on_progress,
    ):
        return run.evaluate_dataset(
            data,
            embedder=embedder,
            caching_embedder=vector_cache.DiskCachedEmbedder(embedder, store),
            token_budget=config.token_budget,
            on_progress=on_progress,
        )


def _write_json(report: Any, prefetch: dict[str, Any] | None) -> dict[str, Any]:
    """Return the documented report; null where there was nothing to judge."""
    document = reports.make_empty_report() if report is None else reports.report_to_json(report)
    if prefetch is None:
        return document
    slices = {
        "prefetch_curve": prefetch["curve"],
        "prefetch_history": prefetch["history"],
    }
    return document | {
        "prefetch": prefetch["prefetch"],
        "prefetch_with_intent": prefetch["prefetch_with_intent"],
        "prefetch_calibration": prefetch["prefetch_calibration"],
        "slices": document["slices"] | slices,
    }


def _print_report(name: str, report: Any) -> None:

    _print_table(name, report)
    _print_suggestions(reports.report_to_json(report))
    for note in report.notes:
        print(f"note: {note}")


def _print_prefetch(found: dict[str, Any]) -> None:
    """Print what prefetch would have done, a line for each budget."""
    print(f"prefetch after {found['history']} past sessions, in %:")
    for name, title in (("prefetch", "from results"), ("prefetch_with_intent", "and words")):
        for figures in found[name]:
            print(
                f"  {title}, waste budget {100 * figures['budget']:.0f}: "
                f"{_format_percents({k: v for k, v in figures.items() if k != 'budget'})}"
            )
    error = found["prefetch_calibration"]["ece"]
    if error is not None:
        print(f"  calibration error of the chances: {100 * error:.1f}")


def _print_table(name: str, report: Any) -> None:
    table = Table(
        title=f"{name}: {report.n} queries, {report.tools} tools, {report.relations} relations\n"
        + LEGEND
    )
    table.add_column("")
    for figure in RETRIEVAL_FIGURES:
        table.add_column(COLUMN_HEADS[figure], justify="right", no_wrap=True)
    for way, figures in report.retrieval.items():
        table.add_row(
            METHOD_TITLES[way], *(f"{100 * figures[figure]:.1f}" for figure in RETRIEVAL_FIGURES)
        )
    console = Console(file=sys.stdout, soft_wrap=True)
    console.print(table)
    for what, difference in (
        ("with the graph minus without", report.graph_minus_none),
        ("with the history minus text alone, no graph", report.history_minus_none),
        (f"text alone minus {report.best}, no graph", report.fused_minus_best),
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


def _print_suggestions(found: dict[str, Any]) -> None:
    """Print the figures of suggestions in a few lines; nothing if none was judged."""
    workflow, slices = found["workflow"], found["slices"]
    if workflow["node_f1"] is None:
        return
    print(
        f"suggested after {slices['history']['runs']} past runs, in %: "
        f"{_format_percents(workflow)}"
    )
    print(f"calibration, in %: {_format_percents(found['calibration'])}")
    if found["binding"]["recall"] is not None:
        print(f"bindings, in %: {_format_percents(found['binding'])}")
        given_calls = slices["binding_given_calls"]
        print(f"bindings given the right calls, in %: {_format_percents(given_calls)}")
    taken = slices["suggestion_without_embedding_ms"]
    print(f"one suggestion after embedding: p50 {taken['p50']:.2f} ms, p95 {taken['p95']:.2f} ms")


def _format_percents(figures: dict[str, float | None]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {100 * value:.1f}"
        for name, value in figures.items()
        if value is not None
    )
