"""Finds unset variables that an entry refers to."""

from __future__ import annotations

from collections.abc import Mapping

from gateway_project.client_config.entry import ConfiguredServer
from tools.upstream.errors import UnsetVariable
from tools.upstream.interpolate import interpolate_text


def find_unset_variables(entry: ConfiguredServer, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the unset variables that prevent a server from starting, each once.

    Args:
        entry: A server of a client's configuration.
        environ: The gateway's environment.

    Example:
        >>> find_unset_variables(ConfiguredServer(name="git", command="${A}", args=("${B:-b}",
        ...     "${C}")), {})
        ('A', 'C')
    """
    own = find_unset(tuple(entry.env.values()), environ)
    texts = (entry.command, *entry.args, entry.cwd, entry.url, *entry.headers.values())
    return tuple(dict.fromkeys((*own, *find_unset(texts, {**environ, **entry.env}))))


def find_unset(texts: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the unset variables that texts refer to without a default."""
    missing: dict[str, str] = {}
    for text in texts:
        while True:  # each attempt stops at the first unset variable
            try:
                interpolate_text(text, {**environ, **missing})
            except UnsetVariable as error:
                missing[error.variable] = ""
            else:
                break
    return tuple(missing)
