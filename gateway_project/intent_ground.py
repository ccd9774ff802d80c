"""What a suggestion is made on: tools, relations and metrics as its caller may see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from gateway_project.alternatives import alternatives
from gateway_project.foreign_text import told
from gateway_project.sight import Sight
from graph.record import Metric
from graph.topology import Topology
from tools.danger import Danger

if TYPE_CHECKING:
    from graph.rank_intent import Ranked
    from graph.suggest.excerpt import Ends
    from graph.suggest.types import Known, SuggestTool
    from tools.catalogue import CatalogueTool

MAX_INSTEAD: Final = 3
DESTRUCTIVE: Final = frozenset({Danger.DESTRUCTIVE, Danger.DANGEROUS})


def more(ranked: Ranked, sight: Sight, topology: Topology) -> tuple[int, ...]:
    """Return further tools that the graph speaks for, by primary key.

    Args:
        ranked: Sets of tools.
        sight: What the caller may see.
        topology: Relations as the caller sees them; not read after this returns.
    """
    from graph.suggest.considered import considered  # noqa: PLC0415 - heavy

    return considered(ranked.ranking, topology, usable=sight.usable)


def widened(ranked: Ranked, tools: Sequence[int]) -> Ranked:
    """Rank once more with some more tools considered, if there are any; blocking."""
    if not tools or ranked.again is None:
        return ranked
    return replace(ranked, ranking=ranked.again(tools))


def ends(ranked: Ranked, topology: Topology) -> Ends:
    """Copy where paths lead on from the ranked tools, so that another thread may read it."""
    from graph.suggest import excerpt  # noqa: PLC0415 - heavy
    from graph.suggest.suggest import ranked_tools  # noqa: PLC0415 - heavy

    return excerpt.ends(topology, ranked_tools(ranked.ranking))


def ways(known: Ends) -> tuple[int, ...]:
    """Return the tools over which ranked ones lead to one another; O(tools squared)."""
    from graph.suggest import excerpt  # noqa: PLC0415 - heavy

    return excerpt.between(known)


def known(  # noqa: PLR0913 - each is a source of its own
    ranked: Ranked,
    sight: Sight,
    *,
    topology: Topology,
    metrics: Mapping[int, Metric],
    trouble: Callable[[str], str],
    unranked: str = "",
    ways: Sequence[int] | None = None,
) -> Known:
    """Collect what concerns the ranked tools, so that another thread may read it.

    Args:
        ranked: Sets of tools.
        sight: What the caller may see.
        topology: Relations as the caller sees them; not read after this returns.
        metrics: Each tool's place in the shared graph, by primary key.
        trouble: Why a server cannot be relied on, by name; empty if it can.
        unranked: Why the tools were only found by words; empty if they were ranked.
        ways: What `ways` found; None: it is looked for now.
    """
    from graph.suggest.excerpt import around  # noqa: PLC0415 - heavy
    from graph.suggest.suggest import ranked_tools  # noqa: PLC0415 - heavy
    from graph.suggest.types import Known  # noqa: PLC0415 - heavy

    likely = ranked_tools(ranked.ranking)
    near = around(topology, likely, ways=ways)
    concerned = {*likely, *near.tools()}
    tools = {
        pk: _tool(tool, sight, topology=topology, trouble=trouble)
        for pk in concerned
        if (tool := sight.tool(pk)) is not None
    }
    return Known(
        tool=tools.get,
        topology=near,
        metrics={pk: metrics[pk] for pk in concerned if pk in metrics},
        binding=ranked.binding,
        knowledge=ranked.knowledge,
        unranked=unranked,
    )


def _tool(
    tool: CatalogueTool, sight: Sight, *, topology: Topology, trouble: Callable[[str], str]
) -> SuggestTool:
    from graph.suggest.types import SuggestTool  # noqa: PLC0415 - heavy

    obstacle, reason = sight.obstacle(tool), trouble(tool.server)
    instead: tuple[str, ...] = ()
    if reason:
        others = alternatives(tool, topology, sight, troubled=trouble, is_asked=False)
        sound = (one for one in others if not trouble(sight.catalogue.tools[one].server))
        instead = tuple(islice(sound, MAX_INSTEAD))
    return SuggestTool(
        pk=tool.pk,
        tool=tool.tool,
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        definition_hash=tool.definition_hash,
        is_read_only=tool.danger is Danger.READ,
        is_destructive=tool.danger in DESTRUCTIVE,
        is_trusted=sight.catalogue.servers[tool.server].trusted,
        is_usable=not obstacle,
        obstacle=obstacle,
        trouble=told(reason) if reason else "",
        instead=instead,
    )
