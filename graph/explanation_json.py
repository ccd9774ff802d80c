"""Serialise explanations as JSON values, tools by name."""

from __future__ import annotations

from typing import Any

from graph.explain import (
    ExplainedRelation,
    Explanation,
    NameLookup,
    RankedTool,
    ToolPath,
    ToolRoutes,
)


def explanation_to_json(explanation: Explanation, name_of: NameLookup) -> dict[str, Any]:
    """Return an explanation as JSON values, tools by name."""
    return {
        "a": _tool_to_json(explanation.a),
        "b": _tool_to_json(explanation.b),
        "same_tool": explanation.is_same,
        "exclusive": explanation.is_exclusive,
        "same_community": explanation.is_same_community,
        "relations": [relation_to_json(item, name_of) for item in explanation.relations],
        "paths": {
            "a_to_b": _routes_to_json(explanation.forward, name_of),
            "b_to_a": _routes_to_json(explanation.backward, name_of),
        },
        "common_neighbours": [
            {"tool": name_of(tool), "confidence": round(confidence, 4)}
            for tool, confidence in explanation.common_neighbours
        ],
    }


def path_to_json(path: ToolPath, name_of: NameLookup) -> dict[str, Any]:
    """Return a path as JSON values, tools by name."""
    return {
        "tools": [name_of(tool) for tool in path.tools],
        "direct": path.is_direct,
        "confidence": round(path.confidence, 4),
        "hops": [relation_to_json(hop, name_of) for hop in path.hops],
    }


def relation_to_json(link: ExplainedRelation, name_of: NameLookup) -> dict[str, Any]:
    """Return a relation as JSON values, tools by name."""
    relation = link.relation
    return {
        "source": name_of(relation.source),
        "target": name_of(relation.target),
        "kind": relation.kind.value,
        "confidence": round(relation.confidence, 4),
        "words": link.text,
        "grounds": list(link.evidence_texts),
    }


def _tool_to_json(tool: RankedTool) -> dict[str, Any]:
    return {"tool": tool.name, "pagerank": tool.pagerank, "community": tool.community}


def _routes_to_json(routes: ToolRoutes, name_of: NameLookup) -> dict[str, Any]:
    return {
        name: None if path is None else path_to_json(path, name_of)
        for name, path in (("shortest", routes.shortest), ("strongest", routes.strongest))
    }
