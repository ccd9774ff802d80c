"""What servers say about their own use, as models see it: pinned, and within a bound.

The handshake is answered before the database is available. So what all callers may see of it is
also kept in a file of the home folder, which the next gateway answers its first client with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.home import resolve_home
from gateway_project.foundation.text import strip_invisible

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from tools.catalogue import Catalogue

MAX_BYTES: Final = 2_048
"""Bytes of a text that clients read; Claude Code cuts the rest."""
MIN_SHARE_BYTES: Final = 80
"""Least bytes of a server's instructions that are worth showing."""
FILE_NAME: Final = "instructions.json"
_HEADING: Final = "\n\nServers say about their use:"


def collect_instructions(
    catalogue: Catalogue, caller: Caller, names: Iterable[str] | None = None
) -> dict[str, str]:
    """Return the pinned instructions of servers with a tool that the caller may use, by name.

    A caller limited to some tools of a server sees none: they may speak of all.

    Args:
        catalogue: Of the moment.
        caller: Who is to see them.
        names: Only those of these servers.
    """
    found = {tool.server for tool in catalogue.list_usable(caller)}
    servers = (catalogue.servers[name] for name in sorted(found))
    return {
        server.name: strip_invisible(server.instructions).strip()
        for server in servers
        if server.instructions
        and (names is None or server.name in names)
        and (caller.group is None or caller.group in server.whole_groups)
    }


def share_instructions(
    catalogue: Catalogue, caller: Caller, tools: Iterable[str]
) -> dict[str, str]:
    """Return what the servers of tools say about their use, shortened to fit together."""
    names = {tool.partition(":")[0] for tool in tools}
    return share_bytes(collect_instructions(catalogue, caller, names)) if names else {}


def share_bytes(
    texts: Mapping[str, str], max_bytes: int = MAX_BYTES, *, mark: str = ""
) -> dict[str, str]:
    """Shorten texts until they fit together: the shortest stay whole, the others share the rest.

    Args:
        texts: By name; those that would get less than `MIN_SHARE_BYTES` are left out.
        max_bytes: Bytes of all texts and names.
        mark: Stands beside each text, and counts.

    Example:
        >>> shared = share_bytes({"a": "x" * 900, "b": "yy"}, 200)
        >>> shared["b"], len(shared["a"].encode())
        ('yy', 196)
    """
    by_size = sorted(texts.items(), key=lambda item: (len(item[1].encode()), item[0]))
    shared: dict[str, str] = {}
    left = max_bytes
    for index, (name, text) in enumerate(by_size):
        data, own = text.encode(), len((name + mark).encode())
        share = left // (len(by_size) - index) - own
        if len(data) > share:
            share = max(share, min(MIN_SHARE_BYTES, left - own))
        if len(data) > share:
            if share < MIN_SHARE_BYTES:
                break
            text = data[: share - len("…".encode())].decode(errors="ignore").rstrip() + "…"
        shared[name] = text
        left -= own + len(text.encode())
    return shared


def add_to_instructions(own: str, texts: Mapping[str, str]) -> str:
    """Return the gateway's instructions followed by those of servers, within `MAX_BYTES`."""
    flat = {name: " ".join(text.split()) for name, text in texts.items()}
    room = MAX_BYTES - len((own + _HEADING).encode())
    shared = share_bytes(flat, room, mark="\n- : ")
    lines = [f"\n- {name}: {text}" for name, text in sorted(shared.items())]
    return own + _HEADING + "".join(lines) if lines else own


def keep_instructions(home: Path, texts: Mapping[str, str]) -> None:
    """Keep the instructions that all callers may see for the next gateway's first client."""
    from gateway_project.foundation import private_file  # noqa: PLC0415 - not at a start
    from gateway_project.foundation.config import ConfigurationError  # noqa: PLC0415 - likewise

    path, content = home / FILE_NAME, json.dumps(dict(texts)).encode()
    with suppress(ConfigurationError, OSError):  # the next handshake lacks them, nothing else
        if (path.read_bytes() if path.exists() else b"{}") != content:
            private_file.replace_file(path, content)


def load_kept_instructions() -> dict[str, str]:
    """Return the kept instructions by server; none if there are none."""
    try:
        kept = json.loads((resolve_home() / FILE_NAME).read_bytes())
    except (OSError, ValueError, RuntimeError):
        return {}
    return kept if isinstance(kept, dict) else {}
