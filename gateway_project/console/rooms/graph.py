"""The explorer: how tools belong together, paths between them, and curating relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from django.contrib import messages
from django.http import JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page

from gateway_project.access.roles import CURATE, SEARCH
from gateway_project.api import runtime
from gateway_project.api.graph import WAYS, trace_path
from gateway_project.console.rooms.addresses import tool_address
from gateway_project.console.rooms.catalogue import (
    list_visible_tools,
    load_topology,
    load_visibility,
    wait_for_relations,
)
from gateway_project.console.rooms.graph_layout import (
    Groups,
    LayoutCache,
    Positions,
    group_tools,
)
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.find.relation_rows import phrase_relation
from gateway_project.foundation.text import strip_invisible
from gateway_project.readiness import NotReady
from gateway_project.runs import approval_text
from gateway_project.use_cases import curate_relations
from graph import wording
from graph.record import GraphMetric, RelationClaim, RelationRecord, SelfRelationError
from graph.relations import Relation, RelationKind
from graph.store import metrics, relations
from graph.store.relations import ToolsNotFound
from graph.topology import Topology
from tools.catalogue import CatalogueTool, UnknownTool
from tools.visibility import Visibility

MAX_DRAWN: Final = 6_000
"""Relations drawn, the strongest; the list and the filters reach the others."""
MAX_NAMED: Final = 1_000
"""Tools up to which fields for a tool propose all of them."""
MAX_LISTED: Final = 50
MAX_COMMUNITIES: Final = 200
MAX_REJECTED: Final = 100
LEAST_STEPS: Final = (0, 25, 50, 75, 90)
"""Least confidences to choose from, in percent."""
_LAYOUTS: Final = LayoutCache(ThreadPoolExecutor(1, thread_name_prefix="graph layout"))


@dataclass(frozen=True, kw_only=True)
class GraphFilter:
    """Which relations are shown.

    Attributes:
        server: Only those with a tool of this server; empty: all.
        community: Only those with a tool of this group; empty: all.
        kind: Only this kind; None: all.
        least: Least confidence, in [0, 1].
    """

    server: str = ""
    community: str = ""
    kind: RelationKind | None = None
    least: float = 0.0


@dataclass(frozen=True, kw_only=True)
class KnownGraph:
    """The tool graph as a caller sees it.

    Attributes:
        visibility: Of the caller.
        topology: The relations.
        metrics: Communities and PageRank of tools.
        groups: The group of each related tool.
    """

    visibility: Visibility
    topology: Topology
    metrics: Mapping[int, GraphMetric]
    groups: Groups


@room("graph/", "graph", SEARCH)
def show_graph(request: RoomRequest) -> HttpResponseBase:
    """Show the explorer, the path between two tools if asked, and the same as a list."""
    known = _load_graph(request)
    visibility, topology, groups = known.visibility, known.topology, known.groups
    _find_positions(known)  # begins to compute them
    wanted = _read_filter(request)
    shown = _select(topology, visibility, groups, wanted)
    source, target = (request.GET.get(name, "").strip() for name in ("source", "target"))
    way = request.GET.get("by", WAYS[0])
    found, problem = _find_path(request, topology, visibility, source, target, way)
    may_curate = request.caller.has_scope(CURATE)
    visible = list_visible_tools(visibility.catalogue, request.caller)
    return render_room(
        request,
        "console/graph/page.html",
        title="Tool graph",
        named=[one.tool for one in visible] if len(visible) <= MAX_NAMED else [],
        wanted=wanted,
        least=round(100 * wanted.least),
        steps=LEAST_STEPS,
        kinds=[(kind.value, kind.words) for kind in RelationKind],
        servers=sorted({one.server for one in visible}),
        communities=list_communities(groups, visibility),
        count=len(shown),
        tools=len({pk for one in shown for pk in (one.source, one.target)}),
        rows=[_describe_relation(one, visibility) for one in shown[:MAX_LISTED]],
        more=max(0, len(shown) - MAX_LISTED),
        source=source,
        target=target,
        way=way,
        path=found,
        problem=problem,
        may_curate=may_curate,
        rejected=_list_rejected(visibility) if may_curate else [],
        data_url=f"{reverse('graph-data')}?{request.GET.urlencode()}",
        drawing_options={"path": [step["id"] for step in found["steps"]] if found else []},
    )  # fmt: skip


@room("graph/data/", "graph-data", SEARCH)
@gzip_page
def send_data(request: RoomRequest) -> HttpResponseBase:
    """Return what is drawn: tools with positions, and relations, as arrays.

    The answer is 202 and empty while positions are being computed.
    """
    known = _load_graph(request)
    positions = _find_positions(known)
    if positions is None:
        return JsonResponse({}, status=HTTPStatus.ACCEPTED)
    shown = _select(known.topology, known.visibility, known.groups, _read_filter(request))
    drawn = shown[:MAX_DRAWN]
    return JsonResponse(
        describe_drawing(drawn, known.groups, positions, known.visibility, total=len(shown))
    )


@room("graph/curate/", "graph-curate", CURATE, "POST")
def curate(request: RoomRequest) -> HttpResponseBase:
    """Add a relation, reject one, or withdraw a rejection."""
    visibility = load_visibility(request)
    before = _find_topology(request)
    try:
        source, target = (_find_tool(visibility, request.POST.get(name, "")) for name in
                          ("source", "target"))  # fmt: skip
        kind = RelationKind(request.POST.get("kind", ""))
        message = _curate(request, source, target, kind)
    except (UnknownTool, SelfRelationError, ToolsNotFound) as error:
        messages.error(request, f"Nothing was changed: {error}")
    except ValueError:
        messages.error(request, "Nothing was changed: choose how the tools are related.")
    else:
        if before is not None:
            wait_for_relations(runtime.load_effects(request), request.caller.owner, before)
        messages.success(request, message)
    back = request.POST.get("back", "")
    return redirect(f"{reverse('graph')}?{back}" if back else reverse("graph"))


def describe_drawing(
    shown: Sequence[Relation],
    groups: Groups,
    positions: Positions,
    visibility: Visibility,
    *,
    total: int,
) -> dict[str, Any]:
    """Return relations and their tools as short arrays, for the canvas and its legend.

    All kinds are listed, each with its words, whether it has a direction, how often it is drawn,
    colour and dashes; the legend shows those that are drawn.

    Args:
        shown: Relations to draw.
        groups: The group of each tool.
        positions: The position of each tool.
        visibility: Of the caller; its tools only.
        total: Number of relations that the filter admits.
    """
    degrees = Counter(pk for one in shown for pk in (one.source, one.target))
    drawn = [pk for pk in degrees if visibility.find_tool(pk)]
    places = {pk: place for place, pk in enumerate(drawn)}
    kinds = list(RelationKind)
    counts = Counter(one.kind for one in shown)
    numbers = {group: number for number, group in enumerate(
        dict.fromkeys(groups.get(pk, "") for pk in drawn))}  # fmt: skip
    nodes = []
    for pk in drawn:
        x, y = positions.get(pk, (0.0, 0.0))
        tool_id = visibility.get_tool_id(pk)
        nodes.append([tool_id, x, y, numbers[groups.get(pk, "")], degrees[pk]])
    return {
        "kinds": [[kind.words, not kind.traits.is_symmetric, counts[kind], *kind.traits.stroke]
                  for kind in kinds],
        "nodes": nodes,
        "edges": [
            [places[one.source], places[one.target], kinds.index(one.kind),
             round(one.confidence, 2)]
            for one in shown
        ],
        "total": total,
    }  # fmt: skip


def list_communities(groups: Groups, visibility: Visibility) -> list[dict[str, Any]]:
    """Return the groups of visible tools, the largest first, named by their commonest servers."""
    servers: dict[str, Counter[str]] = {}
    for pk, group in groups.items():
        tool = visibility.find_tool(pk)
        if tool is not None:
            servers.setdefault(str(group), Counter())[tool.server] += 1
    ordered = sorted(servers.items(), key=lambda item: (-item[1].total(), item[0]))
    return [
        {
            "key": key,
            "count": counts.total(),
            "name": approval_text.single_line(
                ", ".join(server for server, _ in counts.most_common(2))
            ),
        }
        for key, counts in ordered[:MAX_COMMUNITIES]
    ]


def _load_graph(request: RoomRequest) -> KnownGraph:
    """Return the graph; from memory if the gateway of this process serves."""
    team = request.caller.owner
    visibility = load_visibility(request)
    known_metrics: Mapping[int, GraphMetric]
    try:
        effects = runtime.load_effects(request)
    except NotReady:
        topology, known_metrics = relations.load_topology(team), metrics.load_metrics()
    else:
        topology, known_metrics = load_topology(effects, team), effects.metrics()
    return KnownGraph(
        visibility=visibility,
        topology=topology,
        metrics=known_metrics,
        groups=group_tools(topology, known_metrics, visibility),
    )


def _find_positions(known: KnownGraph) -> Positions | None:
    """Return the positions of the tools; None: they are being computed."""
    team = known.visibility.caller.owner
    return _LAYOUTS.find(known.topology, known.metrics, known.groups, team=team)


def _find_topology(request: RoomRequest) -> Topology | None:
    """Return the relations in memory; None: no gateway of this process serves."""
    try:
        return runtime.load_effects(request).topology(request.caller.owner)
    except NotReady:
        return None


def _select(
    topology: Topology, visibility: Visibility, groups: Groups, wanted: GraphFilter
) -> list[Relation]:
    """Return the relations among visible tools that a filter admits, strongest first."""
    found = [
        relation
        for relation in topology.iterate_relations()
        if relation.confidence >= wanted.least
        and (wanted.kind is None or relation.kind is wanted.kind)
        and _has_admitted_tools(relation, visibility, groups, wanted)
    ]
    found.sort(key=lambda one: (-one.confidence, one.source, one.target))
    return found


def _has_admitted_tools(
    relation: Relation, visibility: Visibility, groups: Groups, wanted: GraphFilter
) -> bool:
    ends = [visibility.find_tool(pk) for pk in (relation.source, relation.target)]
    tools = [tool for tool in ends if tool is not None]
    if len(tools) < len(ends):
        return False
    if wanted.server and all(tool.server != wanted.server for tool in tools):
        return False
    return not wanted.community or any(
        str(groups.get(tool.pk, "")) == wanted.community for tool in tools
    )


def _read_filter(request: RoomRequest) -> GraphFilter:
    given = request.GET
    kinds = {kind.value: kind for kind in RelationKind}
    percent = given.get("least", "")
    least = (
        int(percent) / 100 if percent.isascii() and percent.isdigit() and len(percent) < 4 else 0
    )
    return GraphFilter(
        server=given.get("server", ""),
        community=given.get("community", ""),
        kind=kinds.get(given.get("kind", "")),
        least=min(least, 1.0),
    )


def _find_path(
    request: RoomRequest, topology: Topology, visibility: Visibility, source: str, target: str,
    way: str,
) -> tuple[dict[str, Any] | None, str]:  # fmt: skip
    """Return the path between two tools as templates show it, or why there is none."""
    if not source or not target:
        return None, ""
    try:
        ends = [visibility.catalogue.find_tool(one, request.caller) for one in (source, target)]
    except UnknownTool as error:
        return None, str(error)
    way = way if way in WAYS else WAYS[0]
    tools, confidence = trace_path(topology, visibility, ends[0].pk, ends[1].pk, way=way)
    if not tools:
        return None, "No relations lead from the one to the other; try the other direction."
    return {
        "percent": round(100 * confidence),
        "steps": list(_describe_steps(tools, topology, visibility)),
    }, ""


def _describe_steps(
    tools: Sequence[int], topology: Topology, visibility: Visibility
) -> Iterator[dict[str, Any]]:
    for place, pk in enumerate(tools):
        tool_id = visibility.get_tool_id(pk)
        why = topology.relations_between(pk, tools[place + 1]) if place + 1 < len(tools) else ()
        yield {
            "id": tool_id,
            "name": approval_text.single_line(tool_id),
            "url": tool_address(tool_id),
            "why": [
                {
                    "says": strip_invisible(phrase_relation(one, pk, visibility)),
                    "percent": round(100 * one.confidence),
                    "grounds": wording.write_grounds(one),
                }
                for one in sorted(why, key=lambda one: -one.confidence)
            ],
        }


def _describe_relation(relation: Relation, visibility: Visibility) -> dict[str, Any]:
    return {
        **_describe_ends(relation, visibility),
        "percent": round(100 * relation.confidence),
        "grounds": ", ".join(wording.write_grounds(relation)),
    }


def _describe_ends(relation: Relation | RelationRecord, visibility: Visibility) -> dict[str, Any]:
    source, target = (visibility.get_tool_id(pk) for pk in (relation.source, relation.target))
    return {
        "source": source,
        "target": target,
        "shown_source": approval_text.single_line(source),
        "shown_target": approval_text.single_line(target),
        "source_url": tool_address(source),
        "target_url": tool_address(target),
        "kind": relation.kind.value,
        "kind_words": relation.kind.words,
    }


def _list_rejected(visibility: Visibility) -> list[dict[str, Any]]:
    """Return the relations that people rejected, as far as the caller sees their tools."""
    return [
        _describe_ends(record, visibility) | {"reason": record.reason}
        for record in relations.load_rejected(most=MAX_REJECTED)
        if visibility.find_tool(record.source) and visibility.find_tool(record.target)
    ]


def _find_tool(visibility: Visibility, tool_id: str) -> CatalogueTool:
    return visibility.catalogue.find_tool(tool_id.strip(), visibility.caller)


def _curate(
    request: RoomRequest, source: CatalogueTool, target: CatalogueTool, kind: RelationKind
) -> str:
    """Make the change that the form names; return what was done."""
    action, caller, now = request.POST.get("action", ""), request.caller, timezone.now()
    words = f"{source.tool} {kind.words} {target.tool}"
    if action == "add":
        claim = RelationClaim(
            source=source.pk, target=target.pk, kind=kind,
            reason=request.POST.get("reason", "").strip()[:500],
        )  # fmt: skip
        curate_relations.curate_relation(caller, claim, at=now)
        return f"Added: {words}."
    known = relations.find_relation(source.pk, target.pk, kind)
    if known is None:
        raise ToolsNotFound([source.pk, target.pk])
    if action == "restore":
        curate_relations.restore_relations(caller, [known.pk])
        return f"It counts again, as far as there is evidence: {words}."
    curate_relations.reject_relations(caller, [known.pk], at=now)
    return f"Rejected, and not derived again: {words}."
