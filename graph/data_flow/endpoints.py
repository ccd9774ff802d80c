"""What each tool needs and what it offers, in terms that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple

from graph.data_flow import fields, phrases
from graph.data_flow.fields import Field
from graph.data_flow.phrases import Deed
from graph.data_flow.vocabulary import (
    ADDRESSES,
    ATTRIBUTES,
    CONTAINERS,
    CONTROL,
    GENERIC,
    IDENTIFIERS,
    NAMES,
    QUALIFIERS,
    Act,
)
from graph.data_flow.words import Term, split, term

MAX_NEEDS = 60
"""Inputs of one tool that are matched."""
MAX_OFFERS = 200
OWN: Final = IDENTIFIERS | NAMES | ADDRESSES
"""Attributes that, alone, are those of what the tool acts on."""
FORMAT_ATTRIBUTES: Final[Mapping[str, str]] = {
    "uri": "url",
    "url": "url",
    "email": "email",
    "uuid": "id",
}
"""What a format says of a field whose name says nothing of the kind."""
OPENED: Final = (Term(("session",), "id"), Term(("access",), "token"), Term(("auth",), "token"))
"""What signing in gives."""
FOUND: Final = (Term(("result",), ""), Term(("search", "result"), ""))
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
        own: Of those that the team saw which relations are derived for; None: none seen.
    """

    pk: int
    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    server: str
    team: int | None
    observed: Mapping[str, Any] | None = None
    own: Mapping[str, Any] | None = None


class Need(NamedTuple):
    """An input that another tool's output may feed.

    Attributes:
        field: Where it is.
        terms: What it takes, the likeliest first; empty where only a mention can tell.
        is_generic: Whether its name, alone, says nothing of what it takes.
    """

    field: Field
    terms: tuple[Term, ...]
    is_generic: bool


class Offer(NamedTuple):
    """Something that a tool gives back.

    Attributes:
        term: What it is.
        field: Where it is; None where only texts say that it is there.
        is_echo: Whether the caller gave it to the tool in the first place.
        is_generic: Whether its name, alone, says nothing of what it is.
    """

    term: Term
    field: Field | None
    is_echo: bool
    is_generic: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoints:
    """A tool, read.

    Attributes:
        tool: As given.
        deed: What it does, and to what.
        needs: Inputs.
        offers: Outputs that are declared or were seen, then those that texts speak of.
        taken: What it is given; of a tool that creates, what it must be given.
        words: Of its name.
        has_outputs: Whether any output is declared or was seen.
    """

    tool: FlowTool
    deed: Deed
    needs: tuple[Need, ...]
    offers: tuple[Offer, ...]
    taken: frozenset[Term]
    words: frozenset[str]
    has_outputs: bool


class Reader:
    """Reads tools, each again only where something of it is new since it was read last."""

    def __init__(self) -> None:
        self._known: dict[int, Endpoints] = {}

    def read(self, tool: FlowTool) -> Endpoints:
        """Read what a tool needs and offers."""
        known = self._known.get(tool.pk)
        if known is None or known.tool != tool:
            known = self._known[tool.pk] = read(tool)
        return known


def read(tool: FlowTool) -> Endpoints:
    """Read what a tool needs and offers."""
    deed = phrases.read(tool.name, tool.description, tool.server)
    inputs = _inputs(tool)
    taken = frozenset(
        one
        for field in inputs
        if field.is_required or deed.act is not Act.MAKE
        for one in _terms(field, deed)
    )
    outputs = _outputs(tool)
    return Endpoints(
        tool=tool,
        deed=deed,
        needs=tuple(_needs(inputs, deed)),
        offers=(*_given(outputs, deed, inputs)[:MAX_OFFERS], *_told(deed)),
        taken=taken,
        words=frozenset(split(tool.name)),
        has_outputs=bool(outputs),
    )


def _inputs(tool: FlowTool) -> list[Field]:
    """Return a tool's inputs, described by its own description where the schema does not."""
    found = fields.read(tool.input_schema)
    if all(field.description for field in found):
        return found
    said = phrases.described(tool.description)
    return [
        f if f.description or f.name not in said else f._replace(description=said[f.name])
        for f in found
    ]


def _outputs(tool: FlowTool) -> list[Field]:
    """Return the fields that are declared or were seen, each once."""
    found: dict[str, Field] = {}
    for schema in (tool.output_schema, tool.observed, tool.own):
        for field in fields.read(schema) if schema is not None else ():
            found.setdefault(field.pointer, field)
    return list(found.values())


def _needs(inputs: Sequence[Field], deed: Deed) -> Iterator[Need]:
    ordered = sorted(inputs, key=lambda field: not field.is_required)
    for field in ordered[:MAX_NEEDS]:
        if "boolean" in field.types:
            continue
        words = split(field.name)
        is_generic = _is_generic(words)
        terms = () if field.is_choice or field.is_container else _terms(field, deed)
        if deed.act is Act.MAKE:
            terms = tuple(one for one in terms if not _is_own(one, deed))
        elif deed.act is Act.SIGN_IN:
            terms = tuple(one for one in terms if one.attribute in IDENTIFIERS)
        yield Need(field, terms, is_generic)


def _is_own(one: Term, deed: Deed) -> bool:
    """Tell whether a tool that creates a thing asks what it shall be called."""
    size = len(one.thing)
    return bool(one.attribute) and any(one.thing == made.thing[-size:] for made in deed.terms)


def _is_generic(words: tuple[str, ...]) -> bool:
    return not words or (len(words) == 1 and (words[0] in GENERIC or words[0] in ATTRIBUTES))


def _terms(field: Field, deed: Deed) -> tuple[Term, ...]:
    """Return what an input takes, from its name, else its description, else the tool."""
    found: dict[Term, None] = {}
    thing = phrases.named_thing(field.description)
    words = split(field.name)
    parts = [tuple(g) for is_or, g in groupby(words, lambda word: word == "or") if not is_or]
    for part in parts:
        one = _meant(term(part))
        if not one.attribute and CONTROL.intersection(part):
            continue
        if one.thing and not (len(part) == 1 and part[0] in GENERIC):
            found[one] = None
        if one.attribute and not one.thing and len(parts) > 1:
            found[Term(term(parts[0]).thing, one.attribute)] = None
        if one.attribute and thing and not set(thing) <= GENERIC:
            found[Term(thing, one.attribute)] = None
        elif one.attribute in OWN and not one.thing and deed.act in (Act.GET, Act.TAKE, None):
            found.update((Term(made.thing, one.attribute), None) for made in deed.terms[:1])
    return tuple(one for one in found if one.thing)


def _meant(one: Term) -> Term:
    """Return a term without words that only say which of several: `source_url` is a URL."""
    return Term((), one.attribute) if QUALIFIERS.issuperset(one.thing) else one


def _given(outputs: Sequence[Field], deed: Deed, inputs: Sequence[Field]) -> list[Offer]:
    """Return what the fields of a result offer."""
    asked = {words for field in inputs for words in _called(field)}
    return [
        Offer(one, field, not asked.isdisjoint(_called(field)), is_generic)
        for field in outputs
        if not (field.is_container or "boolean" in field.types)
        for one, is_generic in _offered(field, deed)
    ]


def _called(field: Field) -> tuple[tuple[str, ...], ...]:
    """Return the words of a field, and those with its owner's: `source.zone` is `source_zone`."""
    words, owner = split(field.name), split(field.owner)
    return (words, owner + words) if owner else (words,)


def _offered(field: Field, deed: Deed) -> Iterator[tuple[Term, bool]]:
    words = split(field.name)
    if not words:
        return
    one = term(words)
    implied = FORMAT_ATTRIBUTES.get(field.format)
    if implied and not one.attribute:
        yield Term(words, implied), False
    if not _is_generic(words):
        yield one, False
        return
    yield Term(words, "") if not one.attribute else one, True
    owner = split(field.owner)
    if owner and not CONTAINERS.issuperset(owner):
        yield Term(owner, one.attribute or words[-1]), False
        if not one.attribute:
            yield Term((*owner, *words), ""), False
    elif one.attribute:
        yield from ((Term(made.thing, one.attribute), False) for made in deed.terms)


def _told(deed: Deed) -> Iterator[Offer]:
    """Yield what texts say a tool gives back."""
    told: tuple[Term, ...] = ()
    if deed.act is Act.SIGN_IN:
        told = OPENED
    elif deed.act in (Act.SEARCH, Act.GET, Act.MAKE, Act.COMPUTE):
        told = tuple(one for one in deed.terms if _meant(one).thing and not _is_bare(one))
    if deed.act is Act.SEARCH:
        told += FOUND
    yield from (Offer(one, None, is_echo=False, is_generic=False) for one in told)


def _is_bare(one: Term) -> bool:
    return not one.attribute and len(one.thing) == 1 and one.thing[0] in GENERIC
