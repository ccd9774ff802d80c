"""What calling next calls ahead gains, in recorded sessions played through a real gateway.

    python -m benchmarks prefetch_value [--pause SECONDS]

A client of the MCP SDK plays one fold of each set of `FOREGATE_DATA` to `run_gateway` over HTTP,
as it was recorded, with a pause before each call; the sets are played at once, and a process for
each server answers as recorded, 300 ms later. The other folds are the history that the gateway
starts with. The servers are trusted, free, and declare what only reads; a tool still has to earn
that its results are served, so that its first calls made ahead are compared only. The same
sessions are played once more, with shorter pauses, to a gateway that speculates nothing, and reads
of them to both without a pause, by several clients.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.gateway_cost import foregate
from benchmarks.gateway_cost.processes import RunningServer
from benchmarks.gateway_process import BASE
from benchmarks.tables import markdown, percentile

if TYPE_CHECKING:
    from mcp import Client

    from benchmarks.evaluation.prefetch import Replay
    from benchmarks.evaluation.session_files import RecordedCall, RecordedSession

SETS: Final = ("traces_airline", "traces_retail", "traces_bfcl")
LATENCY_S: Final = 0.3
PAUSE_S: Final = 2.0
FOLD: Final = 0
BUDGET: Final = 0.5
"""The waste budget of a server whose calls are free."""
QUICK_PAUSE_S: Final = 0.5
"""Without speculation a pause changes nothing."""
FITTED_S: Final = 300.0
POLL_S: Final = 0.5
SETTLE_S: Final = 1.0
LOAD_CLIENTS: Final = 8
LOAD_ROUNDS: Final = 8
LOAD_CALLS: Final = 40
HISTORY_AGE_S: Final = 86_400.0
_MS_PER_S: Final = 1_000.0


@dataclass(frozen=True, kw_only=True)
class PlayedSet:
    """A set of recorded sessions and what plays it.

    Attributes:
        name: Of the set.
        folder: Its files.
        control: File that names the session that its servers play.
        tested: Sessions that are played.
        history: Sessions that the gateway has learned from.
        access: Of each tool, by id.
        replay: Its tools, as prediction reads them.
        token: Of a user of its own: a call that writes outdates all that was read ahead for its
            user.
    """

    name: str
    folder: Path
    control: Path
    tested: Sequence[RecordedSession]
    history: Sequence[RecordedSession]
    access: Mapping[str, str]
    replay: Replay
    token: str


@dataclass(kw_only=True)
class Played:
    """What clients saw.

    Attributes:
        durations_ms: Of each call, in the order of the calls.
        reads: Calls that only read.
        served_ms: Of those that were answered with a result made ahead.
        other_results: Calls whose result was not the recorded one.
        stale: Calls among these that were answered with a result made ahead.
    """

    durations_ms: list[float] = field(default_factory=list)
    served_ms: list[float] = field(default_factory=list)
    reads: int = 0
    other_results: int = 0
    stale: int = 0


def run(*, pause_s: float = PAUSE_S) -> str:
    """Play the sessions; return the tables."""
    root = os.environ.get("FOREGATE_DATA")
    if not root:
        raise SystemExit("FOREGATE_DATA must name the folder of the public data sets")
    from django.conf import settings

    home = Path(settings.FOREGATE.home)
    sets = [_load_set(Path(root) / name, home) for name in SETS]
    _register(sets)
    for played in sets:
        _store_history(played)
    evaluated = [_evaluate(played) for played in sets]
    started_at = time.time()
    with foregate.gateway(sets[0].token, FOREGATE_SPECULATION="true") as running:
        asyncio.run(_warm_up(running, sets, home))
        ahead = asyncio.run(_play_all(running, sets, pause_s=pause_s))
        time.sleep(SETTLE_S)
    ended = [_count_ended(played, since=started_at) for played in sets]
    with foregate.gateway(sets[0].token, FOREGATE_SPECULATION="false") as running:
        plain = asyncio.run(_play_all(running, sets, pause_s=QUICK_PAUSE_S))
    rows = [
        _describe(*values) for values in zip(sets, evaluated, ended, ahead, plain, strict=True)
    ]
    headings = (
        "set", "reads", "ready", "waste", "`evaluate`: ready", "waste", "served", "stale",
        "p50 ms served", "p50 ms without", "with", "p95 ms without", "with",
    )  # fmt: skip
    return f"{markdown(headings, rows)}\n\n{_measure_load(sets)}"


def _load_set(folder: Path, home: Path) -> PlayedSet:
    from benchmarks.evaluation import prefetch
    from benchmarks.evaluation.session_files import load_sessions
    from benchmarks.next_call import split_sessions

    data = load_sessions(folder, sessions=folder / "sessions.jsonl")
    tested, history = split_sessions(data.sessions, FOLD)
    control = home / f"{folder.name}.session"
    control.write_text(tested[0].id)
    return PlayedSet(
        name=folder.name.removeprefix("traces_"),
        folder=folder,
        control=control,
        tested=[session for session in tested if any(turn.calls for turn in session.turns)],
        history=history,
        access=data.access,
        replay=prefetch.prepare_replay(data),
        token=_make_token(folder.name),
    )


def _make_token(name: str) -> str:
    """Make a user; return a token that may call all tools."""
    from django.contrib.auth import get_user_model

    from gateway_project.access import tokens

    user = get_user_model().objects.create_superuser(name)
    _, token = tokens.create_token(user, name="benchmark", scopes=["*"])
    return token


def _register(sets: Sequence[PlayedSet]) -> None:
    """Register and discover the servers."""
    from django.conf import settings
    from django.core.management import call_command

    from gateway_project.foundation import sealing
    from tools.models import Server, Tool

    sealed = sealing.load_or_create_sealer(settings.FOREGATE.home).seal({})
    for played in sets:
        for name in sorted({tool.partition(":")[0] for tool in played.access}):
            script = ["-m", "benchmarks.replay_server"]
            Server.objects.create(
                name=name,
                transport="stdio",
                command=sys.executable,
                args=[*script, str(played.folder), name, str(played.control), str(LATENCY_S)],
                cwd=str(BASE),
                env_sealed=sealed,
                trusted=True,
                price_per_call=0,
            )
    call_command("discover", verbosity=0)
    Tool.objects.update(approval="never")  # a recorded client waits for nobody


def _store_history(played: PlayedSet) -> None:
    """Store what the past sessions taught, as a gateway that was called so would have."""
    from learning.memory.event import Event, EventKind
    from learning.store import events
    from tools.models import Tool

    names = {number: name for name, number in played.replay.tool_ids.items()}
    keys = {str(tool): tool.pk for tool in Tool.objects.select_related("server")}
    began_at = time.time() - HISTORY_AGE_S
    for number, session in enumerate(sorted(played.history, key=lambda one: one.group)):
        hashed = hash((played.name, session.id)) >> 1
        observed = played.replay.observe(session, with_intent=False)
        taught = [
            Event(
                kind=EventKind.OBSERVATION,
                at=began_at + 60 * number + place,
                team=None,
                session=hashed,
                tool=keys[names[one.tool]],
                data={"observation": {**one.to_json(), "tool": keys[names[one.tool]]}},
            )
            for place, one in enumerate(observed)
        ]
        if taught:
            events.store_records(taught, spool=uuid.uuid4(), start=0, end=1)


def _evaluate(played: PlayedSet) -> tuple[float, float]:
    """Return what `evaluate --sessions` finds: reads found ready, and waste."""
    from benchmarks.evaluation import prefetch
    from execution.speculation.waste_budget import WasteBudget

    replayed = prefetch.replay_sessions(
        played.replay, played.tested, played.history, with_intent=False
    )
    figures = prefetch.run_prefetch(replayed, WasteBudget(BUDGET))
    return figures.hit_rate or 0.0, figures.waste or 0.0


@asynccontextmanager
async def _connect(running: RunningServer, played: PlayedSet) -> AsyncIterator[Client]:
    """Connect a client with a session of its own."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    url = f"http://127.0.0.1:{running.port}/mcp"
    headers = {"Authorization": f"Bearer {played.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60.0) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode="legacy") as client:
            yield client


async def _warm_up(running: RunningServer, sets: Sequence[PlayedSet], home: Path) -> None:
    """Make a first call, and wait until the chances are fitted on the history."""
    await _play_session(running, sets[0], sets[0].tested[0], Played(), pause_s=0.0)
    log = home / "logs" / "foregate.log"
    async with asyncio.timeout(FITTED_S):
        while "predictions.fitted" not in log.read_text():  # noqa: ASYNC110 - another process
            await asyncio.sleep(POLL_S)


async def _play_all(
    running: RunningServer, sets: Sequence[PlayedSet], *, pause_s: float
) -> list[Played]:
    """Play all sets at once, the sessions of each one after the other."""

    async def play(played: PlayedSet, seen: Played) -> None:
        for session in played.tested:
            await _play_session(running, played, session, seen, pause_s=pause_s)

    found = [Played() for _ in sets]
    async with asyncio.TaskGroup() as group:
        for played, seen in zip(sets, found, strict=True):
            group.create_task(play(played, seen))
    return found


async def _play_session(
    running: RunningServer,
    played: PlayedSet,
    session: RecordedSession,
    seen: Played,
    *,
    pause_s: float,
) -> None:
    played.control.write_text(session.id)
    async with _connect(running, played) as client:
        for call in (call for turn in session.turns for call in turn.calls):
            await asyncio.sleep(pause_s)
            await _play_call(client, played, call, seen)


async def _play_call(client: Client, played: PlayedSet, call: RecordedCall, seen: Played) -> None:
    from gateway_project.mcp.call_results import SERVED_META

    arguments = {"tool": call.tool, "arguments": dict(call.arguments)}
    started = time.perf_counter()
    result = await client.call_tool("call_tool", arguments)
    took_ms = _MS_PER_S * (time.perf_counter() - started)
    is_served = SERVED_META in (result.meta or {})
    seen.durations_ms.append(took_ms)
    seen.reads += played.access[call.tool] == "read"
    if is_served:
        seen.served_ms.append(took_ms)
    if not _is_recorded(call, result):
        seen.other_results += 1
        seen.stale += is_served


def _is_recorded(call: RecordedCall, result: Any) -> bool:
    """Whether a result is the recorded one."""
    if isinstance(call.result, Mapping):
        return bool(result.structured_content == call.result)
    text = result.content[0].text if result.content else None
    expected = call.result if isinstance(call.result, str) else json.dumps(call.result)
    return text == (None if call.result is None else expected)


def _count_ended(played: PlayedSet, *, since: float) -> tuple[int, int]:
    """Return how many next calls were made ahead, and how many of these came."""
    from datetime import UTC, datetime

    from learning.memory.event import KIND_CODES, EventKind, EventOutcome
    from learning.models import EpisodicEvent
    from tools.models import Tool

    servers = {tool.partition(":")[0] for tool in played.access}
    tools = Tool.objects.filter(server__name__in=servers).values_list("pk", flat=True)
    ended = EpisodicEvent.objects.filter(
        kind=KIND_CODES[EventKind.SPECULATION_END],
        at__gte=datetime.fromtimestamp(since, UTC),
        tool__in=list(tools),
        data__form="next_call",
        data__shadow=False,
    )
    return ended.count(), ended.filter(outcome=EventOutcome.HIT.value).count()


def _describe(
    played: PlayedSet,
    evaluated: tuple[float, float],
    ended: tuple[int, int],
    ahead: Played,
    plain: Played,
) -> tuple[str, ...]:
    dispatched, used = ended
    return (
        played.name,
        str(ahead.reads),
        f"{used / ahead.reads:.3f}",
        f"{(dispatched - used) / dispatched if dispatched else 0.0:.2f}",
        f"{evaluated[0]:.3f}",
        f"{evaluated[1]:.2f}",
        f"{len(ahead.served_ms) / ahead.reads:.3f}",
        str(ahead.stale),
        f"{median(ahead.served_ms):.1f}" if ahead.served_ms else "",
        f"{median(plain.durations_ms):.0f}",
        f"{median(ahead.durations_ms):.0f}",
        f"{percentile(plain.durations_ms, 0.95):.0f}",
        f"{percentile(ahead.durations_ms, 0.95):.0f}",
    )


def _measure_load(sets: Sequence[PlayedSet]) -> str:
    """Compare calls without pauses, by several clients, with and without speculation."""
    with ExitStack() as stack:
        pair = [
            stack.enter_context(foregate.gateway(sets[0].token, FOREGATE_SPECULATION=speculates))
            for speculates in ("false", "true")
        ]
        for running in pair:
            asyncio.run(_load(running, sets[0]))
        rounds = [
            [asyncio.run(_load(running, sets[0])) for running in pair] for _ in range(LOAD_ROUNDS)
        ]
    without, ahead = (
        [value for one in column for value in one] for column in zip(*rounds, strict=True)
    )
    p95 = [percentile(values, 0.95) for values in (without, ahead)]
    ratios = [percentile(one[1], 0.95) / percentile(one[0], 0.95) for one in rounds]
    row = (
        f"{LOAD_CLIENTS} clients without pauses",
        f"{median(without):.1f}",
        f"{median(ahead):.1f}",
        f"{p95[0]:.1f}",
        f"{p95[1]:.1f}",
        f"{100 * (median(ratios) - 1):+.1f} %",
    )
    headings = ("load", "p50 ms without", "with", "p95 ms without", "with", "median change of p95")
    return markdown(headings, [row])


async def _load(running: RunningServer, played: PlayedSet) -> list[float]:
    """Make the reads of some sessions without pauses; return the milliseconds of each."""
    sessions = [one for one in played.tested if _list_reads(played, one)][:LOAD_CLIENTS]
    seen = [Played() for _ in range(LOAD_CLIENTS)]

    async def play(number: int) -> None:
        reads = _list_reads(played, sessions[number % len(sessions)])
        async with _connect(running, played) as client:
            for place in range(LOAD_CALLS):
                await _play_call(client, played, reads[place % len(reads)], seen[number])

    async with asyncio.TaskGroup() as group:
        for number in range(LOAD_CLIENTS):
            group.create_task(play(number))
    return [value for one in seen for value in one.durations_ms]


def _list_reads(played: PlayedSet, session: RecordedSession) -> list[RecordedCall]:
    return [
        call for turn in session.turns for call in turn.calls if played.access[call.tool] == "read"
    ]
