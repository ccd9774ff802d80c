"""What becomes of servers that fail, and of the others meanwhile."""

import asyncio
import os
import shlex
import signal
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.tools.upstream.conftest import LONG_S, SOON, Seen, eventually, gone, legacy, script
from tests.upstream_calls import call_tool, restart
from tools.upstream.breaker import RetryPolicy, UpstreamEnvironment
from tools.upstream.errors import (
    CallTimedOut,
    CircuitOpen,
    ConnectTimedOut,
    ServerExited,
    UpstreamError,
)
from tools.upstream.http.remote import RemoteTransports
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec
from tools.upstream.transport import UpstreamTransport

START = datetime(2026, 11, 21, tzinfo=UTC)
THREE = RetryPolicy(threshold=3, base_s=0.001, cap_s=0.001, open_s=30.0)


class Clock:
    """Both clocks, moved by hand."""

    def __init__(self) -> None:
        self.passed_s = 1_000.0

    def environment(self) -> UpstreamEnvironment:
        return UpstreamEnvironment(
            wall_clock=lambda: START + timedelta(seconds=self.passed_s),
            monotonic=lambda: self.passed_s,
        )


async def echo(pool: UpstreamPool, name: str = "legacy") -> str:
    return (await call_tool(pool, name, "echo", {"text": "on"})).raw["content"][0]["text"]


def changeable(tmp_path, healthy: bool) -> ServerSpec:
    """A server that fails to start or does not, as its file says."""
    path = tmp_path / "server.sh"
    command = shlex.join((legacy().command, *legacy().args))
    path.write_text(f"exec {command}\n" if healthy else "echo not yet >&2; exit 7\n")
    return ServerSpec(name="s", command="/bin/sh", args=(str(path),))


async def test_a_server_that_exits_at_once_says_why():
    seen = Seen()
    async with UpstreamPool([script("exits_at_once.py")], policy=SOON, on_status=seen) as pool:
        with pytest.raises(ServerExited) as caught:
            await pool.list_tools("exits_at_once")
        status = pool.list_statuses()["exits_at_once"]
    assert "exited with code 1 while starting; its last output: no API key given" in str(
        caught.value
    )
    assert (caught.value.exit_code, caught.value.output) == (1, ("no API key given",))
    assert (status.state, status.last_error) == ("backoff", str(caught.value))
    assert status.last_error_at is not None
    assert seen.states("exits_at_once") == ["connecting", "backoff", "stopped"]


async def test_a_server_that_hangs_at_start_is_given_up_and_ended():
    spec = script("hangs_at_start.py", connect_timeout_s=0.5)
    async with UpstreamPool([spec], policy=SOON) as pool:
        task = asyncio.ensure_future(pool.list_tools(spec.name))
        await eventually(lambda: pool.list_statuses()[spec.name].pid is not None)
        pid = pool.list_statuses()[spec.name].pid
        with pytest.raises(ConnectTimedOut, match=r"did not answer within 0\.5 s of its start"):
            await task
        assert gone(pid)
        assert pool.list_statuses()[spec.name].pid is None


async def test_all_who_wait_for_a_start_learn_of_its_failure():
    async with UpstreamPool([script("exits_at_once.py", "x")], policy=SOON) as pool:
        calls = [asyncio.ensure_future(echo(pool, "x")) for _ in range(5)]
        await asyncio.wait(calls)
        assert {type(call.exception()) for call in calls} == {ServerExited}
        assert pool.list_statuses()["x"].restarts == 0


async def test_one_who_stops_waiting_does_not_stop_the_start():
    async with UpstreamPool([legacy()]) as pool:
        first, second = (asyncio.ensure_future(echo(pool)) for _ in range(2))
        await eventually(lambda: pool.list_statuses()["legacy"].state == "connecting")
        first.cancel()
        assert await second == "on"
        assert first.cancelled()


async def test_repeated_failures_open_the_circuit_and_one_trial_follows(
    tmp_path,
):
    clock = Clock()
    spec = changeable(tmp_path, healthy=False)
    async with UpstreamPool([spec], policy=THREE, environment=clock.environment()) as pool:
        for _ in range(3):
            with pytest.raises(ServerExited):
                await echo(pool, "s")
            clock.passed_s += 0.001
        tried = pool.list_statuses()["s"].restarts
        with pytest.raises(CircuitOpen, match=r"last error: .*not yet") as caught:
            await echo(pool, "s")
        status = pool.list_statuses()["s"]
        assert status.state == "open"
        assert status.retry_at == caught.value.retry_at > clock.environment().wall_clock()
        assert status.restarts == tried

        clock.passed_s += 30.0
        with pytest.raises(ServerExited):
            await echo(pool, "s")
        with pytest.raises(CircuitOpen):
            await echo(pool, "s")

        clock.passed_s += 60.0
        changeable(tmp_path, healthy=True)
        assert await echo(pool, "s") == "on"
        assert pool.list_statuses()["s"].state == "ready"


async def test_crashes_during_calls_open_the_circuit_too():
    clock = Clock()
    async with UpstreamPool([legacy()], policy=THREE, environment=clock.environment()) as pool:
        for _ in range(3):
            with pytest.raises(ServerExited):
                await call_tool(pool, "legacy", "quit", {})
            await eventually(lambda: pool.list_statuses()["legacy"].state in ("backoff", "open"))
            clock.passed_s += 0.001
        with pytest.raises(CircuitOpen):
            await echo(pool)


async def test_a_restart_closes_the_circuit(tmp_path):
    spec = changeable(tmp_path, healthy=False)
    async with UpstreamPool(
        [spec], policy=RetryPolicy(threshold=1), environment=Clock().environment()
    ) as pool:
        with pytest.raises(ServerExited):
            await echo(pool, "s")
        with pytest.raises(ServerExited):
            await restart(pool, "s")
        changeable(tmp_path, healthy=True)
        await restart(pool, "s")
        assert await echo(pool, "s") == "on"


async def test_answers_in_between_keep_a_crashing_server_in_use():
    async with UpstreamPool(
        [legacy()], policy=RetryPolicy(threshold=2, base_s=0.001, cap_s=0.001)
    ) as pool:
        for _ in range(4):
            with pytest.raises(ServerExited):
                await call_tool(pool, "legacy", "quit", {})
            assert await echo(pool) == "on"


async def test_the_death_of_an_idle_server_is_noticed_and_repaired_at_the_next_use():
    seen, changed = Seen(), []
    async with UpstreamPool(
        [legacy()],
        policy=SOON,
        on_status=seen,
        on_changed=lambda server, _: changed.append(server),
    ) as pool:
        await pool.warm_up()
        os.kill(pool.list_statuses()["legacy"].pid, signal.SIGKILL)
        status = await seen.until("legacy", "backoff")
        assert "was killed by SIGKILL while it was running" in status.last_error
        assert (status.pid, status.connected_at) == (None, None)
        assert await echo(pool) == "on"
        assert pool.list_statuses()["legacy"].restarts == 1
        await eventually(lambda: changed == ["legacy"])


async def test_a_server_that_leaves_by_itself_has_not_failed():
    seen = Seen()
    async with UpstreamPool([legacy()], on_status=seen) as pool:
        await call_tool(pool, "legacy", "answer_and_quit", {})
        status = await seen.until("legacy", "idle")
        assert (status.last_error, status.pid) == ("", None)
        assert await echo(pool) == "on"


async def test_a_server_that_leaves_in_the_middle_of_a_call_has_failed():
    seen = Seen()
    async with UpstreamPool([legacy()], on_status=seen, policy=SOON) as pool:
        with pytest.raises(ServerExited, match="exited with code 0 during the call to 'quit'"):
            await call_tool(pool, "legacy", "quit", {"code": 0})
        await seen.until("legacy", "backoff")


async def test_a_crash_is_never_retried_by_itself(tmp_path):
    async with UpstreamPool([legacy()], policy=SOON) as pool:
        with pytest.raises(ServerExited):
            await call_tool(pool, "legacy", "quit", {})
        await eventually(lambda: pool.list_statuses()["legacy"].state == "backoff")
        assert pool.list_statuses()["legacy"].restarts == 0


async def test_a_listing_has_a_time_limit_of_its_own():
    limits = UpstreamLimits(
        list_timeout_s=0.5, max_list_pages=1_000_000, max_listed_items=1_000_000
    )
    async with UpstreamPool([legacy(options=("tools=endless",))], limits=limits) as pool:
        with pytest.raises(CallTimedOut, match="the list of tools"):
            await pool.list_tools("legacy")


@pytest.mark.parametrize(
    ("shape", "names", "complete"),
    [
        ("pages", ["t0", "t1", "t2", "t3", "t4"], True),
        ("loop", ["t0", "t1", "t2"], False),
        ("endless", [f"t{n}" for n in range(100)], False),
        ("twice", ["a", "b"], True),
        ("broken", ["good"], True),
    ],
)
async def test_listings_of_every_shape_are_usable(shape, names, complete):
    async with UpstreamPool([legacy(options=(f"tools={shape}",))]) as pool:
        listing = await pool.list_tools("legacy")
    assert [tool.name for tool in listing.tools] == names
    assert listing.complete == complete
    assert bool(listing.problems) == (shape != "pages")


async def test_a_broken_connection_is_one_servers_failure():
    class Broken(RemoteTransports):
        def make_transport(self, *_args: Any, **_options: Any) -> UpstreamTransport:
            raise RuntimeError("a bug")

    bad = ServerSpec(name="bad", transport="http", url="https://x.example")
    async with UpstreamPool([legacy("good"), bad], remote=Broken(), policy=SOON) as pool:
        with pytest.raises(UpstreamError, match=r"broke down \(RuntimeError\)"):
            await echo(pool, "bad")
        assert pool.list_statuses()["bad"].state == "backoff"
        assert await echo(pool, "good") == "on"


async def test_a_healthy_server_answers_whatever_the_others_do():
    bad = [
        script("exits_at_once.py"),
        script("hangs_at_start.py", connect_timeout_s=3),
        *(script("hangs_at_start.py", f"hangs{n}", connect_timeout_s=LONG_S) for n in range(5)),
        script("rubbish.py", connect_timeout_s=LONG_S),
        legacy("mute", call_timeout_s=LONG_S),
        legacy("crashing"),
        legacy("flooding"),
        ServerSpec(name="absent", command="no-such-command"),
        ServerSpec(name="unset", command="${NO_SUCH_VARIABLE}"),
    ]
    misuse = {"mute": ("hang", {}), "crashing": ("quit", {}), "flooding": ("endless", {})}
    limits = UpstreamLimits(
        max_line_bytes=1_000_000, max_rubbish_bytes=50_000_000, start_slot_s=0.2
    )
    async with UpstreamPool([*bad, legacy()], limits=limits, policy=SOON) as pool:
        calls = [
            asyncio.ensure_future(call_tool(pool, spec.name, *misuse.get(spec.name, ("x", {}))))
            for spec in bad
        ]
        for _ in range(50):
            assert await echo(pool) == "on"
        await eventually(lambda: sum(call.done() for call in calls) >= 6)
        assert await echo(pool) == "on"
        ends = {spec.name: call for spec, call in zip(bad, calls, strict=True) if call.done()}
        assert all(isinstance(call.exception(), UpstreamError) for call in ends.values())
        assert not ends.keys() & {"mute", "hangs0", "hangs1", "hangs2", "hangs3", "hangs4"}
        for call in calls:
            call.cancel()
