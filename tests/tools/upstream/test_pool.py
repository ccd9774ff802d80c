"""Calls through the pool, on real processes."""

import asyncio
import json

import pytest

from tests.patience import PATIENCE_S
from tests.tools.upstream.conftest import (
    LONG_S,
    SOON,
    Seen,
    eventually,
    gone,
    legacy,
    script,
)
from tests.upstream_calls import call_tool
from tools.upstream import changes
from tools.upstream.errors import (
    CallTimedOut,
    MessageTooLarge,
    ProtocolViolation,
    ServerExited,
    ServerStopped,
    UnknownServer,
    UpstreamRefused,
)
from tools.upstream.limits import UpstreamLimits
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import INHERITED_VARIABLES, ServerSpec


def text(result) -> str:
    return result.content[0].text


async def about(pool: UpstreamPool, name: str = "legacy") -> dict:
    return json.loads(text(await call_tool(pool, name, "about", {})))


async def test_both_eras_of_servers_list_and_answer():
    changed = []
    specs = [legacy(), script("modern.py")]
    async with UpstreamPool(specs, on_changed=lambda server, _: changed.append(server)) as pool:
        assert await pool.warm_up() == {}
        versions = {name: status.protocol_version for name, status in pool.list_statuses().items()}
        assert versions == {"legacy": "2025-11-25", "modern": "2026-07-28"}
        for name, instructions in (("legacy", "Be kind."), ("modern", "Call echo.")):
            listing = await pool.list_tools(name)
            assert "echo" in {tool.name for tool in listing}
            assert listing.instructions == instructions
            assert listing.server_info.name == name
            assert text(await call_tool(pool, name, "echo", {"text": "hi"})) == "hi"
        await call_tool(pool, "modern", "grow", {})
        await call_tool(pool, "legacy", "flood", {"count": 3})
        await eventually(lambda: set(changed) == {"modern", "legacy"})
        assert "grown" in {tool.name for tool in await pool.list_tools("modern")}
        with pytest.raises(CallTimedOut):
            await call_tool(pool, "modern", "hang", {}, timeout_s=0.05)
        assert (
            text(await call_tool(pool, "modern", "echo", {"text": "still here"})) == "still here"
        )


async def test_real_servers_answer():
    args = ("-m", "mcp_server_time", "--local-timezone", "UTC")
    async with UpstreamPool(
        [ServerSpec(name="time", command=legacy().command, args=args)]
    ) as pool:
        names = [tool.name for tool in await pool.list_tools("time")]
        assert names == ["get_current_time", "convert_time"]
        result = await call_tool(pool, "time", "get_current_time", {"timezone": "UTC"})
    assert json.loads(text(result))["timezone"] == "UTC"


async def test_nothing_is_started_before_it_is_used():
    seen = Seen()
    async with UpstreamPool([legacy()], on_status=seen) as pool:
        assert pool.list_statuses()["legacy"].state == "idle"
        assert pool._watcher.pid is None
        await pool.list_tools("legacy")
        assert pool.list_statuses()["legacy"].state == "ready"
    assert seen.states("legacy") == ["connecting", "ready", "stopped"]


async def test_many_first_uses_make_one_start():
    async with UpstreamPool([legacy()]) as pool:
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(about(pool)) for _ in range(20)]
        assert len({call.result()["pid"] for call in calls}) == 1
        assert pool.list_statuses()["legacy"].restarts == 0


async def test_a_server_gets_a_minimal_environment_and_its_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    monkeypatch.setenv("PLACE", "here")
    spec = legacy(env={"MODE": "${PLACE}"}, cwd=str(tmp_path))
    async with UpstreamPool([spec]) as pool:
        told = await about(pool)
    assert told["cwd"] == str(tmp_path.resolve())
    assert told["env"]["MODE"] == "here"
    assert "DATABASE_URL" not in told["env"]
    given = {"MODE", "FOREGATE_UPSTREAM", "LC_CTYPE"}  # Python sets the last one itself
    assert set(told["env"]) <= {*INHERITED_VARIABLES, *given}


@pytest.mark.parametrize("tool", ["extra", "odd"])
async def test_results_come_as_they_were_sent(tool):
    async with UpstreamPool([legacy()]) as pool:
        raw = (await call_tool(pool, "legacy", tool, {})).raw
    expected = {
        "extra": {
            "content": [{"type": "text", "text": "x", "custom": {"a": None}}],
            "structuredContent": {"a": None},
            "z": 1,
        },
        "odd": {"content": [{"type": "hologram", "n": None}], "extra": [1]},
    }
    assert raw == expected[tool]


async def test_progress_reaches_the_caller():
    steps = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    async with UpstreamPool([legacy()]) as pool:
        await pool.warm_up()
        # The token is the request's id: probe and handshake had the first two.
        await call_tool(pool, "legacy", "progress", {"token": 3}, progress=note)
        await eventually(lambda: len(steps) == 2)
    assert sorted(steps) == [(1.0, 2.0, None), (2.0, 2.0, None)]


async def test_the_callers_meta_goes_along():
    async with UpstreamPool([legacy()]) as pool:
        result = await call_tool(pool, "legacy", "meta", {}, meta={"traceparent": "00-x"})
    assert json.loads(text(result)) == {"traceparent": "00-x", "progressToken": 3}


async def test_a_timeout_cancels_the_call_upstream_and_leaves_the_others_alone():
    async with UpstreamPool([legacy()]) as pool, asyncio.TaskGroup() as group:
        await pool.warm_up()
        other = group.create_task(call_tool(pool, "legacy", "hang", {}, timeout_s=60))
        with pytest.raises(CallTimedOut, match=r"was not answered within 0\.05 s"):
            await call_tool(pool, "legacy", "hang", {}, timeout_s=0.05)
        assert len(json.loads(text(await call_tool(pool, "legacy", "cancelled", {})))) == 1
        assert not other.done()
        assert pool.list_statuses()["legacy"].calls_in_flight == 1
        other.cancel()


async def test_a_callers_cancellation_cancels_the_call_upstream():
    async with UpstreamPool([legacy()]) as pool:
        await pool.warm_up()
        call = asyncio.ensure_future(call_tool(pool, "legacy", "hang", {}))
        await eventually(lambda: pool.list_statuses()["legacy"].calls_in_flight == 1)
        await call_tool(pool, "legacy", "echo", {"text": "x"})
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert len(json.loads(text(await call_tool(pool, "legacy", "cancelled", {})))) == 1
        assert pool.list_statuses()["legacy"].calls_in_flight == 0


async def test_a_cancelled_call_is_not_taken_for_one_that_waits():
    async with UpstreamPool([legacy()]) as pool:
        with pytest.raises(CallTimedOut):
            await call_tool(pool, "legacy", "hang", {}, timeout_s=0.05)
        with pytest.raises(ProtocolViolation):
            await call_tool(pool, "legacy", "half_json", {})


async def test_a_default_timeout_is_the_servers():
    async with UpstreamPool([legacy(call_timeout_s=0.05)]) as pool:
        with pytest.raises(CallTimedOut):
            await call_tool(pool, "legacy", "hang", {})


@pytest.mark.parametrize(
    ("tool", "error", "words"),
    [
        (
            "quit",
            ServerExited,
            "exited with code 3 during the call to 'quit'; its last output: abo",
        ),
        ("orphan_and_quit", ServerExited, "exited with code 4"),
        ("segfault", ServerExited, "was killed by SIGSEGV"),
        ("close_stdin", ServerExited, "closed its input or output"),
        ("close_stdout", ServerExited, "closed its input or output"),
        ("not_json", ProtocolViolation, "not valid JSON-RPC in UTF-8"),
        ("not_json_id_last", ProtocolViolation, "not valid JSON-RPC in UTF-8"),
        ("half_json", ProtocolViolation, "not valid JSON-RPC"),
        ("not_an_object", ProtocolViolation, "not valid JSON-RPC"),
        ("needs_input", ProtocolViolation, "asks for more input"),
        ("refuse", UpstreamRefused, "answered with error -32050: no"),
        ("refuse_namelessly", UpstreamRefused, "answered with error -32700: what"),
    ],
)
async def test_a_bad_answer_fails_the_call_at_once_and_the_server_is_used_again(
    tool, error, words
):
    async with UpstreamPool([legacy()], policy=SOON) as pool:
        with pytest.raises(error, match=words):
            await call_tool(pool, "legacy", tool, {}, timeout_s=PATIENCE_S)
        assert text(await call_tool(pool, "legacy", "echo", {"text": "on"})) == "on"


async def test_an_error_of_the_server_is_kept():
    async with UpstreamPool([legacy()]) as pool:
        with pytest.raises(UpstreamRefused) as caught:
            await call_tool(pool, "legacy", "refuse", {})
    assert (caught.value.rpc_code, caught.value.rpc_message) == (-32050, "no")
    assert caught.value.data == {"why": "because"}


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("rubbish", {}, "after the rubbish"),
        ("string_id", {}, "ok"),
        ("not_utf8", {}, "caf\ufffd"),
        ("answer_and_quit", {}, "last answer"),
        ("flood", {"count": 10_000}, "after the flood"),
        ("ask_back", {"count": 5_000}, "after asking"),
        ("complain", {"lines": 500, "text": "\x1b[31moh "}, "complained"),
    ],
)
async def test_an_answer_among_rubbish_still_arrives(tool, arguments, expected):
    async with UpstreamPool([legacy()]) as pool:
        assert text(await call_tool(pool, "legacy", tool, arguments)) == expected


@pytest.mark.parametrize(
    "reply",
    [
        {"result": {}},
        {"id": None, "result": {}},
        {"error": {"code": -32601, "message": "Method not found"}},
        {"id": None, "error": {"code": -32600, "message": "it has no id"}},
    ],
)
async def test_an_answer_to_a_notification_fails_no_request(reply):
    options = (f"answers_notifications={json.dumps(reply)}",)
    async with UpstreamPool([legacy(options=options)]) as pool:
        assert (await pool.list_tools("legacy")).complete
        with pytest.raises(UpstreamRefused, match="what"):
            await call_tool(pool, "legacy", "refuse_namelessly", {})


async def test_dropped_messages_are_counted():
    changed = []
    async with UpstreamPool(
        [legacy()],
        limits=UpstreamLimits(messages_per_s=1.0),
        on_changed=lambda server, _: changed.append(server),
    ) as pool:
        await call_tool(pool, "legacy", "flood", {"count": 10_000})
        assert 8_000 < pool.list_statuses()["legacy"].messages_dropped < 10_000
        await eventually(lambda: bool(changed))


async def test_constant_change_notifications_are_rate_limited(monkeypatch):
    monkeypatch.setattr(changes, "MIN_INTERVAL_S", 0.3)
    monkeypatch.setattr(changes, "MAX_BURST", 2)
    changed_at = []
    loop = asyncio.get_running_loop()
    async with UpstreamPool(
        [legacy()], on_changed=lambda *_: changed_at.append(loop.time())
    ) as pool:
        while len(changed_at) < 4:
            await call_tool(pool, "legacy", "flood", {"count": 3})
    assert changed_at[3] - changed_at[0] >= 0.59


@pytest.mark.parametrize("id_last", [False, True])
async def test_a_message_beyond_the_cap_fails_its_call_alone(id_last):
    limits = UpstreamLimits(max_line_bytes=100_000)
    async with UpstreamPool([legacy()], limits=limits) as pool, asyncio.TaskGroup() as group:
        await pool.warm_up()
        other = group.create_task(call_tool(pool, "legacy", "hang", {}, timeout_s=60))
        with pytest.raises(MessageTooLarge, match="larger than 100,000 bytes"):
            await call_tool(pool, "legacy", "huge", {"size": 5_000_000, "id_last": id_last})
        assert text(await call_tool(pool, "legacy", "echo", {"text": "on"})) == "on"
        assert not other.done()
        other.cancel()


async def test_an_endless_line_fails_the_call_and_then_stops_the_server():
    limits = UpstreamLimits(max_line_bytes=100_000, max_rubbish_bytes=20_000_000)
    seen = Seen()
    async with UpstreamPool([legacy()], limits=limits, policy=SOON, on_status=seen) as pool:
        await pool.warm_up()
        with pytest.raises(MessageTooLarge):
            await call_tool(pool, "legacy", "endless", {})
        status = await seen.until("legacy", "backoff")
        assert "without a valid message" in status.last_error
        assert text(await call_tool(pool, "legacy", "echo", {"text": "on"})) == "on"


async def test_an_unknown_server_is_named():
    async with UpstreamPool() as pool:
        with pytest.raises(UnknownServer, match="server 'x'"):
            await call_tool(pool, "x", "y", {})
        with pytest.raises(UnknownServer):
            await pool.restart("x")
        assert list(await pool.warm_up("x")) == ["x"]


async def test_servers_can_be_added_and_removed_and_unchanged_ones_stay():
    a, b = legacy("a"), legacy("b")
    async with UpstreamPool([a, b]) as pool:
        first, other = await about(pool, "a"), await about(pool, "b")
        pool.set_servers([legacy("a"), legacy("c")])
        assert (await about(pool, "a"))["pid"] == first["pid"]
        assert list(pool.list_statuses()) == ["a", "c"]
        with pytest.raises(UnknownServer):
            await call_tool(pool, "b", "echo", {"text": "x"})
        await eventually(lambda: gone(other["pid"]))
        assert text(await call_tool(pool, "c", "echo", {"text": "c"})) == "c"


async def test_a_changed_server_is_replaced_at_once_and_finishes_what_is_in_flight(let_pass):
    async with UpstreamPool([legacy()]) as pool:
        old = await about(pool)
        call = asyncio.ensure_future(call_tool(pool, "legacy", "hang", {}, timeout_s=LONG_S))
        await eventually(lambda: pool.list_statuses()["legacy"].calls_in_flight == 1)
        pool.set_servers([legacy(env={"MODE": "new"})])
        new = await about(pool)
        assert (new["pid"] != old["pid"], new["env"]["MODE"]) == (True, "new")
        assert not gone(old["pid"])
        let_pass(LONG_S)
        with pytest.raises(CallTimedOut):
            await call
        await eventually(lambda: gone(old["pid"]))


async def test_a_restart_replaces_the_process_and_fails_what_is_in_flight():
    async with UpstreamPool([legacy()]) as pool:
        old = await about(pool)
        call = asyncio.ensure_future(call_tool(pool, "legacy", "hang", {}))
        await eventually(lambda: pool.list_statuses()["legacy"].calls_in_flight == 1)
        await pool.restart("legacy")
        with pytest.raises(ServerStopped):
            await call
        assert gone(old["pid"])
        new = await about(pool)
        assert new["pid"] != old["pid"]
        assert gone(old["pid"])
        assert pool.list_statuses()["legacy"].restarts == 1


async def test_closing_ends_everything_and_refuses_what_comes_later():
    async with UpstreamPool([legacy("a"), legacy("b")]) as pool:
        family = json.loads(text(await call_tool(pool, "a", "stubborn_family", {})))
        call = asyncio.ensure_future(call_tool(pool, "b", "hang", {}))
        await eventually(lambda: pool.list_statuses()["b"].calls_in_flight == 1)
        await pool.aclose()
        assert all(map(gone, family))
        for refused in (call, call_tool(pool, "b", "echo", {"text": "x"})):
            with pytest.raises(ServerStopped):
                await refused
        assert {status.state for status in pool.list_statuses().values()} == {"stopped"}


async def test_closing_ends_also_what_was_about_to_be_replaced():
    async with UpstreamPool([legacy()]) as pool:
        old = await about(pool)
        call = asyncio.ensure_future(call_tool(pool, "legacy", "hang", {}))
        await eventually(lambda: pool.list_statuses()["legacy"].calls_in_flight == 1)
        pool.set_servers([])
    with pytest.raises(ServerStopped):
        await call
    assert gone(old["pid"])


async def test_a_restart_before_the_first_start_is_a_start():
    async with UpstreamPool([legacy()]) as pool:
        waiting = asyncio.ensure_future(call_tool(pool, "legacy", "echo", {"text": "x"}))
        await pool.restart("legacy")
        assert text(await call_tool(pool, "legacy", "echo", {"text": "x"})) == "x"
        await asyncio.wait({waiting})
        assert isinstance(waiting.exception(), ServerStopped | None)
