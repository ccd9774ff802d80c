"""Derive the data flow that everybody sees, and what the results a team saw add to it for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from graph.data_flow import derive, fields
from graph.data_flow.derive import Flow, FlowTool
from graph.data_flow.endpoints import Reader
from graph.output_shape import certain
from graph.record import Claim
from graph.relations import Kind
from tools.catalogue import CatalogueTool

Shapes = Mapping[tuple[int, int | None], Mapping[str, Any]]
"""Shapes of results, by tool and by the team that saw them; None: a caller without a team."""


def shared(tools: Iterable[CatalogueTool], shapes: Shapes) -> list[Claim]:
    """Return what schemas, texts, and results that are no single team's matter speak for.

    Of results count those that callers without a team saw, and those of a team's own servers. Of
    the former, only fields that every one of them had: the name of another may be a value.

    Args:
        tools: Of the catalogue; those without a pinned definition are left out.
        shapes: Of the definitions in force.
    """
    known = [tool for tool in tools if tool.definition_hash]
    return [_claim(flow) for flow in derive.derive(_flow_tools(known, _known(known, shapes)))]


def besides(
    tools: Iterable[CatalogueTool], shapes: Shapes, shared: Iterable[Claim]
) -> dict[int, list[Claim]]:
    """Return what the results that a team saw of shared tools add for its own callers.

    It is derived once more for each team that saw fields which neither the output schema nor
    what everybody knows has: from the tools that the team sees, its shapes in place, and for
    those alone that such fields may feed.

    Args:
        tools: As for `shared`.
        shapes: As for `shared`.
        shared: What that returned.

    Returns:
        By team, relations from those tools only: new ones, surer ones, and such as name outputs
        that the shared relation does not.
    """
    every = [tool for tool in tools if tool.definition_hash]
    known = _known(every, shapes)
    stated = {(claim.source, claim.target): claim for claim in shared}
    reader = Reader()
    found = {}
    for team, wider in sorted(_wider(every, shapes, known).items()):
        visible = [tool for tool in every if tool.team in (None, team)]
        told = {target for source, target in stated if source in wider}
        flows = derive.derive(
            _flow_tools(visible, known, wider),
            read_by=reader.read,
            around=derive.targets_of(wider, told),
        )
        added = [flow for flow in flows if flow.source in wider and _adds(flow, stated)]
        if added:
            found[team] = [_claim(flow) for flow in added]
    return found


def _known(tools: Iterable[CatalogueTool], shapes: Shapes) -> dict[int, Mapping[str, Any]]:
    """Return the shapes that everybody may know of who sees the tools."""
    found: dict[int, Mapping[str, Any]] = {}
    for tool in tools:
        own = shapes.get((tool.pk, tool.team)) if tool.team is not None else None
        everybodys = shapes.get((tool.pk, None))
        if own:
            found[tool.pk] = own
        elif everybodys is not None:
            found[tool.pk] = certain(everybodys)
    return found


def _wider(
    tools: Iterable[CatalogueTool], shapes: Shapes, known: Mapping[int, Mapping[str, Any]]
) -> dict[int, dict[int, Mapping[str, Any]]]:
    """Return, by team, the shapes of shared tools in which it saw fields that are not known."""
    shared = {tool.pk: tool for tool in tools if tool.team is None}
    found: dict[int, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for (pk, team), own in shapes.items():
        if team is None or pk not in shared:
            continue
        stated = _pointers(shared[pk].output_schema) | _pointers(known.get(pk))
        if not _pointers(own) <= stated:
            found[team][pk] = own
    return found


def _pointers(schema: Mapping[str, Any] | None) -> set[str]:
    return {field.pointer for field in fields.read(schema)}


def _flow_tools(
    tools: Sequence[CatalogueTool],
    observed: Mapping[int, Mapping[str, Any]],
    own: Mapping[int, Mapping[str, Any]] = MappingProxyType({}),
) -> list[FlowTool]:
    return [
        FlowTool(
            pk=tool.pk,
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            server=tool.server,
            team=tool.team,
            observed=observed.get(tool.pk),
            own=own.get(tool.pk),
        )
        for tool in tools
    ]


def _adds(flow: Flow, stated: Mapping[tuple[int, int], Claim]) -> bool:
    """Tell whether a relation says more than what everybody sees."""
    known = stated.get((flow.source, flow.target))
    if known is None or flow.confidence > (known.confidence or 0.0):
        return True
    return any("output" in pair and pair not in known.fields for pair in flow.fields)


def _claim(flow: Flow) -> Claim:
    return Claim(
        source=flow.source,
        target=flow.target,
        kind=Kind.PROVIDES,
        confidence=flow.confidence,
        fields=tuple(flow.fields),
    )
