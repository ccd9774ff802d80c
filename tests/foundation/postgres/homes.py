"""Home folders for tests whose processes use an embedded database of their own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway_project.foundation.postgres import supervise
from gateway_project.foundation.postgres.cluster import SYSTEM_FOLDER, Cluster
from gateway_project.foundation.postgres.locate import locate_cluster
from tests.foundation.postgres import processes

LOG_BYTES = 1_000_000


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A home folder that the account PostgreSQL runs as can reach, and whose server ends."""
    outer = Path(tempfile.mkdtemp(prefix="fg-", dir="/tmp"))
    outer.chmod(0o711)
    folder = outer / "home"
    try:
        yield folder
    finally:
        cluster = located(folder)
        processes.end_all(cluster)
        supervise.unregister_user(cluster)
        # A server that has just been ended may still take its last files away itself.
        shutil.rmtree(outer, ignore_errors=True)
        shutil.rmtree(cluster.socket_folder, ignore_errors=True)
        if cluster.base.startswith(SYSTEM_FOLDER):
            shutil.rmtree(cluster.base, ignore_errors=True)


def located(home: Path, *, linger_s: float = 1.0) -> Cluster:
    return locate_cluster(
        str(home), postgres_user="nobody", linger_s=linger_s, log_bytes=LOG_BYTES
    )
