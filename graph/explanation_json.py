"""An explanation as JSON values, tools by name."""

from __future__ import annotations

from typing import Any

from graph.explain import Explanation, Link, Names, Path, Place, Routes


def as_json(explanation: Explanation, names: Names) -> dict[str, Any]:
    """Return an explanation as JSON values, tools by name."""
    return {
        "a": _place_json(explanation.a),
        "b": _place_json(explanation.b),
        "same_tool": explanation.is_same,
        "exclusive": explanation.exclusive,
        "same_community": explanation.same_community,
        "relations": [link_as_json(item, names) for item in explanation.links],
        "paths": {
            "a_to_b": _routes_json(explanation.there, names),
            "b_to_a": _routes_json(explanation.back, names),
        },
        "common_neighbours": [
            {"tool": names(tool), "confidence": round(confidence, 4)}
            for tool, confidence in explanation.common
        ],
    }


def path_as_json(path: Path, names: Names) -> dict[str, Any]:
    """Return a path as JSON values, tools by name."""
    return {
        "tools": [names(tool) for tool in path.tools],
        "direct": path.is_direct,
        "confidence": round(path.confidence, 4),
        "hops": [link_as_json(hop, names) for hop in path.hops],
    }


def link_as_json(link: Link, names: Names) -> dict[str, Any]:
    """Return a relation as JSON values, tools by name."""
    relation = link.relation
    return {
        "source": names(relation.source),
        "target": names(relation.target),
        "kind": relation.kind.value,
        "confidence": round(relation.confidence, 4),
        "words": link.words,
        "grounds": list(link.grounds),
    }


def _place_json(place: Place) -> dict[str, Any]:
    return {"tool": place.name, "pagerank": place.pagerank, "community": place.community}


def _routes_json(routes: Routes, names: Names) -> dict[str, Any]:
    return {
        name: None if path is None else path_as_json(path, names)
        for name, path in (("shortest", routes.shortest), ("strongest", routes.strongest))
    }
