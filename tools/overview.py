"""The state of the installation, as shown by `manage.py status`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection

from tools.store import embeddings
from tools.store import overview as catalogue


def load_overview() -> dict[str, Any]:
    """Return database, servers and embedding coverage as JSON.

    It contacts no server; `manage.py doctor` does.
    """
    return {
        "database": describe_database(),
        "servers": [
            _row_to_json(asdict(server))
            for server in catalogue.load_server_summaries(with_output=True)
        ],
        "embedding": load_embedding_coverage(settings.FOREGATE.embedding_model),
    }


def describe_database() -> dict[str, Any]:
    """Return kind, version and size of the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version'), pg_database_size(current_database())"
        )
        version, size = cursor.fetchone()
    kind = "external" if settings.FOREGATE.database_url else "embedded"
    return {"kind": kind, "version": version, "bytes": size}


def _row_to_json(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value.isoformat(timespec="seconds") if isinstance(value, datetime) else value
        for key, value in row.items()
    }


def load_embedding_coverage(
    model: str, *, servers: Collection[str] | None = None
) -> dict[str, Any]:
    """Return how many tools a model has embedded.

    Args:
        model: Its full name.
        servers: Names of the servers whose tools count; None: all.
    """
    coverage = embeddings.load_coverage(model, servers=servers)
    return {"model": model, "tools": coverage.total, "embedded": coverage.embedded}
