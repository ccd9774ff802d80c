"""Writes Foregate's entry into a client's file and takes it out again."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from json import JSONDecodeError
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from gateway_project.client_config import edit_json, edit_toml, entry, own_entry, raw_file, records
from gateway_project.client_config.clients import Client
from gateway_project.client_config.placeholders import Translator
from gateway_project.client_config.raw_file import RawFile, UnreadableConfig
from gateway_project.client_config.records import Record, Records

Change = Literal["connected", "updated", "unchanged", "restored", "deleted", "entry removed"]
CONTEXT_LINES = 1
"""Lines shown around a change: few, since the lines of other servers may hold secrets."""
GIVEN = ("env", "headers", "http_headers")
SECRET_CHARACTERS = 8
"""Shorter values are no secrets, and to blank them would spoil the rest."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was done, or would be.

    Attributes:
        path: The client's file.
        change: What happened to it.
        difference: The change as a unified difference; empty if nothing changes.
        backup: Copy of the file as it was; None if there was none, or in a dry run.
        note: What a person should know; empty if nothing.
    """

    path: Path
    change: Change
    difference: str = ""
    backup: Path | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A client's file and the name that Foregate goes by in it."""

    client: Client
    path: Path
    name: str


def connect(
    target: Target, wanted: Mapping[str, Any], *, kept: Records, at: datetime, dry_run: bool
) -> Outcome:
    """Write Foregate's entry into a client's file; again changes nothing.

    Args:
        target: Where to write.
        wanted: The entry.
        kept: Backups and records.
        at: Time for the backup's name.
        dry_run: Whether to write nothing.

    Raises:
        UnreadableConfig: If the file cannot be read or changed; it is as it was then.
    """
    file = raw_file.read(target.path)
    standing = _servers(target, file).get(target.name)
    if standing is not None and not _is_own(target, standing):
        raise UnreadableConfig(
            f"{file.path} has another server named {target.name!r}; choose a name with --name"
        )
    if standing == wanted:
        return Outcome(path=file.path, change="unchanged")
    after = file.encoded(_edit(target, file, wanted))
    change: Change = "connected" if standing is None else "updated"
    difference = _difference(target, file, after)
    if dry_run:
        return Outcome(path=file.path, change=change, difference=difference)
    backup = None
    if file.content is not None:
        backup = kept.back_up(file.path, file.content, client=target.client.name, at=at)
    before = kept.load(target.client.name, file.path, target.name)
    made = raw_file.replace(file, after)
    kept.save(_record(target, file, after, before=before, backup=backup, made=made))
    return Outcome(path=file.path, change=change, difference=difference, backup=backup)


def disconnect(target: Target, *, kept: Records, at: datetime, dry_run: bool) -> Outcome:
    """Take Foregate's entry out again.

    A file that nobody changed since gets back every byte it had; one that was made for the entry
    is deleted. Of one that was changed only the entry is removed.

    Raises:
        UnreadableConfig: If the file cannot be read or changed; it is as it was then.
    """
    file = raw_file.read(target.path)
    record = kept.load(target.client.name, file.path, target.name)
    if file.content is None:
        if record and not dry_run:
            kept.forget(record)
        return Outcome(path=file.path, change="unchanged", note="there is no such file any more")
    original = _original(record, file)
    if original is not None or (record and _untouched(record, file) and not record.existed):
        outcome = _restore(target, file, original, record=record, dry_run=dry_run)
    else:
        outcome = _remove(target, file, kept=kept, at=at, dry_run=dry_run)
    if record and not dry_run:
        kept.forget(record)
    return outcome


def _restore(
    target: Target, file: RawFile, original: bytes | None, *, record: Record | None, dry_run: bool
) -> Outcome:
    difference = _difference(target, file, original or b"")
    if original is not None:
        if not dry_run:
            raw_file.replace(file, original)
        return Outcome(path=file.path, change="restored", difference=difference)
    if not dry_run:
        raw_file.remove(file, tuple(map(Path, record.folders)) if record else ())
    return Outcome(path=file.path, change="deleted", difference=difference)


def _remove(
    target: Target, file: RawFile, *, kept: Records, at: datetime, dry_run: bool
) -> Outcome:
    """Remove the entry alone from a file that has other changes too."""
    standing = _servers(target, file).get(target.name)
    if standing is None:
        return Outcome(path=file.path, change="unchanged", note="Foregate does not stand in it")
    if not _is_own(target, standing):
        raise UnreadableConfig(
            f"{file.path}: server {target.name!r} is not Foregate; remove it by hand"
        )
    after = file.encoded(_edit(target, file, None))
    backup = None
    if not dry_run:
        assert file.content is not None  # noqa: S101 - it holds the entry
        backup = kept.back_up(file.path, file.content, client=target.client.name, at=at)
        raw_file.replace(file, after)
    return Outcome(
        path=file.path,
        change="entry removed",
        difference=_difference(target, file, after),
        backup=backup,
        note="the file was changed since, so only Foregate's entry is removed",
    )


def _record(
    target: Target,
    file: RawFile,
    after: bytes,
    *,
    before: Record | None,
    backup: Path | None,
    made: tuple[Path, ...],
) -> Record:
    """Return what undoing needs; the state before the first of several connections counts."""
    chained = before is not None and _untouched(before, file)
    had_entry = chained or target.name in _servers(target, file)
    return Record(
        client=target.client.name,
        path=str(file.path),
        name=target.name,
        original=before.original if chained and before else str(backup or ""),
        existed=before.existed if chained and before else file.content is not None,
        digest=records.digest(after) if chained or not had_entry else "",
        folders=before.folders if chained and before else tuple(map(str, made)),
    )


def _original(record: Record | None, file: RawFile) -> bytes | None:
    """Return the file as it was before, if nobody changed it since and the copy is there."""
    if record is None or not record.original or not _untouched(record, file):
        return None
    return raw_file.read(Path(record.original)).content


def _untouched(record: Record, file: RawFile) -> bool:
    return file.content is not None and records.digest(file.content) == record.digest


def _editor(target: Target) -> ModuleType:
    return edit_toml if target.client.toml else edit_json


def _servers(target: Target, file: RawFile) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = _editor(target).servers(file.text, target.client.key)
    except (ValueError, RecursionError) as error:
        raise UnreadableConfig(_unreadable(file, error)) from None
    return found


def _edit(target: Target, file: RawFile, wanted: Mapping[str, Any] | None) -> str:
    editor, key = _editor(target), target.client.key
    try:
        if wanted is None:
            changed: str = editor.take(file.text, key, target.name)
        else:
            changed = editor.put(file.text, key, target.name, wanted)
    except (ValueError, RecursionError) as error:
        raise UnreadableConfig(_unreadable(file, error)) from None
    return changed


def _unreadable(file: RawFile, error: Exception) -> str:
    if isinstance(error, JSONDecodeError):
        where = f"line {error.lineno}, column {error.colno}: "
        return f"{file.path}: {where}{error.msg}; mend the file, it is left as it is"
    reason = " ".join(str(error).split()) or "nested too deeply"
    return f"{file.path}: {reason}; it is left as it is"


def _is_own(target: Target, standing: Any) -> bool:
    """Whether an entry of our name is ours: Foregate's command, or what --http writes."""
    try:
        found = entry.read(
            target.name,
            standing,
            translator=Translator(project=Path("/")),
            local=False,
            sse=False,
        )
    except ValueError:
        return False
    written = own_entry.TOKEN in str(standing) and bool(found.url)
    return written or own_entry.is_own(found)


def _difference(target: Target, file: RawFile, after: bytes) -> str:
    before, now = file.text, after.removeprefix(raw_file.BOM).decode()
    name = str(file.path)
    lines = difflib.unified_diff(
        before.splitlines(), now.splitlines(), name, name, n=CONTEXT_LINES, lineterm=""
    )
    shown = "\n".join(lines)
    for secret in sorted(_secrets(target, file), key=len, reverse=True):
        shown = shown.replace(secret, "…")
    return shown


def _secrets(target: Target, file: RawFile) -> set[str]:
    """Return what other servers are given, which may stand in a line that is shown."""
    others = [each for name, each in _servers(target, file).items() if name != target.name]
    given = [each.get(key) for each in others if isinstance(each, Mapping) for key in GIVEN]
    values = [value for each in given if isinstance(each, Mapping) for value in each.values()]
    return {
        value for value in values if isinstance(value, str) and len(value) >= SECRET_CHARACTERS
    }
