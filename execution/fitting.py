"""Whether arguments can be sent to a tool at all, and fit its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from execution.call_errors import DefinitionUnusable, InvalidArguments
from gateway_project.foundation import canonical, schema, surrogates
from tools.catalogue import CatalogueTool

MAX_DEPTH: Final = 190
"""Levels of arguments. Readers of messages take 200, and there is a message around them."""
_PLAIN: Final = frozenset({int, float, bool, type(None)})


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


def _require_sendable(tool: CatalogueTool, arguments: Mapping[str, Any]) -> None:
    if canonical.is_deeper(arguments, MAX_DEPTH):
        said = f"the arguments are nested deeper than {MAX_DEPTH} levels"
        raise InvalidArguments(tool.tool, (_problem("", said),))
    place = surrogates.first_half(arguments)
    if place is not None:
        said = f"the text or a key at {place!r} holds half a surrogate pair"
        raise InvalidArguments(tool.tool, (_problem(place, said),))


def _problem(path: str, message: str) -> schema.Problem:
    return schema.Problem(path=path, message=message, expected="JSON in UTF-8")
