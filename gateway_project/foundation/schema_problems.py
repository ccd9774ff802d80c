"""What is wrong with arguments, in words a model or a person can act on."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jsonschema import ValidationError

MAX_SHOWN = 60
"""Characters of a given value that are repeated."""
MAX_LISTED = 12
"""Names or values listed of an enumeration or an object."""
SPELLING_CUTOFF = 0.6

_ARTICLES: Final = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "null": "null",
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong with arguments.

    Attributes:
        path: JSON pointer to the field.
        message: Names the field, says what was given and what is expected.
        expected: What fits there, in short.
    """

    path: str
    message: str
    expected: str


def explain(error: ValidationError) -> Iterator[Problem]:
    """Turn one error of the validator into problems, usually one."""
    keyword = "false" if error.validator is None else str(error.validator)
    explainer = _EXPLAINERS.get(keyword, _other)
    yield from explainer(error)


def describe(schema: object) -> str:
    """Say in a few words what a schema expects.

    Example:
        >>> describe({"type": "integer", "minimum": 1, "description": "How many"})
        'integer, at least 1 (How many)'
        >>> describe({"enum": ["asc", "desc"]})
        'one of "asc", "desc"'
    """
    if not isinstance(schema, Mapping):
        return "nothing" if schema is False else "anything"
    parts = [_kind(schema), *_limits(schema)]
    text = ", ".join(part for part in parts if part) or "anything"
    note = schema.get("description")
    if isinstance(note, str) and note.strip():
        text += f" ({_cut(' '.join(note.split()))})"
    return text


def _kind(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return f"exactly {_shown(schema['const'])}"
    if isinstance(schema.get("enum"), list):
        return f"one of {_several(_shown(value) for value in schema['enum'])}"
    forms = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(forms, list):
        return " or ".join(dict.fromkeys(_kind(f) or "anything" for f in forms if f))
    kind = " or ".join(_types(schema.get("type")))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"array of {_kind(schema['items']) or 'anything'}"
    fields = schema.get("properties")
    if kind == "object" and isinstance(fields, Mapping) and fields:
        return f"object with {_several(_field(name, schema) for name in fields)}"
    return kind


def _field(name: str, schema: Mapping[str, Any]) -> str:
    return name if name in schema.get("required", ()) else f"{name}?"


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    for keyword, words in _LIMIT_WORDS.items():
        if keyword in schema:
            yield _NOT_EMPTY.get((keyword, schema[keyword])) or words.format(schema[keyword])


_NOT_EMPTY: Final = {
    ("minLength", 1): "not empty",
    ("minItems", 1): "not empty",
    ("minProperties", 1): "not empty",
}
_LIMIT_WORDS: Final = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} fields",
    "maxProperties": "at most {} fields",
    "pattern": "matching {}",
    "format": "in the format {}",
}


def _required(error: ValidationError) -> Iterator[Problem]:
    known = _properties(error)
    given = _fields(error.instance)
    strangers = [name for name in given if name not in known]
    for name in _strings(error.validator_value):
        like = difflib.get_close_matches(name, strangers, n=1, cutoff=SPELLING_CUTOFF)
        hint = f"; is {like[0]!r} meant for it?" if like else ""
        expected = describe(known.get(name, True))
        yield _problem(
            [*error.absolute_path, name], f"is missing; expected {expected}{hint}", expected
        )


def _unknown_field(error: ValidationError) -> Iterator[Problem]:
    known = _properties(error)
    name = str(error.absolute_path[-1])
    like = difflib.get_close_matches(name, known, n=1, cutoff=SPELLING_CUTOFF)
    expected = f"one of {_several(known)}" if known else "no fields"
    hint = f"did you mean {like[0]}?" if like else f"expected {expected}"
    yield _problem(error.absolute_path, f"is not a known field; {hint}", expected)


def _type(error: ValidationError) -> Iterator[Problem]:
    wanted = " or ".join(_ARTICLES[name] for name in _types(error.validator_value))
    yield _mismatch(error, f"must be {wanted}")


def _enum(error: ValidationError) -> Iterator[Problem]:
    values: list[Any] = _list(error.validator_value)
    texts = _strings(values)
    like: list[str] = []
    if isinstance(error.instance, str):
        folded = {text.casefold(): text for text in texts}
        found = difflib.get_close_matches(error.instance.casefold(), folded, n=1)
        like = [folded[text] for text in found]
    hint = f"; did you mean {_shown(like[0])}?" if like else ""
    yield _mismatch(error, f"must be one of {_several(map(_shown, values))}", hint=hint)


def _forms(error: ValidationError) -> Iterator[Problem]:
    """Report the form that the value comes nearest to, or all types if none comes near."""
    if not error.context:
        yield _mismatch(error, "fits several of the allowed forms, and must fit one only")
        return
    branches: defaultdict[Any, list[ValidationError]] = defaultdict(list)
    for child in error.context:
        branches[child.schema_path[0]].append(child)
    near = [errors for errors in branches.values() if not _other_kind(errors)]
    if near:
        for child in min(near, key=len):
            yield from explain(child)
        return
    kind = _kind(_schema(error))
    rule = "must be one of the allowed forms" if "anything" in kind else f"must be {kind}"
    yield _mismatch(error, rule)


def _other_kind(errors: Sequence[ValidationError]) -> bool:
    """Whether a form is of another type altogether, or for another constant."""
    return any(
        (error.validator == "type" and not error.relative_path)
        or error.validator in ("const", "enum")
        for error in errors
    )


def _limit(error: ValidationError) -> Iterator[Problem]:
    keyword = str(error.validator)
    if (keyword, error.validator_value) in _NOT_EMPTY:
        yield _problem(error.absolute_path, "must not be empty", describe(error.schema))
        return
    words = _LIMIT_WORDS[keyword].format(error.validator_value)
    verb = "be" if words.startswith(("at", "more", "less", "a ")) else "be text"
    if keyword.endswith(("Length", "Items", "Properties")):
        verb = "have"
    yield _mismatch(error, f"must {verb} {words}")


def _constant(error: ValidationError) -> Iterator[Problem]:
    yield _mismatch(error, f"must be {_shown(error.validator_value)}")


def _forbidden(error: ValidationError) -> Iterator[Problem]:
    yield _problem(error.absolute_path, "must not be given", "nothing")


def _other(error: ValidationError) -> Iterator[Problem]:
    yield _problem(
        error.absolute_path,
        f"does not satisfy `{error.validator}`: {_cut(error.message, 2 * MAX_SHOWN)}",
        describe(error.schema),
    )


_EXPLAINERS: Final[Mapping[str, Callable[[ValidationError], Iterator[Problem]]]] = {
    "required": _required,
    "additionalProperties": _unknown_field,
    "type": _type,
    "enum": _enum,
    "const": _constant,
    "false": _forbidden,
    "anyOf": _forms,
    "oneOf": _forms,
    **dict.fromkeys((name for name in _LIMIT_WORDS if name != "format"), _limit),
}


def _mismatch(error: ValidationError, rule: str, *, hint: str = "") -> Problem:
    given = _given(error.instance)
    return _problem(error.absolute_path, f"{rule}, not {given}{hint}", describe(error.schema))


def _problem(path: Iterable[str | int], message: str, expected: str) -> Problem:
    steps = list(path)
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)
    return Problem(path=pointer, message=f"{_name(steps)} {message}", expected=expected)


def _name(steps: Sequence[str | int]) -> str:
    """Write a path as one would in code.

    Example:
        >>> _name(["tasks", 0, "id"])
        'tasks[0].id'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return text.removeprefix(".") or "the arguments"


def _given(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {_shown(value)}"
    if isinstance(value, Mapping):
        return f"an object with {_several(value)}" if value else "an empty object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return _shown(value)


def _shown(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str, length: int = MAX_SHOWN) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _several(items: Iterable[str]) -> str:
    listed = [_cut(str(item)) for item in items]
    more = len(listed) - MAX_LISTED
    return ", ".join(listed[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _types(value: Any) -> list[str]:
    names = value if isinstance(value, list) else [value]
    return [name for name in names if isinstance(name, str) and name in _ARTICLES]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]


def _schema(error: ValidationError) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _properties(error: ValidationError) -> Mapping[str, Any]:
    fields = _schema(error).get("properties", {})
    return fields if isinstance(fields, Mapping) else {}


def _fields(value: Any) -> list[str]:
    return list(value) if isinstance(value, Mapping) else []
