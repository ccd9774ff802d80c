"""Variables that an entry refers to and that are not set."""

from __future__ import annotations

from collections.abc import Mapping

from gateway_project.client_config.entry import Entry
from tools.upstream.errors import UnsetVariable
from tools.upstream.interpolate import interpolate


def unset_variables(entry: Entry, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Name the variables that keep a server from starting, each once.

    Args:
        entry: A server of a client's configuration.
        environ: The gateway's environment.

    Example:
        >>> unset_variables(Entry(name="git", command="${A}", args=("${B:-b}", "${C}")), {})
        ('A', 'C')
    """
    started = (*entry.env.values(), entry.command, *entry.args, entry.cwd)
    return unset_in((*started, entry.url, *entry.headers.values()), environ)


def unset_in(texts: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Name the variables that texts refer to without a default and that are not set."""
    missing: dict[str, str] = {}
    for text in texts:
        while True:  # reading stops at the first of them, so it is tried until it would succeed
            try:
                interpolate(text, {**environ, **missing})
            except UnsetVariable as error:
                missing[error.variable] = ""
            else:
                break
    return tuple(missing)
