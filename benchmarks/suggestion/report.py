"""Formats the figures of the evaluation as tables of docs/evaluation.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.evaluation.judge_suggestions import SIMILARITY_BANDS
from benchmarks.evaluation.metrics import BootstrapInterval
from benchmarks.suggestion import summary
from benchmarks.suggestion.plan import SIZES, Job
from benchmarks.suggestion.summary import EDGE, EXACT, NODE, SizeResults, bound
from benchmarks.tables import markdown
from execution.mode import SUGGESTION_THRESHOLD

MAIN = "ultratool"
NONE = "\N{EN DASH}"
THREE = (NODE, EDGE, EXACT)
FLOORS: dict[int | None, str] = {
    0: f"50 / {NONE} / {NONE}",
    50: "65.1 / 27.9 / 23.2",
    200: "73.8 / 40.1 / 38.1",
    None: "84.8 / 54.5 / 55.6",
}
"""Minimum figures: those of the published boosting baseline with as much history."""
GOALS: dict[int | None, str] = {
    0: f"60 / {NONE} / {NONE}",
    200: "78 / 46 / 44",
    None: "88 / 62 / 62",
}
WAYS = {"copy": "copy nearest", "boosting": "gradient boosting", "clause": "best tool per clause"}

Results = Sequence[tuple[Job, dict[str, Any]]]


def blocks(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of each block of the document."""
    sizes = summary.sized(results)
    main = [sizes[MAIN, runs] for runs in SIZES[MAIN] if (MAIN, runs) in sizes]
    others = [one for key, one in sizes.items() if key[0] != MAIN]
    others.sort(key=lambda one: (list(SIZES).index(one.data), one.history))
    moved = list(summary.sized(results, kind="shift").values())
    moved.sort(key=lambda one: one.history)
    drawn = summary.singles(results)
    found = {
        "suggestion_history": _history(main) if main else "",
        "suggestion_ahead": _ahead(main) if main else "",
        "suggestion_calibration": _calibration([*main, *others]) if main or others else "",
        "suggestion_singles": _singles(drawn) if drawn else "",
        "suggestion_slices": _slices(main) if main else "",
        "suggestion_others": _others(others) if others else "",
        "suggestion_shift": _others(moved) if moved else "",
        "suggestion_bindings": _bindings(others) if others else "",
    }
    yield from ((name, table) for name, table in found.items() if table)


def _history(sized: Sequence[SizeResults]) -> str:
    headings = ["past runs", "suggestion", *WAYS.values(), "floor", "goal"]
    rows = [
        [
            _runs(one),
            f"**{_three(one.means('ours'))}**",
            *(_three(one.means(way)) if one.has(way) else NONE for way in WAYS),
            FLOORS.get(one.runs, NONE),
            GOALS.get(one.runs, NONE),
        ]
        for one in sized
    ]
    return markdown(headings, rows)


def _ahead(sized: Sequence[SizeResults]) -> str:
    headings = ["past runs", "suggestion, 95 %", *(f"minus {name}" for name in WAYS.values())]
    rows = [
        [
            _runs(one),
            _three_intervals(one.means("ours")),
            *(
                _three_intervals(one.ahead(way), sign="+") if one.has(way) else NONE
                for way in WAYS
            ),
        ]
        for one in sized
    ]
    return markdown(headings, rows)


def _calibration(sized: Sequence[SizeResults]) -> str:
    headings = [
        *("set", "past runs", "queries", "right", "ECE", "of a perfect forecaster", "Brier"),
        *("AUROC", "coverage at 95 %", f"at {SUGGESTION_THRESHOLD:.2f} or more: share, right"),
        "constant: ECE, Brier, coverage",
    ]
    rows = []
    for one in sized:
        figures, constant = one.calibration(one.said), one.calibration(one.constant)
        sure = one.said >= SUGGESTION_THRESHOLD
        right = f"{_percent(one.right[sure].mean())} %" if sure.any() else NONE
        rows.append(
            [
                one.data,
                _runs(one),
                f"{len(one.rows):,}",
                f"{_percent(one.right.mean())} %",
                _decimals(figures["ece"]),
                _decimals(one.perfect_ece),
                _decimals(figures["brier"]),
                _decimals(figures["auroc"]),
                f"{_percent(figures['coverage_at_95'])} %",
                f"{_percent(sure.mean())} %, {right}",
                f"{_decimals(constant['ece'])}, {_decimals(constant['brier'])}, "
                f"{_percent(constant['coverage_at_95'])} %",
            ]
        )
    return markdown(headings, rows)


def _singles(drawn: Mapping[int, Sequence[float]]) -> str:
    rows = [
        [runs, len(errors), _decimals(float(np.mean(errors))), _decimals(max(errors))]
        for runs, errors in sorted(drawn.items())
    ]
    return markdown(["past runs", "histories", "ECE, mean", "ECE, worst"], rows)


def _slices(sized: Sequence[SizeResults]) -> str:
    headings = ["past runs", "slice", "share", "suggestion", WAYS["copy"], WAYS["boosting"]]
    rows = []
    learned = [one for one in sized if one.history]
    for one in (*learned[:1], *learned[1:][-1:]):
        for name, chosen in _parts(one):
            if chosen.any():
                part = one.part(chosen)
                ways = [way for way in ("ours", "copy", "boosting") if one.has(way)]
                cells = [_three(part.means(way)) for way in ways]
                share = f"{_percent(chosen.mean())} %"
                rows.append([_runs(one), name, share, *cells, *[NONE] * (3 - len(cells))])
    return markdown(headings, rows)


def _parts(one: SizeResults) -> Iterator[tuple[str, Any]]:
    yield "tool set seen", one.seen
    yield "tool set never seen", ~one.seen
    near = one.similarity
    for low, high in zip(SIMILARITY_BANDS, (*SIMILARITY_BANDS[1:], 1.01), strict=True):
        name = f"similarity {max(low, 0):g} to {min(high, 1):g}"
        yield name, (near >= low) & (near < high)


def _others(sized: Sequence[SizeResults]) -> str:
    headings = ["set", "past runs", "suggestion", *WAYS.values(), "minus gradient boosting"]
    rows = [
        [
            one.data,
            _runs(one),
            f"**{_three(one.means('ours'))}**",
            *(_three(one.means(way)) if one.has(way) else NONE for way in WAYS),
            _three_intervals(one.ahead("boosting"), sign="+") if one.has("boosting") else NONE,
        ]
        for one in sized
    ]
    return markdown(headings, rows)


def _bindings(sized: Sequence[SizeResults]) -> str:
    headings = [
        *("set", "past runs", "calls", "precision", "recall", "required left unresolved"),
        *("mean of the queries", "right of bound, by source"),
    ]
    rows = []
    for one in sized:
        for kind, name in (("given", "given"), ("binding", "suggested")):
            counts = one.counts(kind)
            if counts:
                found = bound(counts)
                means = " / ".join(_percent(value) for value in found.means.values())
                sources = ", ".join(
                    f"{source} {right}/{of}" for source, (right, of) in found.by_source.items()
                )
                cells = [_interval(part) for part in found.pooled]
                rows.append([one.data, _runs(one), name, *cells, means, sources])
    return markdown(headings, rows) if rows else ""


def _runs(one: SizeResults) -> str:
    return f"all ({one.history:,})" if one.runs is None else f"{one.runs}"


def _three(means: Sequence[BootstrapInterval]) -> str:
    return " / ".join(_percent(means[at].mean) for at in THREE)


def _three_intervals(means: Sequence[BootstrapInterval], sign: str = "") -> str:
    return "<br>".join(_interval(means[at], sign=sign) for at in THREE)


def _interval(one: BootstrapInterval, sign: str = "") -> str:
    if np.isnan(one.mean):
        return NONE
    mean, low, high = (f"{100 * value:{sign}.1f}" for value in (one.mean, one.low, one.high))
    return f"{mean} ({low} to {high})".replace("-", "\N{MINUS SIGN}")


def _percent(value: float | None) -> str:
    return NONE if value is None or np.isnan(value) else f"{100 * value:.1f}"


def _decimals(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
