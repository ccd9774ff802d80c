"""Lists of MCP servers as clients write them: JSON with an `mcpServers` object."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway_project.foundation import canonical
from tools import definition

MAX_FILE_BYTES = 5_000_000
MAX_NAME_LENGTH = 100
_PLAIN = (str, int, float)
_EXPECTED = 'expected {"mcpServers": {"name": {"command": …}}}'
_OWN_KEYS = ("command", "args", "env", "cwd", "type", "disabled")
_REMOTE_KEYS = ("url", "serverUrl", "httpUrl")


class UnreadableConfig(Exception):
    """A configuration that cannot be used as a whole; one line that says why and what to do."""


class MissingConfig(UnreadableConfig):
    """A configuration that is not there."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One usable server of a configuration.

    Attributes:
        name: Its key.
        command: Executable; may hold ${VAR}.
        args: Arguments; may hold ${VAR}.
        env: Environment; may hold ${VAR}.
        cwd: Working folder, empty if not given.
        enabled: False where the client has it switched off.
        local: True where the file keeps it for the one project that was asked for.
        extra: Keys that mean nothing to us.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    enabled: bool = True
    local: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """What a configuration holds: usable entries, and one line for each that is not."""

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]


def read(path: Path, *, project: Path | None = None) -> Parsed:
    """Read a file.

    Args:
        path: The client's file.
        project: Folder whose own servers count too, where the file keeps servers by project.

    Raises:
        MissingConfig: If there is no such file.
        UnreadableConfig: If it is too large or not such a file.
    """
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UnreadableConfig(f"{path} has {size:,} bytes; a configuration is far smaller")
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        raise MissingConfig(f"{path} does not exist; name an existing file") from None
    except UnicodeDecodeError:
        raise UnreadableConfig(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise UnreadableConfig(f"cannot read {path}: {error.strerror}") from None
    return parse(text, source=str(path), project=project)


def parse(text: str, *, source: str, project: Path | None = None) -> Parsed:
    """Parse the text of a configuration.

    A broken entry does not spoil the others: it becomes a problem that names it. A name that
    stands twice is a problem, since one of the two would be lost without a word. A project's
    own servers come before those of the same name for all projects.

    Args:
        text: The file's text.
        source: What problems call the file.
        project: Folder whose own servers count too.

    Raises:
        UnreadableConfig: If the text is no JSON object with servers in it.

    Example:
        >>> found = parse('{"mcpServers": {"time": {"command": "uvx"}}}', source="x.json")
        >>> found.entries[0].name
        'time'
    """
    shared, own = _groups(_document(text, source), source, project)
    repeated = (*own.repeated, *(name for name in shared.repeated if name not in own))
    entries: list[Entry] = []
    problems = [f"{source}: {name!r} stands twice; rename one of the two" for name in repeated]
    for name, value in {**shared, **own}.items():
        if name in repeated:
            continue
        try:
            entries.append(_entry(name, value, local=name in own))
        except ValueError as error:
            problems.append(f"{source}: server {name!r}: {error}")
    return Parsed(entries=tuple(entries), problems=tuple(problems))


def _document(text: str, source: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Object.of)
    except json.JSONDecodeError as error:
        raise UnreadableConfig(
            f"{source}: line {error.lineno}, column {error.colno}: {error.msg}; mend the JSON"
        ) from None
    except ValueError as error:  # a number of thousands of digits
        raise UnreadableConfig(f"{source}: {error}; mend the JSON") from None
    except RecursionError:
        raise UnreadableConfig(f"{source}: nested too deeply to be a configuration") from None


class _Object(dict[str, Any]):
    """A JSON object that remembers which of its keys stood more than once."""

    repeated: tuple[str, ...] = ()

    @classmethod
    def of(cls, pairs: list[tuple[str, Any]]) -> _Object:
        """Build it from its pairs; of two with one key the last counts, as in JSON's libraries."""
        built = cls(pairs)
        if len(built) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            built.repeated = tuple(key for key, count in counts.items() if count > 1)
        return built


def _groups(document: Any, source: str, project: Path | None) -> tuple[_Object, _Object]:
    """Return the servers for all projects and the project's own, empty where there are none."""
    if not isinstance(document, dict):
        raise UnreadableConfig(f"{source}: {_EXPECTED}")
    projects = document.get("projects")
    own = projects.get(str(project)) if isinstance(projects, dict) else None
    if not isinstance(own, dict):
        own = {}
    if "mcpServers" not in document and "mcpServers" not in own:
        raise UnreadableConfig(f"{source}: no mcpServers in it; {_EXPECTED}")
    return _servers(document, source), _servers(own, source)


def _servers(holder: dict[str, Any], source: str) -> _Object:
    servers = holder.get("mcpServers")
    if servers is None:
        return _Object()
    if not isinstance(servers, _Object):
        raise UnreadableConfig(f"{source}: mcpServers must be an object; {_EXPECTED}")
    return servers


def _entry(name: str, value: Any, *, local: bool) -> Entry:
    if not isinstance(value, dict):
        raise ValueError('must be an object such as {"command": "uvx", "args": []}')  # noqa: TRY004
    if ":" in name or name != name.strip() or not name.isprintable():
        raise ValueError("a name holds no colon, outer space or control character; rename it")
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise ValueError(f"a name has 1 to {MAX_NAME_LENGTH} characters; rename it")
    _require_storable(value)
    if any(key in value for key in _REMOTE_KEYS):
        raise ValueError("is reached over HTTP, which this version cannot do; left out")
    command = value.get("command")
    if not isinstance(command, str) or not command.strip():
        raise ValueError("has no command; give the executable that starts it")
    return Entry(
        name=name,
        command=command,
        args=_texts(value.get("args", []), "args"),
        env=_environment(value.get("env", {})),
        cwd=_text(value.get("cwd", ""), "cwd"),
        enabled=value.get("disabled") is not True,
        local=local,
        extra={key: item for key, item in value.items() if key not in _OWN_KEYS},
    )


def _text(value: Any, field_name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{field_name} must be a text")  # noqa: TRY004 - one kind for the caller
    return value


def _texts(value: Any, field_name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, _PLAIN) for item in value):
        raise ValueError(f"{field_name} must be a list of texts")
    return tuple(_plain(item) for item in value)


def _environment(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(v, _PLAIN) for v in value.values()):
        raise ValueError("env must be an object of texts")
    if any("=" in key or not key for key in value):
        raise ValueError("a name in env holds no equals sign and is not empty; rename it")
    return {key: _plain(item) for key, item in value.items()}


def _plain(value: Any) -> str:
    """Return a text as it is, a number or boolean as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def _require_storable(value: dict[str, Any]) -> None:
    """Refuse what no process could be given and no database holds: NUL, lone surrogates, NaN."""
    try:
        canonical.dumps(value)
    except canonical.NotCanonical as error:
        raise ValueError(f"holds something that cannot be stored: {error}") from None
    if definition.storable(value) != value:
        raise ValueError("holds a NUL or half of a character; write it anew")
