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

from graph.suggestion.binding import (
    plain_addresses,
    plain_choices,
    plain_files,
    plain_identifiers,
    plain_names,
    plain_pairs,
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

_LOWER_NAMES_LIST: Final = "low min minimum lower from start min_value lower_bound"
_LOWER_NAMES: Final = frozenset(_LOWER_NAMES_LIST.split())
_UPPER_NAMES_LIST: Final = "high max maximum upper to end max_value upper_bound"
_UPPER_NAMES: Final = frozenset(_UPPER_NAMES_LIST.split())
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


def _bind_pattern(statement: PlainStatement) -> None:
    globs = list(plain_paths.GLOB.finditer(statement.part))
    if len(globs) == 1:
        statement.bind(
            statement.find_open(has_name(frozenset({"pattern", "glob", "file_pattern"}))),
            globs[0][0],
            statement.span_of(globs[0]),
            ValueKind.QUOTED,
        )


def _bind_count(statement: PlainStatement) -> None:
    """Bind "the last 20 lines" to `tail`, "the last 5 commits" to a limit."""
    counts = list(_COUNT.finditer(statement.part))
    if len(counts) != 1:
        return
    match = counts[0]
    raw = match["number"].lower()
    number = int(raw) if raw.isdigit() else NUMBER_WORDS[raw]
    is_first = match["rank"].lower() in ("first", "top", "oldest")
    ends = statement.find_open(
        lambda p: p.is_number and p.name == ("head" if is_first else "tail")
    )
    limits = statement.find_open(
        lambda p: p.is_number and bool(p.name_words & LIMIT_WORDS or p.name == "per_page")
    )
    statement.bind(ends or limits, number, statement.span_of(match, "number"), ValueKind.NUMBER)


def _bind_sum(statement: PlainStatement) -> None:
    names = has_name(frozenset({"expression", "formula", "equation", "calculation"}))
    sums = list(_SUM.finditer(statement.part))
    spoken = list(_SUM.finditer(_write_operators(statement.part)))
    if len(spoken) == 1 and (not sums or spoken[0][0] != sums[0][0]):
        statement.bind(
            statement.find_open(names), spoken[0][0].strip(), statement.span, ValueKind.QUOTED
        )
    elif len(sums) == 1:
        statement.bind(
            statement.find_open(names),
            sums[0][0].strip(),
            statement.span_of(sums[0]),
            ValueKind.QUOTED,
        )


def _write_operators(text: str) -> str:
    """Write arithmetic in words as signs: "15% of 80 plus 2" is 15/100*80 + 2."""
    for pattern, sign in _OPERATORS:
        text = pattern.sub(sign, text)
    return text


def _bind_call(statement: PlainStatement) -> None:
    """Bind the only expression that calls a function: "println(count)", "rate(x[5m])"."""
    calls = list(_CALL.finditer(statement.part))
    if len(calls) == 1 and not _CLAUSE.search(statement.part):
        names = has_name(_EXPRESSION_NAMES)
        parameters = statement.find_open(names, required=True)
        statement.bind(parameters, calls[0][0], statement.span_of(calls[0]), ValueKind.PHRASE)


def _bind_range(statement: PlainStatement) -> None:
    match = _BETWEEN.search(statement.part)
    if match is None:
        return
    for group, names in (("low", _LOWER_NAMES), ("high", _UPPER_NAMES)):
        parameters = [p for p in statement.find_open(is_number) if plain_name(p) in names]
        number = float(match[group])
        value = int(number) if number.is_integer() else number
        statement.bind(parameters, value, statement.span_of(match, group), ValueKind.NUMBER)


def _bind_zones(statement: PlainStatement) -> None:
    """Bind "09:30 in Tokyo in Berlin" or "from Tokyo to Berlin" to source and target zones."""
    ends = [
        [p for p in statement.find_open(mentions(words)) if "timezone" in p.name_words]
        for words in (plain_paths.SOURCE_WORDS, plain_paths.TARGET_WORDS)
    ]
    if not all(len(parameters) == 1 for parameters in ends):
        return
    cities = list(_iterate_cities(statement))
    if len(cities) != 2:
        return
    for parameters, (zone, span) in zip(ends, cities, strict=True):
        statement.bind(parameters, zone, span, ValueKind.NAME)


def _iterate_cities(statement: PlainStatement) -> Iterator[tuple[str, tuple[int, int]]]:
    seen = -1
    words = list(re.finditer(r"[^\W\d_]+(?:[.'-][^\W\d_]+)*", statement.part))
    for at, word in enumerate(words):
        for length in (3, 2, 1):
            last = at + length - 1
            if last >= len(words) or word.start() < seen:
                continue
            zone = ZONES_BY_CITY.get(statement.part[word.start() : words[last].end()].lower())
            if zone is not None:
                seen = words[last].end()
                yield zone, (statement.start + word.start(), statement.start + seen)
                break


_RULES: Final[tuple[Callable[[PlainStatement], None], ...]] = (
    plain_revisions.bind_repository,
    plain_files.bind_files,
    plain_paths.bind_paths,
    _bind_pattern,
    plain_pairs.bind_replacement,
    plain_texts.bind_quoted_list,
    plain_pairs.bind_quoted_ends,
    plain_texts.bind_labelled,
    plain_texts.bind_said,
    plain_pairs.bind_assignment,
    plain_sql.bind_statement,
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
    _bind_range,
    _bind_zones,
    plain_choices.bind_states,
    plain_choices.bind_described_choices,
    plain_choices.bind_choices,
    plain_choices.bind_symbol,
    plain_addresses.bind_place,
    plain_identifiers.bind_identifier,
    plain_texts.bind_quoted,
    plain_texts.bind_only_text,
)
