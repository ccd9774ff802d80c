"""Variables that an entry refers to and that are not set."""

from __future__ import annotations

from collections.abc import Mapping

from gateway_project.client_config.read import Entry
from tools.upstream.errors import UnsetVariable
from tools.upstream.spec import ServerSpec, resolve


def unset_variables(entry: Entry, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Name the variables that keep a server from starting, each once.

    Args:
        entry: A server of a client's configuration.
        environ: The gateway's environment.

    Example:
        >>> unset_variables(Entry(name="git", command="${A}", args=("${B:-b}", "${C}")), {})
        ('A', 'C')
    """
    spec = ServerSpec(
        name=entry.name, command=entry.command, args=entry.args, env=entry.env, cwd=entry.cwd
    )
    missing: dict[str, str] = {}
    while True:  # a start stops at the first of them, so it is tried until it would succeed
        try:
            resolve(spec, {**environ, **missing})
        except UnsetVariable as error:
            missing[error.variable] = ""
        else:
            return tuple(missing)
