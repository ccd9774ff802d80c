"""Export the graph, as everybody sees it or as the callers of one team do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from graph import record
from graph.exchange import graphml, json_form
from graph.exchange.document import GraphDocument, StatedEvidence, StatedRelation, StatedTool
from graph.exchange.read import GraphFormat
from graph.record import GraphMetric, RelationRecord
from graph.relations import SYMMETRIC_KINDS, Evidence
from graph.store import metrics, names, relations, tool_lists
from graph.store.tool_lists import ListedTool

DEFAULT_HOPS: Final = 2
_WRITER_BY_FORMAT: Final = {
    GraphFormat.JSON: json_form.write_json,
    GraphFormat.JSON_LINES: json_form.write_lines,
    GraphFormat.GRAPHML: graphml.write_graphml,
}


class ToolNotInGraph(LookupError):
    """A requested tool is not in the exported graph.

    Attributes:
        tool: The requested id.
        known: Ids of the tools in the graph.
    """

    def __init__(self, tool: str, known: Collection[str]) -> None:
        self.tool = tool
        self.known = known
        super().__init__(f"no tool {tool!r}")


def write_text(document: GraphDocument, form: GraphFormat) -> Iterator[str]:
    """Yield the text of a document in a format, in pieces."""
    return _WRITER_BY_FORMAT[form](document)


def build_document(
    *, team: int | None = None, with_metrics: bool = False, now: datetime | None = None
) -> GraphDocument:
    """Return the graph as the callers of a team see it.

    Tools of other teams' servers, other teams' observations and removed tools are excluded;
    rejected relations are included and marked.

    Args:
        team: Primary key; None: only the shared graph.
        with_metrics: Whether tools include their metrics.
        now: Time that the age of observations is measured at; None: the current time.
    """
    at = now or datetime.now(UTC)
    tools = {
        name: tool
        for name, tool in tool_lists.load_listed_tools().items()
        if tool.team in (None, team)
    }
    ids = {tool.pk: name for name, tool in tools.items()}
    teams = names.load_team_names()
    exported = [
        _to_stated_relation(relation, team, ids=ids, teams=teams, now=at)
        for relation in relations.load()
        if relation.source in ids and relation.target in ids and _is_visible(relation, team)
    ]
    exported.sort(key=lambda relation: relation.file_key)
    stored_metrics = metrics.load_metrics() if with_metrics else {}
    related = {end for relation in exported for end in (relation.source, relation.target)}
    return GraphDocument(
        team=teams.get(team, "") if team is not None else "",
        tools=tuple(
            _to_stated_tool(name, tool, stored_metrics.get(tool.pk))
            for name, tool in tools.items()
            if name in related or tool.category
        ),
        relations=tuple(exported),
    )


def extract_part(
    whole: GraphDocument, tools: Collection[str], *, hops: int = DEFAULT_HOPS
) -> GraphDocument:
    """Return the part of a graph around some tools.

    Args:
        whole: The graph.
        tools: Ids to start from.
        hops: Steps along relations of any kind, in either direction.

    Raises:
        ToolNotInGraph: If a tool is not in the graph.
    """
    known = {tool.id for tool in whole.tools}
    for tool in tools:
        if tool not in known:
            raise ToolNotInGraph(tool, known)
    return _keep_neighbourhood(whole, tools, hops=hops)


def _keep_neighbourhood(
    document: GraphDocument, tools: Iterable[str], *, hops: int
) -> GraphDocument:
    """Keep the tools within some hops, and the relations among them; O(hops x relations)."""
    reached = set(tools)
    accepted = [relation for relation in document.relations if not relation.rejected]
    for _ in range(hops):
        neighbours = {
            end
            for relation in accepted
            if relation.source in reached or relation.target in reached
            for end in (relation.source, relation.target)
        }
        if neighbours <= reached:
            break
        reached |= neighbours
    return GraphDocument(
        team=document.team,
        tools=tuple(tool for tool in document.tools if tool.id in reached),
        relations=tuple(
            relation
            for relation in document.relations
            if relation.source in reached and relation.target in reached
        ),
    )


def _is_visible(relation: RelationRecord, team: int | None) -> bool:
    return relation.rejected or any(item.team in (None, team) for item in relation.evidence)


def _to_stated_relation(
    relation: RelationRecord,
    team: int | None,
    *,
    ids: Mapping[int, str],
    teams: Mapping[int, str],
    now: datetime,
) -> StatedRelation:
    """Return a relation between ids; symmetric kinds start at the lesser id."""
    ends = ids[relation.source], ids[relation.target]
    if relation.kind in SYMMETRIC_KINDS:
        ends = min(ends), max(ends)
    view = record.view_for_team(relation, team, now=now)
    return StatedRelation(
        source=ends[0],
        target=ends[1],
        kind=relation.kind,
        required=relation.required,
        confidence=None if view is None else view.confidence,
        reason=relation.reason,
        version=relation.version,
        deprecated_at=relation.deprecated_at,
        rejected=relation.rejected,
        evidence=tuple(
            sorted(
                (
                    _to_stated_evidence(item, teams)
                    for item in relation.evidence
                    if item.team in (None, team)
                ),
                key=lambda item: (item.source, item.team),
            )
        ),
    )


def _to_stated_evidence(evidence: Evidence, teams: Mapping[int, str]) -> StatedEvidence:
    return StatedEvidence(
        source=evidence.source,
        confidence=evidence.confidence,
        successes=evidence.successes,
        failures=evidence.failures,
        seconds=evidence.seconds,
        fields=evidence.fields,
        origin=evidence.origin,
        team="" if evidence.team is None else teams.get(evidence.team, ""),
        last_seen_at=evidence.last_seen,
    )


def _to_stated_tool(name: str, tool: ListedTool, metric: GraphMetric | None) -> StatedTool:
    return StatedTool(
        id=name, category=tool.category, metrics={} if metric is None else metric._asdict()
    )
