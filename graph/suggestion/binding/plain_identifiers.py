"""Bind tokens that can only be identifiers: "s-12", "18aa01, 18aa02 and 18aa03"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graph.suggestion.binding import plain_names
from graph.suggestion.binding.plain_statement import plain_name, takes_texts
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.values import LIST_SEPARATOR
from graph.suggestion.binding.vocabulary import STOP_WORDS, normalize_words

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement
    from graph.suggestion.binding.schemas import ToolParameter


_IDENTIFIER: Final = re.compile(
    r"(?<![\w./@#:+-])(?:(?=[\w.:-]*\d)(?=[\w.:-]{5,}|[A-Za-z]+[-_]\d)|(?=[a-z]+\.[a-z]+_))"
    r"[A-Za-z0-9]+(?:(?:[._-]|::?)[A-Za-z0-9]+)*(?![\w/@])"
)
_NOT_IDENTIFIER: Final = re.compile(
    r"\d{1,4}(?:[.:-]\d{1,2})*|\d{4}-\d{2}-\d{2}.*|\d{1,3}(?:,\d{3})+"
)
_WORD_BEFORE: Final = re.compile(r"(?P<word>[A-Za-z]+)\s+$")
MAX_WORD_CHARS: Final = 40
_COUNTED: Final = re.compile(r"\s+[A-Za-z]")
_COUNTING: Final = frozenset(["the", "all", "these", "those", "first", "last", "top", "any"])
_COMPARING_LIST: Final = "than since before after until till over under above below about around"
_HEX: Final = re.compile(r"0x[0-9a-fA-F]+")
_HEX_WORDS: Final = normalize_words(["address", "wallet", "hash", "transaction", "tx", "contract"])
_MIXED: Final = re.compile(r"(?=\w*[A-Za-z])(?=\w*\d)\w+")
_ACCOUNT_NAMES: Final = frozenset(["username", "user_name", "handle", "login"])
_COMPARING: Final = frozenset(_COMPARING_LIST.split())
_CLAIMING_KINDS: Final = frozenset(
    {
        ValueKind.PATH,
        ValueKind.URL,
        ValueKind.EMAIL,
        ValueKind.DATE,
        ValueKind.TIME,
        ValueKind.QUOTED,
    }
)
"""Kinds of values of which no part is an identifier."""


def bind_identifier(statement: PlainStatement) -> None:
    """Bind the only token that looks like an identifier to the only parameter that needs one."""
    taken = [value.span for value in statement.found.values()]
    taken += [value.span for value in statement.values if value.kind in _CLAIMING_KINDS]
    taken += [statement.span_of(match) for match in plain_names.CELLS.finditer(statement.part)]
    tokens = [
        match
        for match in _IDENTIFIER.finditer(statement.part)
        if not _NOT_IDENTIFIER.fullmatch(match[0])
        and not (match[0].isdigit() and _is_amount(statement.part, match))
        and not any(
            first < statement.start + match.end() and statement.start + match.start() < last
            for first, last in taken
        )
    ]
    parameters = statement.find_open(_takes_identifiers, required=True)
    if len(parameters) != 1 or not tokens:
        return
    texts = [token[0] for token in tokens]
    if parameters[0].is_number:
        is_plain = plain_name(parameters[0]) == "id"
        if len(texts) == 1 and texts[0].isdigit() and is_plain:
            statement.bind(
                parameters, int(texts[0]), statement.span_of(tokens[0]), ValueKind.NUMBER
            )
    elif parameters[0].is_array and _are_listed(statement, tokens):
        span = (statement.start + tokens[0].start(), statement.start + tokens[-1].end())
        statement.bind(parameters, texts, span, ValueKind.LIST)
    elif len(texts) == 1 and _has_form_of(parameters[0], texts[0]):
        value = texts if parameters[0].is_array else texts[0]
        statement.bind(parameters, value, statement.span_of(tokens[0]), ValueKind.CODE)


def _is_amount(text: str, match: re.Match[str]) -> bool:
    """Whether a number is rather an amount or a date: "the 12345 oldest", "since 20240101"."""
    before = _WORD_BEFORE.search(text, max(0, match.start() - MAX_WORD_CHARS), match.start())
    word = before["word"].lower() if before else ""
    if word in STOP_WORDS:
        return True
    is_counted = word in _COUNTING and _COUNTED.match(text, match.end()) is not None
    return is_counted or word in _COMPARING


def _takes_identifiers(parameter: ToolParameter) -> bool:
    takes = parameter.is_text or parameter.is_number or takes_texts(parameter)
    name = plain_name(parameter)
    if name in _ACCOUNT_NAMES:
        return parameter.is_text
    is_list = parameter.is_array and name.rpartition("_")[2] in ("ids", "keys", "uuids")
    return takes and not parameter.members and (parameter.is_identifier or is_list)


def _has_form_of(parameter: ToolParameter, token: str) -> bool:
    """Whether a token may be what a parameter identifies: an address on a chain is no chain."""
    if _HEX.fullmatch(token):
        return bool(parameter.name_words & _HEX_WORDS)
    is_account = plain_name(parameter) in _ACCOUNT_NAMES
    return not is_account or _MIXED.fullmatch(token) is not None


def _are_listed(statement: PlainStatement, tokens: Sequence[re.Match[str]]) -> bool:
    """Whether commas or conjunctions alone separate the tokens."""
    return len(tokens) > 1 and all(
        LIST_SEPARATOR.fullmatch(statement.part, first.end(), then.start())
        for first, then in pairwise(tokens)
    )
