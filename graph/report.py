"""What the graph is like now, gathered for a person to read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from graph import contradictions, refresh, wording
from graph.record import Metric
from graph.store import listed, metrics, names, relations, snapshots, state, usage
from graph.topology import Topology

if TYPE_CHECKING:
    from graph.algorithms.statistics import Statistics
    from graph.snapshots import Difference
    from graph.store.snapshots import Taken

TOP: Final = 10
MEMBERS: Final = 3
"""Members of a community that are named."""
LEAST_SIZE: Final = 2
"""Tools that make a community worth naming."""
MEASURES: Final = ("pagerank", "betweenness", "closeness")


class NoSuchSnapshot(LookupError):
    """A snapshot that was asked for and is not there."""


class Valued(NamedTuple):
    """A tool with a figure of it."""

    tool: str
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Community:
    """Tools that are closer to each other than to the rest.

    Attributes:
        number: As stored; the largest is 0.
        size: Number of tools.
        members: The most central of them by PageRank.
    """

    number: int
    size: int
    members: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Circle:
    """Tools that depend on each other in a circle.

    Attributes:
        tools: Ids.
        dropped: Dependencies that orders leave out, in words with their confidence.
    """

    tools: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The shared graph now.

    Attributes:
        catalogue_tools: Tools that servers list.
        statistics: Figures of the graph.
        cycles: The largest circles among dependencies.
        communities: The largest, each with its most central members.
        top: The first tools by `pagerank`, `betweenness` and `closeness`.
        isolated: The first tools without relations, by id.
        most_called: The tools that all teams together called most.
        calls: All calls counted.
        derived_at: When relations were derived from schemas last; None: never.
        computed_at: When ranks and communities were computed last; None: never.
        is_outdated: Whether anything they come from has changed since.
        snapshots: Those stored, the newest first.
    """

    catalogue_tools: int
    statistics: Statistics
    cycles: tuple[Circle, ...]
    communities: tuple[Community, ...]
    top: Mapping[str, tuple[Valued, ...]]
    isolated: tuple[str, ...]
    most_called: tuple[Valued, ...]
    calls: int
    derived_at: datetime | None
    computed_at: datetime | None
    is_outdated: bool
    snapshots: tuple[Taken, ...]


def gather(*, now: datetime, top: int = TOP) -> Report:
    """Read the shared graph and describe it.

    Args:
        now: Time that the age of observations is taken at.
        top: How many tools, communities and cycles are named.
    """
    from graph.algorithms.statistics import statistics  # noqa: PLC0415 - heavy

    catalogue = {tool.pk: name for name, tool in listed.tools().items()}
    topology, known = relations.topology(now=now), metrics.load()
    figures = statistics(topology, known, tools=catalogue.keys())
    used = _calls(usage.load().items())
    called = _named(topology.tools() | known.keys() | used.keys())
    computed = state.load()
    return Report(
        catalogue_tools=len(catalogue),
        statistics=figures,
        cycles=tuple(_cycles(topology, figures.cycles[:top], called)),
        communities=tuple(_communities(known, called)[:top]),
        top={measure: _top(known, measure, called, top) for measure in MEASURES},
        isolated=tuple(sorted(catalogue[pk] for pk in catalogue.keys() - topology.tools())[:top]),
        most_called=_first(used.items(), called, top),
        calls=sum(used.values()),
        derived_at=computed.derived_at,
        computed_at=computed.computed_at,
        is_outdated=refresh.is_outdated(now=now),
        snapshots=tuple(snapshots.every()),
    )


def since(pk: int, *, now: datetime) -> Difference:
    """Compare the graph now with a snapshot.

    Args:
        pk: Primary key of the snapshot.
        now: Time that the age of observations is taken at.
    """
    from graph.snapshots import content, difference  # noqa: PLC0415 - few ask

    topology, known = relations.topology(now=now), metrics.load()
    called = names.tools(topology.tools() | known.keys())
    return difference(snapshots.content(pk), content(topology, known, names=called))


def find_snapshot(asked: int | datetime) -> Taken:
    """Return a snapshot by its number, or the last one taken by a time, else the first after.

    Raises:
        NoSuchSnapshot: If there is none.
    """
    stored = snapshots.every()
    if not stored:
        raise NoSuchSnapshot("no snapshot yet; `manage.py graph_stats --snapshot` takes one")
    if isinstance(asked, datetime):
        return next((one for one in stored if one.taken_at <= asked), stored[-1])
    for one in stored:
        if one.pk == asked:
            return one
    kept = ", ".join(str(one.pk) for one in stored[:TOP])
    raise NoSuchSnapshot(f"no snapshot {asked}; the newest are {kept}")


def _named(tools: Collection[int]) -> Callable[[int], str]:
    """Return how tools are called, those that are no longer listed too."""
    known = names.tools(tools)
    return lambda tool: known.get(tool, f"tool {tool}")


def _calls(counted: Iterable[tuple[tuple[int, int | None], int]]) -> dict[int, int]:
    """Add up the calls of all teams, by tool."""
    calls: dict[int, int] = defaultdict(int)
    for (tool, _), number in counted:
        calls[tool] += number
    return calls


def _cycles(
    topology: Topology, circles: Iterable[tuple[int, ...]], called: Callable[[int], str]
) -> Iterable[Circle]:
    """Name the tools of each circle, and what is dropped inside it."""
    cuts = contradictions.dropped(topology.relations())
    for circle in circles:
        inside = [cut for cut in cuts if cut.source in circle and cut.target in circle]
        yield Circle(
            tools=tuple(map(called, circle)),
            dropped=tuple(
                f"{wording.sentence(cut, called)} ({cut.confidence:.2f})" for cut in inside
            ),
        )


def _communities(known: Mapping[int, Metric], called: Callable[[int], str]) -> list[Community]:
    members: dict[int, list[int]] = defaultdict(list)
    for tool, metric in known.items():
        members[metric.community].append(tool)
    return [
        Community(
            number=number,
            size=len(tools),
            members=tuple(
                map(called, sorted(tools, key=lambda one: (-known[one].pagerank, one))[:MEMBERS])
            ),
        )
        for number, tools in sorted(members.items())
        if len(tools) >= LEAST_SIZE
    ]


def _top(
    known: Mapping[int, Metric], measure: str, called: Callable[[int], str], top: int
) -> tuple[Valued, ...]:
    return _first(((tool, getattr(one, measure)) for tool, one in known.items()), called, top)


def _first(
    values: Iterable[tuple[int, float]], called: Callable[[int], str], top: int
) -> tuple[Valued, ...]:
    """Return the tools of the greatest values above 0."""
    ordered = sorted((-value, tool) for tool, value in values if value > 0)
    return tuple(Valued(called(tool), -minus) for minus, tool in ordered[:top])
