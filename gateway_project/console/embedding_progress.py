"""How many tools of servers that were listed lately are embedded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings

from tools import overview
from tools.store.overview import ServerSummary

LONGEST: Final = timedelta(minutes=10)
"""Tools not embedded by then wait for `manage.py embed`: pages stop following them."""


def load_embedding_progress(
    servers: Sequence[ServerSummary], *, now: datetime
) -> dict[str, Any] | None:
    """Return the numbers of embedded and of all tools while servers' new tools are embedded.

    Args:
        servers: The servers whose tools count.
        now: Current time.

    Returns:
        `embedded` and `tools`; None if all are embedded or no server was listed lately.
    """
    if not any(
        server.discovered_at and now - server.discovered_at < LONGEST for server in servers
    ):
        return None
    names = [server.name for server in servers]
    coverage = overview.load_embedding_coverage(settings.FOREGATE.embedding_model, servers=names)
    return coverage if coverage["embedded"] < coverage["tools"] else None
