"""What servers listed last beside their tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from tools.definition import storable
from tools.models import Server, ServerItems
from tools.store import servers

MAX_BYTES = 4_000_000
"""A longer list is not kept; who wants it has the server asked."""


def load(kind: str, names: Collection[str]) -> dict[str, tuple[dict[str, Any], ...]]:
    """Return what servers listed last, as far as they are still started in the same way.

    Args:
        kind: Of what.
        names: Servers of interest.
    """
    rows = ServerItems.objects.filter(kind=kind, server__name__in=list(names))
    return {
        row.server.name: tuple(row.items)
        for row in rows.select_related("server")
        if row.launch_hash == _reached(row.server)
    }


def record(name: str, lists: Mapping[str, Sequence[Mapping[str, Any]]], *, at: datetime) -> None:
    """Keep what a server lists, by kind.

    Nothing is kept of a server that is not registered any more, or lists for each caller: what one
    of them is shown is no business of the others, also once the server is shared.
    """
    shared = Server.objects.exclude(session=Server.Session.PER_CALLER)
    shared = shared.exclude(authorization=Server.Authorization.OAUTH_PER_USER)
    server = shared.filter(name=name).first()
    if server is None:
        return
    reached = _reached(server)
    for kind, items in lists.items():
        kept = storable(list(items))
        if len(json.dumps(kept)) > MAX_BYTES:
            ServerItems.objects.filter(server=server, kind=kind).delete()
            continue
        ServerItems.objects.update_or_create(
            server=server,
            kind=kind,
            defaults={"items": kept, "launch_hash": reached, "listed_at": at},
        )


def _reached(server: Server) -> str:
    """Return the hash of how a server is started or called, its secrets and sessions included."""
    parts = (
        servers.launch_hash(server),
        server.env_sealed,
        server.headers_sealed,
        server.session,
        server.authorization,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
