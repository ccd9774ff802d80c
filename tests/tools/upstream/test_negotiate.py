"""Which era a server speaks, found out without harming it or waiting long."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, DiscoverResult
from mcp_types.version import LATEST_MODERN_VERSION

from tests.patience import PATIENCE_S
from tests.tools.upstream.conftest import LONG_S, SERVERS, SOON, eventually, legacy
from tests.upstream_calls import call_tool, restart
from tools.upstream import handshake as module
from tools.upstream.errors import (
    ConnectTimedOut,
    ProtocolViolation,
    ServerExited,
    UpstreamRefused,
)
from tools.upstream.handshake import (
    HANDSHAKE_VERSIONS,
    Handshake,
    VersionRefused,
    negotiate,
    parse_discovery,
)
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ServerPeer

MODERN = DiscoverResult(
    supported_versions=[LATEST_MODERN_VERSION],
    capabilities={},
    result_type="complete",
    ttl_ms=0,
    cache_scope="private",
).model_dump(by_alias=True, mode="json")
UNKNOWN = MCPError(METHOD_NOT_FOUND, "unknown method")
SILENT = object()


def not_this_version(*supported: Any) -> MCPError:
    data = {"supported": list(supported), "requested": "x"}
    return MCPError(UNSUPPORTED_PROTOCOL_VERSION, "other version", data=data)


LEGACY = ServerPeer(era="legacy", protocol_version="2025-11-25")


class FakeProber:
    """Answers as told; `SILENT` is no answer at all."""

    def __init__(self, *, discover: list[Any], initialize: Any = LEGACY) -> None:
        self.discoveries = discover
        self.initialize_answer = initialize
        self.asked: list[str] = []

    async def discover(self, version: str) -> Any:
        self.asked.append("discover")
        return await self._answer(self.discoveries.pop(0))

    async def initialize(self) -> Any:
        self.asked.append("initialize")
        return await self._answer(self.initialize_answer)

    async def _answer(self, answer: Any) -> Any:
        if answer is SILENT:
            await asyncio.Event().wait()
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            return MODERN
        await asyncio.sleep(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def settle(prober: FakeProber, era: Any = None, *, patience_s: float = LONG_S) -> str:
    async with asyncio.timeout(PATIENCE_S):
        return (await negotiate(prober, era=era, patience_s=patience_s)).era


class AnsweringWire:
    """A dispatcher whose every request is answered with the same result."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.result = result
        self.ended = asyncio.Event()

    async def request(self, method: str, params: Any) -> dict[str, Any]:
        return self.result

    async def notify(self, method: str, **_: Any) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("odd", "able"),
    [
        ({"capabilities": {"tools": [], "prompts": [], "experimental": []}}, True),
        ({"capabilities": {"tools": True, "prompts": True}}, True),
        ({"capabilities": []}, False),
        ({"serverInfo": {"name": "s"}, "instructions": ["a"]}, False),
        ({"serverInfo": {"name": "s", "version": 2, "icons": [{"url": "x"}]}}, False),
        ({"serverInfo": None, "_meta": []}, False),
        ({}, False),
    ],
)
async def test_only_the_version_of_a_server_must_be_well_formed(odd, able):
    wire = AnsweringWire({"protocolVersion": "2025-06-18", **odd})
    peer = await Handshake(wire, capabilities={}, versions=list(HANDSHAKE_VERSIONS)).initialize()
    assert (peer.protocol_version, peer.has_capability("prompts")) == ("2025-06-18", able)
    assert (peer.info is not None) == bool(odd.get("serverInfo"))
    modern = parse_discovery({"supportedVersions": [LATEST_MODERN_VERSION], **odd})
    assert (modern.era, modern.has_capability("prompts")) == ("modern", able)


@pytest.mark.parametrize("version", [None, 7, ["2025-06-18"], "1.0"])
async def test_a_handshake_without_a_known_version_is_no_handshake(version):
    wire = AnsweringWire({"protocolVersion": version, "capabilities": {}})
    with pytest.raises(VersionRefused, match="Unsupported protocol version"):
        await Handshake(wire, capabilities={}, versions=list(HANDSHAKE_VERSIONS)).initialize()


REFUSED = not_this_version(LATEST_MODERN_VERSION)
PROBE, SHAKE = "discover", "initialize"


@pytest.mark.parametrize(
    ("discover", "initialize", "known", "era", "asked"),
    [
        ([MODERN], LEGACY, None, "modern", [PROBE]),
        ([], LEGACY, "legacy", "legacy", [SHAKE]),
        ([UNKNOWN], LEGACY, None, "legacy", [PROBE, SHAKE]),
        ([not_this_version("2025-06-18")], LEGACY, None, "legacy", [PROBE, SHAKE]),
        ([MCPError(REFUSED.code, "x", data="nonsense")], LEGACY, None, "legacy", [PROBE, SHAKE]),
        (
            [MCPError(REFUSED.code, "x", data={"supported": "nonsense"})],
            *(LEGACY, None, "legacy", [PROBE, SHAKE]),
        ),
        ([{"nonsense": 1}], LEGACY, None, "legacy", [PROBE, SHAKE]),
        (
            [{**MODERN, "supportedVersions": ["2025-06-18"]}],
            LEGACY,
            None,
            "legacy",
            [PROBE, SHAKE],
        ),
        ([UNKNOWN, MODERN], REFUSED, None, "modern", [PROBE, SHAKE, PROBE]),  # it is modern
        ([REFUSED, MODERN], LEGACY, None, "modern", [PROBE, PROBE]),  # named what it refused
        ([REFUSED] * 2, LEGACY, None, "legacy", [PROBE, PROBE, SHAKE]),
    ],
)
async def test_an_era_is_found_with_as_few_questions_as_it_takes(
    discover, initialize, known, era, asked
):
    prober = FakeProber(discover=list(discover), initialize=initialize)
    assert await settle(prober, known) == era
    assert prober.asked == asked


async def test_a_server_that_does_not_answer_the_probe_is_asked_for_the_handshake_soon():
    prober = FakeProber(discover=[SILENT])
    assert await settle(prober, patience_s=0.01) == "legacy"


async def test_of_a_slow_modern_server_the_late_answer_to_the_probe_counts():
    late = asyncio.Event()
    prober = FakeProber(discover=[late], initialize=SILENT)
    task = asyncio.ensure_future(settle(prober, patience_s=0.01))
    await eventually(lambda: prober.asked == ["discover", "initialize"])
    late.set()
    assert await task == "modern"


async def test_a_refused_handshake_leaves_the_late_answer_to_the_probe_time():
    late = asyncio.Event()
    prober = FakeProber(discover=[late], initialize=not_this_version(LATEST_MODERN_VERSION))
    task = asyncio.ensure_future(settle(prober, patience_s=0.01))
    await eventually(lambda: prober.asked == ["discover", "initialize"])
    await asyncio.sleep(0)
    late.set()
    assert await task == "modern"


async def test_a_server_that_names_another_modern_version_is_asked_for_it(monkeypatch):
    versions = ("2026-07-28", "2027-01-01")
    monkeypatch.setattr(module, "MODERN_PROTOCOL_VERSIONS", versions)
    prober = FakeProber(discover=[not_this_version("2027-01-01"), MODERN])
    assert await settle(prober) == "modern"
    prober = FakeProber(discover=[not_this_version(*versions)] * 3)
    assert await settle(prober) == "legacy"


async def test_a_refusal_of_both_is_raised():
    prober = FakeProber(discover=[UNKNOWN], initialize=MCPError(-1, "go away"))
    with pytest.raises(MCPError, match="go away"):
        await settle(prober)


async def test_a_server_known_as_modern_gets_all_the_time_it_wants():
    late = asyncio.Event()
    prober = FakeProber(discover=[late])
    task = asyncio.ensure_future(settle(prober, "modern", patience_s=0.0))
    await asyncio.sleep(0.05)
    assert prober.asked == ["discover"]
    late.set()
    assert await task == "modern"


async def asked(pool: UpstreamPool) -> list[str]:
    return json.loads((await call_tool(pool, "legacy", "methods", {})).raw["content"][0]["text"])


HANDSHAKE = ["initialize", "notifications/initialized", "tools/call"]


@pytest.mark.parametrize(
    ("reaction", "first"),
    [
        ("reject", ["server/discover", *HANDSHAKE]),
        ("ignore", ["server/discover", *HANDSHAKE]),
        ("die", HANDSHAKE),
    ],
)
async def test_a_legacy_server_is_probed_once_and_then_never_again(reaction, first, monkeypatch):
    monkeypatch.setattr(module.negotiate, "__kwdefaults__", {"patience_s": 0.2})
    async with UpstreamPool([legacy(options=(f"unknown={reaction}",))]) as pool:
        assert await asked(pool) == first
        assert pool.list_statuses()["legacy"].restarts == 0
        await restart(pool, "legacy")
        assert await asked(pool) == HANDSHAKE


COUNTING = """
import os, sys
with open(sys.argv[1], "a") as starts:
    starts.write(f"{os.getpid()}\\n")
sys.stderr.write(sys.argv[3])
sys.stderr.flush()
sys.stdin.readline()
sys.exit(int(sys.argv[2]))
"""


def exiting(starts: Path, *, code: int, says: str = "") -> ServerSpec:
    """Return a server that notes its start, reads one request, and exits."""
    args = ("-c", COUNTING, str(starts), str(code), says)
    return ServerSpec(name="counting", command=sys.executable, args=args)


@pytest.mark.parametrize(
    ("code", "says", "started"),
    [
        (1, "", 2),
        (1, "KeyError: 'TOKEN'\n", 2),
        (0, "usage: counting FILE\n", 2),
        (0, "", 2),
        (1, "panicked: ExpectedInitializeRequest\n", 2),
        (1, "unsupported protocol version\n", 5),
    ],
)
async def test_a_server_that_exits_is_started_again_only_as_often_as_there_are_other_questions(
    tmp_path, code, says, started
):
    starts = tmp_path / "starts"
    async with UpstreamPool([exiting(starts, code=code, says=says)]) as pool:
        with pytest.raises(ServerExited):
            await pool.list_tools("counting")
    assert len(starts.read_text().splitlines()) == started


async def test_a_legacy_server_that_the_probe_ends_is_started_again_without_it():
    async with UpstreamPool([legacy(options=("unknown=vanish",))]) as pool:
        assert await asked(pool) == HANDSHAKE


@pytest.mark.parametrize("reaction", ["error", "unnamed", "once", "exit"])
async def test_a_server_that_refuses_a_version_is_asked_for_older_ones_and_then_at_once(
    tmp_path, reaction
):
    spec = legacy(options=(f"newest=2025-03-26:{reaction}", f"log={tmp_path / 'asked'}"))
    async with UpstreamPool([spec]) as pool:
        assert await asked(pool)
        assert pool.list_statuses()["legacy"].protocol_version == "2025-03-26"
        versions = (tmp_path / "asked").read_text().split()
        assert versions[0] == "2025-11-25"
        assert versions[-1] == "2025-03-26"
        await restart(pool, "legacy")
        assert await asked(pool)
        assert (tmp_path / "asked").read_text().split() == [*versions, "2025-03-26"]


async def test_a_modern_server_that_crashed_once_at_its_start_works_at_the_next_try(tmp_path):
    broken = tmp_path / "broken"
    broken.touch()
    crash = f"import os; os.path.exists({str(broken)!r}) and os._exit(1); "
    run = f"import runpy; runpy.run_path({str(SERVERS / 'stateless.py')!r}, run_name='__main__')"
    spec = ServerSpec(name="legacy", command=sys.executable, args=("-c", crash + run))
    async with UpstreamPool([spec], policy=SOON) as pool:
        with pytest.raises(ServerExited):
            await pool.list_tools("legacy")
        broken.unlink()
        assert (await pool.list_tools("legacy")).tools


async def test_a_server_wedged_by_the_probe_works_at_the_next_try(let_pass):
    spec = legacy(options=("unknown=wedge",), connect_timeout_s=LONG_S)
    async with UpstreamPool([spec], policy=SOON) as pool:
        wedged = asyncio.ensure_future(asked(pool))
        await eventually(lambda: pool.list_statuses()["legacy"].pid is not None)
        let_pass(LONG_S)
        with pytest.raises(ConnectTimedOut):
            await wedged
        assert await asked(pool) == HANDSHAKE


@pytest.mark.parametrize(
    ("option", "error", "words"),
    [
        ("initialize=refuse", UpstreamRefused, "no licence"),
        ("initialize=malformed", ProtocolViolation, "check that its command starts an MCP server"),
        ("version=1999-01-01", ProtocolViolation, "Unsupported protocol version"),
    ],
)
async def test_a_failed_negotiation_is_explained(option, error, words):
    async with UpstreamPool([legacy(options=(option,))], policy=SOON) as pool:
        with pytest.raises(error, match=words):
            await pool.list_tools("legacy")
        assert pool.list_statuses()["legacy"].state == "backoff"
