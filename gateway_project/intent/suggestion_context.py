"""The context of a suggestion: tools, relations and metrics visible to its caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from gateway_project.find.alternatives import list_alternatives
from graph.record import GraphMetric
from graph.topology import Topology
from tools.danger import Danger
from tools.foreign_text import quote_foreign
from tools.visibility import Visibility

if TYPE_CHECKING:
    from graph.rank_intent import RankedIntent
    from graph.suggestion.workflow.excerpt import PathEnds
    from graph.suggestion.workflow.types import SuggestionContext, SuggestTool
    from tools.catalogue import CatalogueTool

MAX_ALTERNATIVES: Final = 3
DESTRUCTIVE_DANGERS: Final = frozenset({Danger.DESTRUCTIVE, Danger.DANGEROUS})


def find_further_tools(
    ranked: RankedIntent, visibility: Visibility, topology: Topology
) -> tuple[int, ...]:
    """Return the primary keys of further tools that the graph supports.

    Args:
        ranked: Sets of tools.
        visibility: What the caller may see.
        topology: Relations as the caller sees them; not read after this returns.
    """
    from graph.suggestion.workflow.considered import find_considered

    return find_considered(ranked.ranking, topology, usable=visibility.is_usable)


def rank_widened(ranked: RankedIntent, tools: Sequence[int]) -> RankedIntent:
    """Rank again with further tools considered, if there are any; blocking."""
    if not tools or ranked.rank_again is None:
        return ranked
    return replace(ranked, ranking=ranked.rank_again(tools))


def copy_path_ends(ranked: RankedIntent, topology: Topology) -> PathEnds:
    """Copy the neighbourhoods of the ranked tools for use in another thread."""
    from graph.suggestion.workflow import excerpt
    from graph.suggestion.workflow.build import list_ranked_tools

    return excerpt.copy_path_ends(topology, list_ranked_tools(ranked.ranking))


def find_intermediate_tools(path_ends: PathEnds) -> tuple[int, ...]:
    """Return the tools on paths between ranked tools; O(tools²)."""
    from graph.suggestion.workflow import excerpt

    return excerpt.find_intermediate_tools(path_ends)


def build_context(  # noqa: PLR0913 - each is a source of its own
    ranked: RankedIntent,
    visibility: Visibility,
    *,
    topology: Topology,
    metrics: Mapping[int, GraphMetric],
    describe_trouble: Callable[[str], str],
    fallback_reason: str = "",
    intermediate_tools: Sequence[int] | None = None,
) -> SuggestionContext:
    """Copy what concerns the ranked tools for use in another thread.

    Args:
        ranked: Sets of tools.
        visibility: What the caller may see.
        topology: Relations as the caller sees them; not read after this returns.
        metrics: Graph metrics of each tool, by primary key.
        describe_trouble: Why a server is unreliable, by name; empty if it is healthy.
        fallback_reason: Why the tools were only matched by words; empty if they were ranked.
        intermediate_tools: What `find_intermediate_tools` returned; None: computed here.
    """
    from graph.suggestion.workflow.build import list_ranked_tools
    from graph.suggestion.workflow.excerpt import copy_surroundings
    from graph.suggestion.workflow.types import SuggestionContext

    ranked_tools = list_ranked_tools(ranked.ranking)
    nearby = copy_surroundings(topology, ranked_tools, ways=intermediate_tools)
    concerned = {*ranked_tools, *nearby.collect_tools()}
    tools = {
        pk: _describe_tool(tool, visibility, topology=topology, describe_trouble=describe_trouble)
        for pk in concerned
        if (tool := visibility.find_tool(pk)) is not None
    }
    return SuggestionContext(
        find_tool=tools.get,
        topology=nearby,
        metrics={pk: metrics[pk] for pk in concerned if pk in metrics},
        binding=ranked.binding,
        knowledge=ranked.knowledge,
        unranked_reason=fallback_reason,
    )


def _describe_tool(
    tool: CatalogueTool,
    visibility: Visibility,
    *,
    topology: Topology,
    describe_trouble: Callable[[str], str],
) -> SuggestTool:
    from graph.suggestion.workflow.types import SuggestTool

    obstacle, trouble = visibility.find_obstacle(tool), describe_trouble(tool.server)
    alternative_ids: tuple[str, ...] = ()
    if trouble:
        others = list_alternatives(
            tool, topology, visibility, describe_trouble=describe_trouble, is_asked=False
        )
        healthy = (
            tool_id
            for tool_id in others
            if not describe_trouble(visibility.catalogue.tools[tool_id].server)
        )
        alternative_ids = tuple(islice(healthy, MAX_ALTERNATIVES))
    return SuggestTool(
        pk=tool.pk,
        tool=tool.tool,
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        definition_hash=tool.definition_hash,
        is_read_only=tool.danger is Danger.READ,
        is_destructive=tool.danger in DESTRUCTIVE_DANGERS,
        is_trusted=visibility.catalogue.servers[tool.server].trusted,
        is_usable=not obstacle,
        obstacle=obstacle,
        problem=quote_foreign(trouble) if trouble else "",
        alternative_ids=alternative_ids,
    )
