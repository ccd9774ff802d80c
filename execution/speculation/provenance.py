"""Decide by where argument values come from whether a call ahead of a request may carry them.

What one source says must not steer where another call goes: a result may hold an address, a path
or a text that an attacker chose. A tool that reaches beyond its server (open world) therefore
takes nothing that comes from results or from memory, except identifiers that its own server
returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from execution.workflow import Workflow, WorkflowTask
from gateway_project.foundation import canonical
from gateway_project.foundation.references import (
    is_reference_mark,
    iterate_marks,
    parse_literal,
    parse_reference,
)
from graph import steering_names

MAX_IDENTIFIER_CHARS: Final = 64
"""Characters of an identifier: those of a SHA-256 in hexadecimal digits."""
MAX_IDENTIFIER_WORDS: Final = 3
"""Words without digits in an identifier; more make a sentence, such as `send_all_mail_to_bob`."""
MAX_INTEGER: Final = 2**63
MAX_REPORTED: Final = 5
"""Values that are explained; one is enough to refuse the call."""
MAX_INSPECTED: Final = 1_000
"""Values that are inspected, in some 10 ms; arguments with more are refused."""

_IDENTIFIER: Final = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9_-]*", re.ASCII)
_PLAIN_WORD: Final = re.compile(r"[A-Za-z]{2,}")
_FORMATS: Final = frozenset(
    {
        "uri", "uri-reference", "uri-template", "iri", "iri-reference", "hostname", "idn-hostname",
        "ipv4", "ipv6", "email", "idn-email", "json-pointer", "regex",
    }
)  # fmt: skip


class ProvenanceKind(StrEnum):
    """Origin of an argument's value."""

    STATED = "stated"
    """The client stated it, to the gateway: in words, or as a parameter."""
    CONSTANT = "constant"
    """The pinned definition states it: a default, or a member of an enumeration."""
    RESULT = "result"
    """It was in the result of an earlier call."""
    ARGUMENT = "argument"
    """It was an argument of an earlier call; who had it from where is not known."""
    MEMORY = "memory"
    """It was learned from earlier sessions or runs."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Where an argument's value comes from.

    Attributes:
        kind: Its origin.
        server: Server of the earlier call; empty for other origins.
    """

    kind: ProvenanceKind
    server: str = ""


_REMEMBERED: Final = (ProvenanceKind.MEMORY, ProvenanceKind.CONSTANT)
STATED: Final = Provenance(kind=ProvenanceKind.STATED)
UNKNOWN: Final = Provenance(kind=ProvenanceKind.UNKNOWN)


@dataclass(frozen=True, kw_only=True)
class SteeringValue:
    """A value that may not be sent ahead of a request.

    Attributes:
        parameter: Name of the parameter, if the definition declares it; else empty.
        problem: What is wrong with it, in plain words, without the value.
    """

    parameter: str
    problem: str


def parse_provenance(text: str) -> Provenance:
    """Read a provenance written as `kind` or `kind:server`; anything else is unknown.

    Example:
        >>> parse_provenance("result:github").server
        'github'
        >>> parse_provenance("an oracle").kind.value
        'unknown'
    """
    kind, _, server = text.partition(":")
    try:
        return Provenance(kind=ProvenanceKind(kind), server=server)
    except ValueError:
        return UNKNOWN


def read_sources(sources: Mapping[str, str]) -> dict[str, Provenance]:
    """Return the provenance of arguments by JSON pointer, from their sources by name.

    Example:
        >>> sorted(read_sources({"a/b": "stated"}))
        ['/a~1b']
    """
    return {
        canonical.build_pointer([name]): parse_provenance(source)
        for name, source in sources.items()
    }


def trace_references(task: WorkflowTask, workflow: Workflow) -> dict[str, Provenance]:
    """Return the provenance of what the references and items in a task's arguments stand for.

    Returns:
        By JSON pointer into the arguments.

    Example:
        >>> first = WorkflowTask(id="a", tool="git:log")
        >>> then = WorkflowTask(id="b", tool="x:y", arguments={"id": {"$ref": "a", "pointer": ""}})
        >>> trace_references(then, Workflow(tasks=(first, then)))["/id"].server
        'git'
    """
    return {
        pointer: _trace_reference(mark, task, workflow)
        for pointer, mark in iterate_marks(task.arguments)
        if parse_literal(mark) is None
    }


def _trace_reference(
    mark: Mapping[str, Any], task: WorkflowTask, workflow: Workflow
) -> Provenance:
    target = parse_reference(mark) or task.for_each
    source = None if target is None else workflow.by_id.get(target.task)
    if source is None:
        return UNKNOWN
    return Provenance(kind=ProvenanceKind.RESULT, server=source.server)


def is_identifier(value: object) -> bool:
    """Whether a value can only name a thing: a short token, an integer, a boolean or null.

    A text is one if it has only ASCII letters, digits, `_` and `-`, begins with a letter or digit
    (after an optional `#`), and holds at most `MAX_IDENTIFIER_WORDS` plain words. So it is never
    a URL, a host, a path, an address, an option or a sentence.

    Example:
        >>> [is_identifier(value) for value in ("W-5744371", 17, "a.example", "../x", "two words")]
        [True, True, False, False, False]
    """
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return abs(value) < MAX_INTEGER
    if not isinstance(value, str) or len(value) > MAX_IDENTIFIER_CHARS:
        return False
    words = [part for part in re.split(r"[_-]", value) if _PLAIN_WORD.fullmatch(part)]
    return (
        _IDENTIFIER.fullmatch(value) is not None
        and len(words) <= MAX_IDENTIFIER_WORDS
        and not steering_names.is_locator(value)
    )


def find_steering_values(
    arguments: Mapping[str, Any],
    provenance: Mapping[str, Provenance],
    *,
    input_schema: Mapping[str, Any],
    server: str,
    is_closed_world: bool,
) -> tuple[SteeringValue, ...]:
    """Find values that a call ahead of a request may not carry.

    In an open world, every value that the client did not state and the definition does not
    declare must be an identifier from the tool's own server, for a parameter that is not a place
    (URL, path, recipient) or a text (query, message). In a closed world, only places are refused
    that another server's results named, or whose origin is unknown.

    Args:
        arguments: As they would be sent, or with references to other tasks' results.
        provenance: By JSON pointer into the arguments, of the value there and all below it; the
            longest pointer counts. Values without one are of unknown provenance, and so are
            references without one of their own.
        input_schema: As pinned.
        server: Name of the tool's server.
        is_closed_world: Whether the tool reaches nothing beyond its server.

    Returns:
        At most `MAX_REPORTED`, in the order of the arguments.
    """
    inspection = _Inspection(
        provenance=provenance,
        schema=input_schema,
        server=server,
        is_closed_world=is_closed_world,
    )
    found: dict[SteeringValue, None] = {}
    for value in inspection.iterate(arguments):
        found[value] = None
        if len(found) == MAX_REPORTED:
            break
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """A value in the arguments, with what is known of it."""

    pointer: str
    value: Any
    origin: Provenance
    nodes: tuple[Mapping[str, Any], ...]
    parameter: str = ""
    keys: tuple[str, ...] = ()
    """Keys on the way to the value, declared or not."""
    is_reference: bool = False
    is_cut: bool = False
    """Whether not all alternatives of its schema, or of what holds it, were looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Inspection:
    """One pass over the arguments of a call."""

    provenance: Mapping[str, Provenance]
    schema: Mapping[str, Any]
    server: str
    is_closed_world: bool

    def iterate(self, arguments: Mapping[str, Any]) -> Iterator[SteeringValue]:
        """Yield the values that may not be sent; iterative, as depth is untrusted."""
        origin = self.provenance.get("", UNKNOWN)
        nodes = _resolve(self.schema, self.schema)
        is_cut = len(nodes) >= _MAX_NODES
        waiting = [_Place(pointer="", value=arguments, origin=origin, nodes=nodes, is_cut=is_cut)]
        inspected = 0
        while waiting:
            place = waiting.pop()
            inspected += len(place.value) if isinstance(place.value, Mapping | list | tuple) else 0
            if inspected > MAX_INSPECTED:
                yield SteeringValue(parameter=place.parameter, problem="has too many values")
                return
            if place.is_reference or not isinstance(place.value, Mapping | list | tuple):
                problem = self._explain(place)
            elif self._is_declared(place):
                continue
            else:
                problem = self._explain_keys(place)
                waiting += reversed(list(self._iterate_members(place)))
            if problem:
                yield SteeringValue(parameter=place.parameter, problem=problem)

    def _iterate_members(self, place: _Place) -> Iterator[_Place]:
        value = place.value
        members = value.items() if isinstance(value, Mapping) else enumerate(value)
        item_nodes = _find_member_nodes(place.nodes, 0, self.schema)
        for key, member in members:
            pointer = f"{place.pointer}/{canonical.escape_token(str(key))}"
            nodes = item_nodes
            if isinstance(key, str):
                nodes = _find_member_nodes(place.nodes, key, self.schema)
            yield self._make_place(member, pointer, nodes, place, key)

    def _make_place(
        self,
        value: Any,
        pointer: str,
        nodes: tuple[Mapping[str, Any], ...],
        parent: _Place,
        key: object,
    ) -> _Place:
        origin = self.provenance.get(pointer, parent.origin)
        is_reference = is_reference_mark(value)
        if is_reference:
            literal = parse_literal(value)
            if literal is None:
                origin = self.provenance.get(pointer, UNKNOWN)
            else:
                value, is_reference = literal.value, False
        return _Place(
            pointer=pointer,
            value=value,
            origin=origin,
            nodes=nodes,
            parameter=key if isinstance(key, str) and nodes else parent.parameter,
            keys=(*parent.keys, key) if isinstance(key, str) else parent.keys,
            is_reference=is_reference,
            is_cut=parent.is_cut or len(nodes) >= _MAX_NODES,
        )

    def _is_declared(self, place: _Place) -> bool:
        """Whether the pinned definition really states a value that is said to be constant."""
        return place.origin.kind is ProvenanceKind.CONSTANT and (
            place.value is None
            or isinstance(place.value, bool)
            or any(_is_stated_by(node, place.value) for node in place.nodes)
        )

    def _is_free(self, place: _Place) -> bool:
        return place.origin.kind is ProvenanceKind.STATED or self._is_declared(place)

    def _is_own(self, origin: Provenance) -> bool:
        """Whether a value comes from an earlier call to the tool's own server."""
        is_from_call = origin.kind in (ProvenanceKind.RESULT, ProvenanceKind.ARGUMENT)
        return is_from_call and origin.server == self.server

    def _explain(self, place: _Place) -> str:
        """Explain why a single value may not be sent; empty: it may."""
        if self._is_free(place):
            return ""
        if self.is_closed_world:
            return self._explain_closed(place)
        if not self._is_own(place.origin):
            return f"is {_describe(place.origin)}"
        if _is_steering_parameter(place):
            return "takes a place or a text, which only the client may state"
        if place.is_reference or is_identifier(place.value):
            return ""
        return f"is {_describe(place.origin)} and no identifier"

    def _explain_closed(self, place: _Place) -> str:
        may_name_places = self._is_own(place.origin) or place.origin.kind in _REMEMBERED
        if may_name_places or place.is_reference or not steering_names.is_locator(place.value):
            return ""
        return f"is a place (URL, path or address) {_describe(place.origin)}"

    def _explain_keys(self, place: _Place) -> str:
        """Explain why the keys of an object may not be sent; empty: they may."""
        if not isinstance(place.value, Mapping) or self._is_free(place):
            return ""
        undeclared = [
            replace(place, value=key)
            for key in place.value
            if not _find_member_nodes(place.nodes, key, self.schema)
        ]
        if self.is_closed_world:
            return next(filter(None, (self._explain_closed(key) for key in undeclared)), "")
        is_allowed = self._is_own(place.origin) and all(is_identifier(k.value) for k in undeclared)
        return "" if is_allowed or not undeclared else "has keys that are no identifiers"


def _describe(origin: Provenance) -> str:
    match origin.kind:
        case ProvenanceKind.RESULT:
            return f"from a result of server {origin.server!r}"
        case ProvenanceKind.ARGUMENT:
            return f"from an earlier call to server {origin.server!r}"
        case ProvenanceKind.UNKNOWN:
            return "of unknown origin"
        case _:
            return "from what was learned earlier"


def _is_steering_parameter(place: _Place) -> bool:
    """Whether a value is a place or a text, by the names on the way to it or a declared format."""
    if place.is_cut or any(_has_steering_format(node) for node in place.nodes):
        return True
    is_text = place.is_reference or isinstance(place.value, str)
    return steering_names.takes_place_or_text(place.keys, is_text=is_text)


def _has_steering_format(node: Mapping[str, Any]) -> bool:
    declared = node.get("format")
    return isinstance(declared, str) and declared in _FORMATS


def _is_stated_by(node: Mapping[str, Any], value: Any) -> bool:
    members = node.get("enum")
    stated = list(members) if isinstance(members, list) else []
    stated += [node[key] for key in ("const", "default") if key in node]
    alike = [one for one in stated if one == value]  # `True == 1`, hence not enough
    return any(canonical.dumps(one) == canonical.dumps(value) for one in alike)


_MAX_NODES: Final = 50
"""Alternatives of a schema that are looked at; a value with more counts as a place or a text."""


def _resolve(node: Any, root: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return a schema with its alternatives and the schemas that it refers to."""
    found: list[Mapping[str, Any]] = []
    waiting = [node]
    for one in waiting:
        if not isinstance(one, Mapping) or len(found) == _MAX_NODES:
            continue
        found.append(one)
        reference = one.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            waiting.append(_follow(reference.removeprefix("#"), root))
        for keyword in ("anyOf", "oneOf", "allOf"):
            alternatives = one.get(keyword)
            waiting += alternatives if isinstance(alternatives, list) else []
    return tuple(found)


def _follow(pointer: str, root: Mapping[str, Any]) -> Any:
    try:
        return canonical.resolve_pointer(root, pointer)
    except canonical.PointerError:
        return None


def _find_member_nodes(
    nodes: tuple[Mapping[str, Any], ...], key: object, root: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ...]:
    """Return the schemas of a member of an object or list; at most `_MAX_NODES`."""
    return tuple(islice(_iterate_member_nodes(nodes, key, root), _MAX_NODES))


def _iterate_member_nodes(
    nodes: tuple[Mapping[str, Any], ...], key: object, root: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    for node in nodes:
        if isinstance(key, str):
            properties = node.get("properties")
            member = properties.get(key) if isinstance(properties, Mapping) else None
        else:
            member = node.get("items")
        yield from _resolve(member, root)
