"""Reads the inputs and outputs of tools as terms that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from graph.data_flow import fields
from graph.data_flow.fields import SchemaField
from graph.data_flow.vocabulary import (
    ADDRESS_ATTRIBUTES,
    ATTRIBUTES,
    CHOOSING_WORDS,
    CONTAINER_WORDS,
    CONTROL_WORDS,
    GENERIC_WORDS,
    IDENTIFIER_ATTRIBUTES,
    NAME_ATTRIBUTES,
    PREPOSITIONS,
    QUALIFIER_WORDS,
)
from graph.data_flow.words import NounTerm, parse_term, split_name

if TYPE_CHECKING:
    from tools.catalogue import CatalogueTool

MAX_INPUTS = 60
"""Inputs of one tool that are matched, required ones first."""
MAX_OUTPUTS = 200
FORMAT_ATTRIBUTES: Final[Mapping[str, str]] = {
    "uri": "url",
    "url": "url",
    "email": "email",
    "uuid": "id",
}
"""Attribute implied by a format if the name of the field implies none."""


class Endpoint(NamedTuple):
    """What a field takes or gives.

    Attributes:
        is_own: Whether the thing is what the tool's name is about, not what its field names: it
            means nothing on other servers.
        is_echo: Whether it is an output that returns one of the tool's own inputs.
    """

    term: NounTerm
    field: SchemaField
    is_own: bool = False
    is_echo: bool = False


class ToolEndpoints(NamedTuple):
    """A tool with its inputs and outputs parsed."""

    tool: CatalogueTool
    inputs: tuple[Endpoint, ...]
    outputs: tuple[Endpoint, ...]


def read_endpoints(tool: CatalogueTool, shapes: Sequence[Mapping[str, Any]]) -> ToolEndpoints:
    """Parse the inputs and outputs of a tool.

    Args:
        tool: With its pinned schemas.
        shapes: Of its results so far (see `graph.output_shape`), beside the declared schema.
    """
    thing = _object_of(tool.name)
    inputs = fields.read_fields(tool.input_schema)
    asked = {words for field in inputs for words in _field_word_variants(field)}
    inputs.sort(key=lambda field: not field.is_required)
    is_choosing = not CHOOSING_WORDS.isdisjoint(split_name(tool.name)[:2])
    return ToolEndpoints(
        tool,
        tuple(
            found
            for field in inputs[:MAX_INPUTS]
            if not (field.is_choice or field.is_container)
            for found in _read_input(field, thing)
            if not (is_choosing and found.term.attribute in NAME_ATTRIBUTES | ADDRESS_ATTRIBUTES)
        ),
        tuple(
            found._replace(is_echo=not asked.isdisjoint(_field_word_variants(field)))
            for field in _output_fields(tool.output_schema, *shapes)
            if not (field.is_container or "boolean" in field.types)
            for found in _read_output(field, thing)
        )[:MAX_OUTPUTS],
    )


def _object_of(name: str) -> tuple[str, ...]:
    """Return the noun that a tool's name ends in, before what it says of other things."""
    words = tuple(takewhile(lambda word: word not in PREPOSITIONS, split_name(name)))
    return parse_term(words).thing[-1:]


def _output_fields(*schemas: Mapping[str, Any] | None) -> list[SchemaField]:
    found: dict[str, SchemaField] = {}
    for schema in schemas:
        for field in fields.read_fields(schema):
            found.setdefault(field.pointer, field)
    return list(found.values())


def _is_generic(words: Sequence[str]) -> bool:
    return not words or (len(words) == 1 and (words[0] in GENERIC_WORDS or words[0] in ATTRIBUTES))


def _read_input(field: SchemaField, thing: tuple[str, ...]) -> Iterator[Endpoint]:
    """Yield what an input takes, by its name, else by that of the tool."""
    words = split_name(field.name)
    parts = [tuple(g) for is_or, g in groupby(words, lambda word: word == "or") if not is_or]
    for part in parts:
        term = _drop_qualifiers(parse_term(part))
        if not term.attribute and CONTROL_WORDS.intersection(part):
            continue
        if term.thing and not (len(part) == 1 and part[0] in GENERIC_WORDS):
            yield Endpoint(term, field)
        elif term.attribute and len(parts) > 1 and parse_term(parts[0]).thing:
            yield Endpoint(NounTerm(parse_term(parts[0]).thing, term.attribute), field)
        elif term.attribute in IDENTIFIER_ATTRIBUTES and thing:
            yield Endpoint(NounTerm(thing, term.attribute), field, is_own=True)


def _drop_qualifiers(term: NounTerm) -> NounTerm:
    """Return a term without leading words that only distinguish instances.

    A `source_url` is a URL, a `destination_airport_id` the id of an airport.
    """
    start = 0
    while start < len(term.thing) and term.thing[start] in QUALIFIER_WORDS:
        start += 1
    return NounTerm(term.thing[start:], term.attribute)


def _field_word_variants(field: SchemaField) -> tuple[tuple[str, ...], ...]:
    """Return the words of a field, and those with its owner's: `source.zone` is `source_zone`."""
    words, owner = split_name(field.name), split_name(field.owner)
    return (words, owner + words) if owner else (words,)


def _read_output(field: SchemaField, thing: tuple[str, ...]) -> Iterator[Endpoint]:
    words = split_name(field.name)
    if not words:
        return
    term = parse_term(words)
    implied = FORMAT_ATTRIBUTES.get(field.format)
    if implied and not term.attribute:
        yield Endpoint(NounTerm(words, implied), field)
    if not _is_generic(words):
        yield Endpoint(term, field)
        return
    owner = split_name(field.owner)
    if owner and not CONTAINER_WORDS.issuperset(owner):
        yield (
            Endpoint(NounTerm(owner, term.attribute), field)
            if term.attribute
            else Endpoint(NounTerm((*owner, *words), ""), field)
        )
    elif term.attribute and thing:
        yield Endpoint(NounTerm(thing, term.attribute), field, is_own=True)
