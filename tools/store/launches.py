"""What a server starts or connects to, with secrets and variables filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tools.models import Server
from tools.upstream.interpolate import fill_known, find_variables
from tools.upstream.loaders import find_loader_variables
from tools.upstream.written_secrets import redact_url

LAUNCH_FIELDS: Final = frozenset({"command", "args", "cwd", "transport", "url"})
"""Columns that define what is started or connected to."""


@dataclass(frozen=True, kw_only=True)
class LaunchIdentity:
    """What a server starts or connects to, with its variables filled in; trust refers to it."""

    transport: str
    command: str
    args: tuple[str, ...] = field(repr=False)
    cwd: str
    url: str = field(repr=False)
    loader_variables: Mapping[str, str] = field(repr=False)


@contextmanager
def name_unreadable(server: Server) -> Iterator[None]:
    """Name the server in the error of a secret that no key opens.

    Raises:
        UnsealingFailed: With its name.
    """
    try:
        yield
    except UnsealingFailed as error:
        raise UnsealingFailed(
            f"the secrets of server {server.name!r} cannot be read: {error}"
        ) from None


def set_url(server: Server, url: str, *, sealer: Sealer) -> None:
    """Set a server's address, sealed if it holds secrets; the caller saves the row."""
    server.url = redact_url(url)
    server.url_sealed = sealer.seal(url) if server.url != url else ""


def open_url(server: Server, sealer: Sealer) -> str:
    """Return a server's address with its secrets.

    Raises:
        UnsealingFailed: If the installation's keys do not open it.
    """
    return str(sealer.unseal(server.url_sealed)) if server.url_sealed else server.url


def try_open_url(server: Server, sealer: Sealer) -> str | None:
    """Return a server's address with its secrets; None if no key opens it."""
    try:
        return open_url(server, sealer)
    except UnsealingFailed:
        return None


def load_launch(
    server: Server, sealer: Sealer, *, changes: Mapping[str, Any] | None = None
) -> LaunchIdentity | None:
    """Return a server's launch identity; None if its secrets cannot be opened.

    Args:
        server: Row.
        sealer: Opens its environment and address.
        changes: New values of columns, including `env`, that are about to change.
    """
    try:
        values = {name: getattr(server, name) for name in LAUNCH_FIELDS - {"url"}}
        values |= {"url": open_url(server, sealer), "env": open_env(server, sealer)}
    except UnsealingFailed:
        return None
    return fill_launch(**{**values, **(changes or {})})


def fill_launch(*, env: Mapping[str, str], args: Iterable[Any], **fields: str) -> LaunchIdentity:
    """Fill an entry's own variables into its other fields."""
    filled = {name: fill_known(text, env) for name, text in fields.items()}
    return LaunchIdentity(
        args=tuple(fill_known(str(arg), env) for arg in args),
        loader_variables=find_loader_variables(env),
        **filled,
    )


def is_launch_different(before: LaunchIdentity | None, after: LaunchIdentity) -> bool:
    """Whether command line or address differ, regardless of loader variables."""
    return before is None or replace(before, loader_variables={}) != replace(
        after, loader_variables={}
    )


def find_moved_variables(
    server: Server, sealer: Sealer, *, entry: LaunchIdentity
) -> dict[str, str]:
    """Return the stored variables that an otherwise equal entry lacks.

    Empty if its command line or address differs.
    """
    stored = load_launch(server, sealer)
    if stored is None or (entry.args, entry.url) != (stored.args, stored.url):
        return {}
    texts = (*map(str, server.args), open_url(server, sealer))
    used = {name for text in texts for name in find_variables(text)}
    return {name: value for name, value in open_env(server, sealer).items() if name in used}


def open_env(server: Server, sealer: Sealer) -> dict[str, str]:
    """Return a server's environment in plain text.

    Raises:
        UnsealingFailed: If the installation's keys do not open it.
    """
    opened: dict[str, str] = sealer.unseal(server.env_sealed) if server.env_sealed else {}
    return opened
