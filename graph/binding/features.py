"""Features of a parameter and a value that the intent states, for all of both at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.binding import arguments, fitting
from graph.binding.schemas import Parameter, Schema, schema_of
from graph.binding.stated import Floats, Stated, read, spans_of, unit_words
from graph.binding.value_patterns import Kind
from graph.binding.vocabulary import (
    FILES,
    FITTING,
    IDENTIFYING,
    LIMITS,
    LONG_TEXT,
    NAMED_FORMS,
    NAMED_THINGS,
    OPPOSED,
    PREPOSITIONS,
    RANKED,
    TEXT,
    UNSURE_TEXT,
    Words,
    meaning,
)
from graph.data_flow.words import raw_words

if TYPE_CHECKING:
    from graph.binding.steps import Step
    from graph.intent.reading import Reading

_ADDRESSES: Final = (Kind.TIME, Kind.EMAIL, Kind.URL, Kind.PATH, Kind.PHONE, Kind.IP)
_SIGNS: Final = (Kind.TAG, Kind.CODE)
_PAIRED: Final = (
    *("number_number", "text_number", "date", "no_date", "no_file", "form", "only_form"),
    *("fitting", "misfitting", *_SIGNS),
    *("quoted", "quoted_text", "name", "name_thing", "name_inside", "phrase", "word"),
    *("number_word", "list", "choice", "member", "no_choice"),
    *("name_left", "name_right", "name_next", "described_left", "described_right"),
    *(
        "described_value",
        "introduced",
        "not_introduced",
        "opposed",
        "followed",
        "unit",
        "other_unit",
    ),
    *("tool_word", "own_name", "length", "clause", "order", "array", "long_text"),
    *("identifier", "crowd", "required_quoted", "required_name", "required_word"),
)
_UNSTATED: Final = (
    *("none", "none_required", "none_identifier", "none_number", "none_earlier", "none_default"),
    *("none_choice", "none_first", "none_text", "none_array", "none_secret"),
)
NAMES: Final = tuple(str(name) for name in (*_PAIRED, *_UNSTATED))
"""Of the features; those of "not stated" come last and are zero for values."""
COLUMNS: Final = {name: column for column, name in enumerate(NAMES)}
SHARE_SCALE = 0.08
"""What turns the log of a share back into a difference of cosines (see `Step.shares`)."""
LEAST_SHARE = 1e-3
MAX_ROWS = 600
"""Parameters of all steps together that values of the intent are looked for."""

Planes = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Every parameter of some steps against every value that the intent states.

    Attributes:
        stated: The values.
        schemas: Of each step's tool.
        owners: `(p,)` which step each parameter belongs to.
        parameters: Those that may take a value.
        features: `(p, n + 1, f)` float32; the last row of each parameter is "not stated".
        possible: `(p, n)` whether the value may stand there at all.
    """

    stated: Stated
    schemas: tuple[Schema, ...]
    owners: NDArray[np.intp]
    parameters: tuple[Parameter, ...]
    features: Floats
    possible: NDArray[np.bool_]


def grid(steps: Sequence[Step], *, reading: Reading) -> Grid:
    """Compare every parameter of some steps with every value that the intent states.

    Complexity: O(p · n · w) for p parameters, n values and w words of the intent.
    """
    schemas = tuple(schema_of(step.tool) for step in steps)
    pairs = [
        (owner, parameter)
        for owner, schema in enumerate(schemas)
        for parameter in schema.parameters.values()
        if parameter.takes_values
    ]
    pairs = _bounded(pairs)
    parameters = tuple(parameter for _, parameter in pairs)
    owners = np.array([owner for owner, _ in pairs], dtype=np.intp)
    stated = read(reading.text, _member_spans(reading.text, parameters))
    count = len(stated.values)
    features = np.zeros((len(parameters), count + 1, len(NAMES)), dtype=np.float32)
    members = fitting.members(parameters, stated)
    for planes in _families(steps, reading, stated, (parameters, owners, members)):
        for name, plane in planes.items():
            features[:, :count, COLUMNS[name]] = plane
    for name, column in _unstated(parameters, owners).items():
        features[:, count, COLUMNS[name]] = column
    return Grid(
        stated=stated,
        schemas=schemas,
        owners=owners,
        parameters=parameters,
        features=features,
        possible=fitting.possible(parameters, stated, members),
    )


def _bounded(pairs: list[tuple[int, Parameter]]) -> list[tuple[int, Parameter]]:
    """Return the parameters that are looked at, the required ones first where there are many."""
    if len(pairs) <= MAX_ROWS:
        return pairs
    order = sorted(range(len(pairs)), key=lambda n: not pairs[n][1].is_required)
    return [pairs[n] for n in sorted(order[:MAX_ROWS])]


def _member_spans(text: str, parameters: Sequence[Parameter]) -> tuple[tuple[int, int], ...]:
    phrases = {
        phrase for one in parameters for phrase in arguments.spellings(one) if len(phrase) > 1
    }
    return tuple(sorted(spans_of(text, sorted(phrases))))


_Rows = tuple[tuple[Parameter, ...], NDArray[np.intp], NDArray[np.bool_]]


def _families(
    steps: Sequence[Step], reading: Reading, stated: Stated, rows: _Rows
) -> Iterator[Planes]:
    parameters, owners, members = rows
    if not parameters or not stated.values:
        return
    yield _types(parameters, stated)
    yield _looks(parameters, stated)
    yield _choices(parameters, stated, members)
    yield _words(parameters, stated)
    yield _prepositions(parameters, stated)
    yield _units(parameters, stated)
    yield _tool_words(steps, owners, stated)
    yield _places(steps, owners, stated, reading)


def _flags(parameters: Sequence[Parameter], words: Words, *, of_name: bool = True) -> Floats:
    """Return `(p, 1)`: whether a parameter's name, or its text too, has one of some words."""
    sets = [one.words if of_name else one.all_words for one in parameters]
    return np.array([[not some.isdisjoint(words)] for some in sets], dtype=np.float32)


def _column(values: Sequence[object]) -> Floats:
    return np.array([[value] for value in values], dtype=np.float32)


def _types(parameters: Sequence[Parameter], stated: Stated) -> Planes:
    numbers = _column([one.is_number for one in parameters])
    texts = _column([one.is_text for one in parameters])
    arrays = _column([one.is_array for one in parameters])
    required = _column([one.is_required for one in parameters])
    names = stated.of_kind(Kind.NAME)
    quoted = stated.of_kind(Kind.QUOTED)
    inside = names & np.array([one.start > 0 for one in stated.values])
    return {
        "number_number": numbers * stated.are_numbers,
        "text_number": texts * stated.are_numbers,
        "array": np.broadcast_to(arrays, (len(parameters), len(stated.values))),
        "list": arrays * stated.of_kind(Kind.LIST),
        "name": names[None],
        "name_inside": inside[None],
        "name_thing": _flags(parameters, NAMED_THINGS, of_name=False) * names,
        "quoted": quoted[None],
        "quoted_text": _flags(parameters, TEXT) * quoted,
        "phrase": stated.of_kind(Kind.PHRASE)[None],
        "word": stated.of_kind(Kind.WORD)[None],
        "number_word": stated.of_kind(Kind.NUMBER_WORD)[None],
        "long_text": _flags(parameters, LONG_TEXT) * stated.lengths,
        "length": stated.lengths[None],
        "crowd": stated.crowds[None],
        "required_quoted": required * quoted,
        "required_name": required * texts * names,
        "required_word": required * stated.of_kind(Kind.PHRASE, Kind.WORD),
    }


def _looks(parameters: Sequence[Parameter], stated: Stated) -> Planes:
    planes: dict[str, Any] = {}
    for kind in _SIGNS:
        sign = 2 * _flags(parameters, FITTING[kind], of_name=False) - 1
        planes[kind] = sign * stated.of_kind(kind)
    for kind in _ADDRESSES:
        fits, here = _flags(parameters, FITTING[kind], of_name=False), stated.of_kind(kind)
        planes["fitting"] = planes.get("fitting", 0) + fits * here
        planes["misfitting"] = planes.get("misfitting", 0) + (1 - fits) * here
    dates = stated.inner_kind(Kind.DATE)
    dated = _flags(parameters, FITTING["date"], of_name=False)
    wants = _flags(parameters, meaning(["date"]), of_name=False)
    planes["date"] = dated * dates
    files = _flags(parameters, FILES)
    planes["no_file"] = files * ~stated.inner_kind(Kind.PATH)
    planes["no_date"] = (1 - dated) * dates + 0.7 * wants * ~dates
    planes["form"], planes["only_form"] = _forms(parameters, stated)
    codes = stated.are_numbers | stated.of_kind(Kind.CODE, Kind.QUOTED)
    planes["identifier"] = _flags(parameters, IDENTIFYING) * np.where(codes, 1, -1)
    return planes


def _forms(parameters: Sequence[Parameter], stated: Stated) -> tuple[Floats, Floats]:
    """Return where a value has the form that a name asks for, and where it alone has it."""
    shape = (len(parameters), len(stated.values))
    formed, alone = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    for kind, words in NAMED_FORMS.items():
        looks = stated.inner_kind(Kind(kind))
        if looks.any():
            known = {one.key for one, here in zip(stated.values, looks, strict=True) if here}
            fits = _asking(parameters, kind, words) * looks
            formed += fits
            alone += fits * (len(known) == 1)
    return formed, alone


def _asking(parameters: Sequence[Parameter], kind: str, words: Words) -> Floats:
    """Return `(p, 1)`: whether a parameter's name or format asks for a kind, or its text does."""
    told = [fitting.form_of(one) == kind or arguments.asks_for(one, kind) for one in parameters]
    return np.maximum(_flags(parameters, words), _column(told))


def _choices(
    parameters: Sequence[Parameter], stated: Stated, members: NDArray[np.bool_]
) -> Planes:
    limited = _column([bool(one.members or one.choices) for one in parameters])
    limited = np.maximum(limited, members.any(axis=1, keepdims=True))
    told = [one.text.lower() for one in stated.values]
    nothing = [False] * len(told)
    listed = [[t in p.choices for t in told] if p.choices else nothing for p in parameters]
    chosen = members | np.array(listed)
    return {"choice": limited * chosen, "member": members, "no_choice": limited * ~chosen}


def _words(parameters: Sequence[Parameter], stated: Stated) -> Planes:
    named = stated.incidence([one.words for one in parameters])
    plain = stated.incidence([one.words - PREPOSITIONS.keys() for one in parameters])
    described = stated.incidence([one.described for one in parameters])
    lengths = np.maximum(stated.own.sum(axis=1), 1)
    return {
        "name_left": np.minimum(named @ stated.left.T, 2),
        "name_right": np.minimum(plain @ stated.right.T, 2),
        "name_next": np.minimum(named @ stated.next_left.T + plain @ stated.next_right.T, 1),
        "described_left": np.minimum(described @ stated.left.T, 2),
        "described_right": np.minimum(described @ stated.right.T, 2),
        "described_value": described @ stated.own.T >= lengths,
        "own_name": named @ stated.own.T >= lengths,
    }


def _prepositions(parameters: Sequence[Parameter], stated: Stated) -> Planes:
    shape = (len(parameters), len(stated.values))
    introduced, opposed = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    known = np.array([word in PREPOSITIONS for word in stated.introduced_by])
    for word in set(stated.introduced_by) & PREPOSITIONS.keys():
        here = np.array([one == word for one in stated.introduced_by])
        introduced |= _flags(parameters, PREPOSITIONS[word]).astype(bool) & here
        if word in OPPOSED:
            opposed |= _flags(parameters, PREPOSITIONS[OPPOSED[word]]).astype(bool) & here
    to = np.array([word in OPPOSED and word != "from" for word in stated.followed_by])
    return {
        "followed": _flags(parameters, PREPOSITIONS["from"]) * to,
        "introduced": introduced,
        "not_introduced": known & ~introduced,
        "opposed": opposed & ~introduced,
    }


def _units(parameters: Sequence[Parameter], stated: Stated) -> Planes:
    shape = (len(parameters), len(stated.values))
    fits, other = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for place, one in enumerate(stated.values):
        words = unit_words(one)
        if words:
            fits[:, place] = _flags(parameters, words, of_name=False)[:, 0] > 0
            other[:, place] = ~fits[:, place]
        elif one.kind in (Kind.NUMBER, Kind.NUMBER_WORD) and _is_wanted(stated, place):
            fits[:, place] = _flags(parameters, LIMITS)[:, 0] > 0
    return {"unit": fits, "other_unit": other}


def _is_wanted(stated: Stated, place: int) -> bool:
    """Whether a number says how many are wanted: "the last 3 commits", "the 3 latest ones"."""
    return stated.introduced_by[place] in RANKED or stated.followed_by[place] in RANKED


def _tool_words(steps: Sequence[Step], owners: NDArray[np.intp], stated: Stated) -> Planes:
    tools = stated.incidence([meaning(raw_words(step.tool.name)) for step in steps])
    lengths = np.maximum(stated.own.sum(axis=1), 1)
    return {"tool_word": (tools @ stated.own.T >= lengths)[owners]}


def _places(
    steps: Sequence[Step], owners: NDArray[np.intp], stated: Stated, reading: Reading
) -> Planes:
    """Compare where a value stands with which clauses speak of its step, and when it runs."""
    expected = np.arange(len(steps)) / max(len(steps) - 1, 1)
    order = -np.abs(stated.places[None] - expected[:, None])
    return {"order": order[owners], "clause": _clauses(steps, stated, reading)[owners]}


def _clauses(steps: Sequence[Step], stated: Stated, reading: Reading) -> Floats:
    shares = [step.shares for step in steps]
    count = len(reading.clauses)
    known = [share for share in shares if share is not None and len(share) == count]
    if len(known) < len(shares) or not count:
        return np.zeros((len(steps), len(stated.values)), dtype=np.float32)
    near = SHARE_SCALE * np.log(np.maximum(np.stack(known), LEAST_SHARE))
    starts = np.array([clause.start for clause in reading.clauses])
    begins = np.array([one.start for one in stated.values])
    place = np.maximum(np.searchsorted(starts, begins, side="right") - 1, 0)
    here = near[:, place]
    rivals = 0.5 * (here.max(axis=0) - here)
    return np.asarray(here - near.mean(axis=1, keepdims=True) - rivals, dtype=np.float32)


def _unstated(
    parameters: Sequence[Parameter], owners: NDArray[np.intp]
) -> Mapping[str, NDArray[np.generic]]:
    def flags(values: Iterator[object]) -> Floats:
        return np.array(list(values), dtype=np.float32)

    defaults = (one.has_default or "default" in one.description.lower() for one in parameters)
    return {
        "none": np.ones(len(parameters), dtype=np.float32),
        "none_required": flags(one.is_required for one in parameters),
        "none_identifier": flags(one.is_identifier for one in parameters),
        "none_number": flags(one.is_number for one in parameters),
        "none_earlier": np.minimum(owners, 2),
        "none_default": flags(defaults),
        "none_choice": flags(bool(one.members or one.choices) for one in parameters),
        "none_first": owners == 0,
        "none_text": flags(not one.words.isdisjoint(UNSURE_TEXT) for one in parameters),
        "none_array": flags(one.is_array for one in parameters),
        "none_secret": flags(one.is_secret for one in parameters),
    }
