"""Reads the inputs and outputs of tools as terms that can be compared."""

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
"""Attributes that, without a noun, belong to the object the tool acts on."""
FORMAT_ATTRIBUTES: Final[Mapping[str, str]] = {
    "uri": "url",
    "url": "url",
    "email": "email",
    "uuid": "id",
}
"""Attribute implied by a format if the name of the field implies none."""
SESSION_TERMS: Final = (
    NounTerm(("session",), "id"),
    NounTerm(("access",), "token"),
    NounTerm(("auth",), "token"),
)
"""Outputs of a sign-in."""
SEARCH_RESULT_TERMS: Final = (NounTerm(("result",), ""), NounTerm(("search", "result"), ""))
"""Outputs of any search."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowTool:
    """Known inputs and outputs of a tool.

    Attributes:
        description: As listed by the server; may be empty.
        input_schema: As listed by the server, however loose.
        output_schema: As declared by the server; None if undeclared.
        team: Owner of a private server; None: shared.
        observed: Shape of the results so far (see `graph.output_shape`); None: no results.
        team_observed: The same, of results seen by the team that relations are derived for.
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
        terms: What it takes, likeliest first; empty if only a mention can tell.
        is_generic: Whether its name alone does not reveal what it takes.
    """

    field: SchemaField
    terms: tuple[NounTerm, ...]
    is_generic: bool


class ToolOutput(NamedTuple):
    """An output of a tool.

    Attributes:
        term: What it is.
        is_echo: Whether it returns one of the tool's own inputs.
        is_generic: Whether its name alone does not reveal what it is.
    """

    term: NounTerm
    field: SchemaField | None
    is_echo: bool
    is_generic: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEndpoints:
    """A tool with its inputs and outputs parsed.

    Attributes:
        input_term_set: Terms of its inputs; for a tool that creates, of required ones only.
        has_outputs: Whether any output is declared or observed.
    """

    tool: FlowTool
    action: ToolAction
    inputs: tuple[ToolInput, ...]
    outputs: tuple[ToolOutput, ...]
    input_term_set: frozenset[NounTerm]
    name_words: frozenset[str]
    has_outputs: bool


class EndpointReader:
    """Reads tools and caches the result until something about them changes."""

    def __init__(self) -> None:
        self._known: dict[int, ToolEndpoints] = {}

    def read(self, tool: FlowTool) -> ToolEndpoints:
        """Parse the inputs and outputs of a tool."""
        known = self._known.get(tool.pk)
        if known is None or known.tool != tool:
            known = self._known[tool.pk] = read_endpoints(tool)
        return known


def read_endpoints(tool: FlowTool) -> ToolEndpoints:
    """Parse the inputs and outputs of a tool."""
    deed = phrases.read_action(tool.name, tool.description, tool.server)
    inputs = _input_fields(tool)
    taken = frozenset(
        term
        for field in inputs
        if field.is_required or deed.action is not ActionKind.MAKE
        for term in _input_terms(field, deed)
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
            terms = tuple(term for term in terms if not _is_own_attribute(term, deed))
        elif deed.action is ActionKind.SIGN_IN:
            terms = tuple(term for term in terms if term.attribute in IDENTIFIER_ATTRIBUTES)
        yield ToolInput(field, terms, is_generic)


def _is_own_attribute(term: NounTerm, deed: ToolAction) -> bool:
    """Whether a tool that creates something asks for its name."""
    size = len(term.thing)
    return bool(term.attribute) and any(term.thing == made.thing[-size:] for made in deed.terms)


def _is_generic(words: tuple[str, ...]) -> bool:
    return not words or (len(words) == 1 and (words[0] in GENERIC_WORDS or words[0] in ATTRIBUTES))


def _input_terms(field: SchemaField, deed: ToolAction) -> tuple[NounTerm, ...]:
    """Return what an input takes, from its name, else its description, else the tool."""
    found: dict[NounTerm, None] = {}
    thing = phrases.extract_named_thing(field.description)
    words = split_name(field.name)
    parts = [tuple(g) for is_or, g in groupby(words, lambda word: word == "or") if not is_or]
    for part in parts:
        term = _drop_qualifiers(parse_term(part))
        if not term.attribute and CONTROL_WORDS.intersection(part):
            continue
        if term.thing and not (len(part) == 1 and part[0] in GENERIC_WORDS):
            found[term] = None
        if term.attribute and not term.thing and len(parts) > 1:
            found[NounTerm(parse_term(parts[0]).thing, term.attribute)] = None
        if term.attribute and thing and not set(thing) <= GENERIC_WORDS:
            found[NounTerm(thing, term.attribute)] = None
        elif (
            term.attribute in OWN_ATTRIBUTES
            and not term.thing
            and deed.action in (ActionKind.GET, ActionKind.TAKE, None)
        ):
            found.update((NounTerm(made.thing, term.attribute), None) for made in deed.terms[:1])
    return tuple(term for term in found if term.thing)


def _drop_qualifiers(term: NounTerm) -> NounTerm:
    """Return a term without words that only distinguish instances: `source_url` is a URL."""
    return NounTerm((), term.attribute) if QUALIFIER_WORDS.issuperset(term.thing) else term


def _collect_outputs(
    outputs: Sequence[SchemaField], deed: ToolAction, inputs: Sequence[SchemaField]
) -> list[ToolOutput]:
    asked = {words for field in inputs for words in _field_word_variants(field)}
    return [
        ToolOutput(term, field, not asked.isdisjoint(_field_word_variants(field)), is_generic)
        for field in outputs
        if not (field.is_container or "boolean" in field.types)
        for term, is_generic in _output_terms(field, deed)
    ]


def _field_word_variants(field: SchemaField) -> tuple[tuple[str, ...], ...]:
    """Return the words of a field, and those with its owner's: `source.zone` is `source_zone`."""
    words, owner = split_name(field.name), split_name(field.owner)
    return (words, owner + words) if owner else (words,)


def _output_terms(field: SchemaField, deed: ToolAction) -> Iterator[tuple[NounTerm, bool]]:
    words = split_name(field.name)
    if not words:
        return
    term = parse_term(words)
    implied = FORMAT_ATTRIBUTES.get(field.format)
    if implied and not term.attribute:
        yield NounTerm(words, implied), False
    if not _is_generic(words):
        yield term, False
        return
    yield NounTerm(words, "") if not term.attribute else term, True
    owner = split_name(field.owner)
    if owner and not CONTAINER_WORDS.issuperset(owner):
        yield NounTerm(owner, term.attribute or words[-1]), False
        if not term.attribute:
            yield NounTerm((*owner, *words), ""), False
    elif term.attribute:
        yield from ((NounTerm(made.thing, term.attribute), False) for made in deed.terms)


def _described_outputs(deed: ToolAction) -> Iterator[ToolOutput]:
    told: tuple[NounTerm, ...] = ()
    if deed.action is ActionKind.SIGN_IN:
        told = SESSION_TERMS
    elif deed.action in (ActionKind.SEARCH, ActionKind.GET, ActionKind.MAKE, ActionKind.COMPUTE):
        told = tuple(
            term
            for term in deed.terms
            if _drop_qualifiers(term).thing and not _is_generic_term(term)
        )
    if deed.action is ActionKind.SEARCH:
        told += SEARCH_RESULT_TERMS
    yield from (ToolOutput(term, None, is_echo=False, is_generic=False) for term in told)


def _is_generic_term(term: NounTerm) -> bool:
    return not term.attribute and len(term.thing) == 1 and term.thing[0] in GENERIC_WORDS
