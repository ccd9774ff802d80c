"""Export the graph, as everybody sees it or as the callers of one team do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from graph import record
from graph.exchange import graphml, json_form
from graph.exchange.document import GraphDocument, StatedEvidence, StatedRelation, StatedTool
from graph.exchange.read import GraphFormat
from graph.record import RelationRecord
from graph.relations import Evidence
from graph.store import metrics, names, relations

DEFAULT_HOPS: Final = 2
_WRITER_BY_FORMAT: Final = {
    GraphFormat.JSON: json_form.write_json,
    GraphFormat.JSON_LINES: json_form.write_lines,
    GraphFormat.GRAPHML: graphml.write_graphml,
}


class ToolNotInGraph(LookupError):
    """A requested tool is not in the exported graph."""

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
        name: tool for name, tool in names.load_listed_tools().items() if tool.team in (None, team)
    }
    ids = {tool.pk: name for name, tool in tools.items()}
    teams = names.load_team_names()
    exported = [
        _to_stated_relation(relation, team, ids=ids, teams=teams, now=at)
        for relation in relations.load()
        if relation.source in ids and relation.target in ids and _is_visible(relation, team)
    ]
    exported.sort(key=lambda relation: relation.file_key)
    stored_metrics = (
        {pk: one._asdict() for pk, one in metrics.load_metrics().items()} if with_metrics else {}
    )
    related = {end for relation in exported for end in (relation.source, relation.target)}
    return GraphDocument(
        team=teams.get(team, "") if team is not None else "",
        tools=tuple(
            StatedTool(id=name, category=tool.category, metrics=stored_metrics.get(tool.pk, {}))
            for name, tool in tools.items()
            if name in related or tool.category
        ),
        relations=tuple(exported),
    )


def extract_part(
    whole: GraphDocument, tools: Collection[str], *, hops: int = DEFAULT_HOPS
) -> GraphDocument:
    """Return the part of a graph around some tools.

    Raises:
        ToolNotInGraph: If a tool is not in the graph.
    """
    known = {tool.id for tool in whole.tools}
    for tool in tools:
        if tool not in known:
            raise ToolNotInGraph(tool, known)
    reached = set(tools)
    accepted = [(one.source, one.target) for one in whole.relations if not one.rejected]
    for _ in range(hops):
        reached |= {end for pair in accepted if not reached.isdisjoint(pair) for end in pair}
    return GraphDocument(
        team=whole.team,
        tools=tuple(tool for tool in whole.tools if tool.id in reached),
        relations=tuple(one for one in whole.relations if {one.source, one.target} <= reached),
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
    source, target = relation.kind.settle_ends(ids[relation.source], ids[relation.target])
    view = record.view_for_team(relation, team, now=now)
    return StatedRelation(
        source=source,
        target=target,
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
