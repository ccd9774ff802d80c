"""Several gateways of one home: later ones use the servers of the first, and outlive it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.journeys.gateways import Installation, RawGateway, eventually, fixture_server
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def installation(module_home: Path) -> Installation:
    made = Installation(home=module_home)
    made.register(chatty=fixture_server("chatty"))
    return made


def count(gateway: RawGateway, number: int) -> dict[str, Any]:
    return gateway.call(number, "call_tool", tool="chatty:count", arguments={"to": 1})


def children(gateway: RawGateway) -> list[psutil.Process]:
    return psutil.Process(gateway.process.pid).children(recursive=True)


def listening(installation: Installation, number: int) -> bool:
    return len(list((installation.home / "run").glob("*.sock"))) == number


def serving(installation: Installation, *arguments: str) -> RawGateway:
    """Start a gateway that others can attach to."""
    gateway = installation.start(*arguments)
    assert not count(gateway, 1)["isError"]
    eventually(lambda: listening(installation, 1))
    return gateway


def shake_hands(gateway: RawGateway) -> None:
    """Open a session of the handshake era."""
    assert gateway.process.stdin is not None
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    request = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": opening}
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    gateway.process.stdin.write(f"{json.dumps(request)}\n".encode())
    assert gateway.read()["result"]["protocolVersion"] == "2025-11-25"
    gateway.process.stdin.write(f"{json.dumps(done)}\n".encode())


def legacy_count(gateway: RawGateway, number: int) -> dict[str, Any]:
    """Call a tool within a session of the handshake era."""
    assert gateway.process.stdin is not None
    params = {"name": "call_tool", "arguments": {"tool": "chatty:count", "arguments": {"to": 1}}}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    gateway.process.stdin.write(f"{json.dumps(request)}\n".encode())
    while (answer := gateway.read()).get("id") != number:
        pass
    result: dict[str, Any] = answer["result"]
    return result


def test_a_second_gateway_has_no_servers_of_its_own_and_outlives_the_first(installation):
    first = serving(installation)
    second = installation.start()
    shake_hands(second)
    assert not legacy_count(second, 1).get("isError")
    assert children(second) == []
    assert children(first)

    first.process.kill()
    first.process.communicate(timeout=PATIENCE_S)
    results = [legacy_count(second, number) for number in (2, 3)]
    # The first of them may have been under way when the gateway ended; then it is told so.
    lost = results[0].get("isError", False)
    assert not lost or results[0]["content"][0]["text"].startswith("gateway_lost: ")
    assert not results[1].get("isError")
    assert children(second)
    assert second.end()[0] == 0


def test_a_gateway_that_ends_in_order_costs_the_attached_no_call(installation):
    first = serving(installation)
    second = installation.start()
    assert not count(second, 1)["isError"]
    assert children(second) == []
    assert first.end()[0] == 0
    assert not count(second, 2)["isError"]
    assert second.end()[0] == 0


@pytest.mark.full
@pytest.mark.parametrize("arguments", [("--attach", "never"), ("--exposure", "full")])
def test_a_gateway_that_would_be_served_otherwise_serves_itself(installation, arguments):
    first = serving(installation)
    second = installation.start(*arguments)
    assert not count(second, 1)["isError"]
    assert children(second)
    assert (second.end()[0], first.end()[0]) == (0, 0)


@pytest.mark.full
def test_a_user_nobody_knows_is_refused_with_the_reason_not_served_by_the_first(installation):
    first = serving(installation)
    second = installation.start("--user", "nobody")
    assert "no active user 'nobody'" in count(second, 1)["content"][0]["text"]
    assert (second.end()[0], first.end()[0]) == (0, 0)
