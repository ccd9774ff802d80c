"""The server's own pid file; it may be out of date and is never taken as proof."""

from __future__ import annotations

import os

from gateway_project.foundation.postgres.cluster import Cluster

PID_LINE = 0
STATUS_LINE = 7
READY = "ready"
UNREADY_STATES = ("starting", "stopping")


def pidfile_path(cluster: Cluster) -> str:
    """Return the path of the file that PostgreSQL maintains while it runs."""
    return os.path.join(cluster.data_folder, "postmaster.pid")


def read_pid(cluster: Cluster) -> int | None:
    """Return the pid of the server's first process, if the file has one."""
    line = _read_line(cluster, PID_LINE)
    return int(line) if line.isdigit() else None


def is_ready(cluster: Cluster, pid: int) -> bool:
    """Whether the server with this pid has started, as `pg_ctl` decides it."""
    return read_pid(cluster) == pid and _read_line(cluster, STATUS_LINE) == READY


def is_starting(cluster: Cluster) -> bool:
    """Whether the server is starting or stopping and would refuse connections.

    Each attempt to connect would cost it a process and a line in its log.
    """
    return _read_line(cluster, STATUS_LINE) in UNREADY_STATES


def _read_line(cluster: Cluster, number: int) -> str:
    try:
        with open(pidfile_path(cluster), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    return lines[number].strip() if number < len(lines) else ""
