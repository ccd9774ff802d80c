"""Bind what a request searches for: "search for …", "look up … on …", "where is …"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.plain_statement import has_name
from graph.suggestion.binding.value_patterns import ValueKind

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement

_QUERY_NAMES_LIST: Final = (
    "query q search keyword keywords search_query search_term searchterm term terms topic"
)
_QUERY_NAMES: Final = frozenset(_QUERY_NAMES_LIST.split())
_PLACE_DE: Final = r"(?:\s+(?:mir|mal|bitte)|\s+(?:in|auf|bei|im)\s+(?:der\s+|dem\s+)?\w+){0,3}"
_PLACE_ES: Final = r"(?:\s+en\s+(?:la\s+|el\s+)?\w+)?(?:\s+(?:el|la|los|las|por))?"
_QUERIES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:search|look|query|google|hunt)\b[^.]{0,60}?\bfor\s+(?P<query>.+)$",
        r"\blook\s+up\s+(?P<query>.+)$",
        r"^(?:(?!to\b)[a-z]+\s+){0,3}(?:papers?|articles?|books?|studies|headlines|publications"
        r"|recipes|podcasts|talks)\s+(?:on|about|regarding)\s+(?P<query>.+)$",
        r"\b(?:find|get|show|list|search|fetch)\b[^.]{0,60}?\b(?:about|regarding)\s+(?P<query>.+)$",
        rf"\b(?:suche?|schaue?|google)\b{_PLACE_DE}\s+nach\s+(?P<query>.+)$",
        rf"\b(?:busca(?:me|r)?|búsca(?:me)?)\b{_PLACE_ES}\s+(?P<query>.+)$",
        r"(?:搜索?|搜寻|查找|查询)(?:一下)?\s*(?P<query>.+)$",
    )
)
_QUERY_TAIL: Final = re.compile(
    r"\s+(?:(?:on|in|at|from|via|using|with)\s+(?:the\s+|my\s+|our\s+)?\w+|for me|please)\s*$"
    r"|,?\s+(?:within|at most|no more than|up to)\s+\d+(?:\s+[a-z]+)?\s*$"
    r"|(?<![\s.?!,;])[\s.?!,;]+$",
    re.IGNORECASE,
)
_QUERY_HEAD: Final = re.compile(
    r"^(?:(?:all|any|some|the|recent|new|latest)\s+)*(?:papers?|articles?|pages?|posts?|books?"
    r"|repositories|repos|results|information|info|news|notes?|entries|videos?|images?)\s+"
    r"(?:on|about|regarding|of|for|named|called)\s+",
    re.IGNORECASE,
)
_CODE_NAME: Final = re.compile(r"(?<![\w/.])(?:[a-z]{2,}[A-Z]\w*|[a-z]+_\w+)(?![\w/.])")
_SEARCHING: Final = frozenset({"search", "find", "lookup"})
_ASKED: Final = re.compile(
    r"^where\s+(?:(?:is|are|was|do|does|did|have|has|we|i|you|our|my|your|the|a|an|put|find)\s+)+"
    r"(?P<query>.+)$",
    re.IGNORECASE,
)
"""A question, with what is asked for behind its first words."""
_PRONOUNS: Final = frozenset({"it", "them"})
MAX_QUERY_WORDS: Final = 12
MAX_TRIMMED_PHRASES: Final = 4
"""Limit of places and polite words cut from the end of a query."""


def bind_query(statement: PlainStatement) -> None:
    """Bind the only name in code that a request holds, or the words that it searches for."""
    if statement.list_values(ValueKind.QUOTED):
        return
    is_search = bool(_SEARCHING & set(split_raw_name(statement.step.tool.name)))
    names = _QUERY_NAMES | {"subject"} if is_search else _QUERY_NAMES
    parameters = statement.find_open(has_name(names), required=True)
    if len(parameters) != 1:
        return
    codes = [
        match
        for match in _CODE_NAME.finditer(statement.part)
        if statement.part[match.end() : match.end() + 1] not in ("(", "[")
    ]
    if len(codes) == 1:
        statement.bind(parameters, codes[0][0], statement.span_of(codes[0]), ValueKind.CODE)
        return
    match = next((m for pattern in _QUERIES if (m := pattern.search(statement.part))), None)
    if match is None and is_search:
        match = _ASKED.search(statement.part)
    if match is not None:
        query, skipped = _trim_query(match["query"])
        if query and len(query.split()) <= MAX_QUERY_WORDS and query.lower() not in _PRONOUNS:
            start = statement.start + match.start("query") + skipped
            statement.bind(parameters, query, (start, start + len(query)), ValueKind.PHRASE)


def _trim_query(query: str) -> tuple[str, int]:
    """Return a query without places and polite words, and how much of its beginning was cut."""
    for _ in range(MAX_TRIMMED_PHRASES):
        query = _QUERY_TAIL.sub("", query)
    head = _QUERY_HEAD.match(query)
    skipped = head.end() if head else 0
    return query[skipped:], skipped
