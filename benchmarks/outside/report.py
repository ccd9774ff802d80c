"""Sums up verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarks.evaluation.calibration_figures import measure_calibration
from benchmarks.outside.score import WishVerdict
from benchmarks.tables import markdown, percentile
from execution.mode import SUGGESTION_THRESHOLD

LANGUAGES = {"en": "English", "de": "German", "zh": "Chinese", "es": "Spanish", "fr": "French"}
STEPS = {0: "served by no tool", 1: "one step", 2: "two steps", 3: "three steps"}


def summarize(verdicts: Sequence[WishVerdict]) -> dict[str, Any]:
    """Return the figures of all wishes, by half, by language and by number of steps."""
    return {
        "all": _measure(verdicts),
        "half": _group(verdicts, lambda verdict: f"{verdict.wish.half} half"),
        "language": _group(verdicts, lambda verdict: LANGUAGES[verdict.wish.language]),
        "steps": _group(verdicts, lambda verdict: STEPS[len(verdict.wish.steps)]),
    }


def _group(
    verdicts: Iterable[WishVerdict], name: Callable[[WishVerdict], str]
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[WishVerdict]] = {}
    for verdict in sorted(verdicts, key=lambda item: len(item.wish.steps)):
        groups.setdefault(name(verdict), []).append(verdict)
    return {key: _measure(group) for key, group in groups.items()}


def _measure(verdicts: Sequence[WishVerdict]) -> dict[str, Any]:
    served = [verdict for verdict in verdicts if verdict.wish.steps]
    unserved = [verdict for verdict in verdicts if not verdict.wish.steps]
    steps = sum(len(verdict.wish.steps) for verdict in served)
    separation = measure_calibration(
        [verdict.top_score for verdict in verdicts],
        [bool(verdict.wish.steps) for verdict in verdicts],
    )
    return {
        "wishes": len(verdicts),
        "served": len(served),
        "first": _share(verdict.first for verdict in served),
        "top_five": _share(verdict.steps_found == len(verdict.wish.steps) for verdict in served),
        "steps_in_top_five": _ratio(sum(verdict.steps_found for verdict in served), steps),
        "auroc_nothing_fits": separation["auroc"],
        "right_tools": _share(verdict.right_tools for verdict in served),
        "complete": _share(verdict.complete for verdict in served),
        "unserved_without_tasks": _share(verdict.right_tools for verdict in unserved),
        "wrong_but_runnable": sum(verdict.is_wrong_but_runnable for verdict in verdicts),
        "wrong_tools_but_runnable": sum(
            verdict.runnable and not verdict.right_tools for verdict in verdicts
        ),
        "wrong_but_runnable_and_sure": sum(verdict.is_surely_wrong for verdict in verdicts),
        "search_ms": _latency([verdict.search_ms for verdict in verdicts]),
        "intent_ms": _latency([verdict.intent_ms for verdict in verdicts]),
    }


def _share(hits: Iterable[bool]) -> float | None:
    judged = list(hits)
    return _ratio(sum(judged), len(judged))


def _ratio(count: int, total: int) -> float | None:
    return count / total if total else None


def _latency(values: Sequence[float]) -> dict[str, float]:
    return {"p50": percentile(values, 0.5), "p95": percentile(values, 0.95)}


def render_table(figures: Mapping[str, Any]) -> str:
    """Return the figures of `summarize` as a Markdown table."""
    headings = [
        *("wishes", "number", "first", "top five", "steps in top five", "AUROC of nothing fits"),
        *("right tools", "complete", "wrong but runnable"),
        f"of these sure ({SUGGESTION_THRESHOLD:.1f})",
        *("search p50 / p95 ms", "run_intent p50 / p95 ms"),
    ]
    groups = [figures[by].items() for by in ("half", "steps", "language")]
    rows = [("all", figures["all"]), *itertools.chain.from_iterable(groups)]
    return markdown(headings, [(name, *_render_cells(row)) for name, row in rows])


def _render_cells(row: Mapping[str, Any]) -> list[object]:
    tasks = row["right_tools"] if row["served"] else row["unserved_without_tasks"]
    auroc = row["auroc_nothing_fits"]
    return [
        row["wishes"],
        _percent(row["first"]),
        _percent(row["top_five"]),
        _percent(row["steps_in_top_five"]),
        "" if auroc is None else f"{auroc:.2f}",
        _percent(tasks) + ("" if row["served"] else " without tasks"),
        _percent(row["complete"]),
        row["wrong_but_runnable"],
        row["wrong_but_runnable_and_sure"],
        _milliseconds(row["search_ms"]),
        _milliseconds(row["intent_ms"]),
    ]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _milliseconds(latency: Mapping[str, float]) -> str:
    return f"{latency['p50']:.0f} / {latency['p95']:.0f}"


def list_verdicts(verdicts: Iterable[WishVerdict]) -> list[dict[str, Any]]:
    """Return a row for each verdict on a wish of the open half; the others stay unseen."""
    return [
        {
            "id": verdict.wish.id,
            "wish": verdict.wish.text,
            "first": verdict.first,
            "steps_found": f"{verdict.steps_found}/{len(verdict.wish.steps)}",
            "top_score": verdict.top_score,
            "right_tools": verdict.right_tools,
            "complete": verdict.complete,
            "runnable": verdict.runnable,
            "confidence": verdict.confidence,
        }
        for verdict in verdicts
        if verdict.wish.half == "open"
    ]
