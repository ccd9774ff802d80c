"""Whatever a server does, its call fails clearly and soon, and the others hardly notice."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.gateways import aeventually, eventually
from tests.journeys.hostile.faces import Face, Gateway, gateway
from tests.journeys.hostile.siege import MIB, SHORTER_S, besiege
from tests.journeys.hostile.stage import IN_ITS_LIST, Stage, alive, set_up, token_of

pytestmark = pytest.mark.full

CALL_TIMEOUT_S = 2.0
GONE_WITHIN_S = 10
REPORT = "FOREGATE_HOSTILE_REPORT"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One way to be hostile, and what comes of it.

    Attributes:
        server: Whose tool is called; by default the one that does only this.
        tool: Which.
        given: Its arguments.
        code: Error of the call; empty where it is answered all the same.
        says: Words of the error, or of the answer.
        within_s: Time in which the call is over.
        grows_mib: What the gateway's memory may grow by.
    """

    server: str = ""
    tool: str = "attack"
    given: Mapping[str, Any] = field(default_factory=dict)
    code: str
    says: str
    within_s: float = CALL_TIMEOUT_S + 4
    grows_mib: float = 60


def remote(tool: str, *, server: str = "remote", **values: Any) -> Line:
    return Line(server=server, tool=tool, **values)


CHANGED = {"code": "definition_changed", "says": "an admin must look at the difference"}
TIMED_OUT = {"code": "call_timed_out", "says": "2 s and was cancelled; raise the server's call"}
TOO_LARGE = {"code": "message_too_large", "says": "larger than 33,554,432 bytes; ask it for less"}
NOT_UTF8 = {"code": "protocol_violation", "says": "UTF-8; update or repair the server"}

ON_STDIO = {
    "not_utf8": Line(**NOT_UTF8),
    "line_without_end": Line(
        code="message_too_large", says="larger than 67,108,864 bytes; ask", grows_mib=300
    ),
    "big_result": Line(**TOO_LARGE, grows_mib=300),
    "hangs": Line(**TIMED_OUT),
    "hangs_at_start": Line(code="connect_timed_out", says="2 s of its start; run its command"),
    "exits": Line(code="server_exited", says="exited with code 3 before it answered; its last"),
    "crash_loop": Line(code="server_exited", says="its last words: out of luck"),
    "progress_without_end": Line(**TIMED_OUT),
    "flood": Line(code="", says=""),
    "looping_cursor": Line(code="", says="as it should be"),
    "large_schema": Line(**CHANGED),
    "deep_schema": Line(**CHANGED),
    "ref": Line(**CHANGED),
}
ON_HTTP = {
    "slow_headers": remote("slow_headers", **TIMED_OUT),
    "slow_body": remote("slow_body", **TIMED_OUT),
    "slow_upload": remote(
        "echo", server="stalling", given={"text": "x" * 8 * MIB}, **TIMED_OUT, grows_mib=150
    ),
    "http_not_utf8": remote("not_utf8", **NOT_UTF8),
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
CASES: list[tuple[Face, str]] = [
    *(("stdio", name) for name in LINES),
    *(("http", name) for name in ("line_without_end", "flood", "gzip_bomb")),
]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with set_up([*ON_STDIO, "stubborn", "bytes_without_end"]) as made:
        yield made
        assert made.canary.visits() == 0


def begun(stage: Stage, face: Face) -> Any:
    """Start a gateway that is less patient than by default."""
    patience = str(CALL_TIMEOUT_S)
    return gateway(
        stage.installation,
        face,
        FOREGATE_CALL_TIMEOUT_S=patience,
        FOREGATE_CONNECT_TIMEOUT_S=patience,
    )


async def well(under: Gateway) -> str:
    """Wait until the healthy server answers; return the mark of all the gateway starts."""
    outcome = await under.call("healthy:echo", {"text": "well"})
    assert outcome.text == "well"
    return token_of(under.pid)


@pytest.mark.parametrize(("face", "name"), CASES, ids=map("-".join, CASES))
async def test_the_call_fails_and_a_healthy_server_keeps_its_pace(stage, face, name):
    line = LINES[name]
    given = dict(line.given) or {"to": f"{stage.canary.url}/mcp"}
    async with begun(stage, face) as under:
        token = await well(under)
        seen = await besiege(under, f"{line.server or name}:{line.tool}", given)
        report(f"{face} {name}", seen)
        first = seen.outcomes[0]
        assert first.code == line.code, first
        assert line.says in first.text
        assert "\n" not in first.text
        assert seen.took_s < line.within_s
        assert seen.grew_mib < line.grows_mib
        assert seen.p95_s < max(2 * seen.alone_p95_s, SHORTER_S)
        assert stage.canary.visits() == 0
        assert "Traceback" not in await under.end()
    await aeventually(lambda: not alive(token), within_s=GONE_WITHIN_S)


def report(what: str, seen: Any) -> None:
    """Write the figures to a file, for documentation."""
    if path := os.environ.get(REPORT):
        with Path(path).open("a") as file:
            codes = dict.fromkeys(outcome.code for outcome in seen.outcomes)
            file.write(
                f"{what} | {', '.join(codes)} ({len(seen.outcomes)}) | {seen.took_s:.2f} s | "
                f"{seen.grew_mib:.0f} MiB | {1e3 * seen.p95_s:.1f} / "
                f"{1e3 * seen.alone_p95_s:.1f} ms, worst {1e3 * seen.worst_s:.0f} ms\n"
            )


async def test_a_flood_is_of_a_hundred_thousand_a_second(stage):
    ...


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
