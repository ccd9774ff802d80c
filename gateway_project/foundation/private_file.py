"""Files that only their owner may read, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from gateway_project.foundation.config import ConfigurationError

FOR_OTHERS = 0o077


def load_or_create(path: Path, make: Callable[[], bytes]) -> bytes:
    """Read a private file, or create it with what `make` returns; the first process wins.

    Raises:
        ConfigurationError: If the folder cannot be used; the message says what to do.
    """
    try:
        return _filled(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_once(path, make())
        return _filled(path)
    except OSError as error:
        raise _unusable(path, error) from None


def _filled(path: Path) -> bytes:
    content = path.read_bytes()
    if path.stat().st_mode & FOR_OTHERS:
        raise ConfigurationError(f"{path} can be read by others; run `chmod 600 {path}`")
    if not content.strip():
        raise ConfigurationError(
            f"{path} is empty; restore it from a backup, or remove it to have a new one made"
        )
    return content


def _write_once(path: Path, content: bytes) -> None:
    """Write beside the target and link into place; an existing target is kept."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(name, path)
    except FileExistsError:
        pass
    finally:
        Path(name).unlink(missing_ok=True)


def _unusable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"cannot use {path}: {error.strerror}; make the folder writable, free some room, "
        "or set FOREGATE_HOME to another folder"
    )
