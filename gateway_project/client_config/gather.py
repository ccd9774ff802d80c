"""The servers of one file, or of all files that a client keeps its servers in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gateway_project.client_config import locate, own_entry, read, switched_off
from gateway_project.client_config.read import (
    Entry,
    MissingConfig,
    NoServers,
    Parsed,
    UnreadableConfig,
)


@dataclass(frozen=True, kw_only=True)
class Found:
    """A client's file on this machine.

    Attributes:
        client: Its client.
        path: Where it is.
        parsed: What it holds; None if it cannot be used.
        problem: Why it cannot be used, empty if it can.
    """

    client: str
    path: Path
    parsed: Parsed | None
    problem: str = ""


def gather(origin: str, *, own_urls: Collection[str] = ()) -> Parsed:
    """Read what a person names.

    Of a client with several files, one that cannot be used is a problem and does not spoil the
    others. Of two entries with one name, that which the client itself would start counts.
    An entry that is Foregate itself is left out and said.

    Args:
        origin: One of `locate.CLIENTS`, or a path.
        own_urls: Addresses under which Foregate itself is reached.

    Raises:
        UnreadableConfig: If there is no file that can be used.
    """
    parsed = _of_client(origin) if origin in locate.CLIENTS else _of_file(origin)
    own = [entry.name for entry in parsed.entries if own_entry.is_own(entry, own_urls)]
    notes = [
        *(f"server {entry.name!r} {note}" for entry in parsed.entries for note in entry.notes),
        *(f"server {name!r} is Foregate itself and left out" for name in own),
    ]
    return replace(
        parsed,
        entries=tuple(entry for entry in parsed.entries if entry.name not in own),
        notes=tuple(notes),
    )


def survey(clients: Sequence[str] = locate.CLIENTS) -> tuple[Found, ...]:
    """Return every file of the clients that exists here, with what it holds."""
    found: list[Found] = []
    for client in clients:
        for path in locate.candidates(client):
            try:
                parsed = _read(path, client)
            except MissingConfig:
                continue
            except UnreadableConfig as error:
                problem = "" if isinstance(error, NoServers) else str(error)
                empty = None if problem else Parsed(entries=(), problems=())
                found.append(Found(client=client, path=path, parsed=empty, problem=problem))
            else:
                found.append(Found(client=client, path=path, parsed=parsed))
    return tuple(found)


def _of_file(origin: str) -> Parsed:
    try:
        return read.read(Path(origin).expanduser(), project=Path.cwd())
    except MissingConfig as error:
        raise MissingConfig(f"{error}, or {' or '.join(locate.CLIENTS)}") from None
    except RuntimeError:
        raise UnreadableConfig(f"{origin}: no such user here; give the full path") from None


def _read(path: Path, client: str) -> Parsed:
    return read.read(path, project=Path.cwd(), client=locate.client_named(client))


def _of_client(client: str) -> Parsed:
    paths = locate.candidates(client)
    found: dict[Path, Parsed] = {}
    problems: list[str] = []
    for path in paths:
        try:
            found[path] = _read(path, client)
        except MissingConfig:
            continue
        except UnreadableConfig as error:
            problems.append(str(error))
    if not found:
        looked = " or ".join(map(str, paths))
        raise UnreadableConfig("; ".join(problems) or f"no configuration of {client} at {looked}")
    problems += [line for parsed in found.values() for line in parsed.problems]
    files = [_switched(path, parsed, found.values()) for path, parsed in found.items()]
    return Parsed(entries=_effective(files), problems=tuple(problems))


def _switched(path: Path, parsed: Parsed, files: Collection[Parsed]) -> Sequence[Entry]:
    """Return the entries of one of a client's files as all of them switch it on or off."""
    off = frozenset[str]().union(*(file.off for file in files))
    if path == Path.cwd() / ".mcp.json":
        off = off.union(*(file.off_in_project for file in files))
        off |= switched_off.by_settings(Path.cwd(), locate.here())
    return [
        replace(entry, enabled=entry.enabled and entry.name not in off) for entry in parsed.entries
    ]


def _effective(files: Sequence[Sequence[Entry]]) -> tuple[Entry, ...]:
    """Return one entry for each name: a person's own for the project before any file's order.

    References:
        Claude Code, MCP installation scopes: local before project before user.
    """
    entries = [entry for file in files for entry in file]
    effective: dict[str, Entry] = {}
    for entry in sorted(entries, key=lambda entry: not entry.local):
        effective.setdefault(entry.name, entry)
    return tuple(effective.values())
