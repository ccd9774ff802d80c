"""Put the parameters that a caller gave where they belong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation import schema as json_schema
from graph.binding.schemas import Schema, schema_of
from graph.data_flow.words import raw_words

if TYPE_CHECKING:
    from graph.binding.steps import Step

Place = tuple[str, str]
"""A step's id and the name of one of its parameters."""
Placed = dict[str, dict[str, Any]]
"""By step's id and parameter's name, what the caller gave."""

MAX_DEPTH = 64
"""Levels to which a parameter may be nested."""
MAX_KEY_CHARS = 80
MAX_SHOWN = 5
"""Names shown in a warning."""
_FIELDS_ONLY: Final = frozenset({"type", "properties", "$defs", "definitions", "$id"})


class ParameterError(ValueError):
    """A parameter that fits a field by its name and not by its value; says what is expected."""


def place(steps: Sequence[Step], parameters: Mapping[str, Any]) -> Placed:
    """Put each parameter where it belongs.

    A parameter goes to all steps that accept it under that name; where none has that very name,
    case and separators are ignored. "task.parameter" and "tool.parameter" address one, and win
    over a name alone; of two of these, the one that says which task does.

    Raises:
        ParameterError: If no step accepts a parameter of that name with that value, or if it is
            nested too deeply.
    """
    placed: Placed = {}
    schemas = {step.id: schema_of(step.tool) for step in steps}
    found = [(key, *_places(steps, schemas, key)) for key in parameters]
    found.sort(key=lambda one: (one[2], len(one[1]) == 1))
    for key, places, is_addressed in found:
        value = parameters[key]
        _require_flat(key, value)
        problems = [(one, problem(schemas[one[0]], one[1], value)) for one in places]
        wrong = [(one, text) for one, text in problems if text]
        if wrong and (is_addressed or len(wrong) == len(problems)):
            (task, _), text = wrong[0]
            tool = next(step.tool.tool for step in steps if step.id == task)
            raise ParameterError(f"parameter {key!r} does not fit {tool} (task {task}): {text}")
        for (task, name), text in problems:
            if not text:
                placed.setdefault(task, {})[name] = value
    return placed


def _require_flat(key: str, value: Any) -> None:
    """Refuse what is nested so deeply that it cannot be judged."""
    level = [value]
    for _ in range(MAX_DEPTH):
        parts = [
            part
            for one in level
            if isinstance(one, Mapping | list)
            for part in (one.values() if isinstance(one, Mapping) else one)
        ]
        if not parts:
            return
        level = parts
    raise ParameterError(
        f"parameter {key[:MAX_KEY_CHARS]!r} is nested more than {MAX_DEPTH} levels deep: "
        "give it with fewer"
    )


def unplaced(steps: Sequence[Step], parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a warning, in plain words, for each parameter that no step takes."""
    schemas = {step.id: schema_of(step.tool) for step in steps}
    known = dict.fromkeys(name for schema in schemas.values() for name in _names(schema))
    shown = ", ".join(list(known)[:MAX_SHOWN]) + (", …" if len(known) > MAX_SHOWN else "")
    taken = f"they take {shown}" if known else "they take none"
    return tuple(
        f"parameter {key!r} fits no task of the workflow and is not used; {taken}"
        for key in parameters
        if not _places(steps, schemas, key)[0]
    )


def _places(
    steps: Sequence[Step], schemas: Mapping[str, Schema], key: str
) -> tuple[list[Place], bool]:
    """Return where a parameter belongs, and whether it says so itself."""
    exact = [(step.id, key) for step in steps if key in _names(schemas[step.id])]
    if exact:
        return exact, False
    addressed = [
        (step.id, name)
        for step in steps
        for rest in _addressed(step, key)
        for name in _called(schemas[step.id], rest)
    ]
    if addressed:
        return list(dict.fromkeys(addressed)), True
    alike = [(step.id, name) for step in steps for name in _called(schemas[step.id], key)]
    return alike, False


def _addressed(step: Step, key: str) -> list[str]:
    """Return what a parameter is called after the step or the tool it is addressed to."""
    for owner in (step.id, step.tool.tool, step.tool.name):
        if key.startswith(f"{owner}.") and len(key) > len(owner) + 1:
            return [key[len(owner) + 1 :]]
    return []


def _called(schema: Schema, key: str) -> list[str]:
    """Return the parameter of a name; if there is none, the one that is only spelt otherwise."""
    names = _names(schema)
    if key in names:
        return [key]
    alike = [name for name in names if _spelling(name) == _spelling(key)]
    return alike if len(alike) == 1 else []


def _names(schema: Schema) -> list[str]:
    fields = schema.root.get("properties") or {}
    return [name for name, part in fields.items() if part is not False]


def _spelling(name: str) -> str:
    return "".join(raw_words(name)) + "".join(re.findall(r"\d+", name)) or name


def problem(schema: Schema, name: str, value: Any) -> str:
    """Return what is wrong with the value of one parameter; empty if nothing is."""
    fields = {key: part for key, part in schema.root.items() if key in _FIELDS_ONLY}
    try:
        found = json_schema.validate(fields, {name: value}, cache_key=f"{schema.key}:fields")
    except json_schema.SchemaUnusable:
        return ""
    return found[0].message if found else ""
