"""Records of changes to clients' files, with backups, so that they can be undone byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from gateway_project.client_config.raw_file import UnreadableConfig

_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class ConnectionRecord:
    """One connection of a client.

    Attributes:
        client: Name of the client.
        path: Path of its file.
        name: Name of Foregate's entry.
        original: Path of a copy of the file without the entry; empty if there is none.
        existed: Whether there was a file before.
        digest: SHA-256 of the file after the change.
        folders: Folders created for it, outermost first.
    """

    client: str
    path: str
    name: str
    original: str
    existed: bool
    digest: str
    folders: tuple[str, ...] = ()


class ConnectionRecords:
    """Stores the records and backups of one installation.

    Args:
        folder: Where they are stored; created on first use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, client: str, path: Path, name: str) -> ConnectionRecord | None:
        """Return the record of a connection; None if it is missing or unreadable."""
        try:
            fields: Mapping[str, Any] = json.loads(
                self._build_record_path(client, path, name).read_text("utf-8")
            )
            return ConnectionRecord(**{**fields, "folders": tuple(fields["folders"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def save(self, record: ConnectionRecord) -> None:
        """Store a record, replacing an earlier one.

        Raises:
            UnreadableConfig: If it cannot be written.
        """
        path = self._build_record_path(record.client, Path(record.path), record.name)
        self._write_file(path, json.dumps(asdict(record), indent=2).encode())

    def delete(self, record: ConnectionRecord) -> None:
        """Delete a record but keep its backups."""
        self._build_record_path(record.client, Path(record.path), record.name).unlink(
            missing_ok=True
        )

    def save_backup(self, path: Path, content: bytes, *, client: str, at: datetime) -> Path:
        """Store a copy of a file, readable by its owner only, and return its path.

        Raises:
            UnreadableConfig: If it cannot be written.
        """
        stem = f"{client}-{at:%Y%m%dT%H%M%S%fZ}"
        names = (
            f"{stem}{f'.{n}' if n else ''}-{_UNSAFE_CHARACTERS.sub('_', path.name)}"
            for n in count()
        )
        copy = next(copy for name in names if not (copy := self._folder / name).exists())
        self._write_file(copy, content)
        return copy

    def _build_record_path(self, client: str, path: Path, name: str) -> Path:
        key = hashlib.sha256(f"{path}\0{name}".encode()).hexdigest()[:16]
        return self._folder / f"{client}-{key}.json"

    def _write_file(self, path: Path, content: bytes) -> None:
        temporary = path.with_name(f".{path.name}-{os.getpid()}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                temporary.unlink()
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            raise UnreadableConfig(
                f"cannot keep a backup in {path.parent}: {error.strerror}; make it writable, or "
                "set FOREGATE_HOME to another folder"
            ) from None


def hash_content(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
