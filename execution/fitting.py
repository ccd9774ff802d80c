"""Whether arguments can be sent to a tool at all, and fit its schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from execution.call_errors import DefinitionUnusable, InvalidArguments
from gateway_project.foundation import canonical, schema, surrogates
from tools.catalogue import CatalogueTool

MAX_DEPTH: Final = 190
"""Levels of arguments. Readers of messages take 200, and there is a message around them."""
_PLAIN: Final = frozenset({int, bool, type(None)})


def require_fitting(tool: CatalogueTool, arguments: Mapping[str, Any]) -> None:
    """Make sure that a tool can be called with some arguments.

    Raises:
        InvalidArguments: If they do not fit its schema, or no message could carry them.
        DefinitionUnusable: If the schema is none that they can be judged by.
    """
    if not _is_plain(arguments):
        _require_sendable(tool, arguments)
    try:
        problems = schema.validate(tool.input_schema, arguments, cache_key=tool.definition_hash)
    except schema.SchemaUnusable as error:
        raise DefinitionUnusable(tool.tool, str(error)) from None
    if problems:
        raise InvalidArguments(tool.tool, problems)


def _is_plain(arguments: Mapping[str, Any]) -> bool:
    """Whether they are so simple that nothing need be looked for, which most are."""
    for key, value in arguments.items():
        if not (isinstance(key, str) and key.isascii()):
            return False
        if not (type(value) in _PLAIN or (isinstance(value, str) and value.isascii())):
            return False
    return True


def _has_infinite(value: Any) -> bool:
    """Whether a number in a JSON value is one that JSON has no form for; no recursion."""
    within = [value]
    while within:
        if any(isinstance(one, float) and not math.isfinite(one) for one in within):
            return True
        objects, arrays = canonical.containers(within)
        members = (one.values() for one in objects)
        within = [*chain.from_iterable(arrays), *chain.from_iterable(members)]
    return False


def _require_sendable(tool: CatalogueTool, arguments: Mapping[str, Any]) -> None:
    if canonical.is_deeper(arguments, MAX_DEPTH):
        said = f"the arguments are nested deeper than {MAX_DEPTH} levels"
        raise InvalidArguments(tool.tool, (_problem("", said),))
    if _has_infinite(arguments):
        said = "a number in the arguments is NaN or infinite, which no message can carry"
        raise InvalidArguments(tool.tool, (_problem("", said),))
    place = surrogates.first_half(arguments)
    if place is not None:
        said = f"the text or a key at {place!r} holds half a surrogate pair"
        raise InvalidArguments(tool.tool, (_problem(place, said),))


def _problem(path: str, message: str) -> schema.Problem:
    return schema.Problem(path=path, message=message, expected="JSON in UTF-8")
