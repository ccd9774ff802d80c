"""Lists of MCP servers as clients write them: JSON, JSON with comments, TOML."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from gateway_project.client_config import clients, entry, jsonc, raw_file, switched_off
from gateway_project.client_config.clients import Client
from gateway_project.client_config.entry import Entry
from gateway_project.client_config.jsonc import Object
from gateway_project.client_config.placeholders import Translator
from gateway_project.client_config.raw_file import MissingConfig, UnreadableConfig

__all__ = ["Entry", "MissingConfig", "NoServers", "Parsed", "UnreadableConfig", "parse", "read"]


class NoServers(UnreadableConfig):
    """A configuration without a list of servers: one of something else, or of nothing yet."""


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """What a configuration holds.

    Attributes:
        entries: Servers that can be used.
        problems: One line for each that cannot.
        notes: What a person should know beside.
        off: Names that the file switches off, in whichever of the client's files they stand.
        off_in_project: Names that it switches off in the project's own file.
    """

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    off: frozenset[str] = frozenset()
    off_in_project: frozenset[str] = frozenset()


def read(path: Path, *, project: Path | None = None, client: Client | None = None) -> Parsed:
    """Read a file.

    Args:
        path: The client's file.
        project: Folder whose own servers count too, where the file keeps servers by project.
        client: Whose file it is; None: told from its name.

    Raises:
        MissingConfig: If there is no such file.
        UnreadableConfig: If it is too large or not such a file.
    """
    file = raw_file.read(path)
    if file.content is None:
        raise MissingConfig(f"{path} does not exist; name an existing file")
    known = client or clients.of_file(path)
    return parse(file.text, source=str(path), project=project, client=known)


def parse(
    text: str, *, source: str, project: Path | None = None, client: Client | None = None
) -> Parsed:
    """Parse the text of a configuration.

    A broken entry does not spoil the others: it becomes a problem that names it. A name that
    stands twice is a problem, since one of the two would be lost without a word. A project's
    own servers come before those of the same name for all projects.

    Args:
        text: The file's text.
        source: What problems call the file.
        project: Folder whose own servers count too.
        client: Whose file it is; None: any client's in JSON.

    Raises:
        UnreadableConfig: If the text is no list of servers.

    Example:
        >>> found = parse('{"mcpServers": {"time": {"command": "uvx"}}}', source="x.json")
        >>> found.entries[0].name
        'time'
    """
    document = _document(text, source, client)
    shared, own = _groups(document, source, project, client)
    repeated = (*own.repeated, *(name for name in shared.repeated if name not in own))
    problems = [f"{source}: {name!r} stands twice; rename one of the two" for name in repeated]
    servers = {name: value for name, value in {**shared, **own}.items() if name not in repeated}
    off = switched_off.named_in(document, project, servers.keys())
    entries: list[Entry] = []
    for name, value in servers.items():
        translator = _translator(document, project, client)
        sse = client is not None and client.name == "gemini"
        try:
            found = entry.read(name, value, translator=translator, local=name in own, sse=sse)
        except ValueError as error:
            problems.append(f"{source}: server {name!r}: {error}")
        else:
            entries.append(replace(found, enabled=found.enabled and name not in off))
    return Parsed(
        entries=tuple(entries),
        problems=tuple(problems),
        off=off,
        off_in_project=switched_off.of_project(document, project) if project else frozenset(),
    )


def _document(text: str, source: str, client: Client | None) -> Any:
    try:
        return tomllib.loads(text) if client and client.toml else jsonc.loads(text)
    except JSONDecodeError as error:
        raise UnreadableConfig(
            f"{source}: line {error.lineno}, column {error.colno}: {error.msg}; mend the JSON"
        ) from None
    except ValueError as error:  # also a number of thousands of digits, and TOML's own
        kind = "TOML" if client and client.toml else "JSON"
        line = " ".join(str(error).split())
        raise UnreadableConfig(f"{source}: {line}; mend the {kind}") from None
    except RecursionError:
        raise UnreadableConfig(f"{source}: nested too deeply to be a configuration") from None


def _groups(
    document: Any, source: str, project: Path | None, client: Client | None
) -> tuple[Object, Object]:
    """Return the servers for all projects and the project's own, empty where there are none."""
    keys = (client.key,) if client else clients.KEYS
    if not isinstance(document, dict):
        raise UnreadableConfig(f"{source}: {_expected(keys[0], client)}")
    key = next((key for key in keys if key in document), keys[0])
    projects = document.get("projects")
    own = projects.get(str(project)) if isinstance(projects, dict) else None
    if not isinstance(own, dict):
        own = {}
    if key not in document and key not in own:
        raise NoServers(f"{source}: no {key} in it; {_expected(key, client)}")
    for holder in (document, own):
        if not isinstance(holder.get(key), dict | None):
            wanted = _expected(key, client)
            raise UnreadableConfig(f"{source}: {key} must be an object; {wanted}")
    return _servers(document, key), _servers(own, key)


def _expected(key: str, client: Client | None) -> str:
    if client and client.toml:
        return f"expected [{key}.name] with a command or url"
    return f'expected {{"{key}": {{"name": {{"command": …}}}}}}'


def _servers(holder: dict[str, Any], key: str) -> Object:
    servers = holder.get(key) or {}
    return servers if isinstance(servers, Object) else Object(servers)


def _translator(document: Any, project: Path | None, client: Client | None) -> Translator:
    given = document.get("inputs")
    inputs = {
        item["id"]: item
        for item in (given if isinstance(given, list) else [])
        if isinstance(item, dict) and isinstance(item.get("id"), str)
    }
    unbraced = client is not None and client.name == "gemini"
    return Translator(project=project or Path.cwd(), inputs=inputs, unbraced=unbraced)
