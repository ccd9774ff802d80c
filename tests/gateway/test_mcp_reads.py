"""Resources, prompts and completions through the gateway, in both eras."""

import asyncio
from dataclasses import replace

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from gateway_project.foundation.caller import Caller
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS
from tests.patience import PATIENCE_S
from tools import resource_uris
from tools.upstream.errors import ServerStopped, UpstreamRefused
from tools.upstream.result import UpstreamResult

pytestmark = pytest.mark.parametrize("era", ERAS)
READER = frozenset({"read"})


@pytest.fixture
def world(world):
    """Two servers with everything, one of them exposed without a prefix, and one of a team."""
    servers = (server("a"), server("b", unprefixed=True), server("c", team=7))
    world.catalogue = catalogue(tool("a:x"), servers=servers)
    world.requests.lists = {
        ("a", "resources"): [
            {"uri": "file:///a b", "name": "one", "description": "hid\u200bden", "x": {"y": None}},
            {"uri": "both:///", "name": "two"},
            {"name": "nameless"},
        ],
        ("b", "resources"): [{"uri": "both:///", "name": "three"}],
        ("c", "resources"): [{"uri": "team:///", "name": "four"}],
        ("a", "templates"): [{"uriTemplate": "file:///{name}", "name": "t"}],
        ("b", "templates"): [{"uriTemplate": "b:///{+path}", "name": "u"}],
        ("a", "prompts"): [{"name": "greet", "arguments": [{"name": "who", "required": True}]}],
        ("b", "prompts"): [{"name": "a.b c"}],
    }

    async def answer(requested):
        if requested.method == "resources/read":
            return {
                "contents": [
                    {"uri": requested.params["uri"], "text": requested.server, "x": None}
                ],
                "more": 1,
            }
        if requested.method == "prompts/get":
            content = {"type": "text", "text": f"{requested.server}:{requested.params['name']}"}
            return {"messages": [{"role": "user", "content": content}], "more": 1}
        if requested.method == "completion/complete":
            return {"completion": {"values": [str(requested.params["ref"])]}, "more": 1}
        return {}

    world.requests.answer = answer
    return world


async def test_lists_name_everything_that_can_be_requested(connect, world, era):
    async with connect(era) as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
    assert [item.uri for item in resources] == [
        "foregate://a/file%3A%2F%2F%2Fa%20b",
        "foregate://a/both%3A%2F%2F%2F",
        "both:///",
    ]
    assert resources[0].description == "hidden"
    assert [item.uri_template for item in templates] == [
        "foregate://a/~file:///{name}",
        "b:///{+path}",
    ]
    assert [item.name for item in prompts] == ["a.b c", "a__greet"]
    assert prompts[1].arguments[0].required is True


async def test_lists_are_fetched_once_and_after_changes(connect, world, era):
    async with connect(era) as client:
        for _ in range(3):
            await client.list_prompts(cache_mode="bypass")
        assert sorted(world.requests.listed) == [("a", "prompts"), ("b", "prompts")]
        world.lists.mark_changed("a", ["prompts"])
        world.requests.lists["a", "prompts"] = []
        again = await client.list_prompts(cache_mode="bypass")
        assert [item.name for item in again.prompts] == ["a.b c"]
    assert len(world.requests.listed) == 3


async def test_an_unavailable_server_does_not_break_a_list(connect, world, era):
    world.requests.lists["a", "prompts"] = ServerStopped("a")
    async with connect(era) as client:
        listed = await client.list_prompts()
        await client.list_prompts()
    assert [item.name for item in listed.prompts] == ["a.b c"]
    assert world.requests.listed.count(("a", "prompts")) == 1  # left alone for a while


async def test_a_slow_server_does_not_delay_a_list_and_is_announced_later(connect, world, era):
    arrived = world.requests.lists["a", "prompts"] = asyncio.Event()
    world.list_wait_s = 0.05
    async with connect(era) as client:
        listed = await client.list_prompts()
        assert [item.name for item in listed.prompts] == ["a.b c"]
        world.requests.lists["a", "prompts"] = [{"name": "late"}]
        heard = asyncio.Event()
        world.readiness.add_publisher(_Hears(heard))
        arrived.set()
        async with asyncio.timeout(PATIENCE_S):
            await heard.wait()
        assert [
            item.name for item in (await client.list_prompts(cache_mode="bypass")).prompts
        ] == ["a.b c", "a__late"]


class _Hears:
    def __init__(self, heard):
        self._heard = heard

    def notify_list_changed(self, kind):
        assert kind == "prompts"
        self._heard.set()

    def notify_resource_updated(self, server, uri, sessions):
        raise AssertionError


async def test_a_server_without_the_capability_is_not_asked(connect, world, era):
    world.requests.able = {"a": {"tools": {}}, "b": {"prompts": {}}}
    async with connect(era) as client:
        await client.list_prompts()
        await client.list_resources()
    assert world.requests.listed == [("b", "prompts")]


@pytest.mark.parametrize(
    ("uri", "at", "original"),
    [
        ("foregate://a/file%3A%2F%2F%2Fa%20b", "a", "file:///a b"),
        ("foregate://a/~file:///c%20d", "a", "file:///c%20d"),
        ("foregate://a/anything%3Aelse", "a", "anything:else"),
        ("file:///a b", "a", "file:///a b"),
        ("file:///zzz", "a", "file:///zzz"),
        ("b:///x/y", "b", "b:///x/y"),
        ("unknown:///", "b", "unknown:///"),
    ],
)
async def test_a_resource_is_read_by_its_exposed_or_its_own_uri(
    connect, world, era, uri, at, original
):
    async with connect(era) as client:
        result = await client.read_resource(uri)
    assert [(content.uri, content.text) for content in result.contents] == [(original, at)]
    (made,) = world.requests.made
    assert (made.server, made.params["uri"]) == (at, original)


async def test_an_ambiguous_uri_is_refused_with_instructions(connect, world, era):
    async with connect(era) as client:
        with pytest.raises(MCPError, match="foregate://a/both") as refused:
            await client.read_resource("both:///")
        assert refused.value.data["foregate/error"]["code"] == "ambiguous_resource"
        assert (await client.read_resource(refused.value.data["uris"][1])).contents[0].text == "b"


LINKS = {
    "link": {"type": "resource_link", "uri": "made:///1", "name": "n"},
    "embedded": {"type": "resource", "resource": {"uri": "made:///1", "text": "t"}},
    "ambiguous": {"type": "resource_link", "uri": "both:///", "name": "n"},
    "listed": {"type": "resource_link", "uri": "b:///x", "name": "n"},
}


@pytest.mark.parametrize(
    ("block", "at"), [("link", "a"), ("embedded", "a"), ("ambiguous", "a"), ("listed", "b")]
)
@pytest.mark.parametrize("is_prompt", [True, False])
async def test_a_resource_that_no_list_has_is_read_where_a_result_linked_to_it(
    connect, world, era, block, at, is_prompt
):
    linked, answer = LINKS[block], world.requests.answer

    async def answer_call(*_):
        return UpstreamResult(raw={"content": [{"type": "text", "text": "t"}, linked]})

    async def answer_prompt(requested):
        if requested.method == "prompts/get":
            return {"messages": [{"role": "user", "content": linked}]}
        return await answer(requested)

    world.upstream.answer, world.requests.answer = answer_call, answer_prompt
    uri = linked.get("resource", linked)["uri"]
    async with connect(era) as client:
        if is_prompt:
            await client.get_prompt("a__greet", {"who": "me"})
        else:
            await client.call_tool("call_tool", {"tool": "a:x"})
        assert (await client.read_resource(uri)).contents[0].text == at


async def test_a_link_is_known_to_its_caller_alone(connect, world, era):
    world.catalogue = catalogue(tool("a:x"), servers=(server("a"), server("c", team=7)))
    async with connect(era) as client:
        for linking, user in (("a", "someone"), ("c", world.caller.user)):
            of_user = replace(world.caller, user=user)
            world.lists.note_links(linking, {"content": [LINKS["link"]]}, caller=of_user)
            with pytest.raises(MCPError, match="unknown_resource"):
                await client.read_resource("made:///1")


@pytest.mark.parametrize(
    "uri", ["foregate://c/team%3A%2F%2F%2F", "foregate://nobody/x", "team:///"]
)
async def test_resources_invisible_to_the_caller_do_not_exist(connect, world, era, uri):
    world.catalogue = catalogue(tool("a:x"), servers=(server("a"), server("c", team=7)))
    async with connect(era) as client:
        with pytest.raises(MCPError, match="unknown_resource") as refused:
            await client.read_resource(uri)
    assert refused.value.code == (-32602 if era == "auto" else -32002)
    assert refused.value.data["uri"] == uri


async def test_without_the_read_scope_lists_are_empty_and_reads_refused(connect, world, era):
    world.caller = Caller(
        user="x", team=None, person=None, scopes=frozenset({"call"}), kind="http"
    )
    async with connect(era) as client:
        assert (await client.list_resources()).resources == []
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="grant the scope 'read'") as refused:
            await client.read_resource("file:///a b")
    assert refused.value.code == -32600
    assert world.requests.made == []


@pytest.mark.parametrize(
    ("name", "told"),
    [("a__greet", "a:greet"), ("a:greet", "a:greet"), ("a.b c", "b:a.b c"), ("other", "b:other")],
)
async def test_a_prompt_is_got_by_its_exposed_name(connect, world, era, name, told):
    async with connect(era) as client:
        result = await client.get_prompt(name, {"who": "me"})
    assert result.messages[0].content.text == told
    assert world.requests.made[0].params["arguments"] == {"who": "me"}


async def test_an_unknown_prompt_is_refused(connect, world, era):
    world.catalogue = catalogue(tool("a:x"))
    async with connect(era) as client:
        with pytest.raises(MCPError, match="no prompt 'zzz'") as refused:
            await client.get_prompt("zzz")
    assert refused.value.code == -32602


async def test_completions_go_to_the_owning_server(connect, world, era):
    async with connect(era) as client:
        for ref in (
            mcp_types.PromptReference(type="ref/prompt", name="a__greet"),
            mcp_types.ResourceTemplateReference(
                type="ref/resource", uri="foregate://a/~file:///{name}"
            ),
            mcp_types.ResourceTemplateReference(type="ref/resource", uri="b:///{+path}"),
        ):
            result = await client.complete(ref, argument={"name": "who", "value": "x"})
            assert len(result.completion.values) == 1
    assert [(made.server, made.params["ref"].get("uri")) for made in world.requests.made] == [
        ("a", None),
        ("a", "file:///{name}"),
        ("b", "b:///{+path}"),
    ]
    assert world.requests.made[0].params["argument"] == {"name": "who", "value": "x"}


async def test_a_server_refusal_is_passed_through(connect, world, era):
    async def answer(requested):
        raise UpstreamRefused(
            server="a", rpc_code=-32055, rpc_message="not today", data={"why": None}
        )

    world.requests.answer = answer
    async with connect(era) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource("file:///a b")
    assert (refused.value.code, refused.value.message) == (-32055, "not today")
    assert refused.value.data == {"why": None}


async def test_a_server_that_cannot_be_reached_is_named(connect, world, era):
    async def answer(requested):
        raise ServerStopped("a")

    world.requests.answer = answer
    async with connect(era) as client:
        with pytest.raises(MCPError, match="server_stopped: server 'a'") as refused:
            await client.get_prompt("a__greet")
    assert refused.value.code == -32603


async def test_metadata_is_forwarded_except_hop_metadata(connect, world, era):
    trace = {"traceparent": "00-1", "tracestate": "a=b", "baggage": "c=d", "x": {"y": None}}
    async with connect(era) as client:
        await client.read_resource("file:///a b", meta=trace)
    assert world.requests.made[0].meta == trace


async def test_a_prompt_and_a_resource_may_ask_the_user(connect, world, era):
    form = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
    plain = world.requests.answer

    async def asking(requested):
        answer = await requested.downstream.ask("elicitation/create", form)
        assert answer["action"] == "accept"
        return await plain(requested)

    async def elicit(_context, _params):
        return ElicitResult(action="accept", content={})

    world.requests.answer = asking
    async with connect(era, elicitation_callback=elicit) as client:
        assert (await client.get_prompt("a__greet")).messages[0].content.text == "a:greet"
        assert (await client.read_resource("file:///a b")).contents[0].text == "a"


async def test_a_server_s_private_lists_are_kept_apart_by_caller(connect, world, era):
    servers = (server("a", session="per_caller"), server("b"))
    world.catalogue = catalogue(tool("a:x"), servers=servers)
    async with connect(era) as client:
        await client.list_prompts()
        world.caller = Caller(user="bo", team=None, person=None, scopes=READER, kind="http")
        current = world.readiness.current
        world.readiness.serve(type(current)(effects=current.effects, caller=world.caller))
        await client.list_prompts(cache_mode="bypass")
    assert sorted(world.requests.listed) == [("a", "prompts")] * 2 + [("b", "prompts")]


async def test_long_lists_come_in_pages(connect, world, era):
    world.requests.lists["a", "resources"] = [
        {"uri": f"x:{number}", "name": "n"} for number in range(2_500)
    ]
    world.catalogue = catalogue(tool("a:x"))
    seen, cursor, pages = [], None, 0
    async with connect(era) as client:
        while True:
            page = await client.list_resources(cursor=cursor)
            seen += [resource_uris.parse_uri(item.uri).uri for item in page.resources]
            cursor, pages = page.next_cursor, pages + 1
            if cursor is None:
                break
        with pytest.raises(MCPError, match="list again") as refused:
            await client.list_resources(cursor="!!")
    assert seen == [f"x:{number}" for number in range(2_500)]
    assert pages == 3
    assert refused.value.code == -32602
