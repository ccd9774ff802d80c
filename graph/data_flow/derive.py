"""Derive which output of one tool feeds which input of another.

Inputs and outputs are read from schemas and observed results (`endpoints`). One feeds the other
if both are the same attribute of the same thing and their types agree. Deterministic; linear in
the number of inputs and outputs, since inputs with too many matches are skipped.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from graph.data_flow.endpoints import Endpoint, ToolEndpoints
from graph.data_flow.fields import SchemaField
from graph.data_flow.vocabulary import (
    ADDRESS_ATTRIBUTES,
    CODE_ATTRIBUTES,
    IDENTIFIER_ATTRIBUTES,
    NAME_ATTRIBUTES,
    SECRET_ATTRIBUTES,
)
from graph.data_flow.words import NounTerm
from graph.record import RelationClaim
from graph.relations import RelationKind

T = TypeVar("T")

MIN_CONFIDENCE = 0.25
"""Confidence below which a relation is not worth keeping."""
MAX_CONFIDENCE = 0.97
MAX_CANDIDATES = 60
"""Outputs that an input is compared with; with more matches, none counts: any would be a guess."""
MAX_SOURCES = 6
"""Sources kept per input, most confident first."""
MAX_TARGETS = 40
"""Targets kept per tool."""
MAX_FIELDS = 12
"""Inputs listed in a relation."""
FURTHER_LINK_FACTOR = 0.25
"""Share of its weight that each further input contributes to a relation."""
LOG_ODDS: Final[Mapping[str, tuple[float, float]]] = {
    attribute: log_odds
    for attributes, log_odds in (
        (IDENTIFIER_ATTRIBUTES, (2.2, -math.inf)),
        (SECRET_ATTRIBUTES, (0.4, -math.inf)),
        (CODE_ATTRIBUTES, (1.2, 0.8)),
        (ADDRESS_ATTRIBUTES, (1.2, -0.3)),
        (NAME_ATTRIBUTES, (1.5, -0.5)),
    )
    for attribute in attributes
}
"""That an output feeds the input of its attribute, on the same server and on another one.

Set on two public data sets (docs/data_flow.md). Only the server that issued an id understands it.
"""
LOG_ODDS_OF_THING = (0.7, -0.5)
"""The same without an attribute."""
OPTIONAL_LOG_ODDS = -0.5
ECHO_LOG_ODDS = -2.5
RIVAL_LOG_ODDS = -0.4
"""For each e-fold of the tools that feed the input as well, counted from `FREE_RIVALS` on."""
FREE_RIVALS = 3
"""Rivals that do not weaken each other: one tool creates, one lists…"""
_EXACT_FORMATS: Final = frozenset({"date-time", "date", "uri", "email"})

_OutputKey = tuple[tuple[str, int | None] | None, NounTerm]
"""Server with its team, None: any; and what is given."""


class _FeedLink(NamedTuple):
    """An output that feeds an input, and the log-odds that it does."""

    log_odds: float
    input: str
    output: str

    @property
    def confidence(self) -> float:
        return min(MAX_CONFIDENCE, 1.0 / (1.0 + math.exp(-self.log_odds)))


def derive_flows(
    read: Sequence[ToolEndpoints], *, around: Collection[int] | None = None
) -> list[RelationClaim]:
    """Return the data flows that schemas and observed results suggest, as `provides`.

    Args:
        read: All candidate tools, parsed; private tools of different teams are never related.
        around: Primary keys of the targets to derive relations for; None: of all.

    Returns:
        Sorted by source and target, each pair once. `fields` has the most confident first:
        `input` is a JSON pointer into the target's arguments, `output` one into the source's
        result; `*` matches any item of an array.
    """
    read = sorted(read, key=lambda one: one.tool.pk)
    index = _index_outputs(read)
    links: dict[tuple[int, int], list[_FeedLink]] = defaultdict(list)
    for target, one in enumerate(read):
        if around is not None and one.tool.pk not in around:
            continue
        by_field: dict[str, list[Endpoint]] = defaultdict(list)
        for need in one.inputs:
            by_field[need.field.pointer].append(need)
        for needs in by_field.values():
            for source, link in _find_links(read, index, target, needs):
                links[source, target].append(link)
    flows = [_make_claim(read, pair, found) for pair, found in links.items()]
    teams = {parsed.tool.pk: parsed.tool.team for parsed in read}
    return sorted(_limit_per_source(flows, teams), key=lambda flow: (flow.source, flow.target))


def find_targets(read: Sequence[ToolEndpoints], sources: Collection[int]) -> set[int]:
    """Return the tools that outputs of some tools may feed, by primary key."""
    given = {found.term for one in read if one.tool.pk in sources for found in one.outputs}
    return {one.tool.pk for one in read if not given.isdisjoint(need.term for need in one.inputs)}


def _index_outputs(
    read: Sequence[ToolEndpoints],
) -> dict[_OutputKey, list[tuple[int, Endpoint]]]:
    index: dict[_OutputKey, list[tuple[int, Endpoint]]] = defaultdict(list)
    for place, one in enumerate(read):
        for output in one.outputs:
            index[(one.tool.server, one.tool.team), output.term].append((place, output))
            if not output.is_own:
                index[None, output.term].append((place, output))
    return index


def _find_links(
    read: Sequence[ToolEndpoints],
    index: Mapping[_OutputKey, Sequence[tuple[int, Endpoint]]],
    target: int,
    needs: Sequence[Endpoint],
) -> Iterator[tuple[int, _FeedLink]]:
    """Yield the tools that feed one input, most confident first."""
    best: dict[int, _FeedLink] = {}
    for need in needs:
        for source, output in _find_outputs(read, index, target, need):
            is_near = read[source].tool.server == read[target].tool.server
            link = _make_link(need, output, is_near=is_near)
            if source not in best or link.log_odds > best[source].log_odds:
                best[source] = link
    team = read[target].tool.team
    teams = {source: read[source].tool.team for source in best}
    weighed = []
    for source, link in best.items():
        # A team's private server changes nothing for others, so only those count as rivals that
        # everybody who sees the relation sees.
        audience = {None, team, teams[source]}
        rivals = sum(
            other.log_odds >= link.log_odds and teams[rival] in audience
            for rival, other in best.items()
        )
        doubt = RIVAL_LOG_ODDS * math.log(max(1.0, rivals / FREE_RIVALS))
        weighed.append((source, link._replace(log_odds=link.log_odds + doubt)))
    weighed.sort(key=lambda pair: (-pair[1].log_odds, pair[0]))
    confident = (pair for pair in weighed if pair[1].confidence >= MIN_CONFIDENCE)
    yield from _take_first_per_team(confident, MAX_SOURCES, lambda pair: teams[pair[0]])


def _find_outputs(
    read: Sequence[ToolEndpoints],
    index: Mapping[_OutputKey, Sequence[tuple[int, Endpoint]]],
    target: int,
    need: Endpoint,
) -> Iterator[tuple[int, Endpoint]]:
    """Yield what the input takes: from tools of its server, and of others that its team sees."""
    one = read[target].tool
    near = index.get(((one.server, one.team), need.term), ())
    far: dict[int | None, list[tuple[int, Endpoint]]] = defaultdict(list)
    if not need.is_own:
        for source, output in index.get((None, need.term), ()):
            tool = read[source].tool
            if tool.server != one.server and (
                None in (tool.team, one.team) or tool.team == one.team
            ):
                far[tool.team].append((source, output))
    for found in (near, *far.values()):
        if len(found) <= MAX_CANDIDATES:
            for source, output in found:
                if source != target and _has_compatible_types(need.field, output.field):
                    yield source, output


def _has_compatible_types(need: SchemaField, given: SchemaField) -> bool:
    if not need.types or not given.types:
        return True
    if (
        need.format
        and given.format
        and need.format != given.format
        and {need.format, given.format} & _EXACT_FORMATS
    ):
        return False
    return bool(
        need.types & given.types
        or ("number" in need.types and "integer" in given.types)
        or "string" in need.types  # an id is a number here, a text there
    )


def _make_link(need: Endpoint, output: Endpoint, *, is_near: bool) -> _FeedLink:
    near, far = LOG_ODDS.get(need.term.attribute, LOG_ODDS_OF_THING)
    log_odds = near if is_near else far
    log_odds += OPTIONAL_LOG_ODDS * (not need.field.is_required)
    log_odds += ECHO_LOG_ODDS * output.is_echo
    return _FeedLink(log_odds, need.field.pointer, output.field.pointer)


def _make_claim(
    read: Sequence[ToolEndpoints], pair: tuple[int, int], links: list[_FeedLink]
) -> RelationClaim:
    ordered = sorted(links, key=lambda link: (-link.confidence, link.input))
    doubt = 1.0 - ordered[0].confidence
    for link in ordered[1:]:
        doubt *= 1.0 - FURTHER_LINK_FACTOR * link.confidence
    return RelationClaim(
        source=read[pair[0]].tool.pk,
        target=read[pair[1]].tool.pk,
        kind=RelationKind.PROVIDES,
        confidence=round(min(MAX_CONFIDENCE, 1.0 - doubt), 3),
        fields=tuple(
            {"output": link.output, "input": link.input} for link in ordered[:MAX_FIELDS]
        ),
    )


def _limit_per_source(
    flows: Iterable[RelationClaim], teams: Mapping[int, int | None]
) -> Iterator[RelationClaim]:
    """Yield the most confident relations of each source."""
    by_source: dict[int, list[RelationClaim]] = defaultdict(list)
    for flow in sorted(flows, key=lambda flow: (-(flow.confidence or 0.0), flow.target)):
        by_source[flow.source].append(flow)
    for found in by_source.values():
        yield from _take_first_per_team(found, MAX_TARGETS, lambda flow: teams[flow.target])


def _take_first_per_team(
    items: Iterable[T], count: int, team: Callable[[T], int | None]
) -> Iterator[T]:
    """Yield the first items that each team sees; a team's own items displace nobody else's."""
    kept: Counter[int | None] = Counter()
    for item in items:
        owner = team(item)
        if kept[None] + (kept[owner] if owner is not None else 0) < count:
            kept[owner] += 1
            yield item
