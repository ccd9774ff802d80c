"""Gathers the servers of one file, or of all files of a client."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from gateway_project.client_config import (
    clients,
    locate,
    own_entry,
    read_config,
    switched_off,
)
from gateway_project.client_config.read_config import (
    ConfiguredServer,
    MissingConfig,
    NoServerList,
    ParsedConfig,
    UnreadableConfig,
)

CLAUDE_CODE: Final = clients.CLIENTS["claude-code"]


@dataclass(frozen=True, kw_only=True)
class DetectedClient:
    """A client's file on this machine.

    Attributes:
        client: Name of the client.
        path: Path of the file.
        parsed: Its content; None if it cannot be used.
        problem: Why it cannot be used; empty if it can.
    """

    client: str
    path: Path
    parsed: ParsedConfig | None
    problem: str = ""


def gather_servers(origin: str, *, own_urls: Collection[str] = ()) -> ParsedConfig:
    """Read the servers of a client or file.

    If a client has several files, an unusable one is a problem that does not affect the others. Of
    two entries with one name, the one that the client itself would start counts. An entry that is
    Foregate itself is left out, with a note.

    Args:
        origin: One of `locate.CLIENT_NAMES`, or a path.
        own_urls: URLs of Foregate itself.

    Raises:
        UnreadableConfig: If no file can be used.
    """
    parsed = _read_client(origin) if origin in locate.CLIENT_NAMES else _read_origin_file(origin)
    own = [entry.name for entry in parsed.entries if own_entry.is_own_entry(entry, own_urls)]
    notes = [
        *(f"server {entry.name!r} {note}" for entry in parsed.entries for note in entry.notes),
        *(f"server {name!r} is Foregate itself and left out" for name in own),
    ]
    return replace(
        parsed,
        entries=tuple(entry for entry in parsed.entries if entry.name not in own),
        notes=tuple(notes),
    )


def find_client_files(names: Sequence[str] = locate.CLIENT_NAMES) -> tuple[DetectedClient, ...]:
    """Return every existing file of the clients, with its content."""
    detected: list[DetectedClient] = []
    for client in names:
        for path in locate.list_readable_files(client):
            try:
                parsed = _read_client_file(path, client)
            except MissingConfig:
                continue
            except UnreadableConfig as error:
                if isinstance(error, NoServerList) and path not in locate.candidate_files(client):
                    continue  # settings of an editor, which need not hold any
                problem = "" if isinstance(error, NoServerList) else str(error)
                empty = None if problem else ParsedConfig(entries=(), problems=())
                detected.append(
                    DetectedClient(client=client, path=path, parsed=empty, problem=problem)
                )
            else:
                detected.append(DetectedClient(client=client, path=path, parsed=parsed))
    return tuple(detected)


def _read_origin_file(origin: str) -> ParsedConfig:
    try:
        path = Path(origin).expanduser()
        parsed = read_config.read_config(path, project=Path.cwd())
        owner = clients.guess_client(path)
        return _apply_claude_settings(path.absolute(), parsed) if owner is CLAUDE_CODE else parsed
    except MissingConfig as error:
        raise MissingConfig(f"{error}, or {' or '.join(locate.CLIENT_NAMES)}") from None
    except RuntimeError:
        raise UnreadableConfig(f"{origin}: no such user here; give the full path") from None


def _apply_claude_settings(path: Path, parsed: ParsedConfig) -> ParsedConfig:
    """Switch off what Claude Code's settings do for a file of its."""
    project = path.parent if path.name == CLAUDE_CODE.project_file else Path.cwd()
    settings = switched_off.load_claude_settings(project, locate.current_platform())
    entries = _apply_switches(
        path, parsed.entries, settings, client=CLAUDE_CODE.name, project=project
    )
    return replace(parsed, entries=tuple(entries))


def _read_client_file(path: Path, client: str) -> ParsedConfig:
    return read_config.read_config(path, project=Path.cwd(), client=locate.find_client(client))


def _read_client(client: str) -> ParsedConfig:
    paths = locate.list_readable_files(client)
    parsed_files: dict[Path, ParsedConfig] = {}
    problems: list[str] = []
    documents: list[Any] = []
    without_servers: list[str] = []
    for path in paths:
        try:
            parsed_files[path] = _read_client_file(path, client)
        except MissingConfig:
            continue
        except NoServerList as error:
            without_servers.append(str(error))
            documents.append(error.document)
        except UnreadableConfig as error:
            problems.append(str(error))
    if not parsed_files:
        searched = " or ".join(map(str, paths))
        raise UnreadableConfig(
            "; ".join((*problems, *without_servers))
            or f"no configuration of {client} at {searched}"
        )
    problems += [line for parsed in parsed_files.values() for line in parsed.problems]
    documents += [parsed.document for parsed in parsed_files.values()]
    if client == CLAUDE_CODE.name:
        documents += switched_off.load_claude_settings(Path.cwd(), locate.current_platform())
    files = [
        _apply_switches(path, parsed.entries, documents, client=client, project=Path.cwd())
        for path, parsed in parsed_files.items()
    ]
    return ParsedConfig(entries=_merge_by_name(files), problems=tuple(problems))


def _apply_switches(
    path: Path,
    entries: Sequence[ConfiguredServer],
    documents: Sequence[Any],
    *,
    client: str,
    project: Path,
) -> Sequence[ConfiguredServer]:
    """Return the entries of one of a client's files as all of them switch it on or off.

    Args:
        path: The file.
        entries: Its servers.
        documents: All files of the client, also those without servers.
        client: Its name.
        project: Folder of the project.
    """
    names = {entry.name for entry in entries}
    off: set[str] = set()
    for document in documents:
        off |= switched_off.names_disabled_in(document, project, names)
        if path == project / CLAUDE_CODE.project_file:
            off |= switched_off.names_disabled_for_project(document, project)
        entries = [
            entry.limit_tools(switched_off.find_tool_filter(document, entry.name, client=client))
            for entry in entries
        ]
    return [replace(entry, enabled=entry.enabled and entry.name not in off) for entry in entries]


def _merge_by_name(files: Sequence[Sequence[ConfiguredServer]]) -> tuple[ConfiguredServer, ...]:
    """Return one entry for each name: project-local ones first, then in the order of the files.

    References:
        Claude Code, MCP installation scopes: local before project before user.
    """
    entries = [entry for file in files for entry in file]
    effective: dict[str, ConfiguredServer] = {}
    for entry in sorted(entries, key=lambda entry: not entry.is_project_local):
        effective.setdefault(entry.name, entry)
    return tuple(effective.values())
