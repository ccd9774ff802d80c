"""Makes a form of a tool's JSON Schema, and reads its arguments back from one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from gateway_project.foundation import canonical
from gateway_project.foundation.schema_normalise import normalise

FieldKind = Literal["text", "lines", "integer", "number", "boolean", "choice", "json"]

MAX_DEPTH: Final = 3
"""Levels of objects with inputs of their own; deeper ones are entered as JSON."""
MAX_FIELDS: Final = 60
"""Inputs of one form; what is beyond is entered as JSON."""
MAX_CHOICES: Final = 100
MAX_TREE_ROWS: Final = 300
_SCALAR_KINDS: Final[Mapping[str, FieldKind]] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}


class NotReadable(ValueError):
    """What was entered is not a value of the field's type; the message says what is expected."""


@dataclass(frozen=True, kw_only=True)
class FormField:
    """An input of one argument.

    Attributes:
        pointer: JSON pointer into the arguments.
        label: The argument's name; of a nested one, with those of its parents.
        kind: How it is entered. `lines`: one item per line.
        is_required: Whether the call needs it.
        description: As the server says.
        type_name: JSON type in words.
        choices: Permitted values as JSON; empty: any.
        item_kind: Kind of the items of `lines`.
        text: What the input shows at first: the default, or nothing.
    """

    pointer: str
    label: str
    kind: FieldKind
    is_required: bool
    description: str = ""
    type_name: str = ""
    choices: tuple[str, ...] = ()
    item_kind: FieldKind = "text"
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class TreeRow:
    """A line of a schema's tree.

    Attributes:
        depth: Level, from 0.
        name: Of the field; `[ ]` for the items of a list.
        type_name: JSON type in words.
        is_required: Whether its object needs it.
        description: As the server says.
        limits: Permitted values, bounds and the default, in words.
    """

    depth: int
    name: str
    type_name: str
    is_required: bool
    description: str
    limits: tuple[str, ...]


def build_fields(schema: object) -> tuple[FormField, ...]:
    """Return the inputs of a schema's arguments, required ones first.

    Example:
        >>> fields = build_fields({"properties": {"depth": {"type": "integer", "default": 1},
        ...     "path": {"type": "string"}}, "required": ["path"]})
        >>> [(field.label, field.kind, field.is_required, field.text) for field in fields]
        [('path', 'text', True, ''), ('depth', 'integer', False, '1')]
    """
    root = normalise(schema)
    fields = list(_iterate_fields(root, "", (), is_required=True))
    return tuple(fields[:MAX_FIELDS])


def read_arguments(
    fields: Sequence[FormField], texts: Sequence[str]
) -> tuple[dict[str, Any], dict[int, str]]:
    """Read arguments from what was entered.

    Args:
        fields: From `build_fields`.
        texts: What was entered, in the same order; a missing or empty text leaves an argument out.

    Returns:
        The arguments, and what is wrong by the index of the field.

    Example:
        >>> fields = build_fields({"properties": {"n": {"type": "integer"}}, "required": ["n"]})
        >>> read_arguments(fields, ["7"]), read_arguments(fields, ["x"])
        (({'n': 7}, {}), ({}, {0: 'enter a whole number'}))
    """
    arguments: dict[str, Any] = {}
    problems: dict[int, str] = {}
    for index, field in enumerate(fields):
        text = texts[index] if index < len(texts) else ""
        if not text.strip():
            if field.is_required:
                problems[index] = "enter a value; the tool requires it"
            continue
        try:
            value = _read_value(field, text)
        except NotReadable as error:
            problems[index] = str(error)
        else:
            _put_value(arguments, field.pointer, value)
    return arguments, problems


def list_tree(schema: object) -> tuple[TreeRow, ...]:
    """Return a schema as lines of a tree, at most `MAX_TREE_ROWS`.

    Example:
        >>> [(row.depth, row.name, row.type_name) for row in list_tree(
        ...     {"properties": {"ids": {"type": "array", "items": {"type": "string"}}}})]
        [(0, 'ids', 'list of string')]
    """
    rows: list[TreeRow] = []
    for row in _iterate_tree(normalise(schema), 0):
        if len(rows) == MAX_TREE_ROWS:
            break
        rows.append(row)
    return tuple(rows)


def _iterate_fields(
    schema: Mapping[str, Any], pointer: str, parents: tuple[str, ...], *, is_required: bool
) -> Iterator[FormField]:
    properties = _read_properties(schema)
    required = _read_required(schema)
    for name in sorted(properties, key=lambda name: name not in required):
        value = properties[name]
        needed = is_required and name in required
        path = f"{pointer}/{canonical.escape_token(name)}"
        names = (*parents, name)
        if _read_properties(value) and len(names) < MAX_DEPTH and "default" not in value:
            yield from _iterate_fields(value, path, names, is_required=needed)
        else:
            yield _make_field(value, path, " → ".join(names), is_required=needed)


def _make_field(
    schema: Mapping[str, Any], pointer: str, label: str, *, is_required: bool
) -> FormField:
    kind, item_kind = _choose_kind(schema)
    choices = _list_choices(schema) if kind == "choice" else ()
    return FormField(
        pointer=pointer,
        label=label,
        kind=kind,
        is_required=is_required,
        description=_read_text(schema, "description"),
        type_name=describe_type(schema),
        choices=choices,
        item_kind=item_kind,
        text=_write_default(schema, kind),
    )


def _choose_kind(schema: Mapping[str, Any]) -> tuple[FieldKind, FieldKind]:
    """Return how a value is entered, and how the items of a list are."""
    choices = schema.get("enum")
    if isinstance(choices, list) and 0 < len(choices) <= MAX_CHOICES:
        return "choice", "text"
    declared = _read_type(schema)
    if declared == "array":
        items = schema.get("items")
        item_type = _read_type(items) if isinstance(items, Mapping) else ""
        if item_type in ("string", "integer", "number"):
            return "lines", _SCALAR_KINDS[item_type]
        return "json", "text"
    return _SCALAR_KINDS.get(declared, "json"), "text"


def _list_choices(schema: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(json.dumps(choice, ensure_ascii=False) for choice in schema["enum"])


def _write_default(schema: Mapping[str, Any], kind: FieldKind) -> str:
    default = schema.get("default")
    if default is None:
        return ""
    if kind == "text" and isinstance(default, str):
        return default
    if kind == "lines" and isinstance(default, list):
        return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in default)
    return json.dumps(default, ensure_ascii=False)


def _read_value(field: FormField, text: str) -> Any:
    if field.kind == "lines":
        lines = [line.strip() for line in text.splitlines()]
        return [_read_scalar(field.item_kind, line) for line in lines if line]
    if field.kind in ("json", "choice"):
        return read_json(text)
    return _read_scalar(field.kind, text)


def _read_scalar(kind: FieldKind, text: str) -> Any:
    if kind == "text":
        return text
    if kind == "boolean":
        if text not in ("true", "false"):
            raise NotReadable("choose yes or no")
        return text == "true"
    try:
        value = json.loads(text.strip())
    except (ValueError, RecursionError):
        value = None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (kind == "integer" and not isinstance(value, int)):
        raise NotReadable("enter a whole number" if kind == "integer" else "enter a number")
    return value


def read_json(text: str) -> Any:
    """Return a value entered as JSON.

    Raises:
        NotReadable: If it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise NotReadable("enter JSON, such as {} or [] or “text” in quotes") from None


def _put_value(arguments: dict[str, Any], pointer: str, value: Any) -> None:
    holder = arguments
    *parents, last = map(canonical.unescape_token, pointer.split("/")[1:])
    for name in parents:
        holder = holder.setdefault(name, {})
    holder[last] = value


def _iterate_tree(schema: Mapping[str, Any], depth: int) -> Iterator[TreeRow]:
    required = _read_required(schema)
    for name, value in _read_properties(schema).items():
        yield TreeRow(
            depth=depth,
            name=name,
            type_name=describe_type(value),
            is_required=name in required,
            description=_read_text(value, "description"),
            limits=tuple(_iterate_limits(value)),
        )
        inner = value.get("items") if _read_type(value) == "array" else value
        if isinstance(inner, Mapping):
            yield from _iterate_tree(inner, depth + 1)


def _iterate_limits(schema: Mapping[str, Any]) -> Iterator[str]:
    choices = schema.get("enum")
    if isinstance(choices, list):
        yield (
            "one of "
            + ", ".join(map(_write_short, choices[:10]))
            + (f" and {len(choices) - 10} more" if len(choices) > 10 else "")
        )
    for keyword, words in (
        ("default", "default"), ("minimum", "at least"), ("maximum", "at most"),
        ("exclusiveMinimum", "more than"), ("exclusiveMaximum", "less than"),
        ("minLength", "characters at least"), ("maxLength", "characters at most"),
        ("minItems", "items at least"), ("maxItems", "items at most"),
        ("format", "format"), ("pattern", "pattern"), ("const", "always"),
    ):  # fmt: skip
        if schema.get(keyword) is not None:
            yield f"{words} {_write_short(schema[keyword])}"


def _write_short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:59]}…"


def describe_type(schema: Mapping[str, Any]) -> str:
    """Return the JSON type of a schema in words; `any` if it names none.

    Example:
        >>> describe_type({"type": "array", "items": {"type": "integer"}}), describe_type({})
        ('list of integer', 'any')
    """
    declared = _read_type(schema)
    if declared == "array":
        items = schema.get("items")
        inner = describe_type(items) if isinstance(items, Mapping) else "any"
        return "list" if inner == "any" else f"list of {inner}"
    if not declared:
        for keyword in ("anyOf", "oneOf"):
            options = schema.get(keyword)
            if isinstance(options, list):
                kinds = [describe_type(one) for one in options if isinstance(one, Mapping)]
                return " or ".join(dict.fromkeys(kinds)) or "any"
    return declared or "any"


def _read_type(schema: Mapping[str, Any]) -> str:
    declared = schema.get("type")
    if isinstance(declared, list):
        named = [kind for kind in declared if kind != "null"]
        declared = named[0] if len(named) == 1 else None
    return declared if isinstance(declared, str) else ""


def _read_properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {
        name: value if isinstance(value, Mapping) else {} for name, value in properties.items()
    }


def _read_required(schema: Mapping[str, Any]) -> frozenset[str]:
    required = schema.get("required")
    names = required if isinstance(required, list) else ()
    return frozenset(name for name in names if isinstance(name, str))


def _read_text(schema: Mapping[str, Any], key: str) -> str:
    text = schema.get(key)
    return text if isinstance(text, str) else ""
