"""What was changed in clients' files, kept so that it can be taken back to the byte."""

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

_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class Record:
    """One connection of a client.

    Attributes:
        client: Its client.
        path: Its file.
        name: Name of Foregate's entry.
        original: Copy of the file as it was without the entry; empty if there is none.
        existed: Whether there was a file.
        digest: SHA-256 of the file as it was left.
        folders: Folders that were made for it, outermost first.
    """

    client: str
    path: str
    name: str
    original: str
    existed: bool
    digest: str
    folders: tuple[str, ...] = ()


class Records:
    """The records and copies of one installation.

    Args:
        folder: Where they are kept; made when the first is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, client: str, path: Path, name: str) -> Record | None:
        """Return the record of a connection; None if there is none that can be read."""
        try:
            kept: Mapping[str, Any] = json.loads(
                self._place(client, path, name).read_text("utf-8")
            )
            return Record(**{**kept, "folders": tuple(kept["folders"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def save(self, record: Record) -> None:
        """Keep a record in place of the one before.

        Raises:
            UnreadableConfig: If it cannot be kept.
        """
        place = self._place(record.client, Path(record.path), record.name)
        self._write(place, json.dumps(asdict(record), indent=2).encode())

    def forget(self, record: Record) -> None:
        """Drop a record; copies stay."""
        self._place(record.client, Path(record.path), record.name).unlink(missing_ok=True)

    def back_up(self, path: Path, content: bytes, *, client: str, at: datetime) -> Path:
        """Keep a copy of a file, for its owner's eyes only; return where it is.

        Raises:
            UnreadableConfig: If it cannot be kept.
        """
        stem = f"{client}-{at:%Y%m%dT%H%M%S%fZ}"
        names = (f"{stem}{f'.{n}' if n else ''}-{_NAME.sub('_', path.name)}" for n in count())
        copy = next(copy for name in names if not (copy := self._folder / name).exists())
        self._write(copy, content)
        return copy

    def _place(self, client: str, path: Path, name: str) -> Path:
        key = hashlib.sha256(f"{path}\0{name}".encode()).hexdigest()[:16]
        return self._folder / f"{client}-{key}.json"

    def _write(self, place: Path, content: bytes) -> None:
        beside = place.with_name(f".{place.name}-{os.getpid()}")
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                beside.unlink()
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                os.fsync(file.fileno())
            beside.replace(place)
        except OSError as error:
            raise UnreadableConfig(
                f"cannot keep a backup in {place.parent}: {error.strerror}; make it writable, or "
                "set FOREGATE_HOME to another folder"
            ) from None


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
