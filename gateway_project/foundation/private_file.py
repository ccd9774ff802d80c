"""Files that only their owner may read, written atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gateway_project.foundation.config import ConfigurationError

OTHERS_MODE_MASK = 0o077


def load_or_create_file(path: Path, make: Callable[[], bytes]) -> bytes:
    """Read a private file, or create it with the content that `make` returns.

    If several processes create it at once, all return the content of the first.

    Raises:
        ConfigurationError: If the folder cannot be used; the message says what to do.
    """
    try:
        return _read_existing(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _build_unusable_error(path, error) from None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_once(path, make())
        return _read_existing(path)
    except OSError as error:
        raise _build_unusable_error(path, error) from None


def replace_file(path: Path, content: bytes) -> None:
    """Replace a private file in one step: readers see the old content or the new.

    Raises:
        ConfigurationError: If the folder cannot be used; the message says what to do.
    """
    try:
        _write_through_temporary_file(path, content, lambda name: os.replace(name, path))
    except OSError as error:
        raise _build_unusable_error(path, error) from None


def _read_existing(path: Path) -> bytes:
    content = path.read_bytes()
    if path.stat().st_mode & OTHERS_MODE_MASK:
        raise ConfigurationError(f"{path} can be read by others; run `chmod 600 {path}`")
    if not content.strip():
        raise ConfigurationError(
            f"{path} is empty; restore it from a backup, or remove it and start again"
        )
    return content


def _write_once(path: Path, content: bytes) -> None:
    """Write a file that does not exist yet; an existing one is kept."""
    with suppress(FileExistsError):
        _write_through_temporary_file(path, content, lambda name: os.link(name, path))


def _write_through_temporary_file(path: Path, content: bytes, put: Callable[[str], None]) -> None:
    """Write a temporary file of mode 0600 beside a path and put it in its place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        put(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _build_unusable_error(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"cannot use {path}: {error.strerror}; make the folder writable, free some space, or "
        "set FOREGATE_HOME to another folder"
    )
