"""A temporary home folder for benchmarks, with its own embedded database."""

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
    """Make Django use a temporary home folder, whatever installation the environment names."""
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
    """Wait until the database has stopped; it would write to the removed folder."""
    from django.conf import settings
    from django.db import connections

    from gateway_project.foundation.postgres import locks, supervise
    from gateway_project.foundation.postgres.address import cluster_from_config

    connections.close_all()
    cluster = cluster_from_config(settings.FOREGATE)
    supervise.unregister_user(cluster)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while not locks.is_free(cluster.keeper_lock):
        if time.monotonic() > deadline:
            raise SystemExit(
                f"the database of the benchmarks is still used after {STOP_TIMEOUT_S:g} s: end "
                f"what they left running, then remove {cluster.home}"
            )
        time.sleep(POLL_S)
