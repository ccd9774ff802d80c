"""The servers of one file, or of all files that a client keeps its servers in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gateway_project.client_config import locate, read
from gateway_project.client_config.read import Entry, MissingConfig, Parsed, UnreadableConfig


def gather(origin: str) -> Parsed:
    """Read what a person names.

    Of a client with several files, one that cannot be used is a problem and does not spoil the
    others. Of two entries with one name, that which the client itself would start counts.

    Args:
        origin: One of `locate.CLIENTS`, or a path.

    Raises:
        UnreadableConfig: If there is no file that can be used.
    """
    if origin in locate.CLIENTS:
        return _of_client(origin)
    try:
        return read.read(Path(origin).expanduser(), project=Path.cwd())
    except MissingConfig as error:
        raise MissingConfig(f"{error}, or {' or '.join(locate.CLIENTS)}") from None
    except RuntimeError:
        raise UnreadableConfig(f"{origin}: no such user here; give the full path") from None


def _of_client(client: str) -> Parsed:
    paths = locate.candidates(client)
    found: list[Parsed] = []
    problems: list[str] = []
    for path in paths:
        try:
            found.append(read.read(path, project=Path.cwd()))
        except MissingConfig:
            continue
        except UnreadableConfig as error:
            problems.append(str(error))
    if not found:
        looked = " or ".join(map(str, paths))
        raise UnreadableConfig("; ".join(problems) or f"no configuration of {client} at {looked}")
    problems += [line for parsed in found for line in parsed.problems]
    return Parsed(entries=_effective(found), problems=tuple(problems))


def _effective(found: Sequence[Parsed]) -> tuple[Entry, ...]:
    """Return one entry for each name: a person's own for the project before any file's order.

    References:
        Claude Code, MCP installation scopes: local before project before user.
    """
    entries = [entry for parsed in found for entry in parsed.entries]
    effective: dict[str, Entry] = {}
    for entry in sorted(entries, key=lambda entry: not entry.local):
        effective.setdefault(entry.name, entry)
    return tuple(effective.values())
