"""Results too large to send inline: sealed on disk for an hour, readable by their caller only.

The id of a result is unguessable, and its file is named by the hashes of its user and the id.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from gateway_project.foundation import json_pieces
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from gateway_project.foundation.user_error import UserError
from tools import resource_uris

LIFETIME_S: Final = 3_600.0
SWEEP_INTERVAL_S: Final = 300.0
MAX_STORE_BYTES: Final = 512 * 1024 * 1024
"""Limit of all stored results of an installation; the oldest of the user with most are evicted."""
ID_BYTES: Final = 32
PIECE_CHARACTERS: Final = 512 * 1024
_FILE_NAME_PATTERN: Final = re.compile(r"([0-9a-f]{16})-[0-9a-f]{64}\.sealed")
"""The group tells whose account it counts on."""

log = structlog.get_logger(__name__)


class UnknownResult(UserError, LookupError):
    """No such result is stored for the caller."""

    code = "unknown_result"

    def __init__(self, uri: str) -> None:
        super().__init__(
            f"no result {uri!r}: it has expired or was never yours; results are kept for "
            f"{LIFETIME_S / 60:g} minutes, so call the tool again"
        )
        self.uri = uri


@dataclass(frozen=True, kw_only=True)
class StoredResult:
    """A stored result.

    Attributes:
        uri: URI to read it by.
        size_bytes: Size of its JSON in UTF-8.
        expires_at: Seconds since the epoch.
    """

    uri: str
    size_bytes: int
    expires_at: float


class ResultStore:
    """Stores results on disk.

    Args:
        folder: Location of the files; created on first use.
        sealer: Sealer of the installation.
        now: Returns seconds since the epoch.
        max_bytes: Limit of their total size.
    """

    def __init__(
        self,
        folder: Path,
        sealer: Sealer,
        *,
        now: Callable[[], float] = time.time,
        max_bytes: int = MAX_STORE_BYTES,
    ) -> None:
        self._folder = folder
        self._sealer = sealer
        self._now = now
        self._max_bytes = max_bytes

    async def store_result(self, raw: Mapping[str, Any], caller: Caller) -> StoredResult:
        """Store a result for its caller.

        Raises:
            OSError: If it cannot be written.
        """
        return await asyncio.to_thread(self._store_sealed, raw, caller)

    async def read_result(self, result_id: str, caller: Caller) -> str:
        """Return a result as JSON, the same on each read.

        Raises:
            UnknownResult: If it has expired or belongs to another caller.
        """
        return await asyncio.to_thread(self._read_sealed, result_id, caller)

    async def sweep_periodically(self) -> None:
        """Remove expired results periodically, until cancelled."""
        while True:
            await self.remove_expired()
            await asyncio.sleep(SWEEP_INTERVAL_S)

    async def remove_expired(self) -> None:
        """Remove expired results."""
        try:
            await asyncio.to_thread(self._make_room)
        except OSError as error:
            log.warning("results.sweep_failed", folder=str(self._folder), reason=str(error))

    def _store_sealed(self, raw: Mapping[str, Any], caller: Caller) -> StoredResult:
        text = _dump_result(raw)
        expires_at = self._now() + LIFETIME_S
        result_id = secrets.token_urlsafe(ID_BYTES)
        sealed = self._seal_pieces(text, result_id, caller, expires_at)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(len(sealed), caller)
        _write_atomically(self._folder / _file_name(result_id, caller), sealed)
        return StoredResult(
            uri=resource_uris.result_uri(result_id),
            size_bytes=len(text.encode()),
            expires_at=expires_at,
        )

    def _read_sealed(self, result_id: str, caller: Caller) -> str:
        path = self._folder / _file_name(result_id, caller)
        expected = {"file": path.name, "owner": _owner_key(caller)}
        pieces: list[str] = []
        try:
            lines = path.read_bytes().split(b"\n")
            for number, line in enumerate(lines):
                piece = self._sealer.unseal(line.decode())
                place = {"piece": number, "pieces": len(lines)}
                is_ours = (expected | place).items() <= piece.items()
                if not is_ours or piece["expires_at"] <= self._now():
                    raise UnknownResult(resource_uris.result_uri(result_id))
                pieces.append(piece["text"])
        except (FileNotFoundError, UnsealingFailed):
            raise UnknownResult(resource_uris.result_uri(result_id)) from None
        return "".join(pieces)

    def _seal_pieces(self, text: str, result_id: str, caller: Caller, expires_at: float) -> bytes:
        """Seal a text in pieces, one per line: sealing a piece blocks all other threads."""
        pieces = [text[at : at + PIECE_CHARACTERS] for at in range(0, len(text), PIECE_CHARACTERS)]
        header = {
            "file": _file_name(result_id, caller),
            "owner": _owner_key(caller),
            "expires_at": expires_at,
            "pieces": len(pieces),
        }
        return b"\n".join(
            self._sealer.seal({**header, "piece": number, "text": piece}).encode()
            for number, piece in enumerate(pieces)
        )

    def _make_room(self, wanted_bytes: int = 0, caller: Caller | None = None) -> None:
        """Remove expired results, then the oldest until the rest fits.

        These are taken from whoever has most, so that nobody evicts what others keep.

        Args:
            wanted_bytes: Size of a further result.
            caller: Whose it is.
        """
        files = self._list_files()
        used = Counter({user: sum(size for _, size, _ in own) for user, own in files.items()})
        used[_user_hash(caller) if caller else ""] += wanted_bytes
        while files and used.total() > self._max_bytes:
            most = max(files, key=lambda user: used[user])
            _, size, path = files[most].pop(0)
            path.unlink(missing_ok=True)
            used[most] -= size
            if not files[most]:
                del files[most]
            log.info("results.evicted", size_bytes=size)

    def _list_files(self) -> dict[str, list[tuple[float, int, Path]]]:
        """Remove expired results; return the time, size and path of others, by the user's hash."""
        files: dict[str, list[tuple[float, int, Path]]] = {}
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            try:
                status = path.stat()
            except FileNotFoundError:  # removed by another process
                continue
            if status.st_mtime + LIFETIME_S <= self._now():
                path.unlink(missing_ok=True)
            elif match := _FILE_NAME_PATTERN.fullmatch(path.name):
                files.setdefault(match[1], []).append((status.st_mtime, status.st_size, path))
        return {user: sorted(own) for user, own in files.items()}


def _dump_result(raw: Mapping[str, Any]) -> str:
    try:
        return json_pieces.encode_in_pieces(raw).decode()
    except ValueError:  # an unpaired surrogate, which UTF-8 cannot encode
        return json.dumps(raw, separators=(",", ":"))


def _owner_key(caller: Caller) -> list[str | int | None]:
    return [caller.user, caller.team, *([] if caller.group is None else [caller.group])]


def _user_hash(caller: Caller) -> str:
    return hashlib.sha256(caller.user.encode()).hexdigest()[:16]


def _file_name(result_id: str, caller: Caller) -> str:
    return f"{_user_hash(caller)}-{hashlib.sha256(result_id.encode()).hexdigest()}.sealed"


def _write_atomically(path: Path, content: bytes) -> None:
    """Write the file atomically, readable by its owner only."""
    temporary = path.with_suffix(".part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.rename(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
