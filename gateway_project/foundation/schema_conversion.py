"""Converts arguments that models send in the wrong form, where the schema leaves no doubt.

A null for an optional member is left out; a text that is the JSON of a list, an object, a number
or a boolean is read where the schema wants one of those. Nothing that is valid as sent changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gateway_project.foundation import canonical, surrogates
from gateway_project.foundation.schema_problems import ArgumentProblem

MAX_ROUNDS: Final = 3
"""Rounds of conversion: a text may hold an object with further texts."""
MAX_TEXT: Final = 200_000
"""Characters of a text that is read as JSON."""
LEFT_OUT: Final = "left out"
PASSED_ON: Final = "passed on"

Conversion = dict[str, str]
"""`pointer`, `from` and `to`, for the `_meta` of an answer."""
FindProblems = Callable[[Any], Iterable[ArgumentProblem]]


def convert_arguments(
    arguments: Mapping[str, Any], find_problems: FindProblems
) -> tuple[dict[str, Any], list[Conversion]] | None:
    """Return converted arguments and what was converted.

    Args:
        arguments: As sent; they have problems.
        find_problems: Returns the problems of arguments.

    Returns:
        None unless the converted arguments have no problem.

    Example:
        >>> def find(args):
        ...     if isinstance(args.get("n"), str):
        ...         yield ArgumentProblem(path="/n", message="", expected="")
        >>> convert_arguments({"n": "5"}, find)
        ({'n': 5}, [{'pointer': '/n', 'from': 'text', 'to': 'integer'}])
        >>> convert_arguments({"n": "five"}, find)
    """
    current: Any = arguments
    conversions: list[Conversion] = []
    for _ in range(MAX_ROUNDS):
        pointers = dict.fromkeys(problem.path for problem in find_problems(current))
        if not pointers:
            return dict(current), conversions
        made = []
        for pointer in pointers:
            current, conversion = _convert_at(current, pointer)
            made += [] if conversion is None else [conversion]
        if not made:
            return None
        conversions += made
    return (dict(current), conversions) if not any(find_problems(current)) else None


def note_misfit(problem: ArgumentProblem) -> Conversion:
    """Return the note on a value that is passed on though it does not fit.

    Example:
        >>> note_misfit(ArgumentProblem(path="/n", message="n: not a number", expected=""))
        {'pointer': '/n', 'from': 'n: not a number', 'to': 'passed on'}
    """
    return {"pointer": problem.path, "from": problem.message, "to": PASSED_ON}


def replace_half_surrogates(value: Any) -> tuple[Any, list[Conversion]]:
    r"""Return a JSON value with U+FFFD for each half of a surrogate pair; the rest is the same.

    Example:
        >>> replace_half_surrogates({"a": ["x\ud83d", 1]})
        ({'a': ['x\ufffd', 1]}, [{'pointer': '/a/0', 'from': 'half a surrogate', 'to': 'U+FFFD'}])
    """
    conversions: list[Conversion] = []
    while (pointer := surrogates.find_lone_surrogate(value)) is not None:
        place = canonical.resolve_pointer(value, pointer)
        mended: Any
        if isinstance(place, str):
            mended = _replace_halves(place)
        else:
            mended = {_replace_halves(key): item for key, item in place.items()}
        value = _replace_at(value, _split_pointer(pointer), mended)
        note = {"pointer": pointer, "from": "half a surrogate", "to": "U+FFFD"}
        conversions.append(note)
    return value, conversions


def read_text_at(value: Any, pointer: str) -> tuple[Any, list[Conversion]]:
    """Return a value with the list or object that a text at a place is the JSON of.

    Example:
        >>> read_text_at({"a": '{"b": 1}'}, "/a")
        ({'a': {'b': 1}}, [{'pointer': '/a', 'from': 'text', 'to': 'object'}])
    """
    try:
        text = canonical.resolve_pointer(value, pointer)
    except canonical.PointerError:
        return value, []
    read = _read_text(text) if isinstance(text, str) else None
    if not isinstance(read, dict | list):
        return value, []
    note = {"pointer": pointer, "from": "text", "to": _name_type(read)}
    return _replace_at(value, _split_pointer(pointer), read), [note]


def _replace_halves(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _convert_at(arguments: Any, pointer: str) -> tuple[Any, Conversion | None]:
    steps = _split_pointer(pointer)
    try:
        value = canonical.resolve_pointer(arguments, pointer)
        holder = canonical.resolve_pointer(arguments, canonical.build_pointer(steps[:-1]))
    except canonical.PointerError:
        return arguments, None
    if value is None and steps and isinstance(holder, Mapping):
        rest = {key: item for key, item in holder.items() if key != steps[-1]}
        note = {"pointer": pointer, "from": "null", "to": LEFT_OUT}
        return _replace_at(arguments, steps[:-1], rest), note
    read = _read_text(value) if isinstance(value, str) else None
    if read is None:
        return arguments, None
    note = {"pointer": pointer, "from": "text", "to": _name_type(read)}
    return _replace_at(arguments, steps, read), note


def _read_text(text: str) -> Any:
    """Return the JSON value of a text; None for a text, for null, and if there is none."""
    if len(text) > MAX_TEXT:
        return None
    lowered = text.strip().lower()
    if lowered in {"true", "false"}:
        return lowered == "true"
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None
    return None if isinstance(value, str) else value


def _reject_constant(word: str) -> Any:
    raise ValueError(word)


def _name_type(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return names[type(value)]


def _split_pointer(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _replace_at(value: Any, steps: list[str], part: Any) -> Any:
    """Return a value with another part at a place; only what holds the part is copied."""
    if not steps:
        return part
    if isinstance(value, Mapping):
        return {**value, steps[0]: _replace_at(value[steps[0]], steps[1:], part)}
    index = int(steps[0])
    return [*value[:index], _replace_at(value[index], steps[1:], part), *value[index + 1 :]]
