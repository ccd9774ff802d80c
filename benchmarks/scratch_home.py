"""A data folder of the benchmarks' own, with a database of its own, gone when they are done."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LINGER_S = 1.0
STOP_TIMEOUT_S = 60.0
POLL_S = 0.05


@contextmanager
def scratch_home() -> Iterator[Path]:
    """Have Django use a folder of its own, whatever installation the environment names."""
    with tempfile.TemporaryDirectory(prefix="foregate-bench-") as name:
        Path(name).chmod(0o755)
        os.environ["FOREGATE_HOME"] = name
        os.environ["FOREGATE_POSTGRES_LINGER_S"] = str(LINGER_S)
        os.environ.pop("DATABASE_URL", None)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
        try:
            yield Path(name)
        finally:
            _end_database()


def _end_database() -> None:
    """Wait until the database has stopped: it would write into the folder that is removed."""
    from django.conf import settings
    from django.db import connections

    from gateway_project.foundation.postgres import locks, supervise
    from gateway_project.foundation.postgres.address import cluster

    connections.close_all()
    place = cluster(settings.FOREGATE)
    supervise.forget(place)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while not locks.is_free(place.keeper_lock):
        if time.monotonic() > deadline:
            raise SystemExit(
                f"the database of the benchmarks is still used after {STOP_TIMEOUT_S:g} s: end "
                f"what they left running, then remove {place.home}"
            )
        time.sleep(POLL_S)
