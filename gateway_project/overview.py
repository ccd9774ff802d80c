"""The state of the installation in figures: what `manage.py status` shows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection

from tools.embed.recipes import UnknownModel, recipe_for
from tools.store import embeddings
from tools.store import overview as catalogue


def load() -> dict[str, Any]:
    """Return servers with their tools, errors and times, and how much is embedded, as JSON.

    `manage.py doctor` asks the servers themselves.
    """
    return {
        "database": _database(),
        "servers": [_json(asdict(server)) for server in catalogue.servers()],
        "embedding": embedding(settings.FOREGATE.embedding_model),
    }


def _database() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version'), pg_database_size(current_database())"
        )
        version, size = cursor.fetchone()
    kind = "external" if settings.FOREGATE.database_url else "embedded"
    return {"kind": kind, "version": version, "bytes": size}


def _json(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value.isoformat(timespec="seconds") if isinstance(value, datetime) else value
        for key, value in row.items()
    }


def embedding(model: str) -> dict[str, Any]:
    """Return how many tools have a vector of a model.

    Args:
        model: Name as it is set.
    """
    with suppress(UnknownModel):  # a model of the other engine goes by its own name
        model = recipe_for(model).repo
    coverage = embeddings.coverage(model)
    return {"model": model, "tools": coverage.total, "embedded": coverage.embedded}
