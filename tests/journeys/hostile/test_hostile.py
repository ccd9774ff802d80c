"""Whatever a server does, its call fails clearly and soon, and the others hardly notice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.journeys.gateways import aeventually
from tests.journeys.hostile.faces import Face, Gateway, Outcome, gateway
from tests.journeys.hostile.siege import MIB, besiege
from tests.journeys.hostile.stage import IN_ITS_LIST, Stage, alive, set_up, token_of
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

TIMEOUT_S = 2.0
"""Of calls and starts that shall run out of time; all others have the time of patience."""
NOT_HELD_UP_S = 2 * PATIENCE_S
"""What an attack never lasts: those who carry it out would go on for many times as long."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One way to be hostile, and what comes of it.

    Attributes:
        server: Whose tool is called; by default the one that does only this.
        tool: Which.
        given: Its arguments.
        code: Error of the call; empty where it is answered all the same.
        says: Words of the error, or of the answer.
        grows_mib: What the gateway's memory may grow by.
    """

    server: str = ""
    tool: str = "attack"
    given: Mapping[str, Any] = field(default_factory=dict)
    code: str
    says: str
    grows_mib: float = 100

    @property
    def limit(self) -> str:
        """The field of its server that limits what takes too long; empty: nothing does."""
        limits = {"call_timed_out": "call_timeout_s", "connect_timed_out": "connect_timeout_s"}
        return limits.get(self.code, "")


def remote(tool: str, *, server: str = "remote", **values: Any) -> Line:
    return Line(server=server, tool=tool, **values)


CHANGED = {
    "code": "definition_changed",
    "says": "an admin must review the change",
}
TIMED_OUT = {"code": "call_timed_out", "says": "2 s and was cancelled; if it needs longer, pass"}
TOO_LARGE = {"code": "message_too_large", "says": "larger than 33,554,432 bytes; ask it for less"}
NOT_JSON = {"code": "protocol_violation", "says": "JSON-RPC in UTF-8; update or repair the server"}

ON_STDIO = {
    "not_json": Line(**NOT_JSON),
    "line_without_end": Line(
        code="message_too_large", says="larger than 67,108,864 bytes; ask", grows_mib=300
    ),
    "big_result": Line(**TOO_LARGE, grows_mib=300),
    "many_values": Line(
        code="too_many_values", says="more than 500,000 values; ask it for less", grows_mib=300
    ),
    "costly_schema": Line(
        given={"items": [{"k499": 499}] * 20_000},
        code="arguments_too_costly",
        says="checking them against its",  # by its steps, on a slow machine by its time
        grows_mib=150,
    ),
    "hangs": Line(**TIMED_OUT),
    "hangs_at_start": Line(code="connect_timed_out", says="2 s of its start; run its command"),
    "exits": Line(
        code="server_exited", says="with code 3 during the call to 'attack'; its last output"
    ),
    "progress_without_end": Line(**TIMED_OUT),
    "flood": Line(**TIMED_OUT),
    "looping_cursor": Line(code="", says="as it should be"),
    "large_schema": Line(**CHANGED),
    "deep_schema": Line(**CHANGED),
    "ref": Line(**CHANGED),
}
ON_HTTP = {
    "slow_headers": remote("slow_headers", server="slow", **TIMED_OUT),
    "slow_body": remote("slow_body", server="slow", **TIMED_OUT),
    "slow_upload": remote(
        "echo", server="stalling", given={"text": "x" * 8 * MIB}, **TIMED_OUT, grows_mib=150
    ),
    "http_not_json": remote("not_json", **NOT_JSON),
    "http_result_without_end": remote("huge_chunked", **TOO_LARGE, grows_mib=150),
    "http_deep_result": remote("deep", code="protocol_violation", says="nested deeper than"),
    "gzip_bomb": remote("gzip_bomb", **TOO_LARGE, grows_mib=150),
    "redirect_loop": remote(
        "redirect_loop", code="protocol_violation", says="more than 5 times; correct its address"
    ),
    "redirect_away": remote(
        "redirect_away", code="forbidden_address", says="another origin; register that address"
    ),
}
LINES = ON_STDIO | ON_HTTP
AT: Mapping[Face, Sequence[str]] = {
    "stdio": list(LINES),
    "http": ["line_without_end", "flood", "gzip_bomb"],
}


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    stdio = [*ON_STDIO, "bytes_without_end", "crash_loop", "stubborn"]
    limits = {line.server or name: line.limit for name, line in LINES.items() if line.limit}
    with set_up(stdio, limits=limits, limit_s=TIMEOUT_S) as made:
        yield made
        assert made.canary.visits() == 0


def begun(stage: Stage, face: Face) -> Any:
    """Start a gateway that is patient with servers that have no limits of their own."""
    return gateway(
        stage.installation,
        face,
        FOREGATE_CALL_TIMEOUT_S=str(PATIENCE_S),
        FOREGATE_MAX_CALL_S=str(TIMEOUT_S),
        FOREGATE_CONNECT_TIMEOUT_S=str(PATIENCE_S),
    )


async def well(under: Gateway) -> str:
    """Wait until all is loaded and the healthy server answers; return the mark of all it starts.

    What the gateway loads for its first client, beside its calls, is no server's doing: models,
    and the reader of arguments, which a wish that names one waits for.
    """
    await under.use("search_tools", {"query": "anything"})
    await under.use("run_intent", {"intent": 'echo the text "well" in return'})
    outcome = await under.call("healthy:echo", {"text": "well"})
    assert outcome.text == "well"
    return token_of(under.pid)


@pytest.mark.parametrize("face", AT)
async def test_the_call_fails_and_a_healthy_server_keeps_its_pace(stage, face, subtests):
    async with begun(stage, face) as under:
        token = await well(under)
        for name in AT[face]:
            with subtests.test(name=name):
                await fails_alone(stage, under, face, name)
        assert stage.canary.visits() == 0
        assert "Traceback" not in await under.end()
    await aeventually(lambda: not alive(token))


async def fails_alone(stage: Stage, under: Gateway, face: Face, name: str) -> None:
    line = LINES[name]
    given = dict(line.given) or {"to": f"{stage.canary.url}/mcp"}
    tool = f"{line.server or name}:{line.tool}"
    seen = await besiege(under, lambda: under.call(tool, given))
    seen.report(f"{face} {name}")
    first = seen.outcomes[0]
    assert first.code == line.code, first
    assert line.says in first.text
    assert "\n" not in first.text
    assert seen.took_s < NOT_HELD_UP_S
    assert seen.grew_mib < line.grows_mib
    assert not seen.slowed_down, seen


async def test_who_crashes_at_every_start_is_left_alone_before_long(stage):
    async with begun(stage, "stdio") as under:
        token = await well(under)
        before: list[Outcome] = []

        async def until_left_alone() -> Outcome:
            while (outcome := await under.call("crash_loop:attack", {})).code != "circuit_open":
                before.append(outcome)
            return outcome

        seen = await besiege(under, until_left_alone)
        seen.report("stdio crash_loop")
        assert 0 < len(before) < 10
        assert {outcome.code for outcome in before} == {"server_exited"}
        assert all("its last output: out of luck" in outcome.text for outcome in before)
        assert "or until it is restarted" in seen.outcomes[0].text
        assert not seen.slowed_down
        assert "Traceback" not in await under.end()
    assert not alive(token)


async def test_who_writes_without_end_is_stopped_with_its_relatives(stage, tmp_path):
    families = tmp_path / "families"
    async with begun(stage, "stdio") as under:
        token = await well(under)
        given = {"families": str(families)}
        seen = await besiege(under, lambda: under.call("bytes_without_end:attack", given))
        seen.report("stdio bytes_without_end")
        assert seen.outcomes[0].code == "message_too_large"
        assert not seen.slowed_down
        assert seen.grew_mib < 300
        family = json.loads(families.read_text().splitlines()[0])
        await aeventually(lambda: not alive("", *family))
        assert await well(under) == token
        assert "Traceback" not in await under.end()
    assert not alive(token)


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "ended"])
async def test_relatives_who_ignore_sigterm_do_not_outlive_the_gateway(stage, killed):
    async with begun(stage, "stdio") as under:
        token = await well(under)
        family = json.loads((await under.call("stubborn:attack", {})).text)
        assert len(alive(token, *family)) >= len(family)
        if killed:
            under.process.kill()
            await under.process.wait()
        else:
            assert "Traceback" not in await under.end()
            assert not alive(token, *family)
        # They would live for many times as long as this waits.
        await aeventually(lambda: not alive(token, *family))


CLIENTS = 100
SLOW = {
    "headers": (b"POST /mcp HTTP/1.1\r\nX-Slow: ", b""),
    "body": (
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"MCP-Protocol-Version: 2026-07-28\r\nContent-Length: 1000\r\n\r\n{",
        b" 408 ",
    ),
}
CUT_OFF_WITHIN_S = PATIENCE_S
"""Of the two minutes that a request may take as a whole if its sender does not pause."""


async def test_clients_that_are_slow_to_send_are_cut_off(stage):
    async with begun(stage, "http") as under:
        await well(under)

        async def slow(beginning: bytes, answered: bytes) -> None:
            address = urlsplit(under.url)
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(beginning)
            assert answered in await reader.read()
            writer.close()

        async def crowd() -> Outcome:
            async with asyncio.timeout(CUT_OFF_WITHIN_S), asyncio.TaskGroup() as group:
                for _ in range(CLIENTS):
                    for each in SLOW.values():
                        group.create_task(slow(*each))
            return Outcome(code="", text="")

        seen = await besiege(under, crowd)
        seen.report("http slow clients")
        assert seen.grew_mib < 60
        assert not seen.slowed_down


async def test_addresses_in_a_definition_are_never_looked_up(stage):
    listed = stage.listed["ref_listed"]
    assert listed["added"] == ["harmless"]
    async with begun(stage, "stdio") as under:
        outcome = await under.call("ref_listed:harmless", {"x": "y"})
        assert outcome == Outcome(code="", text="as it should be")
    assert stage.canary.visits() == 0


LISTED = {
    "looping_cursor": "repeats a cursor and would never end; it was cut",
    "large_schema": "'attack' is left out: it has more than 1,048,576 bytes",
    "deep_schema": "'attack' is left out: it is nested deeper than 128 levels",
    "ref": "'attack' is left out: ",
}


@pytest.mark.parametrize("does", IN_ITS_LIST)
def test_a_hostile_list_is_cut_and_said(stage, does):
    listed = stage.listed[f"{does}_listed"]
    assert listed["ok"], listed
    assert any(LISTED[does] in warning for warning in listed["warnings"]), listed
    assert stage.canary.visits() == 0
