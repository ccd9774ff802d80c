"""Graphs built once and kept in a folder, each with its digest in front."""

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
    """Return the graph kept at a path; build and keep it where it is missing or damaged.

    Any number of processes may do so at once: a file is put in place whole. A folder that cannot
    be written costs a rebuild at the next start, nothing else.

    Args:
        path: File of the cache.
        build: Makes the graph.
    """
    kept = _read(path)
    if kept is not None:
        return kept
    graph = build()
    try:
        _write(path, graph)
    except OSError as error:
        log.warning("embed.graph_not_kept", path=str(path), reason=error.strerror)
    return graph


def _read(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, graph = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    if hashlib.sha256(graph).digest() == digest:
        return graph
    log.warning("embed.graph_damaged", path=str(path), action="rebuilt")
    return None


def _write(path: Path, graph: bytes) -> None:
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
