"""Registered servers: reading them to connect, writing what a person or a connection says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, cast

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from gateway_project.foundation.sealing import SealBroken, Sealer
from tools import definition
from tools.models import Server
from tools.upstream import remote_entry
from tools.upstream.loaders import loaders_of
from tools.upstream.spec import ServerSpec

MAX_ERROR_LENGTH = 2_000
LAUNCH_FIELDS = frozenset({"command", "args", "cwd", "transport", "url"})
MAX_VERSION_LENGTH = 20
CAPABILITIES = frozenset({"completions", "logging", "prompts", "resources", "tools"})
SEALED = {
    "env": "env_sealed",
    "headers": "headers_sealed",
    "oauth_client_secret": "oauth_client_secret_sealed",
}
"""Secrets by the name they are spoken of, and the column that keeps each."""


@dataclass(frozen=True, kw_only=True)
class Registration:
    """A server as a person registers it.

    Attributes:
        name: First half of its tools' ids.
        transport: How it is reached.
        command: Of a stdio server: executable to start; may hold ${VAR}.
        args: Arguments; may hold ${VAR}.
        env: Environment it gets beside the minimal one; sealed at rest.
        cwd: Working folder; empty: the home folder of the user.
        url: Of a remote server: its address; may hold ${VAR}.
        headers: Sent with every request to it; sealed at rest.
        private_network: Whether its own address may be private; counts as long as the address
            stays, since an admin may decide otherwise.
        authorization: Whether it wants a sign-in; None leaves it as it is.
        oauth_client_id: Client registered by hand, empty if there is none.
        oauth_client_secret: Its secret; sealed at rest.
        oauth_scopes: Scopes to ask for, separated by spaces.
        extra: Keys of an imported entry that mean nothing to us, kept as they are.
        source: Where the entry came from.
        trusted: Whether a person trusts its annotations; None leaves it as it is.
        price_per_call: US dollars; None: unknown. Of a remote server always unknown: a person
            sets it afterwards.
        enabled: Whether it may be used.
    """

    name: str
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    private_network: bool = False
    authorization: Literal["none", "oauth", "oauth_per_user"] | None = None
    oauth_client_id: str = ""
    oauth_client_secret: str = field(default="", repr=False)
    oauth_scopes: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    trusted: bool | None = None
    price_per_call: Decimal | None = Decimal(0)
    enabled: bool = True


@dataclass(frozen=True, kw_only=True)
class Registered:
    """What registering did.

    Attributes:
        name: Of the server.
        created: Whether it is new.
        changed: What is other than before; nothing of a new one.
        replaced: Where the server of the same name came from that was another program or place
            before; None where it was none.
    """

    name: str
    created: bool
    changed: tuple[str, ...]
    replaced: str | None = None


def register(registrations: Iterable[Registration], *, sealer: Sealer) -> tuple[Registered, ...]:
    """Add servers or bring them up to date, all or none.

    A server that is known keeps its team and its switch; it keeps its trust as long as what it
    starts, what that loads by its environment, or where it lies stays, unless the registration
    says otherwise.

    Raises:
        ValidationError: If an entry breaks a rule of the catalogue.
    """
    with transaction.atomic():
        return tuple(_register(registration, sealer) for registration in registrations)


def _register(registration: Registration, sealer: Sealer) -> Registered:
    _require_usable(registration)
    server = Server.objects.select_for_update().filter(name=registration.name).first()
    created = server is None
    server = server or Server(name=registration.name, enabled=registration.enabled)
    wanted = _wanted(registration, server)
    changed = [name for name, value in wanted.items() if getattr(server, name) != value]
    elsewhere = bool(LAUNCH_FIELDS & set(changed))
    another = elsewhere or _loads_otherwise(server, registration, sealer)
    replaced = server.source if elsewhere and "source" in changed and not created else None
    if registration.trusted is not None and registration.trusted != server.trusted:
        wanted["trusted"] = registration.trusted
        changed.append("trusted")
    elif server.trusted and another and registration.trusted is None:
        # Trust was given to another program; it does not pass on with the name.
        wanted["trusted"] = False
        changed.append("trusted")
    for name, secret in _secrets(registration).items():
        if secret is not None and secret != _known(server, name, sealer):
            changed.append(name)
            seal(server, name, secret, sealer=sealer)
    for name, value in wanted.items():
        setattr(server, name, value)
    if another:
        server.capabilities = None  # another program, perhaps
    if created or changed:
        server.full_clean(exclude=["team"])
        server.save()
    told = () if created else tuple(changed)
    return Registered(name=server.name, created=created, changed=told, replaced=replaced)


def _loads_otherwise(server: Server, registration: Registration, sealer: Sealer) -> bool:
    """Whether the same command would run other code; so it is taken if nobody can tell."""
    known = _known(server, "env", sealer)
    return known is None or loaders_of(known) != loaders_of(registration.env)


def _wanted(registration: Registration, server: Server) -> dict[str, Any]:
    """Return the values of the columns that a registration decides, secrets left out."""
    remote = registration.transport != "stdio"
    wanted: dict[str, Any] = {
        "transport": registration.transport,
        "command": registration.command,
        "args": list(registration.args),
        "cwd": registration.cwd,
        "url": registration.url,
        "extra": dict(registration.extra),
        "source": registration.source,
    }
    if not remote:
        wanted["price_per_call"] = registration.price_per_call
    elif server.transport == Server.Transport.STDIO:
        wanted["price_per_call"] = None
    if registration.url != server.url:
        wanted["private_network"] = registration.private_network
    if registration.authorization is not None:
        wanted["authorization"] = registration.authorization
        wanted["oauth_client_id"] = registration.oauth_client_id
        wanted["oauth_scopes"] = registration.oauth_scopes
    return wanted


def _secrets(registration: Registration) -> dict[str, Any]:
    """Return what is sealed by its name; None keeps what is stored."""
    secret = registration.oauth_client_secret
    return {
        "env": dict(registration.env),
        "headers": dict(registration.headers),
        "oauth_client_secret": None if registration.authorization is None else secret,
    }


def _require_usable(registration: Registration) -> None:
    if any(definition.storable(text) != text for text in _texts(registration)):
        raise ValidationError("A text holds a NUL or half of a character; write it anew.")
    if any(not name or "=" in name for name in registration.env):
        raise ValidationError("A name in env holds no equals sign and is not empty.")
    if registration.transport == "stdio":
        problem = "" if registration.command else "a stdio server needs a command"
    else:
        problem = remote_entry.url_problem(registration.url)
        problem = problem or remote_entry.headers_problem(registration.headers)
    if problem:
        raise ValidationError(problem)


def _texts(registration: Registration) -> tuple[str, ...]:
    return (
        registration.command,
        registration.cwd,
        registration.url,
        *registration.args,
        *registration.env,
        *registration.env.values(),
        *registration.headers.values(),
        registration.oauth_client_id,
        registration.oauth_client_secret,
        registration.oauth_scopes,
    )


def _known(server: Server, name: str, sealer: Sealer) -> Any:
    """Return a secret stored so far, empty if there is none; None if no key opens it."""
    sealed = getattr(server, SEALED[name])
    if not sealed:
        return "" if name == "oauth_client_secret" else {}
    try:
        return sealer.open(sealed)
    except SealBroken:
        return None


def seal(server: Server, name: str, value: Any, *, sealer: Sealer) -> None:
    """Set one of a server's secrets, sealed; the caller saves the row.

    Args:
        server: Row to change.
        name: One of `SEALED`.
        value: Environment, headers or client secret; an empty one clears it.
        sealer: Seals it.
    """
    setattr(server, SEALED[name], sealer.seal(value) if value else "")


def open_env(server: Server, sealer: Sealer) -> dict[str, str]:
    """Return a server's environment in clear.

    Raises:
        SealBroken: If the installation's keys do not open it.
    """
    opened: dict[str, str] = sealer.open(server.env_sealed) if server.env_sealed else {}
    return opened


def open_headers(server: Server, sealer: Sealer) -> dict[str, str]:
    """Return the headers sent to a remote server in clear.

    Raises:
        SealBroken: If the installation's keys do not open them.
    """
    opened: dict[str, str] = sealer.open(server.headers_sealed) if server.headers_sealed else {}
    return opened


def load_specs(
    *,
    sealer: Sealer,
    connect_timeout_s: float,
    call_timeout_s: float,
    names: Iterable[str] | None = None,
) -> tuple[ServerSpec, ...]:
    """Return how to start each enabled server, by name.

    Args:
        sealer: Opens their environments.
        connect_timeout_s: For servers without a timeout of their own.
        call_timeout_s: Likewise.
        names: Only these; None is all.

    Raises:
        SealBroken: If an environment cannot be opened.
    """
    servers = Server.objects.filter(enabled=True).order_by("name")
    if names is not None:
        servers = servers.filter(name__in=list(names))
    return tuple(
        ServerSpec(
            name=server.name,
            transport=cast(Any, server.transport),
            command=server.command,
            args=tuple(str(argument) for argument in server.args),
            env=open_env(server, sealer),
            cwd=server.cwd or None,
            url=server.url,
            headers=open_headers(server, sealer),
            private_network=server.private_network,
            authorization=cast(Any, server.authorization),
            session=cast(Any, server.session),
            idle_stop_s=server.idle_stop_s,
            connect_timeout_s=server.connect_timeout_s or connect_timeout_s,
            call_timeout_s=server.call_timeout_s or call_timeout_s,
        )
        for server in servers
    )


def launch_hash(server: Server) -> str:
    """Return the hash of how a server is started, secrets left out."""
    return definition.launch_hash(
        {
            "transport": server.transport,
            "command": server.command,
            "args": server.args,
            "cwd": server.cwd,
            "url": server.url,
        }
    )


def record_connected(
    name: str,
    *,
    at: datetime,
    protocol_version: str,
    capabilities: Iterable[str] | None = None,
) -> None:
    """Note that a server answered; its last error is kept with its own time.

    Args:
        name: Of the server.
        at: When it answered.
        protocol_version: That it speaks.
        capabilities: Names of what it says it can do; None keeps what is known.
    """
    row = Server.objects.filter(name=name)
    row.update(last_connected_at=at, protocol_version=protocol_version[:MAX_VERSION_LENGTH])
    if capabilities is None:
        return
    said = sorted(CAPABILITIES.intersection(capabilities))
    # The column is watched: whenever it is written, every process loads the catalogue anew.
    if row.filter(~Q(capabilities=said) | Q(capabilities__isnull=True)).exists():
        row.update(capabilities=said)


def record_error(name: str, *, at: datetime, error: str) -> None:
    """Note what went wrong with a server last."""
    text = definition.storable(error)[:MAX_ERROR_LENGTH]
    Server.objects.filter(name=name).update(last_error=text, last_error_at=at)
