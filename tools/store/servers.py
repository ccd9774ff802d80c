"""Registered servers: reading them to connect, writing what a person or a connection says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db import transaction

from gateway_project.foundation.sealing import SealBroken, Sealer
from tools import definition
from tools.models import Server
from tools.upstream.spec import ServerSpec

MAX_ERROR_LENGTH = 2_000
LAUNCH_FIELDS = frozenset({"command", "args", "cwd", "transport", "url"})
MAX_VERSION_LENGTH = 20


@dataclass(frozen=True, kw_only=True)
class Registration:
    """A server as a person registers it.

    Attributes:
        name: First half of its tools' ids.
        command: Executable to start; may hold ${VAR}.
        args: Arguments; may hold ${VAR}.
        env: Environment it gets beside the minimal one; sealed at rest.
        cwd: Working folder; empty: the home folder of the user.
        extra: Keys of an imported entry that mean nothing to us, kept as they are.
        source: Where the entry came from.
        trusted: Whether a person trusts its annotations; None leaves it as it is.
        price_per_call: US dollars; None: unknown.
        enabled: Whether it may be used.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    trusted: bool | None = None
    price_per_call: Decimal | None = Decimal(0)
    enabled: bool = True


@dataclass(frozen=True, kw_only=True)
class Registered:
    """What registering did: server's name, and whether it is new or changed."""

    name: str
    created: bool
    changed: tuple[str, ...]


def register(registrations: Iterable[Registration], *, sealer: Sealer) -> tuple[Registered, ...]:
    """Add servers or bring them up to date, all or none.

    A server that is known keeps its team and its switch; it keeps its trust as long as its
    command, arguments and folder stay, unless the registration says otherwise.

    Raises:
        ValidationError: If an entry breaks a rule of the catalogue.
    """
    with transaction.atomic():
        return tuple(_register(registration, sealer) for registration in registrations)


def _register(registration: Registration, sealer: Sealer) -> Registered:
    _require_storable(registration)
    server = Server.objects.select_for_update().filter(name=registration.name).first()
    created = server is None
    server = server or Server(name=registration.name, enabled=registration.enabled)
    wanted: dict[str, Any] = {
        "transport": Server.Transport.STDIO,
        "command": registration.command,
        "args": list(registration.args),
        "cwd": registration.cwd,
        "extra": dict(registration.extra),
        "source": registration.source,
        "price_per_call": registration.price_per_call,
    }
    changed = [name for name, value in wanted.items() if getattr(server, name) != value]
    if registration.trusted is not None and registration.trusted != server.trusted:
        wanted["trusted"] = registration.trusted
        changed.append("trusted")
    elif server.trusted and LAUNCH_FIELDS & set(changed) and registration.trusted is None:
        # Trust was given to another program; it does not pass on with the name.
        wanted["trusted"] = False
        changed.append("trusted")
    if dict(registration.env) != _known_env(server, sealer):
        changed.append("env")
        server.env_sealed = sealer.seal(dict(registration.env))
    for name, value in wanted.items():
        setattr(server, name, value)
    if created or changed:
        server.full_clean(exclude=["team"])
        server.save()
    return Registered(name=server.name, created=created, changed=() if created else tuple(changed))


def _require_storable(registration: Registration) -> None:
    texts = [
        registration.command,
        registration.cwd,
        *registration.args,
        *registration.env,
        *registration.env.values(),
    ]
    if any(definition.storable(text) != text for text in texts):
        raise ValidationError("A text holds a NUL or half of a character; write it anew.")
    if any(not name or "=" in name for name in registration.env):
        raise ValidationError("A name in env holds no equals sign and is not empty.")


def _known_env(server: Server, sealer: Sealer) -> dict[str, str] | None:
    """Return the environment stored so far; None if no key opens it any more."""
    try:
        return open_env(server, sealer)
    except SealBroken:
        return None


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


def record_connected(name: str, *, at: datetime, protocol_version: str) -> None:
    """Note that a server answered; its last error is kept with its own time."""
    Server.objects.filter(name=name).update(
        last_connected_at=at, protocol_version=protocol_version[:MAX_VERSION_LENGTH]
    )


def record_error(name: str, *, at: datetime, error: str) -> None:
    """Note what went wrong with a server last."""
    text = definition.storable(error)[:MAX_ERROR_LENGTH]
    Server.objects.filter(name=name).update(last_error=text, last_error_at=at)
