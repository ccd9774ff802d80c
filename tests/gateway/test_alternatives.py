"""Which tools are offered instead of another."""

import pytest

from gateway_project.find.relation_rows import list_alternatives
from graph.relations import Relation, RelationKind
from graph.topology import Topology
from tests.gateway.catalogues import catalogue, server, tool
from tools.visibility import Visibility

TOOLS = (tool("git:push"), tool("evil:push"), tool("lab:push"), tool("z:deploy"), tool("hub:push"))


def found(world, *, trouble=(), **values):
    servers = (server("lab", trusted=True), server("hub", trusted=True))
    listed = catalogue(*TOOLS, servers=servers)
    known = [
        Relation(
            listed.tools["git:push"].pk,
            listed.tools["z:deploy"].pk,
            RelationKind.ALTERNATIVE_TO,
            0.9,
        )
    ]
    return list_alternatives(
        listed.tools["git:push"],
        Topology(known),
        Visibility(catalogue=listed, caller=world.caller),
        describe_trouble=lambda name: name in trouble,
        **values,
    )


def test_namesakes_follow_known_alternatives_trusted_servers_first(world):
    assert found(world) == ("z:deploy", "hub:push", "lab:push", "evil:push")


def test_untrusted_namesakes_are_not_offered_unasked(world):
    assert found(world, is_asked=False) == ("z:deploy", "hub:push", "lab:push")


@pytest.mark.parametrize("is_asked", [True, False])
def test_those_of_servers_in_trouble_are_last(world, is_asked):
    assert found(world, trouble=("z", "hub"), is_asked=is_asked)[-2:] == ("z:deploy", "hub:push")
