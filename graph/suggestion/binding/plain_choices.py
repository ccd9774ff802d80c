"""Bind choices that a request makes: "by bike", "close it", a code whose name it states."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from graph.suggestion.binding.plain_statement import has_name, takes_texts
from graph.suggestion.binding.value_patterns import ValueKind
from tools.query_text import rewrite_idioms

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement

_SPOKEN_MEMBERS: Final[Mapping[str, str]] = {
    "bike": "bicycling",
    "bicycle": "bicycling",
    "foot": "walking",
    "car": "driving",
    "bus": "transit",
    "train": "transit",
    "metro": "transit",
}
"""Everyday words for members of enumerations."""
_MIN_STEM: Final = 4
_SYMBOL_NAMES: Final = frozenset(["symbol", "ticker", "stock_symbol", "ticker_symbol", "stock"])
_SYMBOL_LISTS: Final = frozenset(["symbols", "tickers"])
_SYMBOL: Final = re.compile(r"\b[A-Z]{2,5}(?:[.-][A-Z]{1,3})?\b")
_CODED_NAME: Final = re.compile(
    r"\b(?P<code>[A-Z]{2,6})\s*\((?P<name>[A-Z][a-z]+(?: [A-Z][a-z]+)?)\)"
    r"|\b(?P<name_first>[A-Z][a-z]+(?: [A-Z][a-z]+)?)\s*\((?P<code_last>[A-Z]{2,6})\)"
)
_QUOTED_WORD: Final = re.compile(r"['\"`](\w[\w-]{0,30})['\"`]")
_JOINED: Final = re.compile(r"[\w/.@:-]+\w")
"""Behind a word, the rest of a longer token."""
_WORD: Final = re.compile(r"[A-Za-z]+")
_STATE_WORDS: Final = frozenset({"state", "status"})


def bind_choices(statement: PlainStatement) -> None:
    """Bind the member of an enumeration whose stem the request states, also by an idiom."""
    plain = rewrite_idioms(statement.part)
    words = {match[0].lower(): match for match in _WORD.finditer(statement.part)}
    spoken = {
        _SPOKEN_MEMBERS[word]: match for word, match in words.items() if word in _SPOKEN_MEMBERS
    }
    for parameter in statement.find_open(lambda p: p.is_text and bool(p.members)):
        members = [member for member in parameter.members if isinstance(member, str)]
        named = [member for member in members if member.lower() in spoken]
        if len(named) == 1:
            match = spoken[named[0].lower()]
            statement.bind([parameter], named[0], statement.span_of(match), ValueKind.WORD)
            continue
        stated = {word: statement.span_of(match) for word, match in words.items()}
        if parameter.is_required:
            whole = statement.span
            stated = dict.fromkeys(re.findall(r"[a-z]+", plain), whole) | stated
        exact = [member for member in members if member.lower() in stated]
        found = exact or [
            member
            for member in members
            if parameter.is_required and any(_share_stem(member.lower(), word) for word in stated)
        ]
        if len(found) == 1 and len(found[0]) >= _MIN_STEM:
            span = next(
                span
                for word, span in stated.items()
                if word == found[0].lower() or _share_stem(found[0].lower(), word)
            )
            statement.bind([parameter], found[0], span, ValueKind.WORD)


def _share_stem(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    return (
        len(short) >= _MIN_STEM
        and long.startswith(short.removesuffix("e"))
        and long[len(short.removesuffix("e")) :] in ("", "e", "d", "ed", "s", "es", "ing")
    )


def bind_states(statement: PlainStatement) -> None:
    """Bind the state that the verb leads to: "close it" is `closed`."""
    action = _WORD.match(statement.part)
    if action is None:
        return
    states = {f"{action[0].lower()}{ending}" for ending in ("d", "ed")}
    for parameter in statement.find_open(lambda p: not p.name_words.isdisjoint(_STATE_WORDS)):
        members = [member for member in parameter.members if isinstance(member, str)]
        matching = [member for member in members if member.lower() in states]
        if len(matching) == 1:
            statement.bind([parameter], matching[0], statement.span_of(action), ValueKind.WORD)


def bind_described_choices(statement: PlainStatement) -> None:
    """Bind the choice that the request states, of those that a description quotes."""
    words = {
        match[0].lower(): match
        for match in _WORD.finditer(statement.part)
        if not _JOINED.match(statement.part, match.end())
    }
    for parameter in statement.find_open(lambda p: p.is_text and not p.members, required=True):
        choices = {text.lower(): text for text in _QUOTED_WORD.findall(parameter.description)}
        named = [choice for choice in choices if choice in words]
        if len(named) == 1 and (len(choices) > 1 or parameter.is_identifier):
            span = statement.span_of(words[named[0]])
            statement.bind([parameter], choices[named[0]], span, ValueKind.WORD)


def bind_symbol(statement: PlainStatement) -> None:
    """Bind a code that the part states, or whose name it states if the schema tells the code."""
    for parameter in statement.find_open(lambda p: p.is_text):
        for pair in _CODED_NAME.finditer(parameter.description):
            name, code = pair["name"] or pair["name_first"], pair["code"] or pair["code_last"]
            match = re.search(rf"\b{re.escape(name)}\b", statement.part, re.IGNORECASE)
            if match is not None and (not parameter.members or code in parameter.members):
                statement.bind([parameter], code, statement.span_of(match), ValueKind.NAME)
    symbols = list(_SYMBOL.finditer(statement.part))
    if len(symbols) == 1:
        code, span = symbols[0][0], statement.span_of(symbols[0])
        single = statement.find_open(has_name(_SYMBOL_NAMES), required=True)
        statement.bind(single, code, span, ValueKind.CODE)
        lists = statement.find_open(takes_texts, required=True)
        lists = [parameter for parameter in lists if parameter.name in _SYMBOL_LISTS]
        statement.bind(lists, [code], span, ValueKind.CODE)
