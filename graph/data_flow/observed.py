"""Derive the shared data flow, and additions from the results that a team saw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from graph.data_flow import derive, fields
from graph.data_flow.endpoints import ToolEndpoints, read_endpoints
from graph.output_shape import drop_uncertain_fields
from graph.record import RelationClaim
from tools.catalogue import CatalogueTool

ObservedShapes = Mapping[tuple[int, int | None], Mapping[str, Any]]
"""Shapes of results by tool and the team that saw them; None: callers without a team."""


def derive_shared(tools: Iterable[CatalogueTool], shapes: ObservedShapes) -> list[RelationClaim]:
    """Return the data flows that everybody may see, from schemas and shared results.

    Shared results are those seen by callers without a team, and those of a team's own servers. Of
    the former only fields present in every result count: the name of any other may be a value.

    Args:
        tools: Tools of the catalogue; those without a pinned definition are skipped.
        shapes: Shapes of the current definitions.
    """
    every = [tool for tool in tools if tool.definition_hash]
    return derive.derive_flows(_read_tools(every, _known_shapes(every, shapes)))


def derive_for_team(
    tools: Iterable[CatalogueTool], shapes: ObservedShapes, shared: Iterable[RelationClaim]
) -> dict[int, list[RelationClaim]]:
    """Return the data flows that results of shared tools add for the team that saw them.

    For each team that saw fields which neither the output schema nor the shared shapes have, data
    flow is derived again: from the tools the team sees, with its shapes, and only for targets
    that such fields may feed.

    Returns:
        By team, relations from those tools only: new ones, more confident ones, and those
        that name further outputs.
    """
    every = [tool for tool in tools if tool.definition_hash]
    known = _known_shapes(every, shapes)
    stated = {(claim.source, claim.target): claim for claim in shared}
    plain = {one.tool.pk: one for one in _read_tools(every, known)}
    found = {}
    for team, wider in sorted(_team_only_shapes(every, shapes, known).items()):
        visible = [tool for tool in every if tool.team in (None, team)]
        read = _read_tools([tool for tool in visible if tool.pk in wider], known, wider)
        read += [plain[tool.pk] for tool in visible if tool.pk not in wider]
        told = {target for source, target in stated if source in wider}
        flows = derive.derive_flows(read, around=told | derive.find_targets(read, wider))
        added = [
            flow for flow in flows if flow.source in wider and _is_new_or_stronger(flow, stated)
        ]
        if added:
            found[team] = added
    return found


def _known_shapes(
    tools: Iterable[CatalogueTool], shapes: ObservedShapes
) -> dict[int, Mapping[str, Any]]:
    """Return the shapes that everybody who sees the tools may know."""
    found: dict[int, Mapping[str, Any]] = {}
    for tool in tools:
        own = shapes.get((tool.pk, tool.team)) if tool.team is not None else None
        everybodys = shapes.get((tool.pk, None))
        if own:
            found[tool.pk] = own
        elif everybodys is not None:
            found[tool.pk] = drop_uncertain_fields(everybodys)
    return found


def _team_only_shapes(
    tools: Iterable[CatalogueTool], shapes: ObservedShapes, known: Mapping[int, Mapping[str, Any]]
) -> dict[int, dict[int, Mapping[str, Any]]]:
    """Return, by team, the shapes of shared tools with fields that are not shared knowledge."""
    shared = {tool.pk: tool for tool in tools if tool.team is None}
    found: dict[int, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for (pk, team), own in shapes.items():
        if team is None or pk not in shared:
            continue
        stated = _field_pointers(shared[pk].output_schema) | _field_pointers(known.get(pk))
        if not _field_pointers(own) <= stated:
            found[team][pk] = own
    return found


def _field_pointers(schema: Mapping[str, Any] | None) -> set[str]:
    return {field.pointer for field in fields.read_fields(schema)}


def _read_tools(
    tools: Iterable[CatalogueTool], *shapes: Mapping[int, Mapping[str, Any]]
) -> list[ToolEndpoints]:
    return [
        read_endpoints(tool, [known[tool.pk] for known in shapes if tool.pk in known])
        for tool in tools
    ]


def _is_new_or_stronger(
    flow: RelationClaim, stated: Mapping[tuple[int, int], RelationClaim]
) -> bool:
    """Whether a relation says more than the shared one."""
    known = stated.get((flow.source, flow.target))
    if known is None or (flow.confidence or 0.0) > (known.confidence or 0.0):
        return True
    return any(pair not in known.fields for pair in flow.fields)
