"""What the server writes about itself; it may be out of date, and never counts as proof."""

from __future__ import annotations

import os

from gateway_project.foundation.postgres.cluster import Cluster

PID_LINE = 0
STATUS_LINE = 7
UNREADY = ("starting", "stopping")


def path(cluster: Cluster) -> str:
    """The file that PostgreSQL keeps while it runs."""
    return os.path.join(cluster.data, "postmaster.pid")


def pid(cluster: Cluster) -> int | None:
    """Number of the server's first process, if the file names one."""
    line = _line(cluster, PID_LINE)
    return int(line) if line.isdigit() else None


def says_unready(cluster: Cluster) -> bool:
    """Whether the server says that it would turn connections away, so that none need be tried.

    Each attempt would cost it a process and a line in its log.
    """
    return _line(cluster, STATUS_LINE) in UNREADY


def _line(cluster: Cluster, number: int) -> str:
    try:
        with open(path(cluster), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    return lines[number].strip() if number < len(lines) else ""
