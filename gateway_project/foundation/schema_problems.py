"""Explains validation errors of arguments, so that a model or a person can correct them."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation.schema_checks import is_other_kind
from gateway_project.foundation.schema_validation import Violation
from gateway_project.foundation.text import shorten

MAX_SHOWN = 60
"""Characters of a value that a message quotes."""
MAX_LISTED = 12
"""Names or values of an enumeration or an object that a message lists."""
SPELLING_CUTOFF = 0.6
MAX_COMPARED = 40
"""Number of names, and characters of a name, that are compared to find a misspelling."""
MAX_DESCRIPTION = 500
"""Characters of a description that are examined."""

_PROBLEM_STEPS: Final = 4
_COMPARISON_STEPS: Final = 5
"""Steps to compare the spelling of two names."""
_NAMES_PER_STEP: Final = 16
"""Names or values iterated in one step."""

_ARTICLES: Final = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "null": "null",
}


SpendSteps = Callable[[int], None]
_encoder: Final = json.JSONEncoder(ensure_ascii=False, default=str)


@dataclass(frozen=True, kw_only=True)
class ArgumentProblem:
    """A problem of arguments.

    Attributes:
        path: JSON pointer to the field.
        message: Names the field, the value found and what is expected.
        expected: Short description of valid values.
    """

    path: str
    message: str
    expected: str


def explain_error(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    """Convert a violation to problems, usually one.

    Args:
        error: The violation.
        spend: Called with the number of steps taken.
    """
    return _EXPLAINERS.get(error.keyword, _explain_other)(error, spend)


def describe_schema(schema: object, spend: SpendSteps = lambda _steps: None) -> str:
    """Describe in a few words what a schema accepts.

    Example:
        >>> describe_schema({"type": "integer", "minimum": 1, "description": "How many"})
        'integer, at least 1 (How many)'
        >>> describe_schema({"enum": ["asc", "desc"]})
        'one of "asc", "desc"'
        >>> describe_schema({"description": "Any JSON value"})
        'Any JSON value'
    """
    if not isinstance(schema, Mapping):
        return "nothing" if schema is False else "anything"
    parts = [_describe_kind(schema, spend), *_describe_limits(schema)]
    text = ", ".join(part for part in parts if part)
    note = schema.get("description")
    if isinstance(note, str) and note.strip():
        note = shorten(" ".join(note[:MAX_DESCRIPTION].split()), MAX_SHOWN)
        return f"{text} ({note})" if text else note
    return text or "anything"


def _describe_kind(schema: Mapping[str, Any], spend: SpendSteps) -> str:
    spend(1)
    if "const" in schema:
        return f"exactly {_preview_value(schema['const'])}"
    if isinstance(schema.get("enum"), list):
        return f"one of {_list_briefly(schema['enum'], _preview_value)}"
    forms = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(forms, list):
        kinds = dict.fromkeys(
            (isinstance(form, Mapping) and _describe_kind(form, spend)) or "anything"
            for form in forms[:MAX_LISTED]
            if form
        )
        more = len(forms) - MAX_LISTED
        return " or ".join([*kinds, *([f"{more} more forms"] if more > 0 else [])])
    kind = " or ".join(_filter_known_types(schema.get("type"), spend))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"array of {_describe_kind(schema['items'], spend) or 'anything'}"
    fields = schema.get("properties")
    if kind == "object" and isinstance(fields, Mapping) and fields:
        spend(len(schema.get("required", ())) // _NAMES_PER_STEP)
        return f"object with {_list_briefly(fields, lambda name: _format_field(name, schema))}"
    return kind


def _format_field(name: str, schema: Mapping[str, Any]) -> str:
    return name if name in schema.get("required", ()) else f"{name}?"


def _describe_limits(schema: Mapping[str, Any]) -> Iterator[str]:
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


def _explain_required(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    properties = _properties_of(error)
    instance = error.instance if isinstance(error.instance, Mapping) else {}
    unknown = [name for name in islice(instance, 2 * MAX_COMPARED) if name not in properties]
    for name in _filter_strings(error.value):
        similar = _find_similar_name(name, unknown, spend)
        hint = f"; is {similar!r} meant for it?" if similar else ""
        expected = describe_schema(properties.get(name, True), spend)
        yield _build_problem(
            error, spend, f"is missing; expected {expected}{hint}", expected, member=name
        )


def _explain_unknown_field(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    properties = _properties_of(error)
    name = str(error.path[0])
    similar = _find_similar_name(name, properties, spend)
    expected = f"one of {_list_briefly(properties)}" if properties else "no fields"
    hint = f"did you mean {similar}?" if similar else f"expected {expected}"
    yield _build_problem(error, spend, f"is not a known field; {hint}", expected)


def _explain_type(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    wanted = " or ".join(_ARTICLES[name] for name in _filter_known_types(error.value, spend))
    yield _build_mismatch(error, spend, f"must be {wanted}")


def _explain_enum(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    values: list[Any] = _as_list(error.value)
    similar = ""
    if isinstance(error.instance, str) and len(error.instance) <= MAX_COMPARED:
        spend(len(values) // _NAMES_PER_STEP)
        folded = {
            text.casefold(): text for text in _filter_strings(values) if len(text) <= MAX_COMPARED
        }
        similar = folded.get(_find_similar_name(error.instance.casefold(), folded, spend), "")
    hint = f"; did you mean {_preview_value(similar)}?" if similar else ""
    yield _build_mismatch(
        error, spend, f"must be one of {_list_briefly(values, _preview_value)}", hint=hint
    )


def _explain_forms(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    """Report the errors of the nearest form, or all allowed types if no form nearly fits."""
    if not error.context:
        yield _build_mismatch(
            error, spend, "fits several of the allowed forms, and must fit one only"
        )
        return
    branches: defaultdict[Any, list[Violation]] = defaultdict(list)
    for child in error.context:
        branches[child.form].append(child)
    near = [errors for errors in branches.values() if not is_other_kind(errors)]
    if near:
        for child in min(near, key=len):
            child.path += error.path
            yield from explain_error(child, spend)
        return
    kind = _describe_kind(_schema_of(error), spend)
    rule = "must be one of the allowed forms" if "anything" in kind else f"must be {kind}"
    yield _build_mismatch(error, spend, rule)


def _explain_limit(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    keyword = str(error.keyword)
    if (keyword, error.value) in _NOT_EMPTY:
        yield _build_problem(
            error, spend, "must not be empty", describe_schema(error.schema, spend)
        )
        return
    words = _LIMIT_WORDS[keyword].format(error.value)
    verb = "be" if words.startswith(("at", "more", "less", "a ")) else "be text"
    if keyword.endswith(("Length", "Items", "Properties")):
        verb = "have"
    yield _build_mismatch(error, spend, f"must {verb} {words}")


def _explain_constant(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    yield _build_mismatch(error, spend, f"must be {_preview_value(error.value)}")


def _explain_forbidden(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    yield _build_problem(error, spend, "must not be given", "nothing")


def _explain_other(error: Violation, spend: SpendSteps) -> Iterator[ArgumentProblem]:
    yield _build_problem(
        error,
        spend,
        f"does not satisfy `{error.keyword}`: {shorten(error.message, 2 * MAX_SHOWN)}",
        describe_schema(error.schema, spend),
    )


_EXPLAINERS: Final[Mapping[str, Callable[[Violation, SpendSteps], Iterator[ArgumentProblem]]]] = {
    "required": _explain_required,
    "additionalProperties": _explain_unknown_field,
    "type": _explain_type,
    "enum": _explain_enum,
    "const": _explain_constant,
    "false": _explain_forbidden,
    "anyOf": _explain_forms,
    "oneOf": _explain_forms,
    **dict.fromkeys((name for name in _LIMIT_WORDS if name != "format"), _explain_limit),
}


def _build_mismatch(
    error: Violation, spend: SpendSteps, rule: str, *, hint: str = ""
) -> ArgumentProblem:
    found = _describe_value(error.instance)
    return _build_problem(
        error, spend, f"{rule}, not {found}{hint}", describe_schema(error.schema, spend)
    )


def _build_problem(
    error: Violation, spend: SpendSteps, message: str, expected: str, *, member: str | None = None
) -> ArgumentProblem:
    spend(_PROBLEM_STEPS)
    steps = [*reversed(error.path), *([] if member is None else [member])]
    return ArgumentProblem(
        path=canonical.build_pointer(steps),
        message=f"{_format_path(steps)} {message}",
        expected=expected,
    )


def _format_path(steps: Sequence[str | int]) -> str:
    """Format a path as in code.

    Example:
        >>> _format_path(["tasks", 0, "id"])
        'tasks[0].id'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return text.removeprefix(".") or "the arguments"


def _describe_value(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {_preview_value(value)}"
    if isinstance(value, Mapping):
        return f"an object with {_list_briefly(value)}" if value else "an empty object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return _preview_value(value)


def _preview_value(value: Any) -> str:
    """Return the beginning of a value as JSON; encodes little more than it returns."""
    if isinstance(value, str):
        value = value[: MAX_SHOWN + 1]
    text = ""
    for piece in _encoder.iterencode(value):
        text += piece[: MAX_SHOWN + 1]
        if len(text) > MAX_SHOWN:
            break
    return shorten(text, MAX_SHOWN)


def _list_briefly(items: Collection[Any], write: Callable[[Any], str] = str) -> str:
    listed = [shorten(write(item), MAX_SHOWN) for item in islice(items, MAX_LISTED)]
    more = len(items) - MAX_LISTED
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


def _find_similar_name(name: str, names: Iterable[str], spend: SpendSteps) -> str:
    """Return the name that is spelt most similarly to `name`; empty if none is similar.

    Comparing two names takes some 20 µs, so only the first `MAX_COMPARED` candidates are compared.
    """
    if len(name) > MAX_COMPARED:
        return ""
    tolerance = len(name) // 2 + 1
    listed = list(names)
    spend(len(listed) // _NAMES_PER_STEP)
    candidates = [item for item in listed if abs(len(item) - len(name)) <= tolerance]
    candidates = candidates[:MAX_COMPARED]
    spend(_COMPARISON_STEPS * len(candidates))
    matches = difflib.get_close_matches(name, candidates, n=1, cutoff=SPELLING_CUTOFF)
    return matches[0] if matches else ""


def _filter_known_types(value: Any, spend: SpendSteps) -> list[str]:
    names = value if isinstance(value, list) else [value]
    spend(len(names) // _NAMES_PER_STEP)
    known = (name for name in names if isinstance(name, str) and name in _ARTICLES)
    return list(dict.fromkeys(known))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _filter_strings(value: Any) -> list[str]:
    return [item for item in _as_list(value) if isinstance(item, str)]


def _schema_of(error: Violation) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _properties_of(error: Violation) -> Mapping[str, Any]:
    fields = _schema_of(error).get("properties", {})
    return fields if isinstance(fields, Mapping) else {}
