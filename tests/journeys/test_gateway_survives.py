"""Whatever ends a gateway: the others work on, and nothing it started is left."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import psutil
import pytest

from tests.journeys.gateways import Installation, RawGateway, eventually, gone
from tests.patience import PATIENCE_S


def started(installation: Installation) -> tuple[RawGateway, list[psutil.Process]]:
    """Start a gateway and both its servers; return it with the processes of the servers."""
    gateway = installation.start("--attach", "never")
    for number, tool in enumerate(("chatty:rubbish", "modern:echo"), start=1):
        arguments = {"text": "hello"} if tool == "modern:echo" else {}
        assert not gateway.call(number, "call_tool", tool=tool, arguments=arguments)["isError"]
    children = psutil.Process(gateway.process.pid).children(recursive=True)
    servers = [child for child in children if "tests/servers" in command_of(child)]
    assert len(servers) >= 2
    return gateway, servers


def command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def works(gateway: RawGateway, number: int) -> bool:
    result = gateway.call(number, "call_tool", tool="modern:echo", arguments={"text": "here"})
    return result["content"][0]["text"] == "here"


def test_one_of_two_gateways_is_killed_and_the_other_works_on(installation):
    killed, orphans = started(installation)
    other, servers = started(installation)
    killed.process.kill()
    killed.process.communicate(timeout=PATIENCE_S)
    assert works(other, 10)
    eventually(lambda: gone(orphans))
    assert not gone(servers)
    assert works(other, 11)
    assert other.end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_with_all_it_started(installation, number):
    gateway, servers = started(installation)
    gateway.process.send_signal(number)
    code, logged = gateway.end()
    assert code == 0
    assert "Traceback" not in logged
    assert gone(servers)


def test_a_client_that_leaves_ends_it_cleanly_with_all_it_started(installation):
    gateway, servers = started(installation)
    code, logged = gateway.end()
    assert code == 0
    assert "Traceback" not in logged
    assert gone(servers)


def test_a_client_that_only_stops_listening_ends_it_too(installation):
    gateway, servers = started(installation)
    process = gateway.process
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdout.close()
    with suppress(BrokenPipeError):  # it may have ended already
        process.stdin.write(b'{"jsonrpc":"2.0","id":99,"method":"ping","params":{}}\n')
    process.wait(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    eventually(lambda: gone(servers))
    process.stdin.close()
    process.stderr.close()


def test_a_server_that_is_killed_is_started_again_and_costs_no_other_call(installation):
    gateway, servers = started(installation)
    for process in servers:
        if "chatty" in command_of(process):
            os.kill(process.pid, signal.SIGKILL)
    assert works(gateway, 10)
    numbers = iter(range(20, 1000))

    def back() -> bool:
        result = gateway.call(next(numbers), "call_tool", tool="chatty:count", arguments={"to": 1})
        return not result.get("isError")

    eventually(back)
    assert gateway.end()[0] == 0
