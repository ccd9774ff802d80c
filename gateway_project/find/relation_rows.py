"""Say in words and rows how tools relate, and which can replace each other, to one caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Final

from graph import wording
from graph.enhance import alternatives
from graph.enhance.answer import AnswerEntry, Remark, RemarkKind
from graph.enhance.related import find_leading_relations
from graph.relations import NO_DETAIL, Relation, RelationKind, is_server_guess
from graph.topology import Topology
from tools.catalogue import CatalogueTool
from tools.foreign_text import is_instruction, quote_foreign
from tools.visibility import Visibility

MAX_VERSION_CHARS: Final = 40
MAX_RELATIONS: Final = 20
"""Relations listed of a described tool; a hub may have thousands."""
MAX_FIELDS: Final = 5
MAX_POINTER_CHARS: Final = 100
"""Characters of both pointers of a field pair: servers may choose any names."""
MIN_GUESS_CONFIDENCE: Final = 0.4
"""Minimum confidence of a listed data flow that only servers' texts support."""
_TEXT_LIMITS: Final = {
    "reason": 200,
    "version": MAX_VERSION_CHARS,
    "deprecated_at": MAX_VERSION_CHARS,
}
_NUMBER_KEYS: Final = ("seconds", "successes", "failures")
_DIGITS: Final = 2


def relation_rows(
    tool: CatalogueTool, topology: Topology, visibility: Visibility
) -> list[dict[str, Any]]:
    """Return a tool's relations to tools visible to the caller, strongest first."""
    return list(islice(_iterate_rows(tool, topology, visibility), MAX_RELATIONS))


def _iterate_rows(
    tool: CatalogueTool, topology: Topology, visibility: Visibility
) -> Iterator[dict[str, Any]]:
    for relation in sorted(topology.relations_of(tool.pk), key=_sort_key):
        other = visibility.find_tool(
            relation.target if relation.source == tool.pk else relation.source
        )
        if other is not None and _is_reported(relation):
            yield _relation_row(relation, tool, other, visibility)


def _is_reported(relation: Relation) -> bool:
    is_flow = relation.kind is RelationKind.PROVIDES
    return (
        not is_flow or relation.confidence >= MIN_GUESS_CONFIDENCE or not is_server_guess(relation)
    )


def _sort_key(relation: Relation) -> tuple[float, str, int, int]:
    return (-relation.confidence, relation.kind, relation.source, relation.target)


def _relation_row(
    relation: Relation, tool: CatalogueTool, other: CatalogueTool, visibility: Visibility
) -> dict[str, Any]:
    is_source = relation.source == tool.pk
    row: dict[str, Any] = {
        "says": phrase_relation(relation, tool.pk, visibility),
        "kind": relation.kind.value,
        "source": tool.tool if is_source else other.tool,
        "target": other.tool if is_source else tool.tool,
        "confidence": round(relation.confidence, _DIGITS),
        "sources": [source.value for source in relation.sources],
    }
    if relation.kind is RelationKind.DEPENDS_ON:
        row["required"] = relation.required
    if obstacle := visibility.find_obstacle(other):
        row["unusable"] = f"{other.tool} {obstacle}"
    return row | _detail_fields(relation.detail)


def _detail_fields(detail: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        key: quote_foreign(detail[key], most=most)
        for key, most in _TEXT_LIMITS.items()
        if detail.get(key)
    }
    if fields := list(islice(_iterate_safe_fields(detail.get("fields") or ()), MAX_FIELDS)):
        row["fields"] = fields
    for key in _NUMBER_KEYS:
        if detail.get(key) is not None:
            row[key] = round(detail[key], 1)
    return row


def _iterate_safe_fields(fields: Iterable[Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """Yield the field pairs that are names; pairs that contain sentences are left out."""
    for pair in fields:
        text = " ".join(pair.values())
        if len(text) <= MAX_POINTER_CHARS and not is_instruction(text):
            yield {key: quote_foreign(value) for key, value in pair.items()}


def list_alternatives(
    tool: CatalogueTool,
    topology: Topology,
    visibility: Visibility,
    *,
    describe_trouble: Callable[[str], object],
    is_asked: bool = True,
) -> tuple[str, ...]:
    """Return the ids of tools that can replace a tool; those on unreliable servers come last.

    Successors come first, then alternatives, then tools of the same name on other servers,
    trusted servers before the rest. Any server can copy a name to be offered as a replacement:
    unless the caller asked for alternatives, namesakes on untrusted servers are left out.

    Args:
        tool: The tool to replace.
        topology: Relations as the caller sees them.
        visibility: What the caller may see.
        describe_trouble: Why a server is unreliable, by name; falsy if it is healthy.
        is_asked: Whether the caller asked for alternatives.
    """
    related = alternatives.find_alternatives(topology, tool.pk, usable=visibility.is_usable)
    found = [
        other
        for alternative in related
        if (other := visibility.find_tool(alternative.tool)) is not None
    ]
    namesakes = [
        other for other in visibility.find_namesakes(tool) if visibility.is_usable(other.pk)
    ]
    trusted = [other for other in namesakes if visibility.catalogue.servers[other.server].trusted]
    found += [*trusted, *(namesakes if is_asked else ())]
    distinct = {other.tool: other for other in found}.values()
    return tuple(
        other.tool for other in sorted(distinct, key=lambda o: bool(describe_trouble(o.server)))
    )


MAX_NAMED: Final = 3
MAX_WARNINGS: Final = 5
"""Warnings of one tool, and of a whole answer."""
_OPTIONAL_PHRASES: Final = ("can use {} first", "can be used before {}")


def phrase_relation(relation: Relation, tool: int, visibility: Visibility) -> str:
    """Phrase how a tool relates to another, such as "comes after git:git_add".

    Args:
        relation: From the tool or to it.
        tool: Its primary key.
        visibility: What the caller may see.
    """
    is_optional = relation.kind is RelationKind.DEPENDS_ON and not relation.required
    starts, ends = _OPTIONAL_PHRASES if is_optional else relation.kind.traits.phrases
    if relation.source == tool:
        return starts.format(visibility.get_tool_id(relation.target))
    return ends.format(visibility.get_tool_id(relation.source))


def explain_entry(entry: AnswerEntry, topology: Topology, visibility: Visibility) -> str:
    """Say why a tool is in an answer; empty for a match, which has its own reasons."""
    if entry.role == "match":
        return ""
    if entry.role == "required":
        return f"required by {visibility.get_tool_id(entry.path[-2])}"
    steps = [
        (tool, _find_strongest_relation(topology, tool, other))
        for tool, other in pairwise(entry.path[::-1])
    ]
    words = ", which ".join(
        phrase_relation(relation, tool, visibility) for tool, relation in steps
    )
    return f"{words} ({math.prod(relation.confidence for _, relation in steps):.2f})"


def _find_strongest_relation(topology: Topology, tool: int, other: int) -> Relation:
    """Return the relation to a tool with the most confidence; servers' guesses come last."""
    relations = find_leading_relations(topology, other, tool)
    return min(relations, key=lambda relation: (is_server_guess(relation), -relation.confidence))


def list_warnings(remarks: Iterable[Remark], visibility: Visibility) -> tuple[str, ...]:
    """Phrase the remarks on a tool that concern tools visible to the caller."""
    texts = dict.fromkeys(phrase_remark(remark, visibility) for remark in remarks)
    return first_warnings([text for text in texts if text])


def first_warnings(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the first `MAX_WARNINGS` warnings, and a note of how many more there are."""
    more = len(texts) - MAX_WARNINGS
    return (*texts[:MAX_WARNINGS], *((f"and {more} more of this kind",) if more > 0 else ()))


def phrase_remark(remark: Remark, visibility: Visibility) -> str:
    """Phrase a remark; empty if it concerns a tool that the caller may not see."""
    other = visibility.find_tool(remark.other_tool)
    if other is None:
        return ""
    obstacle = visibility.find_obstacle(other)
    aside = f", which {obstacle}" if obstacle else ""
    detail = remark.relation.detail
    if remark.kind is RemarkKind.LACKS:
        return f"requires {other.tool}{aside}"
    if remark.kind is RemarkKind.EXCLUDES:
        reason_text = f": {quote_foreign(detail['reason'])}" if detail.get("reason") else ""
        return f"must not be used together with {other.tool}{reason_text}"
    version, at = (
        quote_foreign(detail[key], most=MAX_VERSION_CHARS) if detail.get(key) else ""
        for key in ("version", "deprecated_at")
    )
    since = f" since {version}" if version else ""
    return f"replaced by {other.tool}{since}{f' ({at})' if at else ''}{aside}"


def warn_beyond_budget(left_out: Iterable[AnswerEntry], visibility: Visibility) -> str:
    """Name the required tools that did not fit the token budget; empty if all did."""
    entries = tuple(left_out)
    if not entries:
        return ""
    named = ", ".join(visibility.get_tool_id(entry.tool) for entry in entries[:MAX_NAMED])
    more = f" and {len(entries) - MAX_NAMED} more" if len(entries) > MAX_NAMED else ""
    return f"also requires, over the token budget: {named}{more}"


def warn_cut_order(relations: Iterable[Relation], visibility: Visibility) -> tuple[str, ...]:
    """Say which dependencies the order violates because they are on a cycle."""
    bare = (relation._replace(detail=NO_DETAIL) for relation in relations)
    sentences = (wording.write_sentence(relation, visibility.get_tool_id) for relation in bare)
    return first_warnings(
        [
            f"tools require each other in a cycle; the order ignores that {sentence}"
            for sentence in sentences
        ]
    )


def warn_trouble(reason: str, alternatives: Iterable[str]) -> str:
    """Say that a tool's server is in trouble, and name alternatives."""
    named = ", ".join(islice(alternatives, MAX_NAMED))
    return f"its server is in trouble: {reason}" + (f"; instead: {named}" if named else "")
