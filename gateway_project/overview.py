"""The state of the installation in figures: what `manage.py status` shows."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Q

from tools.models import Server, Tool, ToolEmbedding


def load() -> dict[str, Any]:
    """Return servers with their tools, errors and times, and how much is embedded.

    The times are facts of the past, each with its own clock reading; nothing here claims what a
    server is doing at this moment. `manage.py doctor` asks the servers themselves.
    """
    active = Q(tools__state=Tool.State.ACTIVE, tools__enabled=True)
    servers = Server.objects.order_by("name").annotate(
        usable=Count("tools", filter=active),
        quarantined=Count("tools", filter=Q(tools__state=Tool.State.QUARANTINED)),
        pending=Count("tools", filter=Q(tools__state=Tool.State.PENDING)),
    )
    return {
        "database": _database(),
        "servers": [_server(server) for server in servers],
        "embedding": _embedding(),
    }


def _database() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version'), pg_database_size(current_database())"
        )
        version, size = cursor.fetchone()
    return {
        "kind": "external" if settings.FOREGATE.database_url else "embedded",
        "version": version,
        "bytes": size,
    }


def _server(server: Any) -> dict[str, Any]:
    return {
        "name": server.name,
        "enabled": server.enabled,
        "trusted": server.trusted,
        "tools": server.usable,
        "quarantined": server.quarantined,
        "pending": server.pending,
        "discovered_at": _time(server.discovered_at),
        "last_connected_at": _time(server.last_connected_at),
        "last_error": server.last_error if _error_stands(server) else "",
        "last_error_at": _time(server.last_error_at),
    }


def _error_stands(server: Any) -> bool:
    """Whether nothing has gone well since the last error."""
    if server.last_error_at is None:
        return False
    successes = (server.discovered_at, server.last_connected_at)
    return all(at is None or at < server.last_error_at for at in successes)


def _time(at: Any) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")


def _embedding() -> dict[str, Any]:
    model = settings.FOREGATE.embedding_model
    listed = Tool.objects.filter(state=Tool.State.ACTIVE, definition__isnull=False)
    embedded = ToolEmbedding.objects.filter(
        model=model,
        tool__state=Tool.State.ACTIVE,
        content_hash=F("tool__definition__text_hash"),
    )
    return {"model": model, "tools": listed.count(), "embedded": embedded.count()}
