"""Writes Foregate's entry into a client's file and takes it out again, byte for byte."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import count
from json import JSONDecodeError
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from gateway_project.client_config import (
    edit_json,
    edit_toml,
    edit_yaml,
    entry,
    own_entry,
    raw_file,
)
from gateway_project.client_config.clients import KnownClient
from gateway_project.client_config.placeholders import PlaceholderTranslator
from gateway_project.client_config.raw_file import RawFile, UnreadableConfig
from gateway_project.foundation import private_file
from gateway_project.foundation.config import ConfigurationError

Change = Literal["connected", "updated", "unchanged", "restored", "deleted", "entry removed"]
CONTEXT_LINES = 1
"""Context lines of a diff: few, since the lines of other servers may hold secrets."""
SECRET_FIELDS = ("env", "environment", "envs", "headers", "http_headers")
MIN_SECRET_LENGTH = 8
"""Shorter values are no secrets, and masking them would garble other text."""
_EDITORS = {"json": edit_json, "toml": edit_toml, "yaml": edit_yaml}
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
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            private_file.replace_file(path, content)
        except OSError as error:
            raise UnreadableConfig(
                f"cannot keep a backup in {path.parent}: {error.strerror}; make it writable, or "
                "set FOREGATE_HOME to another folder"
            ) from None
        except ConfigurationError as error:
            raise UnreadableConfig(f"cannot keep a backup: {error}") from None


@dataclass(frozen=True, kw_only=True)
class ConnectOutcome:
    """Result of connecting or disconnecting a client, or of a dry run.

    Attributes:
        path: The client's file.
        change: Kind of change.
        diff: The change as a unified diff; empty if nothing changes.
        backup: Copy of the previous file; None if there was none, or in a dry run.
        note: Remark for the user; empty if there is none.
    """

    path: Path
    change: Change
    diff: str = ""
    backup: Path | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ClientTarget:
    """A client's file and the name of Foregate's entry in it."""

    client: KnownClient
    path: Path
    name: str


def connect(
    target: ClientTarget,
    wanted: Mapping[str, Any],
    *,
    record_store: ConnectionRecords,
    at: datetime,
    dry_run: bool,
) -> ConnectOutcome:
    """Write Foregate's entry into a client's file; idempotent.

    Args:
        target: Where to write.
        wanted: The entry.
        record_store: Keeps backups and records.
        at: Time for the backup's name.
        dry_run: Whether to write nothing.

    Raises:
        UnreadableConfig: If the file cannot be read or changed; it is unchanged then.
    """
    file = raw_file.read_raw(target.path)
    existing = _read_servers(target, file).get(target.name)
    if existing is not None and not _is_own(target, existing):
        raise UnreadableConfig(
            f"{file.path} has another server named {target.name!r}; choose a name with --name"
        )
    if existing == wanted:
        return ConnectOutcome(path=file.path, change="unchanged")
    after = file.encode_text(_edit_text(target, file, wanted))
    change: Change = "connected" if existing is None else "updated"
    diff = _make_diff(target, file, after)
    if dry_run:
        return ConnectOutcome(path=file.path, change=change, diff=diff)
    backup = None
    if file.content is not None:
        backup = record_store.save_backup(
            file.path, file.content, client=target.client.name, at=at
        )
    before = record_store.load(target.client.name, file.path, target.name)
    made_folders = raw_file.replace_content(file, after)
    record_store.save(
        _build_record(target, file, after, before=before, backup=backup, made_folders=made_folders)
    )
    return ConnectOutcome(path=file.path, change=change, diff=diff, backup=backup)


def disconnect(
    target: ClientTarget, *, record_store: ConnectionRecords, at: datetime, dry_run: bool
) -> ConnectOutcome:
    """Remove Foregate's entry from a client's file.

    A file that has not changed since is restored byte for byte, or deleted if it was created for
    the entry. From a changed file only the entry is removed.

    Raises:
        UnreadableConfig: If the file cannot be read or changed; it is unchanged then.
    """
    file = raw_file.read_raw(target.path)
    record = record_store.load(target.client.name, file.path, target.name)
    if file.content is None:
        if record and not dry_run:
            record_store.delete(record)
        return ConnectOutcome(path=file.path, change="unchanged", note="the file no longer exists")
    original = _load_original(record, file)
    if original is not None or (record and _is_unchanged(record, file) and not record.existed):
        outcome = _restore_file(target, file, original, record=record, dry_run=dry_run)
    else:
        outcome = _remove_entry(target, file, record_store=record_store, at=at, dry_run=dry_run)
    if record and not dry_run:
        record_store.delete(record)
    return outcome


def _restore_file(
    target: ClientTarget,
    file: RawFile,
    original: bytes | None,
    *,
    record: ConnectionRecord | None,
    dry_run: bool,
) -> ConnectOutcome:
    diff = _make_diff(target, file, original or b"")
    if original is not None:
        if not dry_run:
            raw_file.replace_content(file, original)
        return ConnectOutcome(path=file.path, change="restored", diff=diff)
    if not dry_run:
        raw_file.remove_file(file, tuple(map(Path, record.folders)) if record else ())
    return ConnectOutcome(path=file.path, change="deleted", diff=diff)


def _remove_entry(
    target: ClientTarget,
    file: RawFile,
    *,
    record_store: ConnectionRecords,
    at: datetime,
    dry_run: bool,
) -> ConnectOutcome:
    """Remove only the entry from a file that has other changes too."""
    existing = _read_servers(target, file).get(target.name)
    if existing is None:
        return ConnectOutcome(path=file.path, change="unchanged", note="Foregate is not in it")
    if not _is_own(target, existing):
        raise UnreadableConfig(
            f"{file.path}: server {target.name!r} is not Foregate; remove it manually"
        )
    after = file.encode_text(_edit_text(target, file, None))
    backup = None
    if not dry_run:
        assert file.content is not None  # noqa: S101 - it holds the entry
        backup = record_store.save_backup(
            file.path, file.content, client=target.client.name, at=at
        )
        raw_file.replace_content(file, after)
    return ConnectOutcome(
        path=file.path,
        change="entry removed",
        diff=_make_diff(target, file, after),
        backup=backup,
        note="the file was changed since, so only Foregate's entry is removed",
    )


def _build_record(
    target: ClientTarget,
    file: RawFile,
    after: bytes,
    *,
    before: ConnectionRecord | None,
    backup: Path | None,
    made_folders: tuple[Path, ...],
) -> ConnectionRecord:
    """Return the record for undoing; repeated connections keep the state before the first."""
    is_repeated = before is not None and _is_unchanged(before, file)
    had_entry = is_repeated or target.name in _read_servers(target, file)
    return ConnectionRecord(
        client=target.client.name,
        path=str(file.path),
        name=target.name,
        original=before.original if is_repeated and before else str(backup or ""),
        existed=before.existed if is_repeated and before else file.content is not None,
        digest=_hash_content(after) if is_repeated or not had_entry else "",
        folders=before.folders if is_repeated and before else tuple(map(str, made_folders)),
    )


def _load_original(record: ConnectionRecord | None, file: RawFile) -> bytes | None:
    """Return the original content; None if the file has changed since or the copy is missing."""
    if record is None or not record.original or not _is_unchanged(record, file):
        return None
    return raw_file.read_raw(Path(record.original)).content


def _is_unchanged(record: ConnectionRecord, file: RawFile) -> bool:
    return file.content is not None and _hash_content(file.content) == record.digest


def _choose_editor(target: ClientTarget) -> ModuleType:
    return _EDITORS[target.client.file_format]


def _read_servers(target: ClientTarget, file: RawFile) -> Mapping[str, Any]:
    try:
        servers: Mapping[str, Any] = _choose_editor(target).read_servers(
            file.text, target.client.servers_key
        )
    except (ValueError, RecursionError) as error:
        raise UnreadableConfig(_explain_unreadable(file, error)) from None
    return servers


def _edit_text(target: ClientTarget, file: RawFile, wanted: Mapping[str, Any] | None) -> str:
    editor, key = _choose_editor(target), target.client.servers_key
    try:
        if wanted is None:
            changed: str = editor.remove_server(file.text, key, target.name)
        else:
            changed = editor.put_server(file.text, key, target.name, wanted)
    except (ValueError, RecursionError) as error:
        raise UnreadableConfig(_explain_unreadable(file, error)) from None
    return changed


def _explain_unreadable(file: RawFile, error: Exception) -> str:
    if isinstance(error, JSONDecodeError):
        where = f"line {error.lineno}, column {error.colno}: "
        return f"{file.path}: {where}{error.msg}; fix the file, it was not changed"
    reason = " ".join(str(error).split()) or "nested too deeply"
    return f"{file.path}: {reason}; it was not changed"


def _is_own(target: ClientTarget, existing: Any) -> bool:
    """Whether an entry is Foregate's: its command, or the form that --http writes."""
    try:
        server = entry.read_entry(
            target.name,
            existing,
            translator=PlaceholderTranslator(project=Path("/")),
            local=False,
            client=target.client.name,
        )
    except ValueError:
        return False
    is_remote_form = own_entry.TOKEN_VARIABLE in str(existing) and bool(server.url)
    return is_remote_form or own_entry.is_own_entry(server)


def _make_diff(target: ClientTarget, file: RawFile, after: bytes) -> str:
    old_text, new_text = file.text, after.removeprefix(raw_file.BOM).decode()
    name = str(file.path)
    lines = difflib.unified_diff(
        old_text.splitlines(), new_text.splitlines(), name, name, n=CONTEXT_LINES, lineterm=""
    )
    diff = "\n".join(lines)
    for secret in sorted(_find_secrets(target, file), key=len, reverse=True):
        diff = diff.replace(secret, "…")
    return diff


def _find_secrets(target: ClientTarget, file: RawFile) -> set[str]:
    """Return the secrets of other servers, which may appear in the diff."""
    others = [
        server for name, server in _read_servers(target, file).items() if name != target.name
    ]
    fields = [
        server.get(key)
        for server in others
        if isinstance(server, Mapping)
        for key in SECRET_FIELDS
    ]
    values = [value for field in fields if isinstance(field, Mapping) for value in field.values()]
    return {
        value for value in values if isinstance(value, str) and len(value) >= MIN_SECRET_LENGTH
    }


def _hash_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
