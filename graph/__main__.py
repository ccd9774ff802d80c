"""Refreshes the graph in a process of its own, so that a gateway has nothing to wait for.

`python -m graph DATABASE` prints nothing; it exits with `BUSY` where another is at it.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

BUSY = 75
NICENESS = 10


def main(database: str) -> int:
    """Refresh the graph in a database of the configured server; return the exit code."""
    os.nice(NICENESS)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django  # noqa: PLC0415 - after the settings are named

    django.setup()
    from django.db import connection  # noqa: PLC0415 - after Django is set up

    from graph import refresh  # noqa: PLC0415 - likewise

    connection.settings_dict["NAME"] = database
    done = refresh.refresh(now=datetime.now(UTC), wait_s=0.0)
    return BUSY if done.is_busy else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
