"""Keeps the C library from holding memory that is free (glibc; elsewhere this does nothing)."""

from __future__ import annotations

from typing import Any, Final

LARGE_BLOCK_BYTES: Final = 1024 * 1024
M_MMAP_THRESHOLD: Final = -3  # in malloc.h


def map_large_blocks() -> None:
    """Map each large block by itself from now on, so that freeing it returns its memory.

    By default glibc moves that bound up to 32 MB, after which large blocks lie between small ones.
    """
    tune = _find_function("mallopt")
    if tune is not None:
        tune(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def return_free_memory() -> None:
    """Return free memory between blocks in use to the system; takes milliseconds."""
    trim = _find_function("malloc_trim")
    if trim is not None:
        trim(0)


def _find_function(name: str) -> Any:
    try:
        import ctypes  # noqa: PLC0415 - not needed before the first search

        return getattr(ctypes.CDLL(None), name, None)
    except (ImportError, OSError, TypeError):  # built without it; musl, linked statically; Windows
        return None
