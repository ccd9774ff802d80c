"""How two tools relate: what links them, by which paths, and what speaks for each hop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from graph import wording
from graph.algorithms.shortest_path import confidence_of, shortest_path, strongest_path
from graph.record import Metric, Said
from graph.relations import PATH_KINDS, SYMMETRIC, Key, Kind, Relation
from graph.topology import Topology

MAX_COMMON: Final = 5
"""Common neighbours that are named."""
Names = Callable[[int], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """What tools and teams are called, and who said what.

    Attributes:
        names: Name of a tool by primary key.
        said: Evidence of a relation that the caller may see, by its key; where there is none the
            sources that the relation names are told.
        teams: What to call a team, by primary key.
    """

    names: Names
    said: Callable[[Key], Sequence[Said]] = lambda _: ()
    teams: Callable[[int], str] = "team {}".format


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A tool and where it stands; None where nothing has been computed for it.

    Attributes:
        tool: Primary key.
        name: As given by the caller's names.
        pagerank: Share of all rank, in [0, 1].
        community: Number of its community.
    """

    tool: int
    name: str
    pagerank: float | None
    community: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A relation in plain words.

    Attributes:
        relation: What is claimed.
        words: The claim as a sentence.
        grounds: What it rests on, one text for each source.
    """

    relation: Relation
    words: str
    grounds: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A way from one tool to another.

    Attributes:
        tools: Primary keys from start to end.
        hops: What links each to the next.
        confidence: Product of the hops' confidence, in [0, 1].
    """

    tools: tuple[int, ...]
    hops: tuple[Link, ...]
    confidence: float

    @property
    def is_direct(self) -> bool:
        """Whether it is one relation."""
        return len(self.hops) == 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Routes:
    """The ways from one tool to another, if there are any.

    Attributes:
        shortest: Of the fewest hops.
        strongest: Of the greatest confidence.
    """

    shortest: Path | None = None
    strongest: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """How two tools relate.

    Attributes:
        a: One tool.
        b: The other; the same one where somebody asks so.
        links: Direct relations of any kind, either way, the most confident first.
        there: Ways from a to b.
        back: Ways from b to a.
        common: Where there is no way: tools related to both, with the product of the best
            confidence on either side, best first.
        exclusive: Whether the two must not stand in one workflow.
    """

    a: Place
    b: Place
    links: tuple[Link, ...] = ()
    there: Routes = Routes()
    back: Routes = Routes()
    common: tuple[tuple[int, float], ...] = ()
    exclusive: bool = False

    @property
    def is_same(self) -> bool:
        """Whether both are one tool."""
        return self.a.tool == self.b.tool

    @property
    def same_community(self) -> bool:
        """Whether both are known to be of one community."""
        return self.a.community is not None and self.a.community == self.b.community


def explain(
    topology: Topology,
    a: int,
    b: int,
    *,
    words: Vocabulary,
    metrics: Mapping[int, Metric],
) -> Explanation:
    """Explain how two tools relate.

    Args:
        topology: The relations that the caller sees.
        a: Primary key of a tool; it need not be in the topology.
        b: Likewise.
        words: What to call tools and teams, and who said what.
        metrics: By primary key; a tool may be missing.
    """
    one, other = (_place(tool, words.names, metrics.get(tool)) for tool in (a, b))
    if a == b:
        return Explanation(a=one, b=other)
    found = sorted(topology.between(a, b), key=lambda held: (-held.confidence, held.kind))
    there, back = (routes(topology, *ends, words=words) for ends in ((a, b), (b, a)))
    apart = there.shortest is None and back.shortest is None
    return Explanation(
        a=one,
        b=other,
        links=tuple(link(relation, words) for relation in found),
        there=there,
        back=back,
        common=common_neighbours(topology, a, b) if apart else (),
        exclusive=any(relation.kind is Kind.MUTUALLY_EXCLUSIVE for relation in found),
    )


def link(relation: Relation, words: Vocabulary, *, start: int | None = None) -> Link:
    """Put a relation into words.

    Args:
        relation: Any.
        words: What to call tools and teams, and who said what.
        start: Tool to name first where the relation holds both ways.
    """
    said = words.said(relation.key)
    told = relation
    if relation.kind in SYMMETRIC and start == relation.target:
        told = relation._replace(source=relation.target, target=relation.source)
    return Link(
        relation=relation,
        words=wording.sentence(told, words.names),
        grounds=wording.grounds(relation, said, teams=words.teams),
    )


def routes(topology: Topology, start: int, end: int, *, words: Vocabulary) -> Routes:
    """Find the ways from one tool to another, each hop in words."""
    shortest = shortest_path(topology, start, end)
    if shortest is None:
        return Routes()
    strongest = strongest_path(topology, start, end) or shortest
    return Routes(
        shortest=path(topology, shortest, words=words),
        strongest=path(topology, strongest, words=words),
    )


def path(topology: Topology, tools: Sequence[int], *, words: Vocabulary) -> Path:
    """Put a path into words.

    Args:
        topology: What holds an arc between each tool and the next.
        tools: Primary keys from start to end.
        words: What to call tools and teams, and who said what.

    Raises:
        ValueError: If two that follow each other are not linked that way.
    """
    hops = [_arc(topology, *pair) for pair in pairwise(tools)]
    return Path(
        tools=tuple(tools),
        hops=tuple(link(hop, words, start=tool) for hop, tool in zip(hops, tools, strict=False)),
        confidence=confidence_of(topology, tools),
    )


def common_neighbours(topology: Topology, a: int, b: int) -> tuple[tuple[int, float], ...]:
    """Return tools related to both, each with the product of its best confidences, best first."""
    of_a, of_b = _neighbours(topology, a), _neighbours(topology, b)
    shared = ((tool, of_a[tool] * of_b[tool]) for tool in of_a.keys() & of_b.keys())
    return tuple(sorted(shared, key=lambda item: (-item[1], item[0]))[:MAX_COMMON])


def _neighbours(topology: Topology, tool: int) -> dict[int, float]:
    best: dict[int, float] = {}
    for relation in topology.of(tool):
        other = relation.target if relation.source == tool else relation.source
        best[other] = max(best.get(other, 0.0), relation.confidence)
    return best


def _arc(topology: Topology, source: int, target: int) -> Relation:
    """Return the relation that an arc of a path rests on: the most confident."""
    found = (topology.get(source, target, kind) for kind in sorted(PATH_KINDS))
    best = max(filter(None, found), key=lambda relation: relation.confidence, default=None)
    if best is None:
        raise ValueError(f"no path leads from {source} to {target} directly")
    return best


def _place(tool: int, names: Names, metric: Metric | None) -> Place:
    return Place(
        tool=tool,
        name=names(tool),
        pagerank=None if metric is None else metric.pagerank,
        community=None if metric is None else metric.community,
    )
