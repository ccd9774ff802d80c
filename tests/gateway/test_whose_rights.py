"""Whose rights a call carries, by way in, kind of server and person: a matrix.

Each server answers with the token that a request carried, and with the number of the connection
on which it arrived.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.asgi import get_asgi_application
from mcp_types import LATEST_PROTOCOL_VERSION, JSONRPCRequest, JSONRPCResponse

from execution.call import call
from execution.call_errors import CallNotPermitted
from execution.control import Action
from execution.speculation.dependencies import SpeculatorDependencies
from execution.speculation.speculator import Speculator
from execution.speculation.workflow import WorkflowAhead
from execution.workflow import RunOptions
from gateway_project import flow
from gateway_project.foundation.caller import GATEWAY, Caller
from gateway_project.mcp import handlers
from gateway_project.runs.request import RunRequest
from tests.execution.early_world import ANYTHING, Agreed, Allowed, World
from tests.execution.run_setup import ended, means, planned, process, until
from tests.execution.speculation_setup import CLOSED, known_server, known_tool, rules
from tests.gateway.mcp_http.conftest import called, listening
from tests.patience import PATIENCE_S
from tests.tools.upstream.oauth.keeps import MemoryKeep
from tools.item_lists import ItemLists
from tools.upstream.errors import UpstreamError
from tools.upstream.http.remote import RemoteTransports
from tools.upstream.oauth.sign_ins import SignInCredentials, SignInManager
from tools.upstream.oauth.values import (
    AuthorizationServer,
    OAuthClient,
    OAuthTokens,
    SignIn,
    SignInKey,
)
from tools.upstream.output import ConnectionOrigin
from tools.upstream.pool import UpstreamPool
from tools.upstream.request import UpstreamRequest
from tools.upstream.spec import ServerSpec
from tools.upstream.transport import UpstreamTransport

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]

ADMIN = "admin"
TOKEN = "fgt_token"
SPECS = (
    ServerSpec(name="shared", transport="http", url="https://x.example"),
    ServerSpec(name="oauth", transport="http", url="https://x.example", authorization="oauth"),
    ServerSpec(
        name="own", transport="http", url="https://x.example", authorization="oauth_per_user"
    ),
    ServerSpec(name="apart", transport="http", url="https://x.example", session="per_caller"),
)
TOOLS = tuple(
    known_tool(f"{spec.name}:who", pk=number, annotations=CLOSED, **ANYTHING)
    for number, spec in enumerate(SPECS)
)
SERVERS = tuple(
    known_server(spec.name, session=spec.session, authorization=spec.authorization)
    for spec in SPECS
)
PEOPLE = {
    "own sign-in": "ann",
    "none": "bob",
    "signed out": "carl",
    "deactivated": "dora",
}


def person(user: str, session: str = "") -> Caller:
    scopes = frozenset({"call", "read", "search"})
    return Caller(user=user, team=None, person=None, scopes=scopes, kind="http", session=session)


class Echo(UpstreamTransport):
    """A transport to a server that says whose token each request carries, and over what."""

    has_ended_cleanly = True

    def __init__(self, caller, authorize, number):
        super().__init__(ConnectionOrigin(server="echo"))
        self._whose = caller
        self._authorize = authorize
        self._number = number

    async def __aenter__(self):
        """Start nothing: it answers where it is asked."""

    async def __aexit__(self, *_):
        self.ended.set()

    def make_end_error(self, *, while_doing):
        return UpstreamError(f"ended {while_doing}", server="echo")

    async def send(self, message, *, headers, related=None):
        if isinstance(message, JSONRPCRequest):
            self.wire.receive(await self._answer(message))

    async def _answer(self, message):
        token = "nobody"
        if self._authorize is not None:
            headers = await self._authorize.build_headers("https://x.example", self._whose)
            token = headers["Authorization"].removeprefix("Bearer ")
        result = RESULTS[message.method](json.dumps([token, self._number]))
        return JSONRPCResponse(
            jsonrpc="2.0", id=message.id, result={**result, "resultType": "complete"}
        )


RESULTS = {
    "server/discover": lambda _: {
        "supportedVersions": [LATEST_PROTOCOL_VERSION],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
    },
    "tools/list": lambda _: {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]},
    "tools/call": lambda text: {"content": [{"type": "text", "text": text}]},
    "resources/read": lambda text: {"contents": [{"uri": "who:", "text": text}]},
    "prompts/list": lambda _: {"prompts": [{"name": "who"}]},
    "prompts/get": lambda text: {
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}]
    },
    "completion/complete": lambda text: {"completion": {"values": [text]}},
}


class EchoTransports(RemoteTransports):
    """Makes transports to `Echo` servers, with real sign-ins."""

    def __init__(self, sign_ins):
        super().__init__()
        self._sign_ins = sign_ins
        self.made = 0

    def make_transport(self, spec, *, caller, limits, environment):
        self.made += 1
        authorize = None
        if spec.authorization != "none":
            authorize = SignInCredentials(self._sign_ins, spec, ADMIN)
        return Echo(caller, authorize, self.made)


def make_sign_in(user: str) -> SignIn:
    return SignIn(
        server=AuthorizationServer(
            issuer="https://as",
            authorization_endpoint="https://as/a",
            token_endpoint="https://as/t",
        ),
        client=OAuthClient(client_id="c"),
        resource="https://x.example",
        tokens=OAuthTokens(access=user),
    )


@dataclass(kw_only=True)
class Setting:
    """A gateway over all kinds of servers."""

    pool: UpstreamPool
    keep: MemoryKeep
    sign_ins: SignInManager
    world: Any
    speculator: Speculator
    allowance: Allowed
    home: Any
    sealer: Any
    rules: Any = field(default_factory=lambda: rules(*TOOLS, servers=SERVERS))

    async def sign_out(self, user: str) -> None:
        del self.keep.rows[SignInKey("own", user)]
        await self.sign_ins.reload()

    def refresh_rights(self, caller: Caller) -> Caller:
        if caller.user == "dora":
            raise LookupError("there is no longer an active user 'dora'")
        return caller

    def means(self, **options: Any) -> Any:
        return means(
            self.home,
            self.sealer,
            self.pool,
            catalogue=lambda: self.rules.catalogue,
            refresh_rights=self.refresh_rights,
            speculation=self.speculator,
            **options,
        )


@pytest.fixture
async def setting(world, home, sealer, clock):
    keep = MemoryKeep()
    keep.put(SignInKey("oauth", ""), make_sign_in("everybody"))
    for user in (ADMIN, "ann", "carl", "dora"):
        keep.put(SignInKey("own", user), make_sign_in(user))
    async with (
        asyncio.timeout(PATIENCE_S),
        SignInManager(store=keep, get_http_client=lambda: None, clock=clock) as sign_ins,
        UpstreamPool(SPECS, remote=EchoTransports(sign_ins)) as pool,
        ItemLists(pool, on_late=lambda _: None) as lists,
    ):
        await pool.warm_up()  # with the admin's rights
        made = rules(*TOOLS, servers=SERVERS)
        allowance = Allowed()
        speculator = Speculator(
            SpeculatorDependencies(
                rules=lambda: made,
                upstream=pool,
                is_on=lambda: True,
                allowance=allowance,
                agreements=Agreed(*(tool.tool for tool in TOOLS)),
                describe_trouble=lambda _caller, _server: "",
                on_ended=lambda _ended: None,
                places=(8, 32),
            )
        )
        world.catalogue, world.upstream, world.requests = made.catalogue, pool, pool
        world.lists = lists
        yield Setting(
            pool=pool,
            keep=keep,
            sign_ins=sign_ins,
            world=world,
            speculator=speculator,
            allowance=allowance,
            home=home,
            sealer=sealer,
            rules=made,
        )


def read_text(text: str) -> list[Any]:
    """Return the token and the connection that an answer tells of; or the error instead."""
    with suppress(ValueError):
        return json.loads(text)
    return [text, None]


async def by_call(setting, caller, server):
    """ "Try it" in the console."""
    try:
        outcome = await flow.call_tool(
            setting.world.effects, caller, UpstreamRequest.to_call(f"{server}:who", {})
        )
    except UpstreamError as error:
        return [str(error), None]
    return read_text(outcome.result.raw["content"][0]["text"])


def by_client(mode, method):
    """A client over MCP, of either era."""

    async def ask(setting, caller, server):
        setting.world.caller = caller
        async with setting.world.connect(mode) as client:
            return read_text(await method(client, server))

    return ask


async def call_tool(client, server):
    result = await client.call_tool("call_tool", {"tool": f"{server}:who"})
    return result.content[0].text


@asynccontextmanager
async def serving(setting, caller):
    """Serve MCP and the REST API on a socket, to a client with a token of the caller's."""
    async with listening(
        handle=handlers.handle_request,
        run_wiring=setting.world.wire,
        otherwise=get_asgi_application(),
    ) as gateway:
        gateway.tokens.give(TOKEN, caller)
        yield gateway


async def by_http(setting, caller, server):
    """A stateless client over HTTP."""
    async with serving(setting, caller) as gateway:
        return read_text(await gateway.text(f"{server}:who", bearer=TOKEN))


async def by_http_session(setting, caller, server):
    """A client of the handshake era over HTTP."""
    async with serving(setting, caller) as gateway:
        headers = await gateway.session(TOKEN)
        asked = gateway.legacy("tools/call", called(f"{server}:who"), headers)
        async with asked as response:
            return read_text((await response.json())["result"]["content"][0]["text"])


async def by_rest_call(setting, caller, server):
    """`POST calls/`."""
    async with serving(setting, caller) as gateway:
        answer = await post(gateway, "calls", {"tool": f"{server}:who"})
    if "result" not in answer:
        return [answer["detail"], None]
    return read_text(answer["result"]["content"][0]["text"])


async def by_rest_workflow(setting, caller, server):
    """`POST workflows/`."""
    async with process(setting.means()) as runs:
        setting.world.runs = runs
        async with serving(setting, caller) as gateway:
            tasks = [{"id": "who", "tool": f"{server}:who", "arguments": {}}]
            answer = await post(gateway, "workflows", {"workflow": {"tasks": tasks}})
        return await read_run(runs, UUID(answer["run_id"]), caller)


async def post(gateway, path, body):
    url = f"{gateway.url.removesuffix('/mcp')}/api/v1/{path}/"
    async with gateway.http.post(url, json=body, headers=gateway.headers(TOKEN)) as response:
        return await response.json(content_type=None)


def catch(operation):
    async def run(client, server):
        try:
            return await operation(client, server)
        except Exception as error:  # noqa: BLE001 - whatever the client makes of it
            return str(error)

    return run


@catch
async def read_resource(client, server):
    return (await client.read_resource(f"foregate://{server}/who%3A")).contents[0].text


@catch
async def get_prompt(client, server):
    return (await client.get_prompt(f"{server}__who")).messages[0].content.text


@catch
async def complete(client, server):
    ref = {"type": "ref/prompt", "name": f"{server}__who"}
    return (await client.complete(ref, {"name": "a", "value": ""})).completion.values[0]


def plan(server):
    return planned({"id": "who", "tool": f"{server}:who", "arguments": {}})


async def read_run(runs, run, caller):
    view = await ended(runs, run, caller)
    task = next((task for task in view.tasks if task.result is None), view.tasks[-1])
    if task.result is None:
        return [task.error or view.error, None]
    return read_text(task.result["content"][0]["text"])


async def by_run(setting, caller, server):
    """MCP `run_workflow`, and the playground's Run."""
    async with process(setting.means()) as runs:
        setting.world.runs = runs
        workflow = {"tasks": [{"id": "who", "tool": f"{server}:who", "arguments": {}}]}
        view = await flow.run_workflow(
            setting.world.effects, caller, RunRequest(workflow=workflow)
        )
        return await read_run(runs, view.id, caller)


async def by_worker(setting, caller, server):
    """A run that another process started: of a worker, adopted, resumed after a restart."""
    async with process(setting.means(is_executor=False)) as runs:
        run = (await runs.start(caller, plan(server))).run
    async with process(setting.means()) as runs:
        return await read_run(runs, run, caller)


async def by_intent_ahead(setting, caller, server):
    made = await WorkflowAhead(
        plan=plan(server),
        caller=caller,
        prediction=uuid4(),
        speculation=setting.speculator,
        rules=lambda: setting.rules,
        wait_s=PATIENCE_S,
        provenance={},
        expected_s={f"{server}:who": 0.01},
    ).run()
    if made.reasons:
        return [made.fallback_reason, None]
    return read_text(made.raw_results["who"][0]["content"][0]["text"])


async def by_next_layer(setting, caller, server):
    """A call of a run's next layer, made ahead while the run waits."""
    layers = planned(
        {"id": "first", "tool": f"{server}:who", "arguments": {}},
        {"id": "who", "tool": f"{server}:who", "arguments": {}, "depends_on": ["first"]},
    )
    async with process(setting.means()) as runs:
        options = RunOptions(per_layer_validation=True)
        run = (await runs.start(caller, replace(layers, options=options))).run
        if (await ended(runs, run, caller)).status == "paused":
            await until(lambda: setting.speculator.kept[0])
            await runs.control(caller, run, Action.CONTINUE)
            answer = await read_run(runs, run, caller)
            assert setting.allowance.ends[-1] == "served"
            return answer
        return await read_run(runs, run, caller)


async def by_prefetch(setting, caller, server):
    """A call made ahead, and then asked for."""
    tool = next(tool for tool in TOOLS if tool.server == server)
    early = World(tool).early(tool)
    setting.speculator.dispatch(caller, early)
    setting.world.speculation = setting.speculator
    return await by_call(setting, caller, server)


WAYS = {
    "call": by_call,
    "client of the handshake era": by_client("legacy", call_tool),
    "stateless client": by_client("auto", call_tool),
    "session over HTTP": by_http_session,
    "stateless over HTTP": by_http,
    "REST call": by_rest_call,
    "REST workflow": by_rest_workflow,
    "resource": by_client("auto", read_resource),
    "prompt": by_client("legacy", get_prompt),
    "completion": by_client("auto", complete),
    "run": by_run,
    "worker": by_worker,
    "intent ahead": by_intent_ahead,
    "next layer": by_next_layer,
    "prefetch": by_prefetch,
}


@pytest.fixture
def ask(setting, connect):
    setting.world.connect = connect

    async def run(way, user, server):
        return await WAYS[way](setting, person(user), server)

    return run


@pytest.mark.parametrize("way", WAYS)
async def test_where_each_has_a_sign_in_nobody_is_served_with_another_s(way, ask, setting):
    for user in ("carl", "dora"):  # who have called before
        assert (await by_call(setting, person(user), "own"))[0] == user
        await setting.sign_out(user)
    for user in PEOPLE.values():
        answer, _ = await ask(way, user, "own")
        if user == "ann":
            assert answer == "ann"
        else:
            ends = "no longer an active user" in answer and user == "dora"
            assert ends or "needs a sign-in" in answer or way == "intent ahead"
            assert "[" not in answer, "it is an error"


@pytest.mark.parametrize("way", WAYS)
async def test_people_share_a_sign_in_and_a_connection_only_where_that_is_configured(way, ask):
    answers = {
        server: [await ask(way, user, server) for user in ("ann", "bob")]
        for server in ("shared", "oauth", "apart")
    }
    assert answers["shared"][0] == answers["shared"][1] == ["nobody", answers["shared"][0][1]]
    assert answers["oauth"][0] == answers["oauth"][1] == ["everybody", answers["oauth"][0][1]]
    (_, anns), (_, bobs) = answers["apart"]
    assert None not in (anns, bobs)
    assert anns != bobs


@pytest.mark.parametrize("server", ["own", "apart"])
async def test_a_server_that_becomes_personal_while_it_runs_is_shared_no_more(setting, server):
    personal = {spec.name: spec for spec in SPECS}
    was = replace(personal[server], session="shared", authorization="oauth")
    setting.keep.put(SignInKey(server, ""), make_sign_in("everybody"))
    setting.pool.set_servers([was])
    before = [await by_call(setting, person(user), server) for user in ("ann", "bob")]
    assert before[0] == before[1]
    setting.pool.set_servers([personal[server]])
    after = [await by_call(setting, person(user), server) for user in ("ann", "bob")]
    assert after[0] != after[1]
    assert not {"everybody", ADMIN} & {token for token, _ in after}


async def test_teams_groups_and_sessions_of_one_person_are_kept_apart(setting):
    ann = person("ann")
    whose = [ann, replace(ann, team=5), replace(ann, session="s")]
    numbers = [(await by_call(setting, caller, "apart"))[1] for caller in (*whose, *whose)]
    assert numbers[:3] == numbers[3:]
    assert len(set(numbers)) == 3


async def test_the_gateway_itself_lists_as_the_local_admin_and_calls_nothing(setting):
    assert (await setting.pool.list_tools("own")).tools
    request = UpstreamRequest.to_call("own:who", {})
    with pytest.raises(CallNotPermitted):
        await call(
            request, caller=GATEWAY, catalogue=setting.rules.catalogue, upstream=setting.pool
        )
    with pytest.raises(UpstreamError, match="only lists"):
        await setting.pool.call_tool("own", request.rename_tool("who"), caller=GATEWAY)
    with pytest.raises(UpstreamError, match="only lists"):
        await setting.pool.request("own", request, caller=GATEWAY)
