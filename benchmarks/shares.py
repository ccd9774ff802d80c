"""What others see while one person, or one address, takes all it can get.

A console serves on loopback. Each attack is bounded and ends by itself; meanwhile somebody of
another team asks for the list of tools, again and again, each time on a new connection, as does a
probe for `/health`. A refusal and a broken connection count as a failure.

`BENCH_TREE` names the folder of another checkout whose console is measured instead.
"""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import psutil

from benchmarks.definitions import definitions
from benchmarks.gateway_cost.processes import RunningServer, free_port, started
from benchmarks.rest import wait_until_ready
from benchmarks.tables import markdown, percentile

STREAMS: Final = 1_900
IDLE: Final = 2_100
PARALLEL, ROUNDS = 8, 3
HANGING: Final = 40
ASK_S: Final = 8.0
"""How long others ask in each attack, once it has begun."""
PAUSE_S: Final = 0.1
TIMEOUT_S: Final = 30.0
SAMPLE_S: Final = 0.02
RENEW_S: Final = 1.0
HUGE: Final = b'{"tool":"bench0:a","arguments":{"list":[' + b"[]," * 5_000_000 + b"[]]}}"
FILES: Final = 8_192
"""File descriptors that the streams and idle connections of both sides need."""

Attack = Callable[[asyncio.Event], Coroutine[Any, Any, str]]
"""Attacks until it is told to end; calls the event once it has begun, and returns what it got."""


@dataclass(kw_only=True)
class Seen:
    """What others saw.

    Attributes:
        times: Seconds of each list of tools that was answered.
        failures: What the others were answered with, and how often.
        health: What the probe was answered with, and how often.
        rss: Resident memory of the console in bytes, sampled.
    """

    times: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    health: Counter[str] = field(default_factory=Counter)
    rss: list[int] = field(default_factory=list)


def run() -> str:
    """Play the attacks, each against a console of its own."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, limit), limit))
    _store_tools()
    tokens = {name: _create_token(name) for name in ("red-1", "red-2", "blue")}
    rows = []
    attacks: Mapping[str, Callable[[int], Attack]] = {
        "nothing": lambda _: _wait,
        f"{STREAMS:,} streams of two tokens": lambda port: _open_streams(port, tokens),
        f"{IDLE:,} idle connections": _connect_idle,
        f"{PARALLEL} times 15 MB of [[],[],…]": lambda port: _post_huge(port, tokens["red-1"]),
    }
    for name, make in attacks.items():
        with _console(tokens["blue"]) as console:
            seen = Seen()
            got = asyncio.run(_play(make(console.port), console, tokens["blue"], seen))
        rows.append(_make_row(name, seen, got))
        print(" | ".join(map(str, rows[-1])), flush=True)
    headings = ["attack", "the attacker got", "tools/ p50 ms", "p95 ms", "max ms", "failed"]
    table = markdown([*headings, "/health failed", "RSS MB, start", "peak"], rows)
    return f"{table}\n\n{_measure_webhooks()}"


async def _play(attack: Attack, console: RunningServer, token: str, seen: Seen) -> str:
    begun = asyncio.Event()
    sampling = asyncio.create_task(_sample_memory(console, seen))
    attacking = asyncio.create_task(attack(begun))
    with suppress(TimeoutError):
        await asyncio.wait_for(begun.wait(), 2 * TIMEOUT_S)
    await _ask(console.port, token, seen)
    attacking.cancel()
    sampling.cancel()
    return await attacking


async def _ask(port: int, token: str, seen: Seen) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    ends = time.monotonic() + ASK_S
    while time.monotonic() < ends:
        began = time.perf_counter()
        status = await _get(port, "/api/v1/tools/", headers)
        if status == "200":
            seen.times.append(time.perf_counter() - began)
        else:
            seen.failures[status] += 1
        seen.health[await _get(port, "/health", {})] += 1
        await asyncio.sleep(PAUSE_S)


async def _get(port: int, path: str, headers: Mapping[str, str]) -> str:
    """Return the status of a request on a new connection, or how it failed."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await _send(port, "GET", path, headers)
            line = await reader.readline()
            while await reader.read(65_536):
                pass
            writer.close()
    except (OSError, TimeoutError) as error:
        return type(error).__name__
    return line.split(b" ")[1].decode() if line else "closed"


async def _send(
    port: int, verb: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"{verb} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if "text/event-stream" not in headers.values():
        lines.append("Connection: close")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
    return reader, writer


async def _wait(begun: asyncio.Event) -> str:
    begun.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "-"
    raise AssertionError


def _open_streams(port: int, tokens: Mapping[str, str]) -> Attack:
    async def attack(begun: asyncio.Event) -> str:
        from gateway_project.foundation.database import run_in_database_thread

        found: Counter[str] = Counter()
        held: list[asyncio.StreamWriter] = []
        names = [name for name in tokens if name != "blue"]
        runs = {name: await run_in_database_thread(_start_run, name) for name in names}
        numbers = iter(range(STREAMS))

        async def open_some() -> None:
            for number in numbers:
                name = names[number % len(names)]
                headers = {
                    "Authorization": f"Bearer {tokens[name]}",
                    "Accept": "text/event-stream",
                }
                path = f"/api/v1/runs/{runs[name]}/events/"
                with suppress(OSError, TimeoutError):
                    reader, writer = await _send(port, "GET", path, headers)
                    held.append(writer)
                    line = await asyncio.wait_for(reader.readline(), TIMEOUT_S)
                    found[line.split(b" ")[1].decode() if line else "closed"] += 1

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_renew_leases())
                async with asyncio.TaskGroup() as opening:
                    for _ in range(PARALLEL):
                        opening.create_task(open_some())
                begun.set()
        except asyncio.CancelledError:
            for writer in held:
                writer.close()
        return _describe(found)

    return attack


def _connect_idle(port: int) -> Attack:
    async def attack(begun: asyncio.Event) -> str:
        held = []
        try:
            while True:
                for _ in range(IDLE):
                    with suppress(OSError):
                        held.append((await asyncio.open_connection("127.0.0.1", port))[1])
                begun.set()
                await asyncio.sleep(ASK_S / 2)
        except asyncio.CancelledError:
            for writer in held:
                writer.close()
        return f"{len(held):,} accepted"

    return attack


def _post_huge(port: int, token: str) -> Attack:
    async def attack(begun: asyncio.Event) -> str:
        found: Counter[str] = Counter()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

        async def post() -> None:
            for _ in range(ROUNDS):
                try:
                    reader, writer = await _send(port, "POST", "/api/v1/calls/", headers, HUGE)
                    begun.set()
                    line = await reader.readline()
                    writer.close()
                except OSError as error:
                    found[type(error).__name__] += 1
                else:
                    found[line.split(b" ")[1].decode() if line else "closed"] += 1

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(PARALLEL):
                    group.create_task(post())
        except asyncio.CancelledError:
            pass
        return _describe(found)

    return attack


def _describe(found: Counter[str]) -> str:
    return ", ".join(f"{count:,} of {status}" for status, count in sorted(found.items())) or "-"


async def _sample_memory(console: RunningServer, seen: Seen) -> None:
    while True:
        with suppress(psutil.Error):
            seen.rss.append(console.process.memory_info().rss)
        await asyncio.sleep(SAMPLE_S)


def _make_row(name: str, seen: Seen, got: str) -> Sequence[object]:
    times = [1_000 * each for each in seen.times] or [float("nan")]
    asked = len(seen.times) + sum(seen.failures.values())
    failed = sum(seen.failures.values())
    sick = sum(count for status, count in seen.health.items() if status != str(HTTPStatus.OK))
    return (
        name,
        got,
        f"{percentile(times, 0.5):,.0f}",
        f"{percentile(times, 0.95):,.0f}",
        f"{max(times):,.0f}",
        f"{failed} of {asked}",
        f"{sick} of {sum(seen.health.values())}",
        f"{seen.rss[0] / 1e6:,.0f}",
        f"{max(seen.rss) / 1e6:,.0f}",
    )


@contextmanager
def _console(token: str) -> Iterator[RunningServer]:
    port = free_port()
    env = {"FOREGATE_CONSOLE_PORT": str(port), "FOREGATE_API_PER_MINUTE": "0"}
    manage = os.path.join(os.environ.get("BENCH_TREE", "."), "manage.py")
    headers = {"Authorization": f"Bearer {token}"}
    program = [manage, "run_console", "--no-password"]
    with started(program, port=port, headers=headers, env=env) as one:
        wait_until_ready(one)
        asyncio.run(_get(port, "/api/v1/tools/", headers))
        one.settle()
        yield one


def _store_tools() -> None:
    from benchmarks import bulk_load
    from benchmarks.bulk_load import DefinedTool

    defined = [
        DefinedTool(server="bench0", definition=definition, category="")
        for definition in definitions(50)
    ]
    bulk_load.load_tools(defined, at=datetime.now(UTC))


def _create_token(name: str) -> str:
    """Return a token of a person of a team of their colour."""
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group

    from gateway_project.access import tokens
    from tools.models import Membership, Team

    user, _ = get_user_model().objects.get_or_create(username=name)
    user.groups.add(Group.objects.get(name="operator"))
    team, _ = Team.objects.get_or_create(name=name.partition("-")[0])
    Membership.objects.get_or_create(user=user, team=team)
    scopes = ["search", "call", "read", "control"]
    return str(tokens.create_token(user, name=name, scopes=scopes, team=team)[1])


def _start_run(user: str) -> str:
    """Store a run that some process seems to execute, so that its stream does not end."""
    from django.conf import settings
    from django.contrib.auth import get_user_model

    from execution.models import WorkflowExecution
    from execution.store import runs
    from execution.workflow import RunOptions
    from gateway_project.foundation import sealing
    from gateway_project.foundation.caller import Caller

    team = get_user_model().objects.get(username=user).memberships.get().team_id
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
    tasks = [("a", "bench0:a")]
    workflow: dict[str, Any] = {"tasks": [{"id": "a", "tool": "bench0:a", "arguments": {}}]}
    runs.create_run(
        runs.NewRun(
            caller=Caller(
                user=user, team=team, person=None, scopes=frozenset({"call"}), kind="http"
            ),
            workflow=workflow,
            tasks=tasks,
            intent="",
            options=RunOptions(),
            idempotency_key=None,
            is_direct=False,
            owner="benchmark",
            lease_s=86_400.0,
        ),
        sealer=sealer,
    )
    row = WorkflowExecution.objects.latest("created_at")
    WorkflowExecution.objects.filter(pk=row.pk).update(status="running")
    return str(row.pk)


async def _renew_leases() -> None:
    """Have the process that seems to execute the runs give signs of life."""
    from execution.models import WorkflowExecution
    from gateway_project.foundation.database import run_in_database_thread

    while True:
        later = datetime.now(UTC) + timedelta(minutes=1)
        await run_in_database_thread(WorkflowExecution.objects.update, lease_until=later)
        await asyncio.sleep(RENEW_S)


def _measure_webhooks() -> str:
    """Return how long a team's message takes while another team's receivers hang."""
    from asgiref.sync import async_to_sync

    return str(async_to_sync(_send_webhooks)())


async def _send_webhooks() -> str:
    from django.conf import settings

    from gateway_project.foundation import sealing
    from gateway_project.foundation.database import close_connections, run_in_database_thread
    from gateway_project.webhooks.send import SenderDependencies, WebhookSender
    from tools.upstream.http.client import HttpClient
    from tools.upstream.network import NetworkRules, parse_networks

    arrived: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if "/blue" in head.partition("\r\n")[0]:
            if not arrived.done():
                arrived.set_result(time.monotonic())
            writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
            writer.close()
        else:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(TIMEOUT_S)
            writer.close()

    receiver = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = receiver.sockets[0].getsockname()[1]
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    rules = NetworkRules(allowed=parse_networks("127.0.0.0/8"))
    sender = WebhookSender(
        SenderDependencies(
            open_http=lambda: HttpClient(rules), sealer=sealer, console="http://console"
        )
    )
    await run_in_database_thread(_queue_deliveries, port, sealer)
    queued = time.monotonic()
    sending = asyncio.create_task(sender.run())
    await asyncio.sleep(1.0)  # the hanging ones are being sent
    sender.wanted.set()
    await asyncio.wait([arrived], timeout=2 * TIMEOUT_S)
    sending.cancel()
    with suppress(asyncio.CancelledError):
        await sending
    await sender.aclose()
    receiver.close()
    await close_connections()
    took = f"{arrived.result() - queued:.1f}" if arrived.done() else f"> {2 * TIMEOUT_S:.0f}"
    rows = [(f"{HANGING} deliveries to receivers of red that hang", took)]
    return markdown(["attack", "s until a message of blue arrived"], rows)


def _queue_deliveries(port: int, sealer: Any) -> None:
    from gateway_project.models import WebhookDelivery
    from gateway_project.webhooks import store
    from tools.models import Team

    now = datetime.now(UTC)
    for team, count in (("red", HANGING), ("blue", 1)):
        hooks = [
            store.save_webhook(
                {
                    "name": f"{team} {number}",
                    "url": f"http://127.0.0.1:{port}/{team}",
                    "events": ["run.failed"],
                    "team_id": Team.objects.get(name=team).pk,
                },
                secret="whs_benchmark",  # noqa: S106 - of nobody
                sealer=sealer,
            )
            for number in range(min(count, 4))
        ]
        WebhookDelivery.objects.bulk_create(
            WebhookDelivery(
                webhook=hooks[number % len(hooks)],
                event="run.failed",
                data={"run": "x", "code": "x", "user": "x"},
                occurred_at=now,
                next_attempt_at=now - timedelta(seconds=60 if team == "red" else 0),
            )
            for number in range(count)
        )
