"""How to start an upstream server: as configured, and resolved for one start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tools.upstream.interpolate import interpolate, variables

# The few variables a program needs to find itself, its user and its language. The gateway's
# other variables (its keys, its database) are none of a server's business.
INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR")

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|PWD|AUTH|CRED|DSN|URL|COOKIE", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ServerSpec:
    """A server as configured; `${VAR}` in it is read from the environment at each start.

    Attributes:
        name: Name in the pool and in tool ids.
        transport: How it is reached.
        command: Of a stdio server: executable, a path or a name on PATH.
        args: Its arguments.
        env: Variables set for it beside the inherited few.
        cwd: Folder it is started in; None is the gateway's.
        url: Of a remote server: its address.
        headers: Sent with every request to it.
        private_network: Whether its own address may be private.
        authorization: Whether it is called with tokens of a sign-in, and whose.
        session: Whose calls share one connection.
        idle_stop_s: Seconds without a call after which it is stopped; 0: never; None: the pool's
            own, for servers that are stateless by protocol.
        connect_timeout_s: Seconds from its start to the end of the handshake.
        call_timeout_s: Seconds a call may take unless the caller says otherwise.
    """

    name: str
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    private_network: bool = False
    authorization: Literal["none", "oauth", "oauth_per_user"] = "none"
    session: Literal["shared", "per_caller"] = "shared"
    idle_stop_s: float | None = None
    connect_timeout_s: float = 30.0
    call_timeout_s: float = 30.0

    @property
    def is_personal(self) -> bool:
        """Whether each caller has a connection of its own."""
        return self.session == "per_caller" or self.authorization == "oauth_per_user"


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What is actually executed; holds secrets, so it lives as long as one start and no longer.

    Attributes:
        command: Executable.
        args: Its arguments.
        env: Its whole environment.
        cwd: Folder it is started in; None is the gateway's.
        secrets: Values that must not appear in logs and errors.
    """

    command: str = field(repr=False)
    args: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(repr=False, hash=False)
    cwd: str | None = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def resolve(spec: ServerSpec, environ: Mapping[str, str]) -> Launch:
    """Read the variables a server's entry refers to and build its minimal environment.

    Args:
        spec: The entry.
        environ: The gateway's environment.

    Raises:
        UnsetVariable: Naming the variable and the field that refers to it.
    """

    def read(text: str, place: str) -> str:
        return interpolate(text, environ, field=place, server=spec.name)

    env = {name: read(value, f"env.{name}") for name, value in spec.env.items()}
    return Launch(
        command=read(spec.command, "command"),
        args=tuple(read(arg, f"args[{index}]") for index, arg in enumerate(spec.args)),
        env={**inherited(environ), **env},
        cwd=read(spec.cwd, "cwd") if spec.cwd else None,
        secrets=_secrets(spec, environ, env),
    )


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the gateway's environment that every server gets.

    Example:
        >>> inherited({"PATH": "/bin", "DATABASE_URL": "postgres://…"})
        {'PATH': '/bin'}
    """
    return {name: environ[name] for name in INHERITED if name in environ}


def referred(spec: ServerSpec) -> frozenset[str]:
    """Return the names of the variables that a server's entry refers to."""
    texts = (
        *(spec.command, *spec.args, *spec.env.values(), spec.cwd or ""),
        *(spec.url, *spec.headers.values()),
    )
    return frozenset(name for text in texts for name in variables(text))


def _secrets(
    spec: ServerSpec, environ: Mapping[str, str], env: Mapping[str, str]
) -> frozenset[str]:
    """Values whose variable's name sounds secret, wherever they were put in."""
    found = {
        environ[name] for name in referred(spec) if _SECRET_NAME.search(name) and name in environ
    }
    found |= {value for name, value in env.items() if _SECRET_NAME.search(name)}
    return frozenset(found - {""})
