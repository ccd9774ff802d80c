"""The relations that a caller may know of."""

from __future__ import annotations

from gateway_project.effects import IntentEffects
from gateway_project.foundation.computing import run_in_worker_thread
from graph.topology import Topology
from tools.visibility import Visibility


async def load_topology(effects: IntentEffects, visibility: Visibility) -> Topology:
    """Return the relations that a caller's team sees; among the tools of their group, if any."""
    topology = effects.topology(visibility.caller.owner)
    if visibility.caller.group is None:
        return topology
    return await run_in_worker_thread(limit_to_group, topology, visibility)


def limit_to_group(topology: Topology, visibility: Visibility) -> Topology:
    """Return the relations among the tools of the caller's group; all, if it has none.

    They are selected once for each catalogue and topology: O(relations of the group's tools).
    """
    caller, tools = visibility.caller, visibility.collect_group_tools()
    if tools is None:
        return topology
    cache, key = visibility.catalogue.derived_cache, ("topology", caller.owner, caller.group)
    of, limited = cache.get(key, (None, None))
    if of is not topology:
        limited = Topology(topology.relations_among(tools))
        cache[key] = topology, limited
    found: Topology = limited
    return found
