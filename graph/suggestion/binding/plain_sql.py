"""Bind SQL: what changes a database has to be the whole request, in a strict grammar."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graph.suggestion.binding.plain_statement import plain_name
from graph.suggestion.binding.protected_values import PROTECTING_PHRASE
from graph.suggestion.binding.value_patterns import ValueKind

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement
    from graph.suggestion.binding.schemas import ToolParameter

_OPERAND: Final = r"(?:'[^']*'|\"[^\"]*\"|-?[\w.$:?]+(?:\([^()]*\))?|\([^()]*\))"
_TERM: Final = rf"{_OPERAND}(?:\s*[-+*/]\s*{_OPERAND})?"
_COMPARISON: Final = (
    rf"{_TERM}\s*(?:[<>!]?=|<>|[<>]|\b(?:not\s+)?(?:like|in)\b|\bis(?:\s+not)?\b)\s*{_TERM}"
)
_WHERE: Final = rf"(?:\s+where\s+{_COMPARISON}(?:\s+(?:and|or)\s+{_COMPARISON})*)?"
_ROW: Final = r"\((?:[^()]|\([^()]*\))*\)"
_CHANGE: Final = re.compile(
    r"(?:(?:please|can|could|would|you|do|run|execute|the|this|following|sql|query|statement)\b"
    r"[\s:,]*)*(?P<statement>"
    rf"insert\s+into\s+[\w.\"]+\s*(?:\([^()]*\)\s*)?values\s*{_ROW}(?:\s*,\s*{_ROW})*"
    rf"|update\s+[\w.\"]+\s+set\s+[\w.]+\s*=\s*{_TERM}(?:\s*,\s*[\w.]+\s*=\s*{_TERM})*{_WHERE}"
    rf"|delete\s+from\s+[\w.\"]+{_WHERE}"
    r"|create\s+(?:table|index|view)\s+(?:if\s+not\s+exists\s+)?[\w.\"]+\s*"
    rf"(?:on\s+[\w.\"]+\s*)?(?:as\s*)?{_ROW})",
    re.IGNORECASE,
)
"""A whole request to change a database: nothing but a polite verb stands before the statement."""
_COLUMN: Final = (
    r"(?:[^\s,()]|\([^()]*\))+(?:\s+[-+*/|]+\s+[\w.]+(?:\([^()]*\))?)?(?:\s+as\s+\w+)?"
)
_TABLE: Final = r"[\w.\"]+(?:\s+as\s+\w+|\s+\w{1,2})?"
_QUERY: Final = re.compile(
    rf"\b(?P<statement>select\s+(?:distinct\s+)?{_COLUMN}(?:\s*,\s*{_COLUMN})*"
    rf"\s+from\s+(?!(?:the|my|our|all)\s){_TABLE}(?:\s*,\s*{_TABLE})*"
    r"(?:\s+(?:where|join|left|right|inner|outer|cross|full|natural|group|order|limit|having"
    r"|union|offset)\b[^;]+)?"
    r"|with\s+\w+\s+as\s*\(\s*select\b[^;]+)$",
    re.IGNORECASE,
)
_CHANGING: Final = re.compile(r"\b(?:insert|update|delete|create|drop|alter)\b", re.IGNORECASE)
_POLITE_END: Final = re.compile(
    r"\b(?:please|thanks|thank you|for me|for us|if\s.+)$", re.IGNORECASE
)
_DATABASES: Final = frozenset(
    ["database", "db", "postgres", "postgresql", "mysql", "mariadb", "sqlite", "server"]
)
_STATEMENT_TAIL: Final = re.compile(
    r"(?<=\s)(?:on|in|against|via|using|with)\s+(?:the\s+|my\s+|our\s+)?(?P<place>\w+)"
    r"(?:\s+(?:database|db|server))?$"
)


def bind_statement(statement: PlainStatement) -> None:
    """Bind an SQL statement that ends the intent, without the words for its database.

    One that changes something has to be the whole request.
    """
    parameters = statement.find_open(_takes_statement)
    if len(parameters) != 1 or statement.text[statement.end :].strip(" .!?"):
        return
    match = _find_statement(statement)
    if match is not None and not any(
        value.start <= statement.start + match.start("statement")
        for value in statement.list_values(ValueKind.QUOTED)
    ):
        span = statement.span_of(match, "statement")
        statement.bind(parameters, match["statement"], span, ValueKind.PHRASE)


def _find_statement(statement: PlainStatement) -> re.Match[str] | None:
    stated = statement.part.rstrip(" .?!;")
    tail = _STATEMENT_TAIL.search(stated)
    server = statement.step.tool.server.lower()
    if tail is not None and tail["place"].lower() in _DATABASES | {server}:
        stated = stated[: tail.start()].rstrip()
    change = _CHANGE.fullmatch(stated)
    if change is not None:
        return None if PROTECTING_PHRASE.search(statement.text, 0, statement.start) else change
    query = None if _POLITE_END.search(stated) else _QUERY.search(stated)
    return None if query is None or _CHANGING.search(stated, 0, query.start()) else query


def _takes_statement(parameter: ToolParameter) -> bool:
    name = plain_name(parameter)
    described = name in ("query", "statement") and "sql" in parameter.description.lower()
    return parameter.is_text and not parameter.members and ("sql" in name.split("_") or described)
