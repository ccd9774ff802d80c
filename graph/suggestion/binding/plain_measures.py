"""Bind quantities that their unit explains, and coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.arguments import NOT_CONVERTIBLE, convert_value
from graph.suggestion.binding.plain_statement import is_number
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import LIMIT_WORDS, UNIT_WORDS, Words, normalize_words

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.values import StatedValue

_AGO: Final = re.compile(
    r"\b(?:last|past|previous|next|recent|letzten?|nächsten?|últim[oa]s|próxim[oa]s)\s+$"
    r"|(?:最近|过去)$",
    re.IGNORECASE,
)
"""Before a span of time that is looked at, not waited for."""
_EXPIRY_WORDS: Final = normalize_words(["expire", "expiration", "expiry", "ttl", "wait", "sleep"])
_EXPIRING: Final = re.compile(
    r"\b(?:expir\w*|ttl|keep\w*|lives?|valid|wait\w*|sleep\w*|abl[aä]uf\w*|caduc\w*)\b|过期|有效|保留"
    r"|\b(?:in|for|after|für|nach|en|por|durante|dentro\s+de)\s+$",
    re.IGNORECASE,
)
"""Before a span of time after which something is to expire; others only tell of one."""
_CAREFUL_WORDS: Final = normalize_words(["timeout", "start", "end", "page", "offset"])
"""Words of parameters that no quantity means without being called so."""
_COORDINATES: Final = re.compile(
    r"(?<![\w.,-])(?P<latitude>-?\d{1,3}\.\d+)°?\s*[,，]\s*(?P<longitude>-?\d{1,3}\.\d+)(?![\w.]\d)"  # noqa: RUF001
)
_POINT: Final = re.compile(
    r"(?<![\w.,-])-?\d{1,3}(?:\.\d+)?°?\s*[,，]\s*-?\d{1,2}(?!\d)"  # noqa: RUF001 - as typed
)
"""Coordinates of any precision, but no number with a comma before its thousands."""
_IN_TEXT: Final = re.compile(
    r"\blat(?:itude)?\s*,\s*(?:lng|lon)|\blng?\s*,\s*lat|\bcoordinates?\b|经度.{0,4}纬度|坐标",
    re.IGNORECASE,
)
"""In the description of a text that holds both numbers."""
_LONGITUDE_FIRST: Final = re.compile(
    r"\b(?:lng|lon|longitude|längengrad|longitud)\b.{0,40}\b(?:lat|latitude|breitengrad|latitud)\b",
    re.IGNORECASE | re.DOTALL,
)
_SIZE: Final = re.compile(
    r"(?<![\w.])(?P<width>\d{2,5})(?:\s?[x\u00d7]\s?|\s+by\s+)(?P<height>\d{2,5})(?![\w.]\d|\w)"
)
MAX_LATITUDE: Final = 90.0
MAX_LONGITUDE: Final = 180.0
_LATITUDES: Final = frozenset(["latitude", "lat"])
_LONGITUDES: Final = frozenset(["longitude", "lng", "lon", "long"])


def bind_quantities(statement: PlainStatement) -> None:
    """Bind "within 800 metres" or "for 60 seconds" to the only number with such a unit."""
    for value in statement.list_values(ValueKind.NUMBER):
        words = UNIT_WORDS.get(value.unit)
        if words is None or _AGO.search(statement.text, statement.start, value.start):
            continue
        if words & UNIT_WORDS["s"]:
            words |= _EXPIRY_WORDS
        parameters = statement.find_open(lambda p, w=words: _is_measured(p, w))  # type: ignore[misc]
        if len(parameters) == 1 and not _only_tells(statement, parameters[0], value):
            converted = convert_value(parameters[0], value)
            if converted is not NOT_CONVERTIBLE:
                end = statement.text.lower().find(value.unit, value.end - len(value.unit))
                span = (value.start, max(value.end, end + len(value.unit)))
                statement.bind(parameters, converted, span, ValueKind.NUMBER)


def bind_size(statement: PlainStatement) -> None:
    """Bind "768 by 1024" or "300x300" to a width and a height."""
    sizes = list(_SIZE.finditer(statement.part))
    if len(sizes) != 1:
        return
    open_numbers = statement.find_open(is_number)
    for name in ("width", "height"):
        parameters = [p for p in open_numbers if p.name.lower() == name]
        statement.bind(
            parameters, int(sizes[0][name]), statement.span_of(sizes[0], name), ValueKind.NUMBER
        )


def _only_tells(statement: PlainStatement, parameter: ToolParameter, value: StatedValue) -> bool:
    """Whether a parameter is an expiry and a value says only how long something took."""
    is_expiry = bool(parameter.name_words & _EXPIRY_WORDS)
    return is_expiry and _EXPIRING.search(statement.text, statement.start, value.start) is None


def _is_measured(parameter: ToolParameter, words: Words) -> bool:
    ending = normalize_words(split_raw_name(parameter.name)[-1:])
    is_limit = bool(parameter.name_words & (LIMIT_WORDS | _CAREFUL_WORDS))
    return (
        is_number(parameter)
        and not parameter.members
        and bool(parameter.name_words & words)
        and (not is_limit or bool(ending & words and ending & UNIT_WORDS.keys()))
    )


def bind_coordinates(statement: PlainStatement) -> None:
    """Bind the only pair of coordinates, also as an object or the only one of a list."""
    pairs = list(_COORDINATES.finditer(statement.part))
    is_one = len(pairs) == 1 and len(_POINT.findall(statement.part)) <= 1
    if not is_one or _LONGITUDE_FIRST.search(statement.part):
        return
    pair = pairs[0]
    numbers = {name: float(pair[name]) for name in ("latitude", "longitude")}
    if abs(numbers["longitude"]) > MAX_LONGITUDE:
        return
    texts = statement.find_open(lambda p: p.is_text and bool(_IN_TEXT.search(p.description)))
    statement.bind(texts, pair[0], statement.span_of(pair), ValueKind.NUMBER)
    if abs(numbers["latitude"]) > MAX_LATITUDE:
        return
    for name, spellings in (("latitude", _LATITUDES), ("longitude", _LONGITUDES)):
        numeric = statement.find_open(is_number)
        parameters = [one for one in numeric if one.name.lower() in spellings]
        statement.bind(parameters, numbers[name], statement.span_of(pair, name), ValueKind.NUMBER)
    holders = statement.find_open(lambda p: _find_fields(p) is not None, required=True)
    fields = _find_fields(holders[0]) if len(holders) == 1 else None
    if fields is not None:
        point = dict(zip(fields, numbers.values(), strict=True))
        value = [point] if holders[0].is_array else point
        statement.bind(holders, value, statement.span_of(pair), ValueKind.NUMBER)


def _find_fields(parameter: ToolParameter) -> tuple[str, str] | None:
    """Return the fields for latitude and longitude of an object or of a list's items."""
    part = parameter.schema.get("items") if parameter.is_array else parameter.schema
    properties = part.get("properties") if isinstance(part, Mapping) else None
    if not isinstance(properties, Mapping):
        return None
    found = [
        [str(name) for name in properties if str(name).lower() in spellings]
        for spellings in (_LATITUDES, _LONGITUDES)
    ]
    return (found[0][0], found[1][0]) if all(len(names) == 1 for names in found) else None
