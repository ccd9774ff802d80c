"""Cut the part of a graph that lies around some tools."""

from __future__ import annotations

from collections.abc import Iterable

from graph.exchange.document import Document


def around(document: Document, tools: Iterable[str], *, hops: int) -> Document:
    """Keep the tools that can be reached in so many steps, and the relations between them.

    Steps go along relations of any kind, either way. O(hops x relations).

    Args:
        document: The whole graph.
        tools: Ids to start from; they stay, whatever they relate to.
        hops: Steps; 0 keeps the relations between the given tools only.
    """
    reached = set(tools)
    holding = [relation for relation in document.relations if not relation.rejected]
    for _ in range(hops):
        near = {
            end
            for relation in holding
            if relation.source in reached or relation.target in reached
            for end in (relation.source, relation.target)
        }
        if near <= reached:
            break
        reached |= near
    return Document(
        team=document.team,
        tools=tuple(tool for tool in document.tools if tool.id in reached),
        relations=tuple(
            relation
            for relation in document.relations
            if relation.source in reached and relation.target in reached
        ),
    )
