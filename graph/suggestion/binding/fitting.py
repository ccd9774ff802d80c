"""Decide which stated values are possible for a parameter at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding import arguments
from graph.suggestion.binding.arguments import (
    DATE_WORDS,
    NOT_CONVERTIBLE,
    currency_code,
    match_member,
    takes_joined_list,
)
from graph.suggestion.binding.schemas import ToolParameter
from graph.suggestion.binding.stated_values import StatedValues
from graph.suggestion.binding.time_zones import ZONES_BY_CITY
from graph.suggestion.binding.value_patterns import FILE_NAME, ValueKind
from graph.suggestion.binding.values import StatedValue, parse_number
from graph.suggestion.binding.vocabulary import (
    CURRENCY_CODES,
    DOCUMENT_WORDS,
    EXCLUSIVE_NAME_ENDINGS,
    FILE_WORDS,
    FOLDER_WORDS,
    LONG_TEXT_WORDS,
    REQUIRED_DESCRIPTION_WORDS,
    REQUIRED_NAME_WORDS,
    SECRET_WORDS,
    normalize_words,
)

Flags = NDArray[np.bool_]

_FORMAT_KINDS: Final[Mapping[str, ValueKind]] = {
    "email": ValueKind.EMAIL,
    "uri": ValueKind.URL,
    "ipv4": ValueKind.IP,
}
"""Formats that only one kind of value has."""
_VERBATIM_FORMATS: Final = frozenset({"uuid", "ipv6", "uri-reference", "hostname", "duration"})
"""Formats restricted to values of opaque kinds, taken verbatim."""
_CODE_WORDS: Final = normalize_words(["ticker", "iata"])
_CODE_DESCRIPTION: Final = re.compile(
    r"\b(?:\d|two|three|four)[- ]letter\b|\bIATA\b|\b(?:stock|ticker) symbol\b"
    r"|\bSymbol (?:of|that)\b|\b(?:currency|country|language|airport) code\b|\bISO[ -]\d",
    re.IGNORECASE,
)
_ZONE_PATTERN: Final = re.compile(r"UTC|GMT|[A-Z][A-Za-z]+/[A-Z]\w+(?:/\w+)?")
_THREE_LETTERS: Final = re.compile(r"[A-Z]{3}")
_CODE_PATTERN: Final = re.compile(
    r"[A-Z][A-Z0-9]{0,5}(?:[-.][A-Z0-9]{1,4})*|[a-z]{2}(?:-[A-Z]{2})?|\d{1,6}"
)
_CLOCK_WORDS: Final = normalize_words(["time", "hour", "clock"])
_COUNT_WORDS: Final = normalize_words(["number", "count", "quantity", "num", "amount"])

_PATH_WORDS: Final = normalize_words(["path"])
_PATH_PATTERN: Final = re.compile(r"[^{}\"]*[/\\.~*][^{}\"]*")
_NAMING_WORDS: Final = normalize_words(["named", "called", "titled", "dubbed"])
_WHOLE_KINDS: Final = frozenset(
    {ValueKind.WORD, ValueKind.PHRASE, ValueKind.NAME, ValueKind.CODE, ValueKind.NUMBER_WORD}
)
"""Kinds whose values are whole tokens of the intent."""
_JOINED_BEFORE: Final = re.compile(r"\w(?:[/.@_-]|::?)$")
_JOINED_BEHIND: Final = re.compile(r"(?:[/.@_-]|::?)\w")
_NAME: Final = normalize_words(["name"])
_HOLDER_WORDS: Final = normalize_words(
    ["collection", "bucket", "database", "table", "index", "namespace", "schema", "scope"]
)
_CODED: Final = re.compile(r"(?=.*[^\W_])(?=.*[\d_.-])[\w.-]+")
"""A name that can be no other word: "support_tickets"."""
MIN_SENTENCE_WORDS = 4
"""Words from which a quoted text is a sentence rather than the name of a place."""
_EXPRESSION_WORDS: Final = normalize_words(
    ["query", "sql", "statement", "expression", "expr", "filter", "cypher", "script", "code"]
)
_OPERATOR: Final = re.compile(r"(?:[=<>(]|(?<=\w):)\s?[\"'`]?$")
_FIELD: Final = re.compile(r"(?P<field>[A-Za-z]\w*)\s?={1,2}\s?[\"'`]$")
MAX_FIELD_CHARS: Final = 40
"""Characters before a quoted value that are read for the field it belongs to."""
_CALL: Final = re.compile(r"[(\[{]")
_OPAQUE_KINDS: Final = (
    ValueKind.QUOTED,
    ValueKind.CODE,
    ValueKind.URL,
    ValueKind.PATH,
    ValueKind.IP,
)
_OPAQUE: Final = "opaque"
_CODE: Final = "code"
_ZONE: Final = "zone"
_CURRENCY: Final = "currency"
_CLOCK: Final = "clock"
_COUNT: Final = "count"
_ANY: Final = ""


def match_members(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Return `(p, n)`: which values name a member of a parameter's closed set.

    The set is its enumeration, the IANA time zones, or the currency codes.
    """
    found = np.zeros((len(parameters), len(stated.values)), dtype=bool)
    for row, parameter in enumerate(parameters):
        form = expected_form(parameter)
        if parameter.members:
            found[row] = [
                match_member(parameter, one) is not NOT_CONVERTIBLE for one in stated.values
            ]
        elif form == _ZONE:
            found[row] = _values_of_form(form, stated)
        elif form == _CURRENCY:
            found[row] = [
                one.text in CURRENCY_CODES or bool(currency_code(one.text))
                for one in stated.values
            ]
    return found


def match_types(parameters: Sequence[ToolParameter], stated: StatedValues, chosen: Flags) -> Flags:
    """Return `(p, n)`: which values are possible for which parameters.

    Meaning counts as well as type: an address never becomes a title, nor a key a city.

    Args:
        parameters: The parameters that may take a stated value.
        stated: The values.
        chosen: The result of `match_members`.
    """
    shape = (len(parameters), len(stated.values))
    if not all(shape):
        return np.zeros(shape, dtype=bool)
    numbers = _flag_column([one.is_number or _is_number_array(one) for one in parameters])
    limited = _flag_column([bool(one.members) for one in parameters])
    lists = stated.has_kind(ValueKind.LIST)
    takes_list = _flag_column(
        [one.is_array or "array" in one.types or takes_joined_list(one) for one in parameters]
    )
    fits = np.where(limited, chosen, ~numbers | stated.is_number | _number_list_flags(stated))
    fits &= ~lists | takes_list
    for kind, words in REQUIRED_NAME_WORDS.items():
        also = REQUIRED_DESCRIPTION_WORDS[kind]
        is_matching = _flag_column(
            [
                bool(one.name_words & words or one.name_and_description_words & also)
                for one in parameters
            ]
        )
        fits &= ~stated.has_unquoted_kind(ValueKind(kind)) | is_matching | limited
    forms = [expected_form(parameter) for parameter in parameters]
    formed = {form: _values_of_form(form, stated) for form in set(forms)}
    fits &= np.stack([formed[form] for form in forms])
    fits &= _restrict_files(parameters, stated) & _restrict_paths(parameters, stated)
    fits &= ~_mark_fragments(stated) & _restrict_places(parameters, stated)
    fits &= _restrict_expressions(parameters, stated) & _restrict_json(parameters, stated)
    return fits & _restrict_secrets(parameters, stated) & _restrict_identifiers(parameters, stated)


@lru_cache(maxsize=8_192)
def expected_form(parameter: ToolParameter) -> str:
    """Return the form a parameter expects: a `ValueKind` or one of this module's forms."""
    ending = normalize_words(split_raw_name(parameter.name)[-1:])
    named = [kind for kind, words in EXCLUSIVE_NAME_ENDINGS.items() if ending & words]
    is_open = parameter.is_text and not parameter.members
    is_code = is_open and (ending & _CODE_WORDS or _CODE_DESCRIPTION.search(parameter.description))
    is_clock = (
        parameter.name_words & _CLOCK_WORDS
        and not parameter.name_and_description_words & DATE_WORDS
    )
    forms = (
        (parameter.format in _FORMAT_KINDS, str(_FORMAT_KINDS.get(parameter.format))),
        (parameter.format in _VERBATIM_FORMATS, _OPAQUE),
        (named and parameter.is_text, f"{''.join(named[:1])}, or a number"),
        (is_code, _CURRENCY if "currency" in parameter.name_words else _CODE),
        (arguments.takes_time_zone(parameter), _ZONE),
        (is_clock, _CLOCK),
        (parameter.name_words & _COUNT_WORDS and not parameter.members, _COUNT),
    )
    return next((form for holds, form in forms if holds), _ANY)


def _values_of_form(form: str, stated: StatedValues) -> Flags:
    """Return `(n,)`: which values have the form."""
    judge = _FORM_CHECKS.get(form)
    if judge is None:
        return _values_of_kind(form, stated)
    return np.array([judge(one) for one in stated.values], dtype=bool)


_FORM_CHECKS: Final[Mapping[str, Callable[[StatedValue], bool]]] = {
    _ANY: lambda _: True,
    _OPAQUE: lambda one: one.kind in _OPAQUE_KINDS,
    _CODE: lambda one: bool(_CODE_PATTERN.fullmatch(one.text) or currency_code(one.text)),
    _CURRENCY: lambda one: bool(_THREE_LETTERS.fullmatch(one.text) or currency_code(one.text)),
    _ZONE: lambda one: (
        bool(_ZONE_PATTERN.fullmatch(one.text)) or one.text.lower() in ZONES_BY_CITY
    ),
    _CLOCK: lambda one: one.kind is not ValueKind.DATE or len(str(one.value)) > 10,
    _COUNT: lambda one: one.kind is not ValueKind.DATE and _can_be_count(one),
}


def _can_be_count(value: StatedValue) -> bool:
    """Whether a value may be a count, or a number as an identifier."""
    has_digit = any(character.isdigit() for character in value.text)
    return has_digit or value.kind in (ValueKind.NUMBER_WORD, ValueKind.QUOTED)


def _values_of_kind(form: str, stated: StatedValues) -> Flags:
    kind, _, or_number = form.partition(",")
    has_form = stated.has_unquoted_kind(ValueKind(kind))
    if not or_number:
        return has_form
    plain = stated.has_kind(
        ValueKind.NAME, ValueKind.PHRASE, ValueKind.WORD, ValueKind.DATE, ValueKind.TIME
    )
    return has_form | (~plain & stated.is_number) | stated.has_kind(ValueKind.TAG)


def _flag_column(values: Sequence[bool]) -> Flags:
    return np.array(values, dtype=bool)[:, None]


def _is_number_array(parameter: ToolParameter) -> bool:
    item_types = parameter.item_types
    return parameter.is_array and bool(item_types) and item_types <= {"number", "integer"}


def _number_list_flags(stated: StatedValues) -> Flags:
    return np.array(
        [
            one.kind is ValueKind.LIST
            and all(parse_number(part.value) is not None for part in one.parts)
            for one in stated.values
        ]
    )


def _restrict_secrets(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Allow secrets only for secret parameters, and for these only secrets."""
    holders = _flag_column([one.is_secret for one in parameters])
    words = stated.word_incidence([SECRET_WORDS])[0]
    is_called_secret = (stated.left_words @ words > 0) | (stated.right_words[:, :] @ words > 0)
    plain = stated.has_kind(ValueKind.WORD, ValueKind.PHRASE)
    return np.where(holders, stated.is_secret | (is_called_secret & ~plain), ~stated.is_secret)


def _restrict_files(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Forbid files for folders, and for texts unless the intent names that text."""
    files = np.array([FILE_NAME.fullmatch(one.text.strip()) is not None for one in stated.values])
    folders = _flag_column(
        [
            bool(one.name_words & FOLDER_WORDS) and not one.name_words & DOCUMENT_WORDS
            for one in parameters
        ]
    )
    texts = _flag_column(
        [
            bool(one.name_words & LONG_TEXT_WORDS) and not one.name_words & FILE_WORDS
            for one in parameters
        ]
    )
    named = stated.word_incidence([one.name_words & LONG_TEXT_WORDS for one in parameters])
    near = named @ stated.left_words.T > 0
    return ~files | (~folders & (~texts | near))


def _restrict_paths(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Allow a quoted value for a path only if it looks like one or is called one."""
    paths = _flag_column([bool(one.name_words & _PATH_WORDS) for one in parameters])
    words = stated.word_incidence([FILE_WORDS | FOLDER_WORDS | DOCUMENT_WORDS | _NAMING_WORDS])[0]
    is_called_path = (stated.nearest_left_words @ words > 0) | (
        stated.nearest_right_words @ words > 0
    )
    looks_like_path = [_PATH_PATTERN.fullmatch(one.text) is not None for one in stated.values]
    fits = ~paths | ~stated.has_kind(ValueKind.QUOTED) | is_called_path | np.array(looks_like_path)
    return np.asarray(fits, dtype=bool)


def _mark_fragments(stated: StatedValues) -> Flags:
    """Return `(n,)`: which values are parts of longer tokens: "user" of "user::1042"."""
    return np.array(
        [
            one.kind in _WHOLE_KINDS
            and (
                _JOINED_BEFORE.search(stated.text, max(0, one.start - 4), one.start) is not None
                or _JOINED_BEHIND.match(stated.text, one.end) is not None
            )
            for one in stated.values
        ],
        dtype=bool,
    )


def _restrict_json(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Allow only JSON documents for texts that hold JSON."""
    takers = _flag_column([one.is_json for one in parameters])
    documents = [
        one.kind is ValueKind.QUOTED and one.text.strip()[:1] in ("{", "[")
        for one in stated.values
    ]
    return np.asarray(~takers | np.array(documents, dtype=bool), dtype=bool)


def _restrict_places(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Forbid for the names of what holds things: sentences, documents, what is called no such."""
    holders = _flag_column(
        [
            bool(
                (words if one.name_words != _NAME else one.name_and_description_words)
                & _HOLDER_WORDS
            )
            and one.is_text
            and not words & LONG_TEXT_WORDS
            for one in parameters
            for words in (one.name_words,)
        ]
    )
    texts = [
        one.kind is ValueKind.QUOTED
        and (one.text[:1] in "{[" or len(one.text.split()) >= MIN_SENTENCE_WORDS)
        for one in stated.values
    ]
    called = stated.word_incidence(
        [one.name_and_description_words & _HOLDER_WORDS for one in parameters]
    )
    near = (called @ stated.left_words.T > 0) | (called @ stated.right_words.T > 0)
    is_code = np.array([_CODED.fullmatch(one.text) is not None for one in stated.values])
    is_other = stated.has_kind(ValueKind.QUOTED, ValueKind.NAME) & ~near & ~is_code
    return np.asarray(~holders | ~(np.array(texts, dtype=bool) | is_other), dtype=bool)


def _restrict_expressions(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Forbid an operand for what takes the whole expression: 'x' of "WHERE name = 'x'"."""
    queries = _flag_column([bool(one.name_words & _EXPRESSION_WORDS) for one in parameters])
    operands = [
        _OPERATOR.search(stated.text, max(0, one.start - 4), one.start) is not None
        or _CALL.match(stated.text, one.end) is not None
        for one in stated.values
    ]
    fields = [_find_field(stated.text, one) for one in stated.values]
    fits = ~queries | ~np.array(operands, dtype=bool)
    for column, field in enumerate(fields):
        if field:
            words = normalize_words([field])
            fits[:, column] &= [bool(words & one.name_words) for one in parameters]
    return np.asarray(fits, dtype=bool)


def _find_field(text: str, value: StatedValue) -> str:
    """Return the field that a quoted value is compared with or assigned to: city of city='x'."""
    if value.kind is not ValueKind.QUOTED:
        return ""
    match = _FIELD.search(text, max(0, value.start - MAX_FIELD_CHARS), value.start)
    return match["field"].lower() if match else ""


def _restrict_identifiers(parameters: Sequence[ToolParameter], stated: StatedValues) -> Flags:
    """Allow a plain number for an identifier only if the intent names the parameter nearby."""
    texts = _flag_column([one.is_identifier for one in parameters])
    named = stated.word_incidence([one.name_words for one in parameters])
    near = named @ stated.left_words.T > 0  # "3 commits" are a count of them
    return ~texts | ~stated.has_kind(ValueKind.NUMBER, ValueKind.NUMBER_WORD) | near
