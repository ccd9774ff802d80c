"""Derive which output of one tool feeds which input of another.

What a tool needs and what it offers are read from schemas, from results that were seen and from
texts (`endpoints`), matched by an index of words (`matching`) and by the tools that descriptions
name (`mentions`), and weighed (`clues`). Deterministic; linear in the number of inputs and
outputs, since an input that too much would fit is left alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple, TypeVar

from graph.data_flow import endpoints, matching
from graph.data_flow.clues import CEILING, Clue, Ground, confidence
from graph.data_flow.endpoints import Endpoints, FlowTool, Need
from graph.data_flow.matching import Candidate, Index, ranked
from graph.data_flow.mentions import MAX_RIVALS, Names
from graph.data_flow.words import split

__all__ = ["Flow", "FlowTool", "derive"]

T = TypeVar("T")

LEAST = 0.25
"""Confidence below which a relation is not worth keeping."""
MAX_SOURCES = 6
"""Tools that feed one input, the surest first."""
MAX_TARGETS = 40
"""Tools that one tool feeds."""
DISTINCT = 3
"""Words of a name from which on another server's tool may be meant by it."""
MAX_FIELDS = 12
"""Inputs that a relation names."""
FURTHER = 0.25
"""Share of its own weight that each further input adds to a relation."""


Around = Callable[[Sequence[Endpoints]], Iterable[int]]


def _everything(read: Sequence[Endpoints]) -> Iterable[int]:
    return range(len(read))


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """An output of one tool that feeds an input of another.

    Attributes:
        source: Primary key of the tool that gives.
        target: Primary key of the tool that takes.
        confidence: That it is so, in [0, 1].
        fields: The surest first: `input` is a JSON pointer into the target's arguments, `output`
            one into the source's result; `*` stands for any item of an array. `output` is absent
            where only texts say that the value is there.
    """

    source: int
    target: int
    confidence: float
    fields: list[dict[str, str]]


class _Link(NamedTuple):
    """An input that a tool feeds."""

    confidence: float
    input: str
    output: str | None


def derive(
    tools: Sequence[FlowTool],
    *,
    read_by: Callable[[FlowTool], Endpoints] = endpoints.read,
    around: Around = _everything,
) -> list[Flow]:
    """Return the relations that schemas, results seen and texts speak for.

    Args:
        tools: All that may relate; those of two teams' private servers never do.
        read_by: Reads a tool; one that keeps what it has read saves most of the time.
        around: Says which targets relations are derived for, by their places.

    Returns:
        By source and target, each pair once.
    """
    read = [read_by(tool) for tool in sorted(tools, key=lambda tool: tool.pk)]
    index, names = Index(read), Names(read)
    links: dict[tuple[int, int], list[_Link]] = defaultdict(list)
    for target in around(read):
        for need in read[target].needs:
            for source, link in _links(read, index, names, target, need):
                links[source, target].append(link)
        for source, link in (*_prerequisites(read, names, target), *_sequences(index, target)):
            links[source, target] = links.get((source, target)) or [link]
    flows = [_flow(read, pair, found) for pair, found in links.items()]
    teams = {one.tool.pk: one.tool.team for one in read}
    return sorted(_capped(flows, teams), key=lambda flow: (flow.source, flow.target))


def targets_of(sources: Collection[int], told: Collection[int]) -> Around:
    """Return what finds the targets that outputs of some tools may feed, or are known to.

    Args:
        sources: Primary keys of tools of which more outputs are known now.
        told: Primary keys of targets that they feed as far as is known.
    """

    def found(read: Sequence[Endpoints]) -> list[int]:
        offers = [offer for one in read if one.tool.pk in sources for offer in one.offers]
        words = {word for offer in offers for word in matching.words_of(offer)}
        return [
            place
            for place, one in enumerate(read)
            if one.tool.pk in told or not words.isdisjoint(matching.wanted_words(one))
        ]

    return found


def _links(
    read: Sequence[Endpoints], index: Index, names: Names, target: int, need: Need
) -> Iterator[tuple[int, _Link]]:
    """Yield the tools that feed an input, the surest first."""
    found = {item.source: item for item in index.candidates(target, need)}
    for source, clue in _mentioned(read, names, target, need):
        known = found.get(source, Candidate(source, clue, None))
        found[source] = known._replace(clue=clue)
    teams = {source: read[source].tool.team for source in found}
    best = ranked(found.values(), teams, read[target].tool.team)
    sure_enough = takewhile(lambda pair: pair[0] >= LEAST, best)
    for sure, item in _first(sure_enough, MAX_SOURCES, lambda pair: teams[pair[1].source]):
        output = item.offer.field.pointer if item.offer and item.offer.field else None
        yield item.source, _Link(sure, need.field.pointer, output)


def _mentioned(
    read: Sequence[Endpoints], names: Names, target: int, need: Need
) -> Iterator[tuple[int, Clue]]:
    """Yield the tools that an input's description names as where its value is from."""
    for places in names.sources(need.field.description):
        for source in _meant(read, places, target):
            giver = read[source].tool
            is_near = giver.server == read[target].tool.server
            if is_near or _is_unmistakable(giver.name, need.field.description):
                yield source, Clue(ground=Ground.MENTION, is_same_server=is_near)


def _is_unmistakable(name: str, text: str) -> bool:
    """Tell whether a text that names a tool can hardly mean anything else."""
    return len(split(name)) >= DISTINCT and name.lower() in text.lower()


def _prerequisites(
    read: Sequence[Endpoints], names: Names, target: int
) -> Iterator[tuple[int, _Link]]:
    """Yield the tools of the same server that a tool's description asks to call before it."""
    taker = read[target].tool
    sure = confidence(Clue(ground=Ground.PREREQUISITE))
    for places in names.prerequisites(taker.description):
        for source in _meant(read, places, target):
            if read[source].tool.server == taker.server:
                yield source, _Link(sure, "", None)


def _sequences(index: Index, target: int) -> Iterator[tuple[int, _Link]]:
    """Yield the tools of the same family that find what a tool acts on."""
    found = index.finders(target)
    if len(found) <= MAX_RIVALS:
        for item in found:
            yield item.source, _Link(confidence(item.clue), "", None)


def _meant(read: Sequence[Endpoints], places: Sequence[int], target: int) -> list[int]:
    """Return which tools of a name are meant: the server's own, else a few others."""
    taker = read[target].tool
    seen = [
        place
        for place in places
        if place != target
        and read[place].tool.name != taker.name
        and (read[place].tool.team in (None, taker.team) or taker.team is None)
    ]
    own = [place for place in seen if read[place].tool.server == taker.server]
    found = own or [place for place in seen if read[place].tool.team is None] or seen
    return found if len(found) <= MAX_RIVALS else []


def _flow(read: Sequence[Endpoints], pair: tuple[int, int], links: list[_Link]) -> Flow:
    ordered = sorted(links, key=lambda link: (-link.confidence, link.input))
    doubt = 1.0 - ordered[0].confidence
    for link in ordered[1:]:
        doubt *= 1.0 - FURTHER * link.confidence
    fields = [
        {"output": link.output, "input": link.input} if link.output else {"input": link.input}
        for link in ordered[:MAX_FIELDS]
        if link.input
    ]
    return Flow(
        source=read[pair[0]].tool.pk,
        target=read[pair[1]].tool.pk,
        confidence=round(min(CEILING, 1.0 - doubt), 3),
        fields=fields,
    )


def _capped(flows: Iterable[Flow], teams: Mapping[int, int | None]) -> Iterator[Flow]:
    """Yield of each source's relations the surest."""
    by_source: dict[int, list[Flow]] = defaultdict(list)
    for flow in flows:
        by_source[flow.source].append(flow)
    for found in by_source.values():
        ordered = sorted(found, key=lambda flow: (-flow.confidence, flow.target))
        yield from _first(ordered, MAX_TARGETS, lambda flow: teams[flow.target])


def _first(items: Iterable[T], count: int, team: Callable[[T], int | None]) -> Iterator[T]:
    """Yield the first items that each team sees; what a team has of its own hides nothing."""
    kept: Counter[int | None] = Counter()
    for item in items:
        whose = team(item)
        if kept[None] + (kept[whose] if whose is not None else 0) < count:
            kept[whose] += 1
            yield item
