"""Check servers by starting them and listing their tools, or by what was recorded."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from gateway_project.access import callers
from gateway_project.diagnosis.finding import Finding
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from tools import discover
from tools.discovery_schedule import DiscoveryState
from tools.sign_in_store import make_remote_with_sign_ins
from tools.store import sign_ins
from tools.store.overview import ServerSummary
from tools.upstream.limits import UpstreamLimits
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

DEFAULT_WAIT_S: Final = 4.0
"""Seconds to wait for answers; stopping servers that ignore termination adds up to six."""
START_LIMITS: Final = UpstreamLimits(concurrent_starts=4, start_slot_s=0.5)
"""Hanging servers delay others only briefly; more concurrent starts would all be too slow."""
RECENT_ANSWER_AGE: Final = timedelta(hours=24)
"""Age up to which a recorded answer counts like a new one."""

AnswerProgress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class ServerAnswer:
    """A server's answer to a request for its tools.

    Attributes:
        name: The server.
        tool_count: Number of its tools; None without an answer.
        error: Why it did not answer, in one line; empty if time was up.
        output: Its last output before that.
        dropped_lines: Lines on stdout that are not messages.
    """

    name: str
    tool_count: int | None = None
    error: str = ""
    output: tuple[str, ...] = ()
    dropped_lines: int = 0


def ask_servers(
    config: Config,
    specs: Sequence[ServerSpec],
    sealer: Sealer,
    *,
    wait_s: float = DEFAULT_WAIT_S,
    report: AnswerProgress = lambda _done, _total: None,
) -> tuple[ServerAnswer, ...]:
    """Start servers, in their order but overlapping, and list their tools without storing them.

    Args:
        config: The installation's configuration.
        specs: The servers.
        sealer: Unseals their sign-ins.
        wait_s: Seconds to wait for the answers of all of them together.
        report: Receives the number of answers and of servers.
    """
    return asyncio.run(_ask_servers(config, specs, sealer, wait_s, report)) if specs else ()


async def _ask_servers(
    config: Config,
    specs: Sequence[ServerSpec],
    sealer: Sealer,
    wait_s: float,
    report: AnswerProgress,
) -> tuple[ServerAnswer, ...]:
    done = itertools.count(1)
    report(0, len(specs))
    async with (
        make_remote_with_sign_ins(
            sealer=sealer, rules=_load_network_rules(config), listing_user=callers.LOCAL_ADMIN
        ) as (remote, _),
        UpstreamPool(specs, remote=remote, limits=START_LIMITS) as pool,
    ):
        outcomes = await discover.probe_servers(
            pool,
            [spec.name for spec in specs],
            timeout_s=wait_s,
            on_done=lambda: report(next(done), len(specs)),
        )
        statuses = pool.list_statuses()
    return tuple(
        ServerAnswer(
            name=name,
            tool_count=outcome if isinstance(outcome, int) else None,
            error="" if isinstance(outcome, int) else outcome,
            output=statuses[name].last_output,
            dropped_lines=statuses[name].messages_dropped,
        )
        for name in sorted(spec.name for spec in specs)
        for outcome in (outcomes.get(name, ""),)
    )


def _load_network_rules(config: Config) -> NetworkRules:
    try:
        return NetworkRules(allowed=parse_networks(config.allow_private))
    except ValueError:  # reported by check_networks
        return NetworkRules()


def judge_recorded_state(
    server: ServerSummary, discovery: DiscoveryState | None, *, now: datetime
) -> Finding | None:
    """Judge a server by recorded state, without starting it; None if that may be outdated.

    The state is current if the server answered recently, with its current settings, and has not
    failed since.
    """
    answered_at = max(
        (at for at in (server.last_connected_at, server.discovered_at) if at), default=None
    )
    if answered_at is None or now - answered_at > RECENT_ANSWER_AGE or server.last_error:
        return None
    if discovery is None or discovery.due_at(now) is not None:
        return None
    count = server.usable + server.quarantined + server.pending
    minutes = max(0, int((now - answered_at).total_seconds() // 60))
    detail = f"answered {minutes:,} min ago, {count} tools"
    return Finding(check=f"server {server.name}", verdict="ok", detail=detail)


def start_priority(server: ServerSummary | None) -> int:
    """Return a sort key for starts: servers most likely to answer come first."""
    if server is None or not (server.last_error or server.last_connected_at):
        return 1  # never tried
    return 2 if server.last_error else 0


def judge_answer(
    answer: ServerAnswer,
    *,
    sign_in: str,
    answered_at: datetime | None = None,
    last_error: str = "",
) -> Iterator[Finding]:
    """Judge an answer.

    Args:
        answer: The server's answer.
        sign_in: Problem of its sign-in; empty if there is none.
        answered_at: Time of its previous answer; None: never.
        last_error: Its last error; empty if the last attempt succeeded.
    """
    check = f"server {answer.name}"
    if answer.tool_count is None and not answer.error and not sign_in:
        last_answer = (
            "it has never answered"
            if answered_at is None
            else f"it last answered at {answered_at:%F %H:%M} UTC"
        )
        reason = last_error.removeprefix(f"server {answer.name!r}: ")
        last_failure = f"; it failed the last time: {reason}" if reason else ""
        detail = (
            f"still starting when time was up ({last_answer}){last_failure}; "
            "`manage.py doctor --wait 60` waits longer"
        )
        yield Finding(check=check, verdict="warning", detail=detail)
        return
    if answer.tool_count is None:
        reason = sign_in or answer.error.removeprefix(f"server {answer.name!r}: ")
        yield Finding(check=check, verdict="failure", detail=reason, output=answer.output)
        return
    yield Finding(check=check, verdict="ok", detail=f"{answer.tool_count} tools")
    if sign_in:
        yield Finding(check=check, verdict="warning", detail=sign_in)
    if answer.dropped_lines:
        detail = (
            f"prints to stdout, which is for the protocol ({answer.dropped_lines} lines dropped); "
            "have it log to stderr"
        )
        yield Finding(check=check, verdict="warning", detail=detail)


def find_sign_in_problem(spec: ServerSpec, sealer: Sealer) -> str:
    """Return why a server's sign-in is unusable; empty if it is usable."""
    if spec.authorization == "none":
        return ""
    hint = f"run `manage.py sign_in {spec.name}`"
    overviews = sign_ins.load_overview(spec.name, sealer=sealer)
    if not overviews:
        return f"nobody has signed in to it; {hint}"
    for item in overviews:
        owner = f"the sign-in of {item.user}" if item.user else "its sign-in"
        if item.ended:
            return f"{owner} has ended ({item.ended}); {hint}"
        expired = item.expires_at is not None and item.expires_at < datetime.now(UTC)
        if expired and not item.renews:
            return f"{owner} has expired and cannot be renewed; {hint}"
    return ""
