"""Give the graph away: as everybody sees it, or as the callers of one team do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from graph import record
from graph.exchange import graphml, json_form
from graph.exchange.around import around
from graph.exchange.document import Document, Stated, StatedEvidence, StatedTool
from graph.exchange.read import Form
from graph.record import Metric, Record, Said
from graph.relations import SYMMETRIC
from graph.store import listed, metrics, names, relations
from graph.store.listed import Listed

HOPS: Final = 2
_WRITERS: Final = {
    Form.JSON: json_form.write,
    Form.JSON_LINES: json_form.write_lines,
    Form.GRAPHML: graphml.write,
}


class UnknownTool(LookupError):
    """No such tool is in the graph that is given away.

    Attributes:
        tool: What was asked for.
        known: Ids of the tools that are in it.
    """

    def __init__(self, tool: str, known: Collection[str]) -> None:
        self.tool = tool
        self.known = known
        super().__init__(f"no tool {tool!r}")


def text(document: Document, form: Form) -> Iterator[str]:
    """Yield the text of a document in a form, in pieces."""
    return _WRITERS[form](document)


def document(
    *, team: int | None = None, with_metrics: bool = False, now: datetime | None = None
) -> Document:
    """Return the graph as the callers of a team see it.

    Tools of other teams' servers, what other teams observed, and removed tools are not in it.
    What an admin rejected is, marked as such.

    Args:
        team: Primary key; None: only what is everybody's.
        with_metrics: Whether tools come with their place in the shared graph.
        now: Time that the age of observations is taken at; None: this moment.
    """
    at = now or datetime.now(UTC)
    tools = {name: tool for name, tool in listed.tools().items() if tool.team in (None, team)}
    called = {tool.pk: name for name, tool in tools.items()}
    teams = names.teams()
    stated = [
        _stated(one, team, called=called, teams=teams, now=at)
        for one in relations.load()
        if one.source in called and one.target in called and _is_seen(one, team)
    ]
    stated.sort(key=lambda one: one.key)
    known = metrics.load() if with_metrics else {}
    related = {end for one in stated for end in (one.source, one.target)}
    return Document(
        team=teams.get(team, "") if team is not None else "",
        tools=tuple(
            _tool(name, tool, known.get(tool.pk))
            for name, tool in tools.items()
            if name in related or tool.category
        ),
        relations=tuple(stated),
    )


def part(whole: Document, tools: Collection[str], *, hops: int = HOPS) -> Document:
    """Return what lies around some tools.

    Args:
        whole: The graph.
        tools: Ids.
        hops: Steps along relations of any kind, either way.

    Raises:
        UnknownTool: If one relates to nothing there.
    """
    known = {tool.id for tool in whole.tools}
    for tool in tools:
        if tool not in known:
            raise UnknownTool(tool, known)
    return around(whole, tools, hops=hops)


def _is_seen(one: Record, team: int | None) -> bool:
    return one.rejected or any(said.team in (None, team) for said in one.said)


def _stated(
    one: Record,
    team: int | None,
    *,
    called: Mapping[int, str],
    teams: Mapping[int, str],
    now: datetime,
) -> Stated:
    """Return a relation between ids; kinds that hold both ways from the id that comes first."""
    ends = called[one.source], called[one.target]
    if one.kind in SYMMETRIC:
        ends = min(ends), max(ends)
    seen = record.view(one, team, now=now)
    return Stated(
        source=ends[0],
        target=ends[1],
        kind=one.kind,
        required=one.required,
        confidence=None if seen is None else seen.confidence,
        reason=one.reason,
        version=one.version,
        deprecated_at=one.deprecated_at,
        rejected=one.rejected,
        evidence=tuple(
            sorted(
                (_evidence(said, teams) for said in one.said if said.team in (None, team)),
                key=lambda item: (item.source, item.team),
            )
        ),
    )


def _evidence(said: Said, teams: Mapping[int, str]) -> StatedEvidence:
    return StatedEvidence(
        source=said.source,
        confidence=said.confidence,
        successes=said.successes,
        failures=said.failures,
        seconds=said.seconds,
        fields=said.fields,
        origin=said.origin,
        team="" if said.team is None else teams.get(said.team, ""),
        last_seen_at=said.last_seen,
    )


def _tool(name: str, tool: Listed, metric: Metric | None) -> StatedTool:
    return StatedTool(
        id=name, category=tool.category, metrics={} if metric is None else metric._asdict()
    )
