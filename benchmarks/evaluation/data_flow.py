"""Judge the derived data flow against references between the calls of a data set.

The gold consists of pairs of tools where, in some query, an argument of one call refers to the
result of another. It covers only pairs that queries happen to use, so precision is measured
twice: among pairs whose tools some query calls together, and among all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from benchmarks.evaluation.dataset import DatasetQuery, DatasetTool
from benchmarks.evaluation.search_words import list_tool
from graph.data_flow.derive import derive_flows
from graph.data_flow.endpoints import read_endpoints

OFFER_THRESHOLD: Final = 0.5
"""Confidence from which search offers the target of a relation."""
BIN_BOUNDS: Final = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.01)
"""Bounds of the calibration bins, by confidence."""
_LABEL_REFERENCE: Final = re.compile(r"\$(\w+)\.([^$]+)\$")
_CALL_REFERENCE: Final = re.compile(r"\bAPI_call_\d+")
_LIST_INDEX: Final = re.compile(r"\[\d+\]")

RelationPair = tuple[str, str]
DataFlowFigures = dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class JudgedRelations:
    """Derived relations and the gold they are judged by.

    Attributes:
        derived: Confidence of each derived pair.
        gold: Pairs that some query uses.
        called_together: Pairs of tools that some query calls.
    """

    derived: Mapping[RelationPair, float]
    gold: frozenset[RelationPair]
    called_together: frozenset[RelationPair]


def measure_data_flow(
    tools: Sequence[DatasetTool], queries: Sequence[DatasetQuery]
) -> DataFlowFigures | None:
    """Measure precision and recall of the derived relations; None without references.

    No set declares output schemas. So the result fields that one half of the query groups refers
    to, as a gateway would have observed them, tell what the other half judges.

    Args:
        tools: Tools of the data set.
        queries: Queries with gold edges and calls.

    Returns:
        `precision` (among pairs called together), `precision_all`, `recall`, their counterparts
        at a confidence of 0.5 or more (`…@sure`), `calibration_error` (of pairs called
        together), and counts (`gold`, `relations`); None where the denominator is 0.
    """
    if not any(map(_has_data_flow_edges, queries)):
        return None
    halves = [[q for q in queries if _assign_half(q) == side] for side in (0, 1)]
    shapes = [_collect_result_shapes(half) for half in halves]
    return _compute_figures(
        [_judge_relations(tools, shapes[1 - side], half) for side, half in enumerate(halves)]
    )


def _has_data_flow_edges(query: DatasetQuery) -> bool:
    """Whether the edges of a query are known to be data flow, not mere order."""
    text = json.dumps(query.arguments)
    return bool(query.edges) and bool(
        _LABEL_REFERENCE.search(text) or _CALL_REFERENCE.search(text)
    )


def _assign_half(query: DatasetQuery) -> int:
    return hashlib.sha256(query.group.encode()).digest()[0] % 2


def _judge_relations(
    tools: Sequence[DatasetTool],
    observed: Mapping[str, Mapping[str, Any]],
    queries: Iterable[DatasetQuery],
) -> JudgedRelations:
    flows = derive_flows(
        [
            read_endpoints(list_tool(tool, pk), [observed[tool.id]] if tool.id in observed else [])
            for pk, tool in enumerate(tools)
        ]
    )
    gold, called_together = set[RelationPair](), set[RelationPair]()
    for query in queries:
        if _has_data_flow_edges(query):
            gold.update(edge for edge in query.edges or () if edge[0] != edge[1])
        called = {tool for slot in query.slots for tool in slot}
        called_together.update((first, second) for first in called for second in called - {first})
    return JudgedRelations(
        derived={(tools[f.source].id, tools[f.target].id): f.confidence or 0.0 for f in flows},
        gold=frozenset(gold),
        called_together=frozenset(called_together | gold),
    )


def _compute_figures(judged: Sequence[JudgedRelations]) -> DataFlowFigures:
    """Return the figures of all judgements pooled."""
    figures: DataFlowFigures = {}
    for name, min_confidence in (("", 0.0), ("@sure", OFFER_THRESHOLD)):
        selected = [
            (
                judgement,
                {p for p, confidence in judgement.derived.items() if confidence >= min_confidence},
            )
            for judgement in judged
        ]
        right = sum(len(pairs & judgement.gold) for judgement, pairs in selected)
        figures[f"precision{name}"] = _divide(
            right, sum(len(pairs & judgement.called_together) for judgement, pairs in selected)
        )
        figures[f"precision_all{name}"] = _divide(right, sum(len(pairs) for _, pairs in selected))
        figures[f"recall{name}"] = _divide(right, sum(len(judgement.gold) for judgement in judged))
    figures["calibration_error"] = _calibration_error(judged)
    figures["gold"] = float(sum(len(judgement.gold) for judgement in judged))
    figures["relations"] = float(sum(len(judgement.derived) for judgement in judged))
    return figures


def _divide(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def iterate_calibration_bins(
    judged: Sequence[JudgedRelations],
) -> Iterator[tuple[int, float, float]]:
    """Yield count, mean confidence and share right of each bin with pairs called together.

    Args:
        judged: One or more judgements, pooled.
    """
    pairs = [
        (confidence, pair in judgement.gold)
        for judgement in judged
        for pair, confidence in judgement.derived.items()
        if pair in judgement.called_together
    ]
    for low, high in pairwise(BIN_BOUNDS):
        bin_pairs = [item for item in pairs if low <= item[0] < high]
        if bin_pairs:
            size = len(bin_pairs)
            yield (
                size,
                sum(confidence for confidence, _ in bin_pairs) / size,
                sum(ok for _, ok in bin_pairs) / size,
            )


def _calibration_error(judged: Sequence[JudgedRelations]) -> float | None:
    """Return the mean distance of confidence from the share right, over the pairs."""
    bins = list(iterate_calibration_bins(judged))
    total = sum(size for size, _, _ in bins)
    return (
        sum(size * abs(confidence - right) for size, confidence, right in bins) / total
        if total
        else None
    )


def _collect_result_shapes(queries: Iterable[DatasetQuery]) -> dict[str, dict[str, Any]]:
    """Return the shape of each tool's result, limited to fields that arguments refer to."""
    shapes: dict[str, dict[str, Any]] = {}
    for query in queries:
        calls = [call for call in query.arguments or () if isinstance(call, Mapping)]
        labels = {call.get("label"): call.get("tool") for call in calls}
        for call in calls:
            for label, path in _LABEL_REFERENCE.findall(json.dumps(call.get("args"))):
                tool = labels.get(label)
                if isinstance(tool, str):
                    _add_field(shapes.setdefault(tool, {"type": "object"}), path.split("."))
    return shapes


def _add_field(shape: dict[str, Any], path: Sequence[str]) -> None:
    """Add a field such as `restaurants[0].name` to a shape."""
    for step in path:
        name = _LIST_INDEX.sub("", step)
        shape = shape.setdefault("properties", {}).setdefault(name, {})
        for _ in _LIST_INDEX.findall(step):
            shape["type"] = "array"
            shape = shape.setdefault("items", {})
