"""Caches built graphs as files, each prefixed with its digest."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import structlog

DIGEST_BYTES = 32

log = structlog.get_logger(__name__)


def load_or_build(path: Path, build: Callable[[], bytes]) -> bytes:
    """Return the cached graph; build and cache it if it is missing or damaged.

    Safe in several processes at once: files are replaced atomically. If the folder is not
    writable, the graph is rebuilt at each start.

    Args:
        path: The cache file.
        build: Builds the graph.
    """
    cached = _read_graph(path)
    if cached is not None:
        return cached
    graph = build()
    try:
        _write_graph(path, graph)
    except OSError as error:
        log.warning("embed.graph_not_cached", path=str(path), reason=error.strerror)
    return graph


def _read_graph(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, graph = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    if hashlib.sha256(graph).digest() == digest:
        return graph
    log.warning("embed.graph_damaged", path=str(path), action="rebuilt")
    return None


def _write_graph(path: Path, graph: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(graph).digest() + graph)
        Path(name).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink(missing_ok=True)
        raise
