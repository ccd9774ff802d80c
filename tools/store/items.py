"""Stored lists of servers' resources, templates and prompts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from tools.definition import make_storable
from tools.models import Server, ServerItems
from tools.store import servers

MAX_BYTES = 4_000_000
"""Longer lists are not stored but fetched from the server each time."""


def load_items(kind: str, names: Collection[str]) -> dict[str, tuple[dict[str, Any], ...]]:
    """Return the stored lists of servers whose launch settings have not changed since.

    Args:
        kind: The kind of list.
        names: Servers.
    """
    rows = ServerItems.objects.filter(kind=kind, server__name__in=list(names))
    return {
        row.server.name: tuple(row.items)
        for row in rows.select_related("server")
        if row.launch_hash == _launch_hash(row.server)
    }


def record_items(
    name: str, lists: Mapping[str, Sequence[Mapping[str, Any]]], *, at: datetime
) -> None:
    """Store a server's lists, by kind.

    Nothing is stored for a server that is no longer registered or that lists per caller: one
    caller's list must not reach others, even if the server becomes shared later.
    """
    shared = Server.objects.exclude(session=Server.Session.PER_CALLER)
    shared = shared.exclude(authorization=Server.Authorization.OAUTH_PER_USER)
    server = shared.filter(name=name).first()
    if server is None:
        return
    launch_hash = _launch_hash(server)
    for kind, items in lists.items():
        storable = make_storable(list(items))
        if len(json.dumps(storable)) > MAX_BYTES:
            ServerItems.objects.filter(server=server, kind=kind).delete()
            continue
        ServerItems.objects.update_or_create(
            server=server,
            kind=kind,
            defaults={"items": storable, "launch_hash": launch_hash, "listed_at": at},
        )


def _launch_hash(server: Server) -> str:
    """Return the hash of a server's launch settings, including secrets and session mode."""
    parts = (
        servers.launch_hash(server),
        server.env_sealed,
        server.headers_sealed,
        *((server.url_sealed,) if server.url_sealed else ()),
        server.session,
        server.authorization,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
