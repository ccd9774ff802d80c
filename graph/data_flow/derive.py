"""Derive which output of one tool feeds which input of another.

Inputs and outputs are read from schemas, observed results and texts (`endpoints`), matched by an
index of words (`matching`) and by tools named in descriptions (`mentions`), and weighted
(`clues`). Deterministic; linear in the number of inputs and outputs, since inputs with too many
matches are skipped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple, TypeVar

from graph.data_flow import endpoints, matching
from graph.data_flow.clues import MAX_CONFIDENCE, Clue, ClueBasis, clue_confidence
from graph.data_flow.endpoints import FlowTool, ToolEndpoints, ToolInput
from graph.data_flow.matching import FeedCandidate, OutputIndex, rank_candidates
from graph.data_flow.mentions import MAX_RIVALS, ToolNameIndex
from graph.data_flow.words import split_name

__all__ = ["DataFlow", "FlowTool", "derive_flows"]

T = TypeVar("T")

MIN_CONFIDENCE = 0.25
"""Confidence below which a relation is not worth keeping."""
MAX_SOURCES = 6
"""Sources kept per input, most confident first."""
MAX_TARGETS = 40
"""Targets kept per tool."""
MIN_DISTINCT_WORDS = 3
"""Words of a name from which it may refer to another server's tool."""
MAX_FIELDS = 12
"""Inputs listed in a relation."""
FURTHER_LINK_FACTOR = 0.25
"""Share of its weight that each further input contributes to a relation."""


TargetSelector = Callable[[Sequence[ToolEndpoints]], Iterable[int]]


def _select_all(read: Sequence[ToolEndpoints]) -> Iterable[int]:
    return range(len(read))


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFlow:
    """An output of one tool that feeds an input of another.

    Attributes:
        confidence: In [0, 1].
        fields: Most confident first: `input` is a JSON pointer into the target's arguments,
            `output` one into the source's result; `*` matches any item of an array. `output` is
            absent if only texts vouch for the value.
    """

    source: int
    target: int
    confidence: float
    fields: list[dict[str, str]]


class _FeedLink(NamedTuple):
    """An input that a tool feeds."""

    confidence: float
    input: str
    output: str | None


def derive_flows(
    tools: Sequence[FlowTool],
    *,
    read_by: Callable[[FlowTool], ToolEndpoints] = endpoints.read_endpoints,
    around: TargetSelector = _select_all,
) -> list[DataFlow]:
    """Return the data flows that schemas, observed results and texts suggest.

    Args:
        tools: All candidate tools; private tools of different teams are never related.
        read_by: Reads the endpoints of a tool; a caching reader saves most of the time.
        around: Selects the targets to derive relations for, by index.

    Returns:
        Sorted by source and target, each pair once.
    """
    read = [read_by(tool) for tool in sorted(tools, key=lambda tool: tool.pk)]
    index, names = OutputIndex(read), ToolNameIndex(read)
    links: dict[tuple[int, int], list[_FeedLink]] = defaultdict(list)
    for target in around(read):
        for need in read[target].inputs:
            for source, link in _find_links(read, index, names, target, need):
                links[source, target].append(link)
        for source, link in (
            *_find_prerequisites(read, names, target),
            *_find_sequences(index, target),
        ):
            links[source, target] = links.get((source, target)) or [link]
    flows = [_make_flow(read, pair, found) for pair, found in links.items()]
    teams = {parsed.tool.pk: parsed.tool.team for parsed in read}
    return sorted(_limit_per_source(flows, teams), key=lambda flow: (flow.source, flow.target))


def make_target_selector(
    sources: Collection[int], known_targets: Collection[int]
) -> TargetSelector:
    """Return a selector of the targets that outputs of some tools may feed."""

    def select(read: Sequence[ToolEndpoints]) -> list[int]:
        offers = [offer for tool in read if tool.tool.pk in sources for offer in tool.outputs]
        words = {word for offer in offers for word in matching.shared_words(offer)}
        return [
            place
            for place, tool in enumerate(read)
            if tool.tool.pk in known_targets
            or not words.isdisjoint(matching.list_wanted_words(tool))
        ]

    return select


def _find_links(
    read: Sequence[ToolEndpoints],
    index: OutputIndex,
    names: ToolNameIndex,
    target: int,
    need: ToolInput,
) -> Iterator[tuple[int, _FeedLink]]:
    """Yield the tools that feed an input, by falling confidence."""
    found = {item.source: item for item in index.find_candidates(target, need)}
    for source, clue in _find_mentioned_tools(read, names, target, need):
        candidate = found.get(source, FeedCandidate(source, clue, None))
        found[source] = candidate._replace(clue=clue)
    teams = {source: read[source].tool.team for source in found}
    ranked = rank_candidates(found.values(), teams, read[target].tool.team)
    confident = takewhile(lambda pair: pair[0] >= MIN_CONFIDENCE, ranked)
    for confidence, item in _take_first_per_team(
        confident, MAX_SOURCES, lambda pair: teams[pair[1].source]
    ):
        output = item.output.field.pointer if item.output and item.output.field else None
        yield item.source, _FeedLink(confidence, need.field.pointer, output)


def _find_mentioned_tools(
    read: Sequence[ToolEndpoints], names: ToolNameIndex, target: int, need: ToolInput
) -> Iterator[tuple[int, Clue]]:
    """Yield the tools that an input's description names as the source of its value."""
    for places in names.find_sources(need.field.description):
        for source in _resolve_tool_name(read, places, target):
            giver = read[source].tool
            is_near = giver.server == read[target].tool.server
            if is_near or _is_unambiguous_name(giver.name, need.field.description):
                yield source, Clue(basis=ClueBasis.MENTION, is_same_server=is_near)


def _is_unambiguous_name(name: str, text: str) -> bool:
    """Return whether a text that contains a name almost certainly means the tool."""
    return len(split_name(name)) >= MIN_DISTINCT_WORDS and name.lower() in text.lower()


def _find_prerequisites(
    read: Sequence[ToolEndpoints], names: ToolNameIndex, target: int
) -> Iterator[tuple[int, _FeedLink]]:
    """Yield the tools of the same server that a description asks to call first."""
    taker = read[target].tool
    confidence = clue_confidence(Clue(basis=ClueBasis.PREREQUISITE))
    for places in names.find_prerequisites(taker.description):
        for source in _resolve_tool_name(read, places, target):
            if read[source].tool.server == taker.server:
                yield source, _FeedLink(confidence, "", None)


def _find_sequences(index: OutputIndex, target: int) -> Iterator[tuple[int, _FeedLink]]:
    """Yield the tools of the same family that find what the target acts on."""
    found = index.find_finders(target)
    if len(found) <= MAX_RIVALS:
        for item in found:
            yield item.source, _FeedLink(clue_confidence(item.clue), "", None)


def _resolve_tool_name(
    read: Sequence[ToolEndpoints], places: Sequence[int], target: int
) -> list[int]:
    """Return the tools that a name refers to: those of the same server, or else a few others."""
    taker = read[target].tool
    visible = [
        index
        for index in places
        if index != target
        and read[index].tool.name != taker.name
        and (read[index].tool.team in (None, taker.team) or taker.team is None)
    ]
    own = [index for index in visible if read[index].tool.server == taker.server]
    found = own or [index for index in visible if read[index].tool.team is None] or visible
    return found if len(found) <= MAX_RIVALS else []


def _make_flow(
    read: Sequence[ToolEndpoints], pair: tuple[int, int], links: list[_FeedLink]
) -> DataFlow:
    ordered = sorted(links, key=lambda link: (-link.confidence, link.input))
    doubt = 1.0 - ordered[0].confidence
    for link in ordered[1:]:
        doubt *= 1.0 - FURTHER_LINK_FACTOR * link.confidence
    fields = [
        {"output": link.output, "input": link.input} if link.output else {"input": link.input}
        for link in ordered[:MAX_FIELDS]
        if link.input
    ]
    return DataFlow(
        source=read[pair[0]].tool.pk,
        target=read[pair[1]].tool.pk,
        confidence=round(min(MAX_CONFIDENCE, 1.0 - doubt), 3),
        fields=fields,
    )


def _limit_per_source(
    flows: Iterable[DataFlow], teams: Mapping[int, int | None]
) -> Iterator[DataFlow]:
    """Yield the most confident relations of each source."""
    by_source: dict[int, list[DataFlow]] = defaultdict(list)
    for flow in flows:
        by_source[flow.source].append(flow)
    for found in by_source.values():
        ordered = sorted(found, key=lambda flow: (-flow.confidence, flow.target))
        yield from _take_first_per_team(ordered, MAX_TARGETS, lambda flow: teams[flow.target])


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
