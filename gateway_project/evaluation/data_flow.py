"""Judge the derived data flow against references between the calls of a data set.

Gold are the pairs of tools where, in some query, an argument of one call refers to the result of
another. It covers only pairs that queries happen to use, so precision is judged twice: among
pairs whose tools are called together in some query, and among all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from gateway_project.evaluation.dataset import DatasetQuery, DatasetTool
from graph.data_flow.derive import FlowTool, derive

SURE: Final = 0.5
"""Confidence from which on search offers what a relation leads to."""
BINS: Final = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.01)
"""Bounds of the bins of calibration, by confidence."""
_REFERENCE: Final = re.compile(r"\$(\w+)\.([^$]+)\$")
_CALL: Final = re.compile(r"\bAPI_call_\d+")
_ITEM: Final = re.compile(r"\[\d+\]")

Pair = tuple[str, str]
Figures = dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Relations that were derived, beside the gold they are judged by.

    Attributes:
        derived: Confidence of each derived pair.
        gold: Pairs that some query uses.
        together: Pairs of tools that some query calls.
    """

    derived: Mapping[Pair, float]
    gold: frozenset[Pair]
    together: frozenset[Pair]


def data_flow_figures(
    tools: Sequence[DatasetTool], queries: Sequence[DatasetQuery]
) -> Figures | None:
    """Return how right and how complete the derived relations are; None without references.

    Figures without a prefix rest on schemas and texts alone. Those that begin with `observed_`
    also rest on results: the fields that the other half of the query groups refer to, as a
    gateway would have seen them, each half judged by relations that the other half helped.

    Args:
        tools: Of the data set.
        queries: With their gold edges and calls.

    Returns:
        `precision` (among pairs called together), `precision_all`, `recall`, their counterparts
        at a confidence of 0.5 or more (`…@sure`), `calibration_error` (of pairs called
        together), and counts (`gold`, `relations`); None where nothing can be divided.
    """
    if not any(map(_refers, queries)):
        return None
    told = [judge(tools, queries)]
    halves = [[q for q in queries if _half(q) == side] for side in (0, 1)]
    shapes = [_observed(half) for half in halves]
    seen = [_judged(tools, shapes[1 - side], half) for side, half in enumerate(halves)]
    observed = _figures(seen) if any(shapes) else dict.fromkeys(_figures(told))
    return {**_figures(told), **{f"observed_{key}": one for key, one in observed.items()}}


def judge(tools: Sequence[DatasetTool], queries: Sequence[DatasetQuery]) -> Judged:
    """Derive relations from schemas and texts, and put them beside the gold of all queries."""
    return _judged(tools, {}, queries)


def _refers(query: DatasetQuery) -> bool:
    """Tell whether the edges of a query are known to be data flow, not order alone."""
    text = json.dumps(query.arguments)
    return bool(query.edges) and bool(_REFERENCE.search(text) or _CALL.search(text))


def _half(query: DatasetQuery) -> int:
    return hashlib.sha256(query.group.encode()).digest()[0] % 2


def _judged(
    tools: Sequence[DatasetTool],
    observed: Mapping[str, Mapping[str, Any]],
    queries: Iterable[DatasetQuery],
) -> Judged:
    flows = derive(
        [
            FlowTool(
                pk=place,
                name=tool.name,
                description=tool.description,
                input_schema=tool.input_schema,
                output_schema=None,
                server=tool.server,
                team=None,
                observed=observed.get(tool.id),
            )
            for place, tool in enumerate(tools)
        ]
    )
    gold, together = set[Pair](), set[Pair]()
    for query in queries:
        if _refers(query):
            gold.update(edge for edge in query.edges or () if edge[0] != edge[1])
        called = {tool for slot in query.slots for tool in slot}
        together.update((one, other) for one in called for other in called - {one})
    return Judged(
        derived={(tools[f.source].id, tools[f.target].id): f.confidence for f in flows},
        gold=frozenset(gold),
        together=frozenset(together | gold),
    )


def _figures(judged: Sequence[Judged]) -> Figures:
    """Return the figures of all judgements taken together."""
    figures: Figures = {}
    for name, least in (("", 0.0), ("@sure", SURE)):
        kept = [(one, {p for p, sure in one.derived.items() if sure >= least}) for one in judged]
        right = sum(len(pairs & one.gold) for one, pairs in kept)
        figures[f"precision{name}"] = _share(
            right, sum(len(pairs & one.together) for one, pairs in kept)
        )
        figures[f"precision_all{name}"] = _share(right, sum(len(pairs) for _, pairs in kept))
        figures[f"recall{name}"] = _share(right, sum(len(one.gold) for one in judged))
    figures["calibration_error"] = _calibration_error(judged)
    figures["gold"] = float(sum(len(one.gold) for one in judged))
    figures["relations"] = float(sum(len(one.derived) for one in judged))
    return figures


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def calibration(judged: Sequence[Judged]) -> Iterator[tuple[int, float, float]]:
    """Yield of each bin that holds any pairs called together: count, mean confidence, share right.

    Args:
        judged: One or more judgements, taken together.
    """
    pairs = [
        (sure, pair in one.gold)
        for one in judged
        for pair, sure in one.derived.items()
        if pair in one.together
    ]
    for low, high in pairwise(BINS):
        held = [item for item in pairs if low <= item[0] < high]
        if held:
            size = len(held)
            yield size, sum(sure for sure, _ in held) / size, sum(ok for _, ok in held) / size


def _calibration_error(judged: Sequence[Judged]) -> float | None:
    """Return the mean distance of confidence from the share that is right, over the pairs."""
    bins = list(calibration(judged))
    total = sum(size for size, _, _ in bins)
    return sum(size * abs(sure - right) for size, sure, right in bins) / total if total else None


def _observed(queries: Iterable[DatasetQuery]) -> dict[str, dict[str, Any]]:
    """Return the shape of each tool's result as far as arguments refer to it."""
    shapes: dict[str, dict[str, Any]] = {}
    for query in queries:
        calls = [call for call in query.arguments or () if isinstance(call, Mapping)]
        labels = {call.get("label"): call.get("tool") for call in calls}
        for call in calls:
            for label, path in _REFERENCE.findall(json.dumps(call.get("args"))):
                tool = labels.get(label)
                if isinstance(tool, str):
                    _add(shapes.setdefault(tool, {"type": "object"}), path.split("."))
    return shapes


def _add(shape: dict[str, Any], path: Sequence[str]) -> None:
    """Add a field to a shape: `restaurants[0].name`."""
    for step in path:
        name = _ITEM.sub("", step)
        shape = shape.setdefault("properties", {}).setdefault(name, {})
        for _ in _ITEM.findall(step):
            shape["type"] = "array"
            shape = shape.setdefault("items", {})
