"""Which stated value may stand for a parameter at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.binding import arguments
from graph.binding.arguments import DATE_WORDS, NOTHING, currency, joins, member
from graph.binding.schemas import Parameter
from graph.binding.stated import Stated
from graph.binding.time_zones import ZONES
from graph.binding.value_patterns import FILE_NAME, Kind
from graph.binding.values import StatedValue, number
from graph.binding.vocabulary import (
    BELONGING,
    CODES,
    DESCRIBED,
    EXPECTING,
    FILES,
    FOLDERS,
    FOLDERS_TOO,
    LONG_TEXT,
    SECRET_WORDS,
    meaning,
)
from graph.data_flow.words import raw_words

Flags = NDArray[np.bool_]

_FORMATS: Final[Mapping[str, Kind]] = {
    "email": Kind.EMAIL,
    "uri": Kind.URL,
    "ipv4": Kind.IP,
}
"""Formats that one kind of value alone has."""
_IDENTICAL: Final = frozenset({"uuid", "ipv6", "uri-reference", "hostname", "duration"})
"""Formats that are kept to words that look it."""
_CODE_WORDS: Final = meaning(["ticker", "iata"])
_CODE_TOLD: Final = re.compile(
    r"\b(?:\d|two|three|four)[- ]letter\b|\bIATA\b|\b(?:stock|ticker) symbol\b"
    r"|\bSymbol (?:of|that)\b|\b(?:currency|country|language|airport) code\b|\bISO[ -]\d",
    re.IGNORECASE,
)
_ZONED: Final = re.compile(r"UTC|GMT|[A-Z][A-Za-z]+/[A-Z]\w+(?:/\w+)?")
_THREE_LETTERS: Final = re.compile(r"[A-Z]{3}")
_CODED: Final = re.compile(
    r"[A-Z][A-Z0-9]{0,5}(?:[-.][A-Z0-9]{1,4})*|[a-z]{2}(?:-[A-Z]{2})?|\d{1,6}"
)
_CLOCK_WORDS: Final = meaning(["time", "hour", "clock"])
_COUNT_WORDS: Final = meaning(["number", "count", "quantity", "num", "amount"])

_PATHS: Final = meaning(["path"])
_PATH_LIKE: Final = re.compile(r"[^{}\"]*[/\\.~*][^{}\"]*")
_CALLED: Final = meaning(["named", "called", "titled", "dubbed"])
_OPAQUE_KINDS: Final = (Kind.QUOTED, Kind.CODE, Kind.URL, Kind.PATH, Kind.IP)
_OPAQUE: Final = "opaque"
_CODE: Final = "code"
_ZONE: Final = "zone"
_CURRENCY: Final = "currency"
_CLOCK: Final = "clock"
_COUNT: Final = "count"
_ANY: Final = ""


def members(parameters: Sequence[Parameter], stated: Stated) -> Flags:
    """Return `(p, n)`: which value names one of the few that a parameter may have.

    Those are the members of its enumeration, the zones of the IANA database for what takes one,
    and codes of currencies for what takes one of these.
    """
    found = np.zeros((len(parameters), len(stated.values)), dtype=bool)
    for row, parameter in enumerate(parameters):
        form = form_of(parameter)
        if parameter.members:
            found[row] = [member(parameter, one) is not NOTHING for one in stated.values]
        elif form == _ZONE:
            found[row] = _formed(form, stated)
        elif form == _CURRENCY:
            found[row] = [one.text in CODES or bool(currency(one.text)) for one in stated.values]
    return found


def possible(parameters: Sequence[Parameter], stated: Stated, chosen: Flags) -> Flags:
    """Return `(p, n)`: which value may stand for which parameter.

    Meaning counts as well as type: an address never becomes a title, nor a key a city.

    Args:
        parameters: Those that may take a value.
        stated: The values.
        chosen: What `members` said of them.
    """
    shape = (len(parameters), len(stated.values))
    if not all(shape):
        return np.zeros(shape, dtype=bool)
    numbers = _column([one.is_number or _holds_numbers(one) for one in parameters])
    limited = _column([bool(one.members) for one in parameters])
    lists = stated.of_kind(Kind.LIST)
    taking = _column([one.is_array or "array" in one.types or joins(one) for one in parameters])
    fits = np.where(limited, chosen, ~numbers | stated.are_numbers | _all_numbers(stated))
    fits &= ~lists | taking
    for kind, words in BELONGING.items():
        also = DESCRIBED[kind]
        belongs = _column([bool(one.words & words or one.all_words & also) for one in parameters])
        fits &= ~stated.inner_kind(Kind(kind)) | belongs | limited
    forms = [form_of(parameter) for parameter in parameters]
    formed = {form: _formed(form, stated) for form in set(forms)}
    fits &= np.stack([formed[form] for form in forms])
    fits &= _keeps_files(parameters, stated) & _keeps_paths(parameters, stated)
    return fits & _keeps_secrets(parameters, stated) & _keeps_identity(parameters, stated)


@lru_cache(maxsize=8_192)
def form_of(parameter: Parameter) -> str:
    """Return what form a parameter's format or name asks for: a kind of value, or one of ours."""
    ending = meaning(raw_words(parameter.name)[-1:])
    named = [kind for kind, words in EXPECTING.items() if ending & words]
    is_open = parameter.is_text and not parameter.members
    is_code = is_open and (ending & _CODE_WORDS or _CODE_TOLD.search(parameter.description))
    is_clock = parameter.words & _CLOCK_WORDS and not parameter.all_words & DATE_WORDS
    forms = (
        (parameter.format in _FORMATS, str(_FORMATS.get(parameter.format))),
        (parameter.format in _IDENTICAL, _OPAQUE),
        (named and parameter.is_text, f"{''.join(named[:1])}, or a number"),
        (is_code, _CURRENCY if "currency" in parameter.words else _CODE),
        (arguments.is_zone(parameter), _ZONE),
        (is_clock, _CLOCK),
        (parameter.words & _COUNT_WORDS and not parameter.members, _COUNT),
    )
    return next((form for holds, form in forms if holds), _ANY)


def _formed(form: str, stated: Stated) -> Flags:
    """Return `(n,)`: which values have a form."""
    judge = _JUDGES.get(form)
    if judge is None:
        return _looking(form, stated)
    return np.array([judge(one) for one in stated.values], dtype=bool)


_JUDGES: Final[Mapping[str, Callable[[StatedValue], bool]]] = {
    _ANY: lambda _: True,
    _OPAQUE: lambda one: one.kind in _OPAQUE_KINDS,
    _CODE: lambda one: bool(_CODED.fullmatch(one.text) or currency(one.text)),
    _CURRENCY: lambda one: bool(_THREE_LETTERS.fullmatch(one.text) or currency(one.text)),
    _ZONE: lambda one: bool(_ZONED.fullmatch(one.text)) or one.text.lower() in ZONES,
    _CLOCK: lambda one: one.kind is not Kind.DATE or len(str(one.value)) > 10,
    _COUNT: lambda one: one.kind is not Kind.DATE and _counts(one),
}


def _counts(value: StatedValue) -> bool:
    """Whether a value may be a number of something, or the number that something has."""
    has_digit = any(character.isdigit() for character in value.text)
    return has_digit or value.kind in (Kind.NUMBER_WORD, Kind.QUOTED)


def _looking(form: str, stated: Stated) -> Flags:
    kind, _, or_number = form.partition(",")
    looks = stated.inner_kind(Kind(kind))
    if not or_number:
        return looks
    plain = stated.of_kind(Kind.NAME, Kind.PHRASE, Kind.WORD, Kind.DATE, Kind.TIME)
    return looks | (~plain & stated.are_numbers) | stated.of_kind(Kind.TAG)


def _column(values: Sequence[bool]) -> Flags:
    return np.array(values, dtype=bool)[:, None]


def _holds_numbers(parameter: Parameter) -> bool:
    wanted = parameter.item_types
    return parameter.is_array and bool(wanted) and wanted <= {"number", "integer"}


def _all_numbers(stated: Stated) -> Flags:
    return np.array(
        [
            one.kind is Kind.LIST and all(number(part.value) is not None for part in one.parts)
            for one in stated.values
        ]
    )


def _keeps_secrets(parameters: Sequence[Parameter], stated: Stated) -> Flags:
    """Give secrets to what holds secrets only, and that nothing that is not told as one."""
    holders = _column([one.is_secret for one in parameters])
    words = stated.incidence([SECRET_WORDS])[0]
    told = (stated.left @ words > 0) | (stated.right[:, :] @ words > 0)
    plain = stated.of_kind(Kind.WORD, Kind.PHRASE)
    return np.where(holders, stated.are_secret | (told & ~plain), ~stated.are_secret)


def _keeps_files(parameters: Sequence[Parameter], stated: Stated) -> Flags:
    """Never take a file for a folder, nor for a text unless the intent names that text."""
    files = np.array([FILE_NAME.fullmatch(one.text.strip()) is not None for one in stated.values])
    folders = _column(
        [bool(one.words & FOLDERS) and not one.words & FOLDERS_TOO for one in parameters]
    )
    texts = _column([bool(one.words & LONG_TEXT) and not one.words & FILES for one in parameters])
    named = stated.incidence([one.words & LONG_TEXT for one in parameters])
    near = named @ stated.left.T > 0
    return ~files | (~folders & (~texts | near))


def _keeps_paths(parameters: Sequence[Parameter], stated: Stated) -> Flags:
    """Take what stands in quotation marks for a path only if it is one, or is told as one."""
    paths = _column([bool(one.words & _PATHS) for one in parameters])
    words = stated.incidence([FILES | FOLDERS | FOLDERS_TOO | _CALLED])[0]
    told = (stated.next_left @ words > 0) | (stated.next_right @ words > 0)
    looks = [_PATH_LIKE.fullmatch(one.text) is not None for one in stated.values]
    fits = ~paths | ~stated.of_kind(Kind.QUOTED) | told | np.array(looks)
    return np.asarray(fits, dtype=bool)


def _keeps_identity(parameters: Sequence[Parameter], stated: Stated) -> Flags:
    """Give an identifier a mere number only where the intent says whose it is."""
    texts = _column([one.is_identifier for one in parameters])
    named = stated.incidence([one.words for one in parameters])
    near = named @ stated.left.T > 0  # "3 commits" are a count of them
    return ~texts | ~stated.of_kind(Kind.NUMBER, Kind.NUMBER_WORD) | near
