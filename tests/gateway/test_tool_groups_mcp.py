"""A client limited to a tool group: no tool outside it exists, whatever it asks."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from mcp.shared.exceptions import MCPError

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.mcp import callers, exposure, meta_tools
from gateway_project.mcp.client_state import ClientState
from gateway_project.mcp.http.request import HttpRequest
from gateway_project.readiness import Gateway
from graph.rank_intent import RankedIntent
from graph.relations import Relation, RelationKind
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS, hit
from tests.gateway.meta_requests import list_requests
from tests.graph.suggestion.workflow.builders import ranked, ranking
from tools.visibility import Visibility

INSIDE, OUTSIDE = frozenset({"desk"}), frozenset()
CANARY = "outsider"
"""In the id of every tool outside the group."""
DESK = Caller(
    user="ann", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="http"
).limit_to_group("desk")
NAMED = ("in:notes", "in:notse", "mixed:part", "notes_outsider", "outsider:notes")
"""Tools that requests name, by their id, a bare name, or misspelt."""
OWN_WORDS = ("'outsider'", "outsider:notes", "notes_outsider", "the outsider")
"""What the requests themselves name, which answers may repeat."""


@pytest.fixture
def world(world):
    """A group with one tool of its own server and one of a server that it has in part."""
    text = "Read notes."
    world.catalogue = catalogue(
        tool("in:notes", description=text, groups=INSIDE, pinned=True),
        tool("in:notse_old", description=text, groups=INSIDE, state="quarantined"),
        tool("mixed:part", description=text, groups=INSIDE),
        tool("mixed:outsider", description=text, pinned=True),
        tool("outsider:notes", description=text, category="outsider", pinned=True),
        tool("outsider:notse", description=text, state="quarantined"),
        tool("free:notes_outsider", description=text),
        servers=(
            server("in", groups=INSIDE, whole_groups=INSIDE, description="All of in."),
            server("mixed", groups=INSIDE, description="part and outsider"),
            server("free", unprefixed=True),
        ),
    )
    pks = {name: one.pk for name, one in world.catalogue.tools.items()}
    notes, other = pks["in:notes"], pks["outsider:notes"]
    world.relations = [
        Relation(source, target, kind, 0.9)
        for kind in RelationKind
        for source, target in ((notes, other), (other, notes), (pks["mixed:part"], other))
    ]
    world.hits = tuple(hit(name) for name in world.catalogue.tools)
    best = ranked(notes, other, confidence=0.9)
    world.ranked = RankedIntent(ranking=ranking(best, ranked(other, confidence=0.5)))
    world.caller = DESK
    world.exposure = "full"
    world.requests.lists = {
        ("in", "resources"): [{"uri": "x:in", "name": "in"}],
        ("mixed", "resources"): [{"uri": "x:outsider", "name": "outsider"}],
        ("outsider", "resources"): [{"uri": "x:outsider", "name": "outsider"}],
        ("in", "prompts"): [{"name": "ask"}],
        ("mixed", "prompts"): [{"name": "outsider"}],
        ("outsider", "prompts"): [{"name": "outsider"}],
    }
    return world


def without_own_words(text):
    for words in OWN_WORDS:
        text = text.replace(words, "")
    return text


def requests_to(name):
    return [one for tool in NAMED for one in list_requests(meta_tools.TOOLS[name], tool)]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", meta_tools.TOOLS)
async def test_no_answer_names_a_tool_outside_the_group(connect, world, era, name):
    async with connect(era) as client:
        for arguments in requests_to(name):
            result = await client.call_tool(name, arguments)
            text = without_own_words(json.dumps(result.model_dump(mode="json", by_alias=True)))
            assert CANARY not in text, (arguments, text)
    called = {one.server for one in world.upstream.calls}
    assert called == ({"in", "mixed"} if name == "call_tool" else set())


@pytest.mark.parametrize("name", ["search_tools", "describe_tool", "run_intent"])
async def test_without_a_group_the_same_requests_name_it(connect, world, name):
    world.caller = Caller(
        user="ann", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="http"
    )
    async with connect() as client:
        results = [await client.call_tool(name, arguments) for arguments in requests_to(name)]
    dumped = json.dumps([one.model_dump(mode="json") for one in results])
    assert CANARY in without_own_words(dumped)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("shown", ["full", "hybrid"])
async def test_lists_hold_what_the_group_holds(connect, world, era, shown):
    world.exposure = shown
    async with connect(era) as client:
        tools = [item.name for item in (await client.list_tools()).tools]
        resources = [item.name for item in (await client.list_resources()).resources]
        prompts = [item.name for item in (await client.list_prompts()).prompts]
        with pytest.raises(MCPError, match="unknown_resource"):
            await client.read_resource("x:outsider")
        with pytest.raises(MCPError, match="unknown_prompt"):
            await client.get_prompt("outsider")
    own = ["in__notes", "mixed__part"] if shown == "full" else ["in__notes"]
    assert tools == [*meta_tools.TOOLS, *own]
    assert resources == ["in"]
    assert [name.rpartition("__")[2] for name in prompts] == ["ask"]


@pytest.mark.parametrize("name", ["outsider:notes", "outsider__notes", "notes_outsider"])
async def test_a_tool_outside_the_group_is_unknown_under_every_name(connect, world, name):
    async with connect() as client:
        result = await client.call_tool("call_tool", {"tool": name})
        direct = await client.call_tool(name.replace(":", "__"), {})
    assert result.content[0].text.startswith("unknown_tool: ")
    assert direct.content[0].text.startswith("unknown_tool: ")
    assert world.upstream.calls == []


async def test_a_bare_name_means_the_only_tool_of_the_group_that_has_it(connect, world):
    async with connect() as client:
        result = await client.call_tool("call_tool", {"tool": "notes"})
    assert result.meta["foregate/call"]["tool"] == "in:notes"


async def test_tools_are_ranked_among_those_of_the_group(connect, world):
    async with connect() as client:
        await client.call_tool("run_intent", {"intent": "read notes"})
    visibility = Visibility(catalogue=world.catalogue, caller=DESK)
    assert world.ranked_within == [visibility.collect_group_tools()]
    inside = {world.catalogue.tools[name].pk for name in ("in:notes", "mixed:part")}
    assert inside <= world.ranked_within[0]
    assert world.catalogue.tools["outsider:notes"].pk not in world.ranked_within[0]


async def test_the_figures_of_a_search_count_the_group_alone(connect, world):
    async with connect() as client:
        result = await client.call_tool("search_tools", {"query": "notes", "limit": 50})
    assert result.structured_content["tokens"]["listing_all"] == 20
    assert len(result.structured_content["tools"]) == 2


async def test_a_server_held_in_part_is_described_without_its_own_words(connect, world):
    async with connect() as client:
        whole = await client.call_tool("describe_tool", {"tool": "in:notes"})
        part = await client.call_tool("describe_tool", {"tool": "mixed:part"})
    assert whole.structured_content["server"]["description"] == "All of in."
    assert part.structured_content["server"]["description"] == ""


def test_lists_of_callers_with_and_without_a_group_are_kept_apart(world):
    free = Caller(user="ann", team=None, person=None, scopes=DESK.scopes, kind="http")
    for _ in range(2):
        assert len(exposure.list_exposed(world.catalogue, DESK, "full")) == 2
        assert len(exposure.list_exposed(world.catalogue, free, "full")) == 5


def test_a_group_that_is_gone_holds_nothing(world):
    gone = Caller(
        user="ann", team=None, person=None, scopes=DESK.scopes, kind="http", group="gone"
    )
    assert world.catalogue.list_usable(gone) == []
    assert world.catalogue.list_servers(gone) == []


def test_a_limited_caller_has_no_more_rights_than_a_client():
    assert DESK.scopes == {"search", "call", "read"}
    reader = Caller(user="ann", team=None, person=None, scopes=frozenset({"read"}), kind="http")
    assert reader.limit_to_group("desk").scopes == {"read"}


def test_conversations_with_and_without_a_group_are_different_ones():
    free = Caller(user="ann", team=None, person=None, scopes=DESK.scopes, kind="http", session="s")
    assert free.session_key != free.limit_to_group("desk").session_key


def test_a_path_limits_the_local_caller(world):
    local = Caller(
        user="admin", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="http"
    )
    gateway = Gateway(effects=world.effects, caller=local)
    request = HttpRequest({"method": "POST", "path": "/mcp/g/desk", "headers": []}, None, None)
    request.group, request.is_local = "desk", True
    ctx = SimpleNamespace(
        request=request,
        protocol_version="2025-11-25",
        lifespan_context=SimpleNamespace(client=ClientState()),
    )
    assert callers.caller_of(ctx, gateway) == local.limit_to_group("desk")
    request.is_local = False
    with pytest.raises(RuntimeError, match="nobody admitted"):
        callers.caller_of(ctx, gateway)


def test_servers_keep_the_sessions_of_limited_callers_apart():
    whole = replace(DESK, group=None)
    named = replace(whole, user="desk/ann")
    callers_of_ann = (whole, DESK, replace(DESK, group="other"), replace(DESK, team=1), named)
    assert len({caller.client_key for caller in callers_of_ann}) == len(callers_of_ann)
