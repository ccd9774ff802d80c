"""Compare a request's wording with a tool's name and parameters: the action, and stated values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from graph.suggestion.intent.requests import QUESTION_WORDS
from tools.name_words import split_name_words

if TYPE_CHECKING:
    from graph.suggestion.intent.requests import StatedRequest

_FAMILY_LIST: Final = (
    "create add make new open start init initialize register insert generate draft raise file "
    "remember remind record book reserve log jot schedule set put",
    "delete remove forget drop erase clear destroy cancel uninstall unsubscribe ditch purge",
    "get show read display view fetch retrieve check see look print give tell describe open "
    "download obtain inspect load watch what how is are who when where which review",
    "list show display give get enumerate what which browse view see find",
    "search find look lookup query locate which what who where get discover",
    "update edit change modify close reopen set rename adjust replace assign fix mark",
    "send post tell notify message email mail write share inform announce reply ping publish let",
    "navigate go open visit browse",
    "write save put store export create record jot note append dump",
    "move rename relocate transfer",
    "copy duplicate clone",
    "convert translate transform change exchange turn compute calculate",
    "calculate compute evaluate what how count add multiply divide sum",
    "compare diff contrast show what",
    "checkout switch check change",
    "add stage include",
    "reset unstage undo revert",
    "merge combine join",
    "run execute start launch trigger",
    "stop end kill terminate cancel abort close",
    "summarize summarise summary sum condense",
    "random roll flip pick generate draw",
    "comment reply answer respond react add",
    "approve accept decline reject respond create submit",
)
_FAMILIES: Final = tuple(frozenset(words.split()) for words in _FAMILY_LIST)
"""Verbs of requests and of tool names that ask for the same kind of action."""
_SAME_ACTION: Final = {
    word: frozenset().union(*(one for one in _FAMILIES if word in one))
    for word in frozenset().union(*_FAMILIES)
}
"""The verbs of all families that each verb belongs to."""
_NAME_VERBS_LIST: Final = (
    "create add delete remove get read list search find update edit send post write save move "
    "copy convert calculate checkout reset merge run execute stop kill fork commit push cancel "
    "fetch open close start set download upload book order pay buy diff show compare convert "
    "summarize translate generate navigate lookup query mark print play react reply comment"
)
_NAME_VERBS: Final = frozenset(_NAME_VERBS_LIST.split())
"""Verbs that say in a tool's name what it does."""
MAX_NAME_VERBS: Final = 2
"""Verbs of a tool's name that are read: `API-post-search` searches."""
_REMOVING: Final = _FAMILIES[1]

_VALUE_KINDS: Final[Mapping[str, re.Pattern[str]]] = {
    "url": re.compile(r"\bhttps?://\S+|\bwww\.\S+"),
    "email": re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.]+"),
    "path": re.compile(
        r"(?<![\w:/.])(?:~|\.{1,2})?/[\w.~-]+(?>(?:/[\w.*~-]*)*)"
        r"|(?<![\w/@.-])[\w-]++(?>(?:/[\w-]++)*)\.[a-z][a-z0-9]{0,4}\b(?!\.\w)"
    ),
    "slug": re.compile(r"(?<![\w/.@~-])[A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*(?![\w/])"),
    "clock": re.compile(r"\b\d{1,2}(?::\d{2}| ?[ap]\.?m\b)", re.IGNORECASE),
    "sum": re.compile(
        r"\d\s*[-+*/\u00d7\u00f7^]\s*\(?\d|\d\s*% of \$?\d"
        r"|\d\s+(?:plus|minus|times|divided by|multiplied by)\s+\$?\d"
    ),
    "cells": re.compile(r"(?<![\w:])[A-Z]{1,3}\d+:[A-Z]{1,3}\d+(?![\w:])"),
    "currency": re.compile(
        r"\b[A-Z]{3}\b.*\b[A-Z]{3}\b|[$€£¥]|\b(?:dollars?|euros?|pounds?|yen)\b"
    ),
}
"""Values that a text states, by the kind of parameter that takes them; all linear in the text."""
_PATH_NAMES_LIST: Final = (
    "path paths file files filename filepath directory folder dir source destination"
)
_KIND_NAMES: Final[Mapping[str, frozenset[str]]] = {
    "url": frozenset(["url", "uri", "link", "website", "href"]),
    "email": frozenset(["email", "mail", "recipient", "to"]),
    "path": frozenset(_PATH_NAMES_LIST.split()),
    "slug": frozenset(["owner"]),
    "clock": frozenset(["time", "hour"]),
    "sum": frozenset(["expression", "formula", "equation"]),
    "currency": frozenset(["currency", "currencies"]),
    "cells": frozenset(["range", "cell", "cells"]),
}
"""Words of the names of such parameters."""
_NEEDED_KINDS: Final[Mapping[str, re.Pattern[str]]] = {
    "date": re.compile(
        r"\b(?:today|tonight|tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day|week\w*"
        r"|months?|years?|days?|jan\w*|feb\w*|march|april|june|july|aug\w*|sep\w*|oct\w*|nov\w*"
        r"|dec\w*|since|until|(?:19|20)\d\d|\d{1,2}[./-]\d{1,2})\b",
        re.IGNORECASE,
    ),
    "code": re.compile(
        r"[\w#-]*\d[\w-]*|[A-Z]{2}[A-Z0-9_-]+|['\"`]|\b(?:it|its|them|that|this|these|those)\b"
    ),
}
"""Values that many tools take besides; they count only against tools that require them."""
_NEEDED_NAMES: Final[Mapping[str, frozenset[str]]] = {
    "date": frozenset(["date"]),
    "code": frozenset(["id", "ids", "number", "revision", "sha"]),
}
_NEW_OBJECT: Final = re.compile(
    r"\b(?:open|raise|file)\s+(?:an?|another|new)\s+(?:new\s+)?(?:\w+\s+)?"
    r"(?:issue|pull|ticket|bug|pr|request|account|case)\b",
    re.IGNORECASE,
)
"""What is opened by creating it."""


def measure_action(request: StatedRequest, name: str) -> float:
    """Return how well the action of a request agrees with the one a tool's name states.

    1 if they are of one family, -1 if the name states another one, 0 if it states none; -3 if the
    tool removes something and the request does not ask for that.

    Example:
        >>> from graph.suggestion.intent.requests import split_requests
        >>> (request,) = split_requests("make a folder for the photos")
        >>> measure_action(request, "create_directory"), measure_action(request, "delete_file")
        (1.0, -3.0)
    """
    asked = _find_asked_action(request.english, request.action)
    if not asked:
        return 0.0
    words = _words_of_name(name)
    if any(word in _REMOVING for word in words[:2]) and asked not in _REMOVING:
        return -3.0
    if asked in words:
        return 1.0
    verbs = [word for word in words if word in _NAME_VERBS][:MAX_NAME_VERBS]
    if not verbs:
        return 0.0
    if not _SAME_ACTION.get(asked, frozenset()).isdisjoint(verbs):
        return 1.0
    return 0.0 if asked in QUESTION_WORDS else -1.0


@lru_cache(maxsize=8_192)
def _words_of_name(name: str) -> tuple[str, ...]:
    return tuple(split_name_words(name))


@lru_cache(maxsize=256)
def _find_asked_action(english: str, action: str) -> str:
    return "create" if _NEW_OBJECT.search(english) else action


def measure_values(request: StatedRequest, whole: str, schema: Mapping[str, Any]) -> float:
    """Return how well the kinds of values a request states agree with a tool's parameters.

    +1 for each kind that it states and the tool takes, -1 for each that it states and the tool
    does not take, -1 for each that the tool requires and the whole intent does not state, nor, of
    dates and identifiers, the intent up to the end of the request.
    """
    own, stated = list_kinds(request.text), list_kinds(whole)
    properties = schema.get("properties")
    names = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    taken = _kinds_of_names(tuple(str(name) for name in names))
    required_names = (
        tuple(name for name in required if isinstance(name, str))
        if isinstance(required, Iterable) and not isinstance(required, str)
        else ()
    )
    unstated = len(_kinds_of_names(required_names) - stated)
    before = whole[: request.start + len(request.text)]
    unstated += len(_needed_by_names(required_names) - _list_needed_kinds(before))
    return float(len(own & taken) - len(own - taken) - unstated)


@lru_cache(maxsize=256)
def list_kinds(text: str) -> frozenset[str]:
    """Return the kinds of values that a text states."""
    found = {kind for kind, pattern in _VALUE_KINDS.items() if pattern.search(text)}
    if found & {"url", "email"}:
        rest = _VALUE_KINDS["email"].sub(" ", _VALUE_KINDS["url"].sub(" ", text))
        found -= {kind for kind in ("path", "slug") if not _VALUE_KINDS[kind].search(rest)}
    if "path" in found:
        rest = _VALUE_KINDS["path"].sub(" ", text)
        found -= {"slug"} if not _VALUE_KINDS["slug"].search(rest) else frozenset()
    return frozenset(found)


@lru_cache(maxsize=256)
def _list_needed_kinds(text: str) -> frozenset[str]:
    return frozenset(kind for kind, pattern in _NEEDED_KINDS.items() if pattern.search(text))


@lru_cache(maxsize=4_096)
def _needed_by_names(names: tuple[str, ...]) -> frozenset[str]:
    words = {word for name in names for word in split_name_words(name)}
    return frozenset(kind for kind, of_kind in _NEEDED_NAMES.items() if words & of_kind)


@lru_cache(maxsize=4_096)
def _kinds_of_names(names: tuple[str, ...]) -> frozenset[str]:
    words = {word for name in names for word in split_name_words(name)}
    return frozenset(kind for kind, of_kind in _KIND_NAMES.items() if words & of_kind)
