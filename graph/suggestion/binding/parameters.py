"""Assign the caller's parameters to steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation import schema as json_schema
from gateway_project.foundation.user_error import UserError
from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.schemas import ArgumentSchema, load_schema
from tools.foreign_text import quote_foreign

if TYPE_CHECKING:
    from graph.suggestion.binding.tasks import SuggestedTask

ParameterPlace = tuple[str, str]
"""A step's id and the name of one of its parameters."""
PlacedParameters = dict[str, dict[str, Any]]
"""The caller's values, by step id and parameter name."""

MAX_DEPTH = 64
"""Maximum nesting depth of a parameter."""
MAX_VALIDATION_STEPS: Final = 50_000
"""Step budget for validating one task's arguments: about 0.2 s."""
MAX_KEY_CHARS = 80
MAX_ERROR_CHARS: Final = 600
MAX_SHOWN = 5
"""Names shown in a warning."""
_PLAIN_SCHEMA_KEYS: Final = frozenset({"type", "properties", "$defs", "definitions", "$id"})


class ParameterError(UserError, ValueError):
    """A parameter matches a field by name but not by value; the message says what is expected."""

    code = "invalid_arguments"

    def explain(self) -> str:
        """Return the message, which may quote a server's schema, cut and made visible."""
        return quote_foreign(self, most=MAX_ERROR_CHARS)


def place_parameters(
    steps: Sequence[SuggestedTask], parameters: Mapping[str, Any]
) -> PlacedParameters:
    """Assign each parameter to the steps that take it.

    A parameter goes to all steps that accept it under that name; without an exact match, case and
    separators are ignored. "task.parameter" and "tool.parameter" address one step or tool and win
    over a plain name; the more specific of two addresses wins.

    Raises:
        ParameterError: If no step accepts the value of a matching parameter, or it is nested too
            deeply.
    """
    placed: PlacedParameters = {}
    schemas = {step.id: load_schema(step.tool) for step in steps}
    found = [(key, *_find_places(steps, schemas, key)) for key in parameters]
    found.sort(key=lambda one: (one[2], len(one[1]) == 1))
    for key, places, is_addressed in found:
        value = parameters[key]
        _require_flat(key, value)
        problems = [(one, find_problem(schemas[one[0]], one[1], value)) for one in places]
        rejected = [(one, text) for one, text in problems if text]
        if rejected and (is_addressed or len(rejected) == len(problems)):
            (task, _), text = rejected[0]
            tool = next(step.tool.tool for step in steps if step.id == task)
            raise ParameterError(f"parameter {key!r} does not fit {tool} (task {task}): {text}")
        for (task, name), text in problems:
            if not text:
                placed.setdefault(task, {})[name] = value
    return placed


def _require_flat(key: str, value: Any) -> None:
    """Reject a value that is nested too deeply to be validated."""
    if canonical.is_deeper_than(value, MAX_DEPTH):
        raise ParameterError(
            f"parameter {key[:MAX_KEY_CHARS]!r} is nested more than {MAX_DEPTH} levels deep: "
            "pass it with fewer"
        )


def warn_unplaced(
    steps: Sequence[SuggestedTask], parameters: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return a warning for each parameter that no step takes."""
    schemas = {step.id: load_schema(step.tool) for step in steps}
    all_names = dict.fromkeys(
        name for schema in schemas.values() for name in _parameter_names(schema)
    )
    shown = ", ".join(list(all_names)[:MAX_SHOWN]) + (", …" if len(all_names) > MAX_SHOWN else "")
    accepted = f"they take {shown}" if all_names else "they take none"
    return tuple(
        f"parameter {key!r} matches no task of the workflow and is not used; {accepted}"
        for key in parameters
        if not _find_places(steps, schemas, key)[0]
    )


def _find_places(
    steps: Sequence[SuggestedTask], schemas: Mapping[str, ArgumentSchema], key: str
) -> tuple[list[ParameterPlace], bool]:
    """Return the fields that match a parameter, and whether it addresses them explicitly."""
    exact = [(step.id, key) for step in steps if key in _parameter_names(schemas[step.id])]
    if exact:
        return exact, False
    addressed = [
        (step.id, name)
        for step in steps
        for rest in _addressed_names(step, key)
        for name in _match_parameter_names(schemas[step.id], rest)
    ]
    if addressed:
        return list(dict.fromkeys(addressed)), True
    matching = [
        (step.id, name) for step in steps for name in _match_parameter_names(schemas[step.id], key)
    ]
    return matching, False


def _addressed_names(step: SuggestedTask, key: str) -> list[str]:
    """Return the parameter name after the prefix of a step or tool; empty without a prefix."""
    for owner in (step.id, step.tool.tool, step.tool.name):
        if key.startswith(f"{owner}.") and len(key) > len(owner) + 1:
            return [key[len(owner) + 1 :]]
    return []


def _match_parameter_names(schema: ArgumentSchema, key: str) -> list[str]:
    """Return the parameter of this name, else the only one that differs just in spelling."""
    names = _parameter_names(schema)
    if key in names:
        return [key]
    matching = [name for name in names if _normalize_spelling(name) == _normalize_spelling(key)]
    return matching if len(matching) == 1 else []


def _parameter_names(schema: ArgumentSchema) -> list[str]:
    fields = schema.root.get("properties") or {}
    return [name for name, part in fields.items() if part is not False]


def _normalize_spelling(name: str) -> str:
    return "".join(split_raw_name(name)) + "".join(re.findall(r"\d+", name)) or name


def find_problem(schema: ArgumentSchema, name: str, value: Any) -> str:
    """Return the problem with one parameter's value; empty if it is valid."""
    fields = {key: part for key, part in schema.root.items() if key in _PLAIN_SCHEMA_KEYS}
    try:
        problems = json_schema.validate_arguments(
            fields,
            {name: value},
            cache_key=f"{schema.key}:fields",
            steps=json_schema.StepBudget(MAX_VALIDATION_STEPS),
        )
    except (json_schema.UnusableSchema, json_schema.StepBudgetExceeded):
        return ""
    return problems[0].message if problems else ""
