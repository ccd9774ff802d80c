"""Reads the servers of clients' files: JSON, JSON with comments, TOML, or YAML."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Final

from gateway_project.client_config import (
    clients,
    entry,
    extension,
    jsonc,
    own_entry,
    raw_file,
    tool_switches,
)
from gateway_project.client_config.clients import KnownClient
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.client_config.jsonc import JsonObject
from gateway_project.client_config.placeholders import OWN_SYNTAX, PlaceholderTranslator
from gateway_project.client_config.raw_file import MissingConfig, UnreadableConfig
from gateway_project.foundation import yaml_text

CLAUDE_CODE: Final = clients.CLIENTS["claude-code"]


class NoServerList(UnreadableConfig):
    """A configuration has no list of servers.

    Attributes:
        document: The whole file; its other settings may hold for servers of other files.
    """

    def __init__(self, message: str, document: Any) -> None:
        super().__init__(message)
        self.document = document


@dataclass(frozen=True, kw_only=True)
class ParsedConfig:
    """Content of a configuration.

    Attributes:
        entries: Usable servers.
        problems: One line for each unusable server.
        notes: Remarks for the user.
        document: The whole file; its other settings may hold for servers of other files.
    """

    entries: tuple[ConfiguredServer, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    document: Any = field(default=None, repr=False, compare=False)


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


def read_config(
    path: Path, *, project: Path | None = None, client: KnownClient | None = None
) -> ParsedConfig:
    """Read a file.

    Args:
        path: The client's file.
        project: Folder whose own servers count too, if the file holds servers by project.
        client: Owner of the file; None guesses it from the path, or else from the form.

    Raises:
        MissingConfig: If there is no such file.
        UnreadableConfig: If it is too large or not a configuration.
    """
    if path.suffix in extension.PACKED_SUFFIXES:
        path = extension.unpack_extension(path)
    if (path / extension.MANIFEST).is_file():
        path /= extension.MANIFEST
    file = raw_file.read_raw(path)
    if file.content is None:
        raise MissingConfig(f"{path} does not exist; name an existing file")
    owner = client or clients.guess_client(path)
    if path.name == extension.MANIFEST or (
        client is None and (owner is None or owner.file_format == "json")
    ):
        document = _parse_document(file.text, str(path), None)
        if path.name == extension.MANIFEST and extension.is_manifest(document):
            return _parse_extension(path, document)
        if client is None and (owner is None or _is_of_another(document, owner)):
            owner = clients.guess_by_form(document)
    return parse_config(file.text, source=str(path), project=project, client=owner)


def _is_of_another(document: Any, client: KnownClient) -> bool:
    """Whether a file has servers, in a form that is not its client's."""
    if not isinstance(document, dict) or clients.has_form(document, client):
        return False
    return _holds_entries(document) or not document.keys().isdisjoint(clients.SERVERS_KEYS)


def _holds_entries(document: dict[str, Any]) -> bool:
    """Whether a file holds entries without a key above them, as those of plugins do."""
    return bool(document) and all(map(entry.is_entry, document.values()))


def _parse_extension(path: Path, document: dict[str, Any]) -> ParsedConfig:
    try:
        return ParsedConfig(entries=(extension.read_extension(path, document),), problems=())
    except ValueError as error:
        name = document.get("name", path.parent.name)
        return ParsedConfig(entries=(), problems=(f"{path}: server {name!r}: {error}",))


def parse_config(
    text: str, *, source: str, project: Path | None = None, client: KnownClient | None = None
) -> ParsedConfig:
    """Parse the text of a configuration.

    An invalid entry does not affect the others: it becomes a problem that names it. So does a
    repeated name, since one of the two entries would be lost silently. A project's own servers
    take precedence over those of the same name for all projects.

    Args:
        text: The file's text.
        source: Name of the file in problems.
        project: Folder whose own servers count too.
        client: Owner of the file; None for any client with JSON.

    Raises:
        UnreadableConfig: If the text holds no list of servers.

    Example:
        >>> parsed = parse_config('{"mcpServers": {"time": {"command": "uvx"}}}', source="x.json")
        >>> parsed.entries[0].name
        'time'
    """
    document = _parse_document(text, source, client)
    holders = _find_holders(document, client)
    shared, own = _extract_servers(document, holders, source, project, client)
    repeated = (*own.repeated_keys, *(name for name in shared.repeated_keys if name not in own))
    problems = [f"{source}: {name!r} is given twice; rename one of the two" for name in repeated]
    servers = {name: value for name, value in {**shared, **own}.items() if name not in repeated}
    disabled = tool_switches.names_disabled_in(document, project, servers.keys())
    entries: list[ConfiguredServer] = []
    for name, value in servers.items():
        if client and isinstance(value, dict) and value.get("type") in client.own_types:
            continue
        translator = _make_translator([document, *holders], project, client)
        owner = client.name if client else ""
        try:
            server = entry.read_entry(
                name, value, translator=translator, local=name in own, client=owner
            )
        except ValueError as error:
            problems.append(f"{source}: server {name!r}: {error}")
        else:
            off = tool_switches.find_tool_filter(document, name, client=owner)
            server = replace(server, enabled=server.enabled and name not in disabled)
            entries.append(server.limit_tools(off))
    return ParsedConfig(entries=tuple(entries), problems=tuple(problems), document=document)


def _parse_document(text: str, source: str, client: KnownClient | None) -> Any:
    try:
        if client and client.file_format != "json":
            return tomllib.loads(text) if client.file_format == "toml" else yaml_text.parse(text)
        is_empty = jsonc.skip_trivia(text, 0) == len(text)
        return JsonObject() if is_empty else jsonc.loads(text)
    except JSONDecodeError as error:
        raise UnreadableConfig(
            f"{source}: line {error.lineno}, column {error.colno}: {error.msg}; fix the JSON"
        ) from None
    except ValueError as error:  # also raised for huge numbers and by the TOML parser
        kind = client.file_format.upper() if client else "JSON"
        line = " ".join(str(error).split())
        raise UnreadableConfig(f"{source}: {line}; fix the {kind}") from None
    except RecursionError:
        raise UnreadableConfig(f"{source}: nested too deeply to be a configuration") from None


def _find_holders(document: Any, client: KnownClient | None) -> list[dict[str, Any]]:
    """Return the objects within a file that hold a list of servers besides the file itself."""
    paths = client.holders if client else clients.HOLDERS
    holders = (clients.follow_path(document, path) for path in paths)
    return [
        holder for holder in holders if isinstance(holder, dict) and clients.HOLDER_KEY in holder
    ]


def _extract_servers(
    document: Any,
    holders: Sequence[dict[str, Any]],
    source: str,
    project: Path | None,
    client: KnownClient | None,
) -> tuple[JsonObject, JsonObject]:
    """Return the servers for all projects and the project's own; either may be empty."""
    keys = (client.servers_key,) if client else clients.SERVERS_KEYS
    if not isinstance(document, dict):
        raise UnreadableConfig(f"{source}: {_describe_expected(keys[0], client)}")
    key = next((key for key in keys if key in document), keys[0])
    if client is None and key not in document and _holds_entries(document):
        document = {key: document}
    projects = document.get("projects")
    own = projects.get(str(project)) if isinstance(projects, dict) else None
    if not isinstance(own, dict):
        own = {}
    if key not in document and key not in own and not holders:
        message = f"{source}: no {key} in it; {_describe_expected(key, client)}"
        raise NoServerList(message, document)
    lists = [(document, key), (own, key), *((holder, clients.HOLDER_KEY) for holder in holders)]
    for holder, name in lists:
        if not isinstance(holder.get(name), dict | None):
            expected = _describe_expected(name, client)
            raise UnreadableConfig(f"{source}: {name} must be an object; {expected}")
    is_holder = any(holder is document.get(key) for holder in holders)
    shared = JsonObject() if is_holder else _get_servers(document, key)
    for holder in holders:
        shared = shared.merge(_get_servers(holder, clients.HOLDER_KEY))
    return shared, _get_servers(own, key)


def _describe_expected(key: str, client: KnownClient | None) -> str:
    if client and client.file_format == "toml":
        return f"expected [{key}.name] with a command or url"
    if client and client.file_format == "yaml":
        return f"expected {key}: with the name of each, and its cmd or uri below"
    return f'expected {{"{key}": {{"name": {{"command": …}}}}}}'


def _get_servers(holder: dict[str, Any], key: str) -> JsonObject:
    servers = holder.get(key) or {}
    return servers if isinstance(servers, JsonObject) else JsonObject(servers)


def _make_translator(
    holders: Sequence[dict[str, Any]], project: Path | None, client: KnownClient | None
) -> PlaceholderTranslator:
    lists = [holder.get("inputs") for holder in holders]
    inputs = {
        item["id"]: item
        for listed in lists
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict) and isinstance(item.get("id"), str)
    }
    return PlaceholderTranslator(
        project=project or Path.cwd(),
        inputs=inputs,
        syntax=client.syntax if client else OWN_SYNTAX,
        environ=os.environ,
    )


def gather_servers(origin: str, *, own_urls: Collection[str] = ()) -> ParsedConfig:
    """Read the servers of a client or file.

    If a client has several files, an unusable one is a problem that does not affect the others. Of
    two entries with one name, the one that the client itself would start counts. An entry that is
    Foregate itself is left out, with a note.

    Args:
        origin: One of `clients.CLIENT_NAMES`, or a path.
        own_urls: URLs of Foregate itself.

    Raises:
        UnreadableConfig: If no file can be used.
    """
    parsed = _read_client(origin) if origin in clients.CLIENT_NAMES else _read_origin_file(origin)
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


def find_client_files(names: Sequence[str] = clients.CLIENT_NAMES) -> tuple[DetectedClient, ...]:
    """Return every existing file of the clients, with its content."""
    detected: list[DetectedClient] = []
    for client in names:
        for path in clients.list_readable_files(client):
            try:
                parsed = _read_client_file(path, client)
            except MissingConfig:
                continue
            except UnreadableConfig as error:
                if isinstance(error, NoServerList) and path not in clients.candidate_files(client):
                    continue  # settings of an editor, which need not hold any
                problem = "" if isinstance(error, NoServerList) else str(error)
                empty = None if problem else ParsedConfig(entries=(), problems=())
                detected.append(
                    DetectedClient(client=client, path=path, parsed=empty, problem=problem)
                )
            else:
                detected.append(DetectedClient(client=client, path=path, parsed=parsed))
    return tuple(detected)


def find_own_call_limit_s(client: str) -> float | None:
    """Return the seconds that a client's files give a call of Foregate; None: they do not say."""
    limits = [
        entry.call_timeout_s
        for detected in find_client_files((client,))
        for entry in (detected.parsed.entries if detected.parsed else ())
        if entry.call_timeout_s is not None and own_entry.is_own_entry(entry)
    ]
    return min(limits, default=None)


def _read_origin_file(origin: str) -> ParsedConfig:
    try:
        path = Path(origin).expanduser()
        parsed = read_config(path, project=Path.cwd())
        owner = clients.guess_client(path)
        return _apply_claude_settings(path.absolute(), parsed) if owner is CLAUDE_CODE else parsed
    except MissingConfig as error:
        raise MissingConfig(f"{error}, or {' or '.join(clients.CLIENT_NAMES)}") from None
    except RuntimeError:
        raise UnreadableConfig(f"{origin}: no such user here; give the full path") from None


def _apply_claude_settings(path: Path, parsed: ParsedConfig) -> ParsedConfig:
    """Switch off what Claude Code's settings do for a file of its."""
    project = path.parent if path.name == CLAUDE_CODE.project_file else Path.cwd()
    settings = tool_switches.load_claude_settings(project, clients.current_platform())
    entries = _apply_switches(
        path, parsed.entries, settings, client=CLAUDE_CODE.name, project=project
    )
    return replace(parsed, entries=tuple(entries))


def _read_client_file(path: Path, client: str) -> ParsedConfig:
    return read_config(path, project=Path.cwd(), client=clients.find_client(client))


def _read_client(client: str) -> ParsedConfig:
    paths = clients.list_readable_files(client)
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
        documents += tool_switches.load_claude_settings(Path.cwd(), clients.current_platform())
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
        off |= tool_switches.names_disabled_in(document, project, names)
        if path == project / CLAUDE_CODE.project_file:
            off |= tool_switches.names_disabled_for_project(document, project)
        entries = [
            entry.limit_tools(tool_switches.find_tool_filter(document, entry.name, client=client))
            for entry in entries
        ]
    return [replace(entry, enabled=entry.enabled and entry.name not in off) for entry in entries]


def _merge_by_name(files: Sequence[Sequence[ConfiguredServer]]) -> tuple[ConfiguredServer, ...]:
    """Return one entry for each name: project-local ones first, then in the order of the files.

    References:
        Claude Code, MCP installation scopes: local before project before user.
    """
    servers = [server for file in files for server in file]
    effective: dict[str, ConfiguredServer] = {}
    for server in sorted(servers, key=lambda server: not server.is_project_local):
        effective.setdefault(server.name, server)
    return tuple(effective.values())
