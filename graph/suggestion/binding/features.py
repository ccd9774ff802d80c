"""Compute the features of all pairs of parameters and stated values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding import arguments, fitting
from graph.suggestion.binding.schemas import ArgumentSchema, ToolParameter, load_schema
from graph.suggestion.binding.stated_values import (
    Floats,
    StatedValues,
    find_phrase_spans,
    read_stated_values,
    words_for_unit,
)
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import (
    AMBIGUOUS_TEXT_WORDS,
    ENTITY_WORDS,
    FILE_WORDS,
    IDENTIFIER_WORDS,
    LIMIT_WORDS,
    LONG_TEXT_WORDS,
    NAMED_FORMS,
    OPPOSITE_PREPOSITIONS,
    PREPOSITIONS,
    RANK_WORDS,
    TEXT_WORDS,
    TYPICAL_WORDS,
    Words,
    normalize_words,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.steps import BindingStep
    from graph.suggestion.intent.reading import IntentReading

_FORMATTED_KINDS: Final = (
    ValueKind.TIME,
    ValueKind.EMAIL,
    ValueKind.URL,
    ValueKind.PATH,
    ValueKind.PHONE,
    ValueKind.IP,
)
_SIGNED_KINDS: Final = (ValueKind.TAG, ValueKind.CODE)
_PAIR_FEATURES: Final = (
    *("number_number", "text_number", "date", "no_date", "no_file", "form", "only_form"),
    *("fitting", "misfitting", *_SIGNED_KINDS),
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
_UNSTATED_FEATURES: Final = (
    *("none", "none_required", "none_identifier", "none_number", "none_earlier", "none_default"),
    *("none_choice", "none_first", "none_text", "none_array", "none_secret"),
)
FEATURE_NAMES: Final = tuple(str(name) for name in (*_PAIR_FEATURES, *_UNSTATED_FEATURES))
"""Names of the features; those of "not stated" come last and are zero for values."""
FEATURE_COLUMNS: Final = {name: column for column, name in enumerate(FEATURE_NAMES)}
SHARE_SCALE = 0.08
"""Converts the log of a share (`BindingStep.clause_shares`) to a difference of cosines."""
MIN_SHARE = 1e-3
MAX_ROWS = 600
"""Limit of parameters, over all steps, that stated values are considered for."""

FeaturePlanes = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureGrid:
    """All pairs of p parameters of steps and n values stated in the intent.

    Attributes:
        stated: The values.
        schemas: Argument schema of each step's tool.
        owners: `(p,)` step index of each parameter.
        parameters: The parameters that may take a stated value.
        features: `(p, n + 1, f)` float32; the last row of each parameter is "not stated".
        possible: `(p, n)` whether the value may be bound to the parameter at all.
    """

    stated: StatedValues
    schemas: tuple[ArgumentSchema, ...]
    owners: NDArray[np.intp]
    parameters: tuple[ToolParameter, ...]
    features: Floats
    possible: NDArray[np.bool_]


def compute_grid(steps: Sequence[BindingStep], *, reading: IntentReading) -> FeatureGrid:
    """Compare every parameter of the steps with every stated value.

    Complexity: O(p · n · w) for p parameters, n values and w words of the intent.
    """
    schemas = tuple(load_schema(step.tool) for step in steps)
    pairs = [
        (owner, parameter)
        for owner, schema in enumerate(schemas)
        for parameter in schema.parameters.values()
        if parameter.takes_values
    ]
    pairs = _limit_parameters(pairs)
    parameters = tuple(parameter for _, parameter in pairs)
    owners = np.array([owner for owner, _ in pairs], dtype=np.intp)
    stated = read_stated_values(reading.text, _find_member_spans(reading.text, parameters))
    count = len(stated.values)
    features = np.zeros((len(parameters), count + 1, len(FEATURE_NAMES)), dtype=np.float32)
    members = fitting.match_members(parameters, stated)
    for planes in _iterate_families(steps, reading, stated, (parameters, owners, members)):
        for name, plane in planes.items():
            features[:, :count, FEATURE_COLUMNS[name]] = plane
    for name, column in _unstated_features(parameters, owners).items():
        features[:, count, FEATURE_COLUMNS[name]] = column
    return FeatureGrid(
        stated=stated,
        schemas=schemas,
        owners=owners,
        parameters=parameters,
        features=features,
        possible=fitting.match_types(parameters, stated, members),
    )


def _limit_parameters(pairs: list[tuple[int, ToolParameter]]) -> list[tuple[int, ToolParameter]]:
    """Return at most `MAX_ROWS` parameters, preferring required ones."""
    if len(pairs) <= MAX_ROWS:
        return pairs
    order = sorted(range(len(pairs)), key=lambda n: not pairs[n][1].is_required)
    return [pairs[n] for n in sorted(order[:MAX_ROWS])]


def _find_member_spans(
    text: str, parameters: Sequence[ToolParameter]
) -> tuple[tuple[int, int], ...]:
    phrases = {
        phrase
        for one in parameters
        for phrase in arguments.enumerate_spellings(one)
        if len(phrase) > 1
    }
    return tuple(sorted(find_phrase_spans(text, sorted(phrases))))


_GridRows = tuple[tuple[ToolParameter, ...], NDArray[np.intp], NDArray[np.bool_]]


def _iterate_families(
    steps: Sequence[BindingStep], reading: IntentReading, stated: StatedValues, rows: _GridRows
) -> Iterator[FeaturePlanes]:
    parameters, owners, members = rows
    if not parameters or not stated.values:
        return
    yield _type_features(parameters, stated)
    yield _format_features(parameters, stated)
    yield _choice_features(parameters, stated, members)
    yield _word_features(parameters, stated)
    yield _preposition_features(parameters, stated)
    yield _unit_features(parameters, stated)
    yield _tool_word_features(steps, owners, stated)
    yield _position_features(steps, owners, stated, reading)


def _word_flags(
    parameters: Sequence[ToolParameter], words: Words, *, of_name: bool = True
) -> Floats:
    """Return `(p, 1)`: whether a parameter's name, or also its description, has such a word."""
    sets = [one.name_words if of_name else one.name_and_description_words for one in parameters]
    return np.array([[not some.isdisjoint(words)] for some in sets], dtype=np.float32)


def _float_column(values: Sequence[object]) -> Floats:
    return np.array([[value] for value in values], dtype=np.float32)


def _type_features(parameters: Sequence[ToolParameter], stated: StatedValues) -> FeaturePlanes:
    numbers = _float_column([one.is_number for one in parameters])
    texts = _float_column([one.is_text for one in parameters])
    arrays = _float_column([one.is_array for one in parameters])
    required = _float_column([one.is_required for one in parameters])
    names = stated.has_kind(ValueKind.NAME)
    quoted = stated.has_kind(ValueKind.QUOTED)
    inside = names & np.array([one.start > 0 for one in stated.values])
    return {
        "number_number": numbers * stated.is_number,
        "text_number": texts * stated.is_number,
        "array": np.broadcast_to(arrays, (len(parameters), len(stated.values))),
        "list": arrays * stated.has_kind(ValueKind.LIST),
        "name": names[None],
        "name_inside": inside[None],
        "name_thing": _word_flags(parameters, ENTITY_WORDS, of_name=False) * names,
        "quoted": quoted[None],
        "quoted_text": _word_flags(parameters, TEXT_WORDS) * quoted,
        "phrase": stated.has_kind(ValueKind.PHRASE)[None],
        "word": stated.has_kind(ValueKind.WORD)[None],
        "number_word": stated.has_kind(ValueKind.NUMBER_WORD)[None],
        "long_text": _word_flags(parameters, LONG_TEXT_WORDS) * stated.lengths,
        "length": stated.lengths[None],
        "crowd": stated.kind_counts[None],
        "required_quoted": required * quoted,
        "required_name": required * texts * names,
        "required_word": required * stated.has_kind(ValueKind.PHRASE, ValueKind.WORD),
    }


def _format_features(parameters: Sequence[ToolParameter], stated: StatedValues) -> FeaturePlanes:
    planes: dict[str, Any] = {}
    for kind in _SIGNED_KINDS:
        sign = 2 * _word_flags(parameters, TYPICAL_WORDS[kind], of_name=False) - 1
        planes[kind] = sign * stated.has_kind(kind)
    for kind in _FORMATTED_KINDS:
        fits, has_kind = (
            _word_flags(parameters, TYPICAL_WORDS[kind], of_name=False),
            stated.has_kind(kind),
        )
        planes["fitting"] = planes.get("fitting", 0) + fits * has_kind
        planes["misfitting"] = planes.get("misfitting", 0) + (1 - fits) * has_kind
    dates = stated.has_unquoted_kind(ValueKind.DATE)
    dated = _word_flags(parameters, TYPICAL_WORDS["date"], of_name=False)
    expects_date = _word_flags(parameters, normalize_words(["date"]), of_name=False)
    planes["date"] = dated * dates
    files = _word_flags(parameters, FILE_WORDS)
    planes["no_file"] = files * ~stated.has_unquoted_kind(ValueKind.PATH)
    planes["no_date"] = (1 - dated) * dates + 0.7 * expects_date * ~dates
    planes["form"], planes["only_form"] = _match_expected_forms(parameters, stated)
    codes = stated.is_number | stated.has_kind(ValueKind.CODE, ValueKind.QUOTED)
    planes["identifier"] = _word_flags(parameters, IDENTIFIER_WORDS) * np.where(codes, 1, -1)
    return planes


def _match_expected_forms(
    parameters: Sequence[ToolParameter], stated: StatedValues
) -> tuple[Floats, Floats]:
    """Return where a value has the form a parameter expects, and where it alone has it."""
    shape = (len(parameters), len(stated.values))
    formed, unique = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    for kind, words in NAMED_FORMS.items():
        looks = stated.has_unquoted_kind(ValueKind(kind))
        if looks.any():
            distinct_values = {
                one.equality_key for one, here in zip(stated.values, looks, strict=True) if here
            }
            fits = _parameters_expecting(parameters, kind, words) * looks
            formed += fits
            unique += fits * (len(distinct_values) == 1)
    return formed, unique


def _parameters_expecting(parameters: Sequence[ToolParameter], kind: str, words: Words) -> Floats:
    """Return `(p, 1)`: whether a parameter's name, format or description expects a kind."""
    is_expected = [
        fitting.expected_form(one) == kind or arguments.expects_format(one, kind)
        for one in parameters
    ]
    return np.maximum(_word_flags(parameters, words), _float_column(is_expected))


def _choice_features(
    parameters: Sequence[ToolParameter], stated: StatedValues, members: NDArray[np.bool_]
) -> FeaturePlanes:
    limited = _float_column([bool(one.members or one.choices) for one in parameters])
    limited = np.maximum(limited, members.any(axis=1, keepdims=True))
    texts = [one.text.lower() for one in stated.values]
    nothing = [False] * len(texts)
    listed = [[t in p.choices for t in texts] if p.choices else nothing for p in parameters]
    chosen = members | np.array(listed)
    return {"choice": limited * chosen, "member": members, "no_choice": limited * ~chosen}


def _word_features(parameters: Sequence[ToolParameter], stated: StatedValues) -> FeaturePlanes:
    named = stated.word_incidence([one.name_words for one in parameters])
    plain = stated.word_incidence([one.name_words - PREPOSITIONS.keys() for one in parameters])
    described = stated.word_incidence([one.description_words for one in parameters])
    lengths = np.maximum(stated.own_words.sum(axis=1), 1)
    return {
        "name_left": np.minimum(named @ stated.left_words.T, 2),
        "name_right": np.minimum(plain @ stated.right_words.T, 2),
        "name_next": np.minimum(
            named @ stated.nearest_left_words.T + plain @ stated.nearest_right_words.T, 1
        ),
        "described_left": np.minimum(described @ stated.left_words.T, 2),
        "described_right": np.minimum(described @ stated.right_words.T, 2),
        "described_value": described @ stated.own_words.T >= lengths,
        "own_name": named @ stated.own_words.T >= lengths,
    }


def _preposition_features(
    parameters: Sequence[ToolParameter], stated: StatedValues
) -> FeaturePlanes:
    shape = (len(parameters), len(stated.values))
    introduced, opposed = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    is_preposition = np.array([word in PREPOSITIONS for word in stated.introduced_by])
    for word in set(stated.introduced_by) & PREPOSITIONS.keys():
        here = np.array([one == word for one in stated.introduced_by])
        introduced |= _word_flags(parameters, PREPOSITIONS[word]).astype(bool) & here
        if word in OPPOSITE_PREPOSITIONS:
            opposed |= (
                _word_flags(parameters, PREPOSITIONS[OPPOSITE_PREPOSITIONS[word]]).astype(bool)
                & here
            )
    to = np.array(
        [word in OPPOSITE_PREPOSITIONS and word != "from" for word in stated.followed_by]
    )
    return {
        "followed": _word_flags(parameters, PREPOSITIONS["from"]) * to,
        "introduced": introduced,
        "not_introduced": is_preposition & ~introduced,
        "opposed": opposed & ~introduced,
    }


def _unit_features(parameters: Sequence[ToolParameter], stated: StatedValues) -> FeaturePlanes:
    shape = (len(parameters), len(stated.values))
    fits, mismatches = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for column, one in enumerate(stated.values):
        words = words_for_unit(one)
        if words:
            fits[:, column] = _word_flags(parameters, words, of_name=False)[:, 0] > 0
            mismatches[:, column] = ~fits[:, column]
        elif one.kind in (ValueKind.NUMBER, ValueKind.NUMBER_WORD) and is_result_count(
            stated, column
        ):
            fits[:, column] = _word_flags(parameters, LIMIT_WORDS)[:, 0] > 0
    return {"unit": fits, "other_unit": mismatches}


def is_result_count(stated: StatedValues, column: int) -> bool:
    """Whether a number is a result count: "the last 3 commits", "the 3 latest ones"."""
    return stated.introduced_by[column] in RANK_WORDS or stated.followed_by[column] in RANK_WORDS


def _tool_word_features(
    steps: Sequence[BindingStep], owners: NDArray[np.intp], stated: StatedValues
) -> FeaturePlanes:
    tools = stated.word_incidence(
        [normalize_words(split_raw_name(step.tool.name)) for step in steps]
    )
    lengths = np.maximum(stated.own_words.sum(axis=1), 1)
    return {"tool_word": (tools @ stated.own_words.T >= lengths)[owners]}


def _position_features(
    steps: Sequence[BindingStep],
    owners: NDArray[np.intp],
    stated: StatedValues,
    reading: IntentReading,
) -> FeaturePlanes:
    """Compare a value's position with the clauses about its step and the step's run order."""
    expected = np.arange(len(steps)) / max(len(steps) - 1, 1)
    order = -np.abs(stated.relative_positions[None] - expected[:, None])
    return {"order": order[owners], "clause": _clause_features(steps, stated, reading)[owners]}


def _clause_features(
    steps: Sequence[BindingStep], stated: StatedValues, reading: IntentReading
) -> Floats:
    shares = [step.clause_shares for step in steps]
    count = len(reading.clauses)
    known_shares = [share for share in shares if share is not None and len(share) == count]
    if len(known_shares) < len(shares) or not count:
        return np.zeros((len(steps), len(stated.values)), dtype=np.float32)
    scaled_shares = SHARE_SCALE * np.log(np.maximum(np.stack(known_shares), MIN_SHARE))
    starts = np.array([clause.start for clause in reading.clauses])
    begins = np.array([one.start for one in stated.values])
    clause_of_value = np.maximum(np.searchsorted(starts, begins, side="right") - 1, 0)
    own = scaled_shares[:, clause_of_value]
    rivals = 0.5 * (own.max(axis=0) - own)
    return np.asarray(own - scaled_shares.mean(axis=1, keepdims=True) - rivals, dtype=np.float32)


def _unstated_features(
    parameters: Sequence[ToolParameter], owners: NDArray[np.intp]
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
        "none_text": flags(
            not one.name_words.isdisjoint(AMBIGUOUS_TEXT_WORDS) for one in parameters
        ),
        "none_array": flags(one.is_array for one in parameters),
        "none_secret": flags(one.is_secret for one in parameters),
    }
