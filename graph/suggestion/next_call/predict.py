"""Predict the next calls of a session."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from graph.suggestion.next_call.call import PredictedCall
from graph.suggestion.next_call.candidates import generate_candidates
from graph.suggestion.next_call.features import compute_features
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.occurrence import Candidate, Choice
from graph.suggestion.next_call.profiles import Parameter, ToolProfiles
from graph.suggestion.next_call.repetition import find_earlier_points, weigh_repetition
from graph.suggestion.next_call.session import SessionState

LEAST_CHANCE = 0.01
"""Candidates below this chance are not predictions."""


def predict_calls(
    state: SessionState, model: NextCallModel, tools: ToolProfiles, *, limit: int
) -> tuple[PredictedCall, ...]:
    """Return the calls that are likely to come next, best first.

    Only tools known to be read-only are predicted. Deterministic; takes time that is bounded by
    the limits of `candidates`, whatever the size of the catalogue.

    Args:
        state: The session so far.
        model: What past sessions taught; an empty one predicts from names and types alone.
        tools: The catalogue.
        limit: Most predictions returned.

    Returns:
        Predictions with complete arguments, by falling chance, each call once.
    """
    state.tools = tools
    candidates = generate_candidates(state, model)
    rows = np.array(compute_features(state, model, candidates))
    chances, soon = model.estimate_chances(rows)
    if points := find_earlier_points(state):
        weighed = [
            weigh_repetition(state, points, *one)
            for one in zip(candidates, chances, soon, strict=True)
        ]
        chances, soon = [list(column) for column in zip(*weighed, strict=True)] or ([], [])
    order = sorted(range(len(candidates)), key=lambda index: (-chances[index], index))
    found: list[PredictedCall] = []
    for index in order:
        if len(found) == limit or chances[index] < LEAST_CHANCE:
            break
        predicted = _materialise(state, model, candidates[index], chances[index], soon[index])
        if predicted is not None:
            found.append(predicted)
    return tuple(found)


def _materialise(
    state: SessionState, model: NextCallModel, candidate: Candidate, chance: float, soon: float
) -> PredictedCall | None:
    profile = state.tools.tools[candidate.tool]
    arguments: dict[str, Any] = {}
    for choice in candidate.choices:
        parameter = profile.parameters[choice.name]
        value = _read_value(state, parameter, choice)
        if value is None:
            return None
        arguments[choice.name] = value
    return PredictedCall(
        tool=candidate.tool,
        arguments=arguments,
        chance=chance,
        next_chance=min(soon, chance),
        saves_ms=model.estimate_duration_ms(candidate.tool),
        reason=_explain(candidate),
        sources={c.name: _describe_source(state, c) for c in candidate.choices},
        p95_ms=model.estimate_p95_ms(candidate.tool),
    )


def _read_value(state: SessionState, parameter: Parameter, choice: Choice) -> Any:
    """Return the value of an argument, in a type that the parameter accepts; None if none fits."""
    if choice.number is None:
        return parameter.schema_values[choice.position or 0]
    value = state.values[choice.number]
    if isinstance(value, list):
        return _coerce_list(value, parameter)
    return coerce_value(value, parameter.types)


def _coerce_list(items: list[Any], parameter: Parameter) -> list[Any] | None:
    """Return a list with items in a type that the parameter accepts; None if one cannot be."""
    if parameter.types and "array" not in parameter.types:
        return None
    coerced = [coerce_value(item, parameter.item_types) for item in items]
    return None if any(item is None for item in coerced) else coerced


def coerce_value(value: Any, types: frozenset[str]) -> Any:
    """Return a value in one of some JSON types; None if it cannot be one.

    Example:
        >>> coerce_value("7", frozenset({"integer"})), coerce_value(7, frozenset({"string"}))
        (7, '7')
        >>> coerce_value("x", frozenset({"number"})) is None
        True
    """
    if not types:
        return value
    if isinstance(value, list):
        return value if "array" in types else None
    if isinstance(value, str):
        return value.strip() if "string" in types else _parse_number(value, types)
    if "number" in types:
        return value
    if "integer" in types and float(value).is_integer():
        return int(value)
    return str(value) if "string" in types else None


def _parse_number(text: str, types: frozenset[str]) -> int | float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if number.is_integer() and types & {"integer", "number"} and abs(number) < 1e15:
        return int(number) if "." not in text or "integer" in types else number
    return number if "number" in types and abs(number) < 1e15 else None


def _describe_source(state: SessionState, choice: Choice) -> str:
    """Return where an argument comes from: its kind and, for results and arguments, its server."""
    if choice.occurrence is None:
        return "constant"
    kind, tool, _ = choice.occurrence.source
    if kind in ("stated", "planned"):
        return "stated"
    profile = state.tools.tools.get(tool)
    return f"{kind}:{profile.server if profile else ''}"


def _explain(candidate: Candidate) -> str:
    """Say in plain words where the arguments come from, without a value."""
    parts = [
        f"`{choice.name}` {_PLACES[kind]}" + (f" at `{path}`" if kind == "result" else "")
        for choice in candidate.choices
        if choice.occurrence is not None
        for kind, _, path in (choice.occurrence.source,)
    ]
    return "; ".join(parts) or "needs no value of this session"


_PLACES: Final = {
    "result": "was in an earlier result",
    "argument": "was an argument of an earlier call",
    "stated": "was stated by the client",
    "planned": "was read from what the client stated",
}
