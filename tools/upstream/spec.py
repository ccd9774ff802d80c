"""How to start or reach an upstream server: as configured, and resolved for one start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tools.upstream.errors import SecretsUnreadable
from tools.upstream.interpolate import (
    CLIENT_FOLDER,
    escape_text,
    find_variables,
    interpolate_text,
)
from tools.upstream.written_secrets import collect_known_secrets

# The few variables that programs commonly need. The gateway's other variables, such as its keys
# and database, are withheld from servers.
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
PROXY_VARIABLES = (*_PROXIES, *(name.lower() for name in _PROXIES))
CERTIFICATE_VARIABLES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
    "CURL_CA_BUNDLE",
)
INHERITED_VARIABLES = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR"),
    *PROXY_VARIABLES,
    *CERTIFICATE_VARIABLES,
)


@dataclass(frozen=True, kw_only=True)
class ServerSpec:
    """A server as configured. `${VAR}` references are resolved at each start.

    They are looked up in `env` first, then in the gateway's environment; references within `env`
    in the gateway's environment only.

    Attributes:
        name: Name in the pool and in tool ids.
        transport: How it is reached.
        command: Executable of a stdio server, a path or a name on PATH.
        args: Arguments of the command.
        env: Variables set in addition to the inherited ones.
        cwd: Working directory; None is the gateway's.
        url: Address of a remote server.
        headers: Sent with every request to a remote server.
        private_network: Whether its own address may be private.
        authorization: Whether calls carry tokens of a sign-in, and whose.
        session: Whether all calls share one connection.
        idle_stop_s: Seconds without a call after which it is stopped; 0: never; None: the pool's
            default, for servers that are stateless by protocol.
        connect_timeout_s: Seconds from the start to the end of the handshake.
        call_timeout_s: Seconds a call may take without reporting progress, by default.
        unreadable: Why its secrets cannot be opened, and what to do; empty if they can.
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
    call_timeout_s: float = 300.0
    unreadable: str = ""

    def __post_init__(self) -> None:
        """Make a server that works in the client's folder one of each caller."""
        if self.uses_client_folder:
            object.__setattr__(self, "session", "per_caller")

    @property
    def uses_client_folder(self) -> bool:
        """Whether the entry names the folder in which the client works."""
        texts = (self.command, *self.args, *self.env.values(), self.cwd or "")
        return any(CLIENT_FOLDER in text for text in texts)

    def fill_client_folder(self, folder: str) -> ServerSpec:
        """Return the entry with the folder in which a client works.

        Example:
            >>> spec = ServerSpec(name="files", command="fs", args=("--in=${client:folder}",))
            >>> spec.session, spec.fill_client_folder("/p").args
            ('per_caller', ('--in=/p',))
        """

        def fill(text: str) -> str:
            return text.replace(CLIENT_FOLDER, escape_text(folder))

        return replace(
            self,
            command=fill(self.command),
            args=tuple(map(fill, self.args)),
            env={name: fill(value) for name, value in self.env.items()},
            cwd=fill(self.cwd) if self.cwd else None,
            session=self.session,
        )

    @property
    def is_personal(self) -> bool:
        """Whether each caller has its own connection."""
        return self.session == "per_caller" or self.authorization == "oauth_per_user"


@dataclass(frozen=True, kw_only=True)
class LaunchSpec:
    """The command to execute, resolved; holds secrets, so keep it for one start only.

    Attributes:
        command: Executable.
        args: Its arguments.
        env: Its whole environment.
        cwd: Working directory; None is the gateway's.
        secrets: Values that must not appear in logs and errors.
    """

    command: str = field(repr=False)
    args: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(repr=False, hash=False)
    cwd: str | None = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def resolve_launch(spec: ServerSpec, environ: Mapping[str, str]) -> LaunchSpec:
    """Resolve the variable references of a server's entry and build its minimal environment.

    Args:
        spec: The entry.
        environ: The gateway's environment.

    Raises:
        UnsetVariable: With the variable and the field that refers to it.
    """
    env = resolve_own_variables(spec, environ)
    variables = {**environ, **env}

    def resolve(text: str, field: str) -> str:
        return interpolate_text(text, variables, field=field, server=spec.name)

    args = tuple(resolve(arg, f"args[{index}]") for index, arg in enumerate(spec.args))
    inherited = select_inherited_variables(environ)
    known = {**inherited, **collect_variables(spec, environ, env)}  # a proxy's may hold a password
    return LaunchSpec(
        command=resolve(spec.command, "command"),
        args=args,
        env={**inherited, **env},
        cwd=resolve(spec.cwd, "cwd") if spec.cwd else None,
        secrets=collect_known_secrets(variables=known, args=args),
    )


def resolve_own_variables(spec: ServerSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an entry sets, with their references resolved.

    Raises:
        SecretsUnreadable: If no key opens the entry's secrets.
        UnsetVariable: With the variable and the field that refers to it.
    """
    if spec.unreadable:
        raise SecretsUnreadable(spec.unreadable, server=spec.name)
    return {
        name: interpolate_text(value, environ, field=f"env.{name}", server=spec.name)
        for name, value in spec.env.items()
    }


def collect_variables(
    spec: ServerSpec, environ: Mapping[str, str], env: Mapping[str, str]
) -> dict[str, str]:
    """Return an entry's own variables and those of the gateway's that it references."""
    return {
        **{name: environ[name] for name in find_referenced_variables(spec) if name in environ},
        **env,
    }


def select_inherited_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the gateway's environment that every server inherits.

    Example:
        >>> select_inherited_variables({"PATH": "/bin", "DATABASE_URL": "postgres://…"})
        {'PATH': '/bin'}
    """
    return {name: environ[name] for name in INHERITED_VARIABLES if name in environ}


def find_referenced_variables(spec: ServerSpec) -> frozenset[str]:
    """Return the names of the variables that a server's entry references."""
    texts = (
        *(spec.command, *spec.args, *spec.env.values(), spec.cwd or ""),
        *(spec.url, *spec.headers.values()),
    )
    return frozenset(name for text in texts for name in find_variables(text))
