"""Drives our client of upstream servers as the conformance suite asks.

The suite runs this with the address of its server as last argument, the scenario's name in
MCP_CONFORMANCE_SCENARIO and what else it says in MCP_CONFORMANCE_CONTEXT. What is done here is
what the gateway does for a client: list, call, answer what it is asked.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import django

from tests.upstream_calls import SOMEBODY, call_tool, send_request
from tools.upstream.errors import UpstreamError
from tools.upstream.pool import UpstreamPool
from tools.upstream.request import Downstream
from tools.upstream.result import UpstreamResult
from tools.upstream.spec import ServerSpec

NAME = "suite"
ROUNDS = 5
CAPABILITIES = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
STUBS: dict[str, Any] = {
    "string": "x",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "object": {},
    "array": [],
}


async def answer(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Accept every form with its defaults, as a user who presses Enter."""
    if method == "roots/list":
        return {"roots": []}
    if method == "sampling/createMessage":
        return {"role": "assistant", "content": {"type": "text", "text": ""}, "model": "none"}
    fields = params["requestedSchema"]["properties"]
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    content |= {name: True for name in fields if name == "confirmed"}
    return {"action": "accept", "content": content}


USER = Downstream(capabilities=CAPABILITIES, ask=answer)


async def call(pool: UpstreamPool, tool: str, **arguments: Any) -> UpstreamResult:
    """Call a tool and answer what its results ask for."""
    given: dict[str, Any] = {}
    for _ in range(ROUNDS):
        result = await call_tool(pool, NAME, tool, arguments, downstream=USER, **given)
        if not result.is_interim:
            return result
        raw = result.raw
        asked = raw.get("inputRequests", {})
        given = {
            "input_responses": {
                key: await answer(request["method"], request.get("params", {}))
                for key, request in asked.items()
            },
            "request_state": raw.get("requestState"),
        }
    raise AssertionError(f"{tool} asks without end")


async def attempt(pool: UpstreamPool, tool: str, **arguments: Any) -> None:
    """Call a tool that may refuse."""
    try:
        await call(pool, tool, **arguments)
    except UpstreamError as error:
        sys.stderr.write(f"{tool}: {error}\n")


async def only_list(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    await pool.list_tools(NAME)


async def add_numbers(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    await pool.list_tools(NAME)
    await call(pool, "add_numbers", a=5, b=3)


async def elicit(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    await pool.list_tools(NAME)
    await call(pool, "test_client_elicitation_defaults")


async def reconnect(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    await pool.list_tools(NAME)
    await call(pool, "test_reconnection")


async def ask_in_results(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    await pool.list_tools(NAME)
    for tool in ("echo_state", "unrelated", "no_state", "no_result_type"):
        await call(pool, f"test_mrtr_{tool}")


async def every_tool(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    """Call each tool that is listed, with as little as it requires."""
    for tool in (await pool.list_tools(NAME)).tools:
        schema = tool.input_schema
        fields = schema.get("properties", {})
        given = {
            name: STUBS.get(fields.get(name, {}).get("type"), "x")
            for name in schema.get("required", [])
        }
        await attempt(pool, tool.name, **given)


async def everything(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    """Call, read and get whatever there is."""
    await every_tool(pool, context)
    whose = {"caller": SOMEBODY, "downstream": USER}
    for resource in (await pool.list_items(NAME, "resources", **whose)).items:
        await send_request(pool, NAME, "resources/read", {"uri": resource["uri"]}, downstream=USER)
    for prompt in (await pool.list_items(NAME, "prompts", **whose)).items:
        await send_request(pool, NAME, "prompts/get", {"name": prompt["name"]}, downstream=USER)


async def given_calls(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    """Make the calls that the suite names."""
    listed = {tool.name for tool in (await pool.list_tools(NAME)).tools}
    for wanted in context.get("toolCalls", []):
        if wanted["name"] in listed:
            await attempt(pool, wanted["name"], **wanted.get("arguments") or {})


async def echo_schema(pool: UpstreamPool, context: Mapping[str, Any]) -> None:
    """Send back a schema as it was listed."""
    listed = {tool.name: tool for tool in (await pool.list_tools(NAME)).tools}
    schema = listed["json_schema_2020_12_tool"].input_schema
    await call(pool, "json_schema_echo", schema=schema)


SCENARIOS: dict[str, Callable[[UpstreamPool, Mapping[str, Any]], Awaitable[None]]] = {
    "initialize": only_list,
    "json-schema-ref-no-deref": only_list,
    "json-schema-2020-12-preservation": echo_schema,
    "tools_call": add_numbers,
    "request-metadata": add_numbers,
    "http-standard-headers": everything,
    "http-custom-headers": given_calls,
    "http-invalid-tool-headers": every_tool,
    "elicitation-sep1034-client-defaults": elicit,
    "sse-retry": reconnect,
    "sep-2322-client-request-state": ask_in_results,
}


async def sign_in_and_call(url: str, context: Mapping[str, Any]) -> None:
    """Call whatever is listed first, signing in as often as the server asks."""
    # Only these scenarios need the installation that tokens are kept in.
    django.setup()
    from tests.journeys.conformance import signing_in  # noqa: PLC0415

    async with signing_in.person(url, context) as person:
        pool, name = person.pool, person.server.name
        for tool in (await person.doing(lambda: pool.list_tools(name))).tools[:1]:
            await person.doing(partial(call_tool, pool, name, tool.name, {}, downstream=USER))


async def main() -> None:
    scenario, url = os.environ["MCP_CONFORMANCE_SCENARIO"], sys.argv[-1]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if scenario.startswith("auth/"):
        await sign_in_and_call(url, context)
        return
    spec = ServerSpec(name=NAME, transport="http", url=url, private_network=True)
    async with UpstreamPool([spec]) as pool:
        await SCENARIOS[scenario](pool, context)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    asyncio.run(main())
