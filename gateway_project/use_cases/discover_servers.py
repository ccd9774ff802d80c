"""Test servers or request their discovery; superusers only, since both start commands."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.db import transaction

from gateway_project.access import audit, callers
from gateway_project.access.roles import require_scope
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.task_group import TaskGroup
from tools.sign_in_store import make_remote_with_sign_ins
from tools.store import discoveries, servers
from tools.store import overview as catalogue
from tools.upstream.errors import UpstreamError
from tools.upstream.listing import ToolListing
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.pool import UpstreamPool

TEST_TIMEOUT_S: Final = 20.0
"""Timeout of the test of a server; servers are tested in parallel."""
OUTPUT_INTERVAL_S: Final = 0.2
"""Interval at which a server's output is looked at during its test."""
ReportOutput = Callable[[str, tuple[str, ...]], None]
"""Called in the event loop with a server's name and its latest output, whenever there is more."""


def ignore_output(_server: str, _output: tuple[str, ...]) -> None:
    """Null implementation of `ReportOutput`."""


@dataclass(frozen=True, kw_only=True)
class ServerTest:
    """The result of a server test; it is not stored.

    Attributes:
        server: Its name.
        listing: Its tools; None: the test failed before.
        new_tools: Names of listed tools that are not in the catalogue.
        missing_tools: Names of catalogue tools that it no longer lists.
        error: The error in one line; empty: none.
        output: Its latest output outside the protocol (stderr).
        duration_s: Duration of the test.
    """

    server: str
    listing: ToolListing | None = None
    new_tools: tuple[str, ...] = ()
    missing_tools: tuple[str, ...] = ()
    error: str = ""
    output: tuple[str, ...] = ()
    duration_s: float = 0.0

    @property
    def tool_names(self) -> list[str]:
        """Names of the listed tools."""
        return [tool.name for tool in self.listing.tools] if self.listing else []


def request_discovery(caller: Caller, names: Iterable[str]) -> tuple[str, ...]:
    """Request the discovery of servers by any running process, with audit entries.

    Returns:
        Names of the servers that will be discovered; the others are disabled or deleted.

    Raises:
        NotPermitted: If the caller is not a superuser.
    """
    _require_superuser(caller)
    with transaction.atomic():
        requested = discoveries.request_discovery(names, at=datetime.now(UTC))
        for name in requested:
            audit.record_audit(caller, "server.discovery_requested", name)
    return requested


async def try_servers(
    caller: Caller,
    names: Collection[str],
    *,
    config: Config,
    limit_s: float = TEST_TIMEOUT_S,
    on_output: ReportOutput = ignore_output,
) -> tuple[ServerTest, ...]:
    """Connect to servers, including disabled ones, and list their tools without storing them.

    Args:
        caller: The actor.
        names: Of the servers.
        config: Of the installation.
        limit_s: Timeout per server.
        on_output: Told what the servers write outside the protocol while they are tested.

    Raises:
        NotPermitted: If the caller is not a superuser.
        UnsealingFailed: If a server's environment cannot be opened.
    """
    _require_superuser(caller)
    await run_in_database_thread(_record_tests, caller, names)
    async with (
        open_servers(config, names, with_disabled=True) as (pool, known),
        TaskGroup() as reporting,
    ):
        stored_names = await run_in_database_thread(catalogue.load_tool_names, known)
        reporter = reporting.create_task(_report_output(pool, known, on_output))
        async with TaskGroup() as group:
            tests = [
                group.create_task(_try_server(pool, name, stored_names, limit_s=limit_s))
                for name in known
            ]
        reporter.cancel()
    return tuple(test.result() for test in tests)


@asynccontextmanager
async def open_servers(
    config: Config, names: Collection[str] | None, *, with_disabled: bool = False
) -> AsyncIterator[tuple[UpstreamPool, tuple[str, ...]]]:
    """Connect to servers in order to list their tools, and yield the names of those there are.

    Args:
        config: Of the installation.
        names: Of the servers; None: every enabled one.
        with_disabled: Whether to connect to disabled ones too.

    Raises:
        UnsealingFailed: If a server's environment cannot be opened.
    """
    sealer = sealing.load_or_create_sealer(config.home)
    specs = await run_in_database_thread(
        servers.load_specs,
        sealer=sealer,
        connect_timeout_s=config.connect_timeout_s,
        call_timeout_s=config.call_timeout_s,
        names=names,
        with_disabled=with_disabled,
    )
    rules = NetworkRules(allowed=parse_networks(config.allow_private))
    async with (
        make_remote_with_sign_ins(
            sealer=sealer, rules=rules, listing_user=callers.LOCAL_ADMIN
        ) as (remote, _),
        UpstreamPool(specs, remote=remote) as pool,
    ):
        yield pool, tuple(spec.name for spec in specs)


async def _report_output(
    pool: UpstreamPool, names: Collection[str], on_output: ReportOutput
) -> None:
    """Report what servers write until cancelled."""
    reported: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    while True:
        await asyncio.sleep(OUTPUT_INTERVAL_S)
        for name in names:
            output = pool.get_recent_output(name)
            if output != reported[name]:
                reported[name] = output
                on_output(name, output)


async def _try_server(
    pool: UpstreamPool, server: str, stored_names: Mapping[str, frozenset[str]], *, limit_s: float
) -> ServerTest:
    started = time.monotonic()
    try:
        async with asyncio.timeout(limit_s):
            listing = await pool.list_tools(server)
    except UpstreamError as error:
        return ServerTest(
            server=server,
            error=str(error),
            output=tuple(getattr(error, "output", ())) or pool.get_recent_output(server),
            duration_s=time.monotonic() - started,
        )
    except TimeoutError:
        waited = f"server {server!r}: did not list its tools within {limit_s:g} s"
        advice = "if it must be downloaded first, discover it: that waits longer"
        return ServerTest(
            server=server,
            error=f"{waited}; {advice}",
            output=pool.get_recent_output(server),
            duration_s=limit_s,
        )
    listed, stored = {tool.name for tool in listing.tools}, stored_names.get(server, frozenset())
    return ServerTest(
        server=server,
        listing=listing,
        new_tools=tuple(sorted(listed - stored)),
        missing_tools=tuple(sorted(stored - listed)) if listing.complete else (),
        output=pool.get_recent_output(server),
        duration_s=time.monotonic() - started,
    )


def _record_tests(caller: Caller, names: Collection[str]) -> None:
    with transaction.atomic():
        for name in names:
            audit.record_audit(caller, "server.tested", name)


def _require_superuser(caller: Caller) -> None:
    refusal = "is not a superuser; only a superuser may start servers because they run commands"
    require_scope(caller, SCOPE_ALL, refusal)
