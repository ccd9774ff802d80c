"""What each tool needs and what it offers, in terms that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple

from graph.data_flow import fields, phrases
from graph.data_flow.fields import SchemaField
from graph.data_flow.phrases import ToolAction
from graph.data_flow.vocabulary import (
    ADDRESS_ATTRIBUTES,
    ATTRIBUTES,
    CONTAINER_WORDS,
    CONTROL_WORDS,
    GENERIC_WORDS,
    IDENTIFIER_ATTRIBUTES,
    NAME_ATTRIBUTES,
    QUALIFIER_WORDS,
    ActionKind,
)
from graph.data_flow.words import NounTerm, parse_term, split_name

MAX_NEEDS = 60
"""Inputs of one tool that are matched."""
MAX_OFFERS = 200
OWN_ATTRIBUTES: Final = IDENTIFIER_ATTRIBUTES | NAME_ATTRIBUTES | ADDRESS_ATTRIBUTES
"""Attributes that, alone, are those of what the tool acts on."""
FORMAT_ATTRIBUTES: Final[Mapping[str, str]] = {
    "uri": "url",
    "url": "url",
    "email": "email",
    "uuid": "id",
}
"""What a format says of a field whose name says nothing of the kind."""
SESSION_TERMS: Final = (
    NounTerm(("session",), "id"),
    NounTerm(("access",), "token"),
    NounTerm(("auth",), "token"),
)
"""What signing in gives."""
SEARCH_RESULT_TERMS: Final = (NounTerm(("result",), ""), NounTerm(("search", "result"), ""))
"""What a search finds, whatever it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowTool:
    """What is known of a tool's inputs and outputs.

    Attributes:
        pk: Primary key.
        name: At its server.
        description: As the server gives it; may be empty.
        input_schema: As the server gives it, however loose.
        output_schema: As the server declares it; None where it declares none.
        server: Name of its server.
        team: Whose private server it is; None: everybody's.
        observed: Shape of the results seen so far (see `graph.output_shape`); None: none seen.
        team_observed: Of those that the team saw which relations are derived for; None: none seen.
    """

    pk: int
    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    server: str
    team: int | None
    observed: Mapping[str, Any] | None = None
    team_observed: Mapping[str, Any] | None = None


class ToolInput(NamedTuple):
    """An input that another tool's output may feed.

    Attributes:
        field: Where it is.
        terms: What it takes, the likeliest first; empty where only a mention can tell.
        is_generic: Whether its name, alone, says nothing of what it takes.
    """

    field: SchemaField
    terms: tuple[NounTerm, ...]
    is_generic: bool


class ToolOutput(NamedTuple):
    """Something that a tool gives back.

    Attributes:
        term: What it is.
        field: Where it is; None where only texts say that it is there.
        is_echo: Whether the caller gave it to the tool in the first place.
        is_generic: Whether its name, alone, says nothing of what it is.
    """

    term: NounTerm
    field: SchemaField | None
    is_echo: bool
    is_generic: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEndpoints:
    """A tool, read.

    Attributes:
        tool: As given.
        action: What it does, and to what.
        inputs: Inputs.
        outputs: Outputs that are declared or were seen, then those that texts speak of.
        input_term_set: What it is given; of a tool that creates, what it must be given.
        name_words: Of its name.
        has_outputs: Whether any output is declared or was seen.
    """

    tool: FlowTool
    action: ToolAction
    inputs: tuple[ToolInput, ...]
    outputs: tuple[ToolOutput, ...]
    input_term_set: frozenset[NounTerm]
    name_words: frozenset[str]
    has_outputs: bool


class EndpointReader:
    """Reads tools, each again only where something of it is new since it was read last."""

    def __init__(self) -> None:
        self._known: dict[int, ToolEndpoints] = {}

    def read(self, tool: FlowTool) -> ToolEndpoints:
        """Read what a tool needs and offers."""
        known = self._known.get(tool.pk)
        if known is None or known.tool != tool:
            known = self._known[tool.pk] = read_endpoints(tool)
        return known


def read_endpoints(tool: FlowTool) -> ToolEndpoints:
    """Read what a tool needs and offers."""
    deed = phrases.read_action(tool.name, tool.description, tool.server)
    inputs = _input_fields(tool)
    taken = frozenset(
        one
        for field in inputs
        if field.is_required or deed.action is not ActionKind.MAKE
        for one in _input_terms(field, deed)
    )
    outputs = _output_fields(tool)
    return ToolEndpoints(
        tool=tool,
        action=deed,
        inputs=tuple(_find_inputs(inputs, deed)),
        outputs=(*_collect_outputs(outputs, deed, inputs)[:MAX_OFFERS], *_described_outputs(deed)),
        input_term_set=taken,
        name_words=frozenset(split_name(tool.name)),
        has_outputs=bool(outputs),
    )


def _input_fields(tool: FlowTool) -> list[SchemaField]:
    """Return a tool's inputs, described by its own description where the schema does not."""
    found = fields.read_fields(tool.input_schema)
    if all(field.description for field in found):
        return found
    said = phrases.extract_parameter_descriptions(tool.description)
    return [
        f if f.description or f.name not in said else f._replace(description=said[f.name])
        for f in found
    ]


def _output_fields(tool: FlowTool) -> list[SchemaField]:
    """Return the fields that are declared or were seen, each once."""
    found: dict[str, SchemaField] = {}
    for schema in (tool.output_schema, tool.observed, tool.team_observed):
        for field in fields.read_fields(schema) if schema is not None else ():
            found.setdefault(field.pointer, field)
    return list(found.values())


def _find_inputs(inputs: Sequence[SchemaField], deed: ToolAction) -> Iterator[ToolInput]:
    ordered = sorted(inputs, key=lambda field: not field.is_required)
    for field in ordered[:MAX_NEEDS]:
        if "boolean" in field.types:
            continue
        words = split_name(field.name)
        is_generic = _is_generic(words)
        terms = () if field.is_choice or field.is_container else _input_terms(field, deed)
        if deed.action is ActionKind.MAKE:
            terms = tuple(one for one in terms if not _is_own_attribute(one, deed))
        elif deed.action is ActionKind.SIGN_IN:
            terms = tuple(one for one in terms if one.attribute in IDENTIFIER_ATTRIBUTES)
        yield ToolInput(field, terms, is_generic)


def _is_own_attribute(one: NounTerm, deed: ToolAction) -> bool:
    """Tell whether a tool that creates a thing asks what it shall be called."""
    size = len(one.thing)
    return bool(one.attribute) and any(one.thing == made.thing[-size:] for made in deed.terms)


def _is_generic(words: tuple[str, ...]) -> bool:
    return not words or (len(words) == 1 and (words[0] in GENERIC_WORDS or words[0] in ATTRIBUTES))


def _input_terms(field: SchemaField, deed: ToolAction) -> tuple[NounTerm, ...]:
    """Return what an input takes, from its name, else its description, else the tool."""
    found: dict[NounTerm, None] = {}
    thing = phrases.extract_named_thing(field.description)
    words = split_name(field.name)
    parts = [tuple(g) for is_or, g in groupby(words, lambda word: word == "or") if not is_or]
    for part in parts:
        one = _drop_qualifiers(parse_term(part))
        if not one.attribute and CONTROL_WORDS.intersection(part):
            continue
        if one.thing and not (len(part) == 1 and part[0] in GENERIC_WORDS):
            found[one] = None
        if one.attribute and not one.thing and len(parts) > 1:
            found[NounTerm(parse_term(parts[0]).thing, one.attribute)] = None
        if one.attribute and thing and not set(thing) <= GENERIC_WORDS:
            found[NounTerm(thing, one.attribute)] = None
        elif (
            one.attribute in OWN_ATTRIBUTES
            and not one.thing
            and deed.action in (ActionKind.GET, ActionKind.TAKE, None)
        ):
            found.update((NounTerm(made.thing, one.attribute), None) for made in deed.terms[:1])
    return tuple(one for one in found if one.thing)


def _drop_qualifiers(one: NounTerm) -> NounTerm:
    """Return a term without words that only say which of several: `source_url` is a URL."""
    return NounTerm((), one.attribute) if QUALIFIER_WORDS.issuperset(one.thing) else one


def _collect_outputs(
    outputs: Sequence[SchemaField], deed: ToolAction, inputs: Sequence[SchemaField]
) -> list[ToolOutput]:
    """Return what the fields of a result offer."""
    asked = {words for field in inputs for words in _field_word_variants(field)}
    return [
        ToolOutput(one, field, not asked.isdisjoint(_field_word_variants(field)), is_generic)
        for field in outputs
        if not (field.is_container or "boolean" in field.types)
        for one, is_generic in _output_terms(field, deed)
    ]


def _field_word_variants(field: SchemaField) -> tuple[tuple[str, ...], ...]:
    """Return the words of a field, and those with its owner's: `source.zone` is `source_zone`."""
    words, owner = split_name(field.name), split_name(field.owner)
    return (words, owner + words) if owner else (words,)


def _output_terms(field: SchemaField, deed: ToolAction) -> Iterator[tuple[NounTerm, bool]]:
    words = split_name(field.name)
    if not words:
        return
    one = parse_term(words)
    implied = FORMAT_ATTRIBUTES.get(field.format)
    if implied and not one.attribute:
        yield NounTerm(words, implied), False
    if not _is_generic(words):
        yield one, False
        return
    yield NounTerm(words, "") if not one.attribute else one, True
    owner = split_name(field.owner)
    if owner and not CONTAINER_WORDS.issuperset(owner):
        yield NounTerm(owner, one.attribute or words[-1]), False
        if not one.attribute:
            yield NounTerm((*owner, *words), ""), False
    elif one.attribute:
        yield from ((NounTerm(made.thing, one.attribute), False) for made in deed.terms)


def _described_outputs(deed: ToolAction) -> Iterator[ToolOutput]:
    """Yield what texts say a tool gives back."""
    told: tuple[NounTerm, ...] = ()
    if deed.action is ActionKind.SIGN_IN:
        told = SESSION_TERMS
    elif deed.action in (ActionKind.SEARCH, ActionKind.GET, ActionKind.MAKE, ActionKind.COMPUTE):
        told = tuple(
            one for one in deed.terms if _drop_qualifiers(one).thing and not _is_generic_term(one)
        )
    if deed.action is ActionKind.SEARCH:
        told += SEARCH_RESULT_TERMS
    yield from (ToolOutput(one, None, is_echo=False, is_generic=False) for one in told)


def _is_generic_term(one: NounTerm) -> bool:
    return not one.attribute and len(one.thing) == 1 and one.thing[0] in GENERIC_WORDS
