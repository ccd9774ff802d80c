"""Ask servers for their tools, store them, and make them searchable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import in_database
from graph import refresh
from tools import discover as discovery
from tools.discover import Discovered
from tools.keep_sign_ins import remote_with_sign_ins
from tools.store import postings, servers
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.pool import UpstreamPool


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    """Outcome of a refresh.

    Attributes:
        servers: One entry a server asked.
        unknown: Names asked for that are not registered or not enabled.
    """

    servers: tuple[Discovered, ...]
    unknown: tuple[str, ...] = ()


async def refresh_catalogue(
    config: Config,
    *,
    names: Sequence[str] | None = None,
    on_done: Callable[[Discovered], None] = lambda _: None,
) -> Refreshed:
    """Start the servers, list their tools in parallel, store, index and relate them.

    Args:
        config: Time limits, and whether new tools are approved at once.
        names: Servers to ask; None is every enabled one.
        on_done: Told of each server as it is done.

    Raises:
        SealBroken: If a server's environment cannot be opened.
    """
    sealer = sealing.load_or_create(config.home)
    specs = await in_database(
        servers.load_specs,
        sealer=sealer,
        connect_timeout_s=config.connect_timeout_s,
        call_timeout_s=config.call_timeout_s,
        names=names,
    )
    rules = NetworkRules(allowed=parse_networks(config.allow_private))
    async with (
        remote_with_sign_ins(sealer=sealer, rules=rules, listing_user=callers.LOCAL_ADMIN) as (
            remote,
            _,
        ),
        UpstreamPool(specs, remote=remote) as pool,
    ):
        found = await discovery.discover(
            pool,
            [spec.name for spec in specs],
            approve_new=config.approve_new == "auto",
            on_done=on_done,
        )
    await in_database(lambda: postings.index_text(postings.stale()))
    await in_database(refresh.refresh, now=datetime.now(UTC))
    known = {spec.name for spec in specs}
    return Refreshed(
        servers=found, unknown=tuple(name for name in names or () if name not in known)
    )
