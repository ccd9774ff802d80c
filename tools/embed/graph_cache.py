"""Caches built models as files that are memory-mapped, each prefixed with its digest."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import structlog

DIGEST_BYTES = 64  # keeps what follows aligned

log = structlog.get_logger(__name__)


def load_or_build(path: Path, build: Callable[[], bytes]) -> memoryview:
    """Map the cached model into memory; build and cache it if it is missing or damaged.

    The file is mapped as long as the result is referred to; onnxruntime copies what it needs.
    Safe in several processes at once: files are replaced atomically. If the folder is not
    writable, the model is rebuilt at each start.

    Args:
        path: The cache file.
        build: Builds the model.
    """
    cached = _map_content(path)
    if cached is not None:
        return cached
    content = build()
    try:
        _write_content(path, content)
    except OSError as error:
        log.warning("embed.model_not_cached", path=str(path), reason=error.strerror)
        return memoryview(content)
    return _map_content(path) or memoryview(content)


def _map_content(path: Path) -> memoryview | None:
    """Return the file's content if it is undamaged; it is hashed without staying in memory."""
    try:
        with path.open("rb") as file:
            recorded = file.read(DIGEST_BYTES)
            if hashlib.file_digest(file, hashlib.blake2b).digest() == recorded:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                return memoryview(mapped)[DIGEST_BYTES:]
    except OSError:
        return None
    log.warning("embed.model_damaged", path=str(path), action="rebuilt")
    return None


def _write_content(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.blake2b(content).digest())
            file.write(content)
        Path(name).replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            Path(name).unlink(missing_ok=True)
        raise
