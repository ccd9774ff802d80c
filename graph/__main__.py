"""Refreshes the graph and fits models in a process of its own: a gateway waits for nothing.

`python -m graph DATABASE` prints nothing; it exits with `BUSY` where another is at it.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

BUSY = 75
NICENESS = 10


def main(database: str) -> int:
    """Do what is due in a database of the configured server; return the exit code."""
    os.nice(NICENESS)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the other cores are for those who wait
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django  # noqa: PLC0415 - after the settings are named

    django.setup()
    from django.conf import settings  # noqa: PLC0415 - after Django is set up
    from django.db import connection  # noqa: PLC0415 - likewise

    from graph import fit_models, refresh  # noqa: PLC0415 - likewise

    connection.settings_dict["NAME"] = database
    now = datetime.now(UTC)
    is_busy = refresh.refresh(now=now, wait_s=0.0).is_busy
    terms = fit_models.terms(settings.FOREGATE)
    if terms is not None:
        done = fit_models.fit_due(terms, now=now, stop_s=fit_models.IN_BACKGROUND_S)
        is_busy |= done is None
    return BUSY if is_busy else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
