"""What servers say when they are started and asked for their tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from gateway_project.access import callers
from gateway_project.diagnosis.finding import Finding
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from tools import discover
from tools.keep_sign_ins import remote_with_sign_ins
from tools.store import sign_ins
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a server answered.

    Attributes:
        name: The server.
        tools: Number of its tools; None if it did not say.
        error: Why it did not, in one line.
        dropped: Lines it printed that are no messages.
    """

    name: str
    tools: int | None = None
    error: str = ""
    dropped: int = 0


def ask(config: Config, specs: tuple[ServerSpec, ...], sealer: Sealer) -> tuple[Answer, ...]:
    """Start every server, all at once, and list its tools without storing them."""
    return asyncio.run(_ask(config, specs, sealer)) if specs else ()


async def _ask(
    config: Config, specs: tuple[ServerSpec, ...], sealer: Sealer
) -> tuple[Answer, ...]:
    async with (
        remote_with_sign_ins(
            sealer=sealer, rules=_rules(config), listing_user=callers.LOCAL_ADMIN
        ) as (remote, _),
        UpstreamPool(specs, remote=remote) as pool,
    ):
        found = await discover.probe(pool, [spec.name for spec in specs])
        dropped = {name: status.messages_dropped for name, status in pool.status().items()}
    return tuple(
        Answer(
            name=name,
            tools=outcome if isinstance(outcome, int) else None,
            error="" if isinstance(outcome, int) else outcome,
            dropped=dropped.get(name, 0),
        )
        for name, outcome in found.items()
    )


def _rules(config: Config) -> NetworkRules:
    try:
        return NetworkRules(allowed=parse_networks(config.allow_private))
    except ValueError:  # said by a check of its own
        return NetworkRules()


def findings(answer: Answer, *, sign_in: str) -> Iterator[Finding]:
    """Judge an answer; `sign_in` is what is wrong with the sign-in, empty if nothing."""
    check = f"server {answer.name}"
    if answer.tools is None:
        reason = sign_in or answer.error.removeprefix(f"server {answer.name!r}: ")
        yield Finding(check=check, verdict="failure", detail=reason)
        return
    yield Finding(check=check, verdict="ok", detail=f"{answer.tools} tools")
    if sign_in:
        yield Finding(check=check, verdict="warning", detail=sign_in)
    if answer.dropped:
        detail = (
            f"prints to stdout beside the protocol ({answer.dropped} lines dropped); have it log "
            "to stderr"
        )
        yield Finding(check=check, verdict="warning", detail=detail)


def sign_in_problem(spec: ServerSpec, sealer: Sealer) -> str:
    """Say what keeps a server's sign-in from being used; empty if nothing does."""
    if spec.authorization == "none":
        return ""
    how = f"run `manage.py sign_in {spec.name}`"
    known = sign_ins.overview(spec.name, sealer=sealer)
    if not known:
        return f"nobody has signed in to it; {how}"
    for item in known:
        who = f"the sign-in of {item.user}" if item.user else "its sign-in"
        if item.ended:
            return f"{who} has ended ({item.ended}); {how}"
        expired = item.expires_at is not None and item.expires_at < datetime.now(UTC)
        if expired and not item.renews:
            return f"{who} has expired and cannot be renewed; {how}"
    return ""
