"""Bind values that a request states plainly, by form and place alone.

The model of `literals` weighs values against each other; where a request states one path and its
tool takes one, or "the last 20 lines" and the tool has `tail`, there is nothing to weigh. Each
rule binds only if it leaves no choice. Values that the intent protects, secrets and private
parameters are left to `protection`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding import (
    plain_addresses,
    plain_files,
    plain_identifiers,
    plain_measures,
    plain_names,
    plain_paths,
    plain_revisions,
    plain_sql,
    plain_texts,
)
from graph.suggestion.binding.bound_argument import BoundArgument
from graph.suggestion.binding.plain_statement import (
    PlainStatement,
    has_name,
    is_number,
    mentions,
    plain_name,
    takes_texts,
)
from graph.suggestion.binding.steps import BindingSource
from graph.suggestion.binding.time_zones import ZONES_BY_CITY
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.values import extract_values
from graph.suggestion.binding.vocabulary import (
    LIMIT_WORDS,
    NUMBER_WORDS,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.literals import ParameterRow
    from graph.suggestion.binding.schemas import ArgumentSchema
    from graph.suggestion.binding.steps import BindingStep
    from graph.suggestion.intent.reading import IntentReading

CONFIDENCE: Final = 0.9
"""Confidence of a value bound by a rule: below that of what the caller states."""

_QUERY_NAMES_LIST: Final = (
    "query q search keyword keywords search_query search_term searchterm term terms topic"
)
_QUERY_NAMES: Final = frozenset(_QUERY_NAMES_LIST.split())
_LOWER_NAMES_LIST: Final = "low min minimum lower from start min_value lower_bound"
_LOWER_NAMES: Final = frozenset(_LOWER_NAMES_LIST.split())
_UPPER_NAMES_LIST: Final = "high max maximum upper to end max_value upper_bound"
_UPPER_NAMES: Final = frozenset(_UPPER_NAMES_LIST.split())
_SYMBOL_NAMES: Final = frozenset(["symbol", "ticker", "stock_symbol", "ticker_symbol", "stock"])
_SYMBOL_LISTS: Final = frozenset(["symbols", "tickers"])

_COUNT: Final = re.compile(
    r"\b(?P<rank>last|latest|newest|most recent|recent|first|top|oldest"
    r"|at most|up to|no more than)\s+"
    rf"(?P<number>\d{{1,6}}|{'|'.join(NUMBER_WORDS)})\b(?!\s*(?:days?|hours?|weeks?|months?|years?"
    r"|minutes?)\b)",
    re.IGNORECASE,
)
_TERM: Final = r"\({0,3}-?\d++(?:\.\d++)?\){0,3}"
_SUM: Final = re.compile(rf"(?<![\w.(]){_TERM}(?:\s*[-+*/\u00d7\u00f7^%]\s*{_TERM})+")
_NESTED: Final = r"[^()]|\((?:[^()]|\([^()]*\))*\)"
_CALL: Final = re.compile(
    rf"(?<![\w.(\[])[A-Za-z_][\w.:]*\((?:{_NESTED}){{1,400}}\)(?:\s+by\s+\([\w\s,]*\))?(?![\w(])"
)
"""A function's name with balanced parentheses; in PromQL also with labels to group by."""
_CLAUSE: Final = re.compile(r"\b(?:SELECT|FROM|WHERE|MATCH|RETURN|UPDATE|INSERT|DELETE)\b")
"""Keywords of a query of which a call is only a part."""
_EXPRESSION_NAMES: Final = frozenset(["query", "expression", "expr", "script", "pattern", "code"])
_OPERATORS: Final = tuple(
    (re.compile(rf"(?<=\d)\s*{words}\s*(?=[\d(])", re.IGNORECASE), sign)
    for words, sign in (
        (r"(?:%|percent|per cent)\s+of", "/100*"),
        ("(?:plus|added to|más|加上?)", "+"),
        ("(?:minus|menos|减去?)", "-"),
        ("(?:times|multiplied by|mal|por|乘以?)", "*"),
        ("(?:divided by|geteilt durch|dividido (?:por|entre)|除以)", "/"),
    )
)
_BETWEEN: Final = re.compile(
    r"\b(?:between|from)\s+(?P<low>-?\d+(?:\.\d+)?)\s+(?:and|to)\s+(?P<high>-?\d+(?:\.\d+)?)\b"
)
_SYMBOL: Final = re.compile(r"\b[A-Z]{2,5}(?:[.-][A-Z]{1,3})?\b")
_CODED_NAME: Final = re.compile(
    r"\b(?P<code>[A-Z]{2,6})\s*\((?P<name>[A-Z][a-z]+(?: [A-Z][a-z]+)?)\)"
    r"|\b(?P<name_first>[A-Z][a-z]+(?: [A-Z][a-z]+)?)\s*\((?P<code_last>[A-Z]{2,6})\)"
)
_QUOTED_WORD: Final = re.compile(r"['\"`](\w[\w-]{0,30})['\"`]")
_JOINED: Final = re.compile(r"[\w/.@:-]+\w")
"""Behind a word, the rest of a longer token."""
_FIRST_WORD: Final = re.compile(r"[A-Za-z]+")
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
MAX_QUERY_WORDS: Final = 12
MAX_TRIMMED_PHRASES: Final = 4
"""Limit of places and polite words cut from the end of a query."""


def bind_plain_values(
    steps: Sequence[BindingStep],
    schemas: Sequence[ArgumentSchema],
    *,
    reading: IntentReading,
    forbidden: Sequence[tuple[int, int]],
) -> dict[ParameterRow, BoundArgument]:
    """Bind what requests state plainly.

    Args:
        steps: Those with a `request` are compared with it alone; the only step of a workflow with
            the whole intent; others are left out.
        schemas: Of each step.
        reading: The intent.
        forbidden: Spans of values that the intent protects.
    """
    bound: dict[ParameterRow, BoundArgument] = {}
    stated = extract_values(reading.text)
    for position, (step, schema) in enumerate(zip(steps, schemas, strict=True)):
        span = step.request or ((0, len(reading.text)) if len(steps) == 1 else None)
        if span is None:
            continue
        statement = PlainStatement(
            step=step,
            schema=schema,
            text=reading.text,
            start=span[0],
            end=span[1],
            values=[one for one in stated if span[0] <= one.start and one.end <= span[1]],
            forbidden=forbidden,
        )
        for rule in _RULES:
            rule(statement)
        for name, value in statement.found.items():
            bound[position, name] = BoundArgument(
                value=value.value,
                source=BindingSource.LITERAL,
                evidence=f"the intent states “{value.text}”",
                confidence=CONFIDENCE,
                stated=value,
            )
    return bound


def _bind_pattern(one: PlainStatement) -> None:
    globs = list(plain_paths.GLOB.finditer(one.part))
    if len(globs) == 1:
        one.bind(
            one.find_open(has_name(frozenset({"pattern", "glob", "file_pattern"}))),
            globs[0][0],
            one.span_of(globs[0]),
            ValueKind.QUOTED,
        )


def _bind_count(one: PlainStatement) -> None:
    """Bind "the last 20 lines" to `tail`, "the last 5 commits" to a limit."""
    counts = list(_COUNT.finditer(one.part))
    if len(counts) != 1:
        return
    match = counts[0]
    raw = match["number"].lower()
    number = int(raw) if raw.isdigit() else NUMBER_WORDS[raw]
    is_first = match["rank"].lower() in ("first", "top", "oldest")
    ends = one.find_open(lambda p: p.is_number and p.name == ("head" if is_first else "tail"))
    limits = one.find_open(
        lambda p: p.is_number and bool(p.name_words & LIMIT_WORDS or p.name == "per_page")
    )
    one.bind(ends or limits, number, one.span_of(match, "number"), ValueKind.NUMBER)


def _bind_sum(one: PlainStatement) -> None:
    names = has_name(frozenset({"expression", "formula", "equation", "calculation"}))
    sums = list(_SUM.finditer(one.part))
    spoken = list(_SUM.finditer(_write_operators(one.part)))
    if len(spoken) == 1 and (not sums or spoken[0][0] != sums[0][0]):
        one.bind(
            one.find_open(names), spoken[0][0].strip(), (one.start, one.end), ValueKind.QUOTED
        )
    elif len(sums) == 1:
        one.bind(one.find_open(names), sums[0][0].strip(), one.span_of(sums[0]), ValueKind.QUOTED)


def _write_operators(text: str) -> str:
    """Write arithmetic in words as signs: "15% of 80 plus 2" is 15/100*80 + 2."""
    for pattern, sign in _OPERATORS:
        text = pattern.sub(sign, text)
    return text


def _bind_call(one: PlainStatement) -> None:
    """Bind the only expression that calls a function: "println(count)", "rate(x[5m])"."""
    calls = list(_CALL.finditer(one.part))
    if len(calls) == 1 and not _CLAUSE.search(one.part):
        names = has_name(_EXPRESSION_NAMES)
        parameters = one.find_open(names, required=True)
        one.bind(parameters, calls[0][0], one.span_of(calls[0]), ValueKind.PHRASE)


def _bind_range(one: PlainStatement) -> None:
    match = _BETWEEN.search(one.part)
    if match is None:
        return
    for group, names in (("low", _LOWER_NAMES), ("high", _UPPER_NAMES)):
        parameters = [p for p in one.find_open(is_number) if plain_name(p) in names]
        number = float(match[group])
        value = int(number) if number.is_integer() else number
        one.bind(parameters, value, one.span_of(match, group), ValueKind.NUMBER)


def _bind_zones(one: PlainStatement) -> None:
    """Bind "09:30 in Tokyo in Berlin" or "from Tokyo to Berlin" to source and target zones."""
    ends = [
        [p for p in one.find_open(mentions(words)) if "timezone" in p.name_words]
        for words in (plain_paths.SOURCE_WORDS, plain_paths.TARGET_WORDS)
    ]
    if not all(len(parameters) == 1 for parameters in ends):
        return
    cities = list(_iterate_cities(one))
    if len(cities) != 2:
        return
    for parameters, (zone, span) in zip(ends, cities, strict=True):
        one.bind(parameters, zone, span, ValueKind.NAME)


def _iterate_cities(one: PlainStatement) -> Iterator[tuple[str, tuple[int, int]]]:
    seen = -1
    words = list(re.finditer(r"[^\W\d_]+(?:[.'-][^\W\d_]+)*", one.part))
    for at, word in enumerate(words):
        for length in (3, 2, 1):
            last = at + length - 1
            if last >= len(words) or word.start() < seen:
                continue
            zone = ZONES_BY_CITY.get(one.part[word.start() : words[last].end()].lower())
            if zone is not None:
                seen = words[last].end()
                yield zone, (one.start + word.start(), one.start + seen)
                break


def _bind_members(one: PlainStatement) -> None:
    """Bind the state that the verb leads to ("close it": closed), and choices a text describes."""
    action = _FIRST_WORD.match(one.part)
    if action is not None:
        verb = action[0].lower()
        for parameter in one.find_open(lambda p: p.name_words & {"state", "status"} != set()):
            matching = [
                member
                for member in parameter.members
                if isinstance(member, str) and member.lower() in (f"{verb}d", f"{verb}ed")
            ]
            if len(matching) == 1:
                one.bind([parameter], matching[0], one.span_of(action), ValueKind.WORD)
    words = {
        match[0].lower(): match
        for match in _FIRST_WORD.finditer(one.part)
        if not _JOINED.match(one.part, match.end())
    }
    for parameter in one.find_open(lambda p: p.is_text and not p.members, required=True):
        described = {
            quoted.lower(): quoted for quoted in _QUOTED_WORD.findall(parameter.description)
        }
        named = [choice for choice in described if choice in words]
        if len(named) == 1 and (len(described) > 1 or parameter.is_identifier):
            match = words[named[0]]
            one.bind([parameter], described[named[0]], one.span_of(match), ValueKind.WORD)


def _bind_symbol(one: PlainStatement) -> None:
    """Bind a code that the part states, or whose name it states if the schema tells the code."""
    for parameter in one.find_open(lambda p: p.is_text and bool(plain_name(p).split("_"))):
        for pair in _CODED_NAME.finditer(parameter.description):
            name, code = pair["name"] or pair["name_first"], pair["code"] or pair["code_last"]
            match = re.search(rf"\b{re.escape(name)}\b", one.part, re.IGNORECASE)
            if match is not None and (not parameter.members or code in parameter.members):
                one.bind([parameter], code, one.span_of(match), ValueKind.NAME)
    symbols = list(_SYMBOL.finditer(one.part))
    if len(symbols) == 1:
        names = has_name(_SYMBOL_NAMES)
        one.bind(
            one.find_open(names, required=True),
            symbols[0][0],
            one.span_of(symbols[0]),
            ValueKind.CODE,
        )
        lists = [p for p in one.find_open(takes_texts, required=True) if p.name in _SYMBOL_LISTS]
        one.bind(lists, [symbols[0][0]], one.span_of(symbols[0]), ValueKind.CODE)


def _bind_query(one: PlainStatement) -> None:
    if one.list_values(ValueKind.QUOTED):
        return
    is_search = bool(_SEARCHING & set(split_raw_name(one.step.tool.name)))
    names = _QUERY_NAMES | {"subject"} if is_search else _QUERY_NAMES
    parameters = one.find_open(has_name(names), required=True)
    if len(parameters) != 1:
        return
    codes = [
        match
        for match in _CODE_NAME.finditer(one.part)
        if one.part[match.end() : match.end() + 1] not in ("(", "[")
    ]
    if len(codes) == 1:
        one.bind(parameters, codes[0][0], one.span_of(codes[0]), ValueKind.CODE)
        return
    match = next((m for pattern in _QUERIES if (m := pattern.search(one.part))), None)
    if match is None and is_search:
        match = _ASKED.search(one.part)
    if match is None:
        return
    query = match["query"]
    for _ in range(MAX_TRIMMED_PHRASES):
        query = _QUERY_TAIL.sub("", query)
    head = _QUERY_HEAD.match(query)
    skipped = head.end() if head else 0
    query = query[skipped:]
    if query and len(query.split()) <= MAX_QUERY_WORDS and query.lower() not in ("it", "them"):
        start = one.start + match.start("query") + skipped
        one.bind(parameters, query, (start, start + len(query)), ValueKind.PHRASE)


_RULES: Final[tuple[Callable[[PlainStatement], None], ...]] = (
    plain_revisions.bind_repository,
    plain_files.bind_files,
    plain_paths.bind_paths,
    _bind_pattern,
    plain_texts.bind_replacement,
    plain_texts.bind_quoted_list,
    plain_texts.bind_quoted_ends,
    plain_texts.bind_labelled,
    plain_texts.bind_said,
    plain_texts.bind_assignment,
    plain_sql.bind_statement,
    plain_measures.bind_coordinates,
    plain_measures.bind_size,
    plain_addresses.bind_addresses,
    _bind_count,
    _bind_sum,
    _bind_call,
    plain_revisions.bind_branches,
    plain_revisions.bind_revision,
    plain_names.bind_forms,
    plain_names.bind_items,
    plain_names.bind_kinds,
    plain_names.bind_named,
    plain_texts.bind_called,
    plain_measures.bind_quantities,
    _bind_range,
    _bind_zones,
    _bind_members,
    plain_names.bind_choices,
    _bind_symbol,
    plain_addresses.bind_place,
    plain_identifiers.bind_identifier,
    _bind_query,
    plain_texts.bind_quoted,
    plain_texts.bind_only_text,
)
