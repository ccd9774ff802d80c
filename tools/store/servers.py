"""Stored servers: registration, specs for connecting, and recorded connections and errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from gateway_project.foundation import notify
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from gateway_project.foundation.user_error import UserError
from tools import definition, skills
from tools.models import Server, Team, Tool
from tools.registration import ServerRegistration
from tools.store import launches
from tools.upstream import remote_entry, written_secrets
from tools.upstream.output import MAX_LINES
from tools.upstream.spec import ServerSpec

MAX_ERROR_LENGTH = 2_000
MAX_VERSION_LENGTH = 20
CAPABILITIES = {"completions", "logging", "prompts", "resources", "tools", skills.EXTENSION}
SEALED_COLUMNS = {
    "env": "env_sealed",
    "headers": "headers_sealed",
    "oauth_client_secret": "oauth_client_secret_sealed",
}
"""Column of each sealed secret, by the secret's name."""


class UnknownServerRow(UserError, LookupError):
    """There is no server of that name."""

    code = "unknown_server"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no server {name[:100]!r}; GET servers/ lists them")


@dataclass(frozen=True, kw_only=True)
class RegistrationResult:
    """The outcome of a registration.

    Attributes:
        name: Of the server.
        created: Whether it is new.
        changed: Names of changed fields; empty for a new one.
        replaced: Source of the previous server, if that was another program or address; else None.
        written_secrets: Places in its arguments with apparent secrets in plain text.
        kept_filter: Whether it keeps a tool filter that the registration does not have.
        enabled: Whether it may be used.
    """

    name: str
    created: bool
    changed: tuple[str, ...]
    replaced: str | None = None
    written_secrets: tuple[str, ...] = ()
    kept_filter: bool = False
    enabled: bool = True


def register_servers(
    registrations: Iterable[ServerRegistration], *, sealer: Sealer
) -> tuple[RegistrationResult, ...]:
    """Add or update servers in one transaction.

    An existing server stays enabled or disabled. Unless the registration says otherwise, it stays
    trusted only while its command, its loader variables and its address stay the same. A
    registration switches tools off and never on.

    Raises:
        ValidationError: If an entry is invalid.
    """
    with transaction.atomic():
        return tuple(_register_server(registration, sealer) for registration in registrations)


def _register_server(registration: ServerRegistration, sealer: Sealer) -> RegistrationResult:
    _require_usable(registration)
    server = Server.objects.select_for_update().filter(name=registration.name).first()
    created = server is None
    server = server or Server(name=registration.name, enabled=registration.enabled)
    before = launches.load_launch(server, sealer)
    registration = _keep_moved_secrets(registration, server, sealer)
    after = _make_launch(registration)
    wanted = _wanted_columns(registration, server, sealer)
    changed = _differing_columns(server, wanted, sealer)
    is_launch_changed = before != after
    is_other_launch = bool(launches.LAUNCH_FIELDS & set(changed)) and launches.is_launch_different(
        before, after
    )
    replaced = server.source if is_other_launch and "source" in changed and not created else None
    if registration.trusted is not None and registration.trusted != server.trusted:
        wanted["trusted"] = registration.trusted
        changed.append("trusted")
    elif server.trusted and is_launch_changed and registration.trusted is None:
        # Trust was given to another program; it does not transfer with the name.
        wanted["trusted"] = False
        changed.append("trusted")
    changed += _seal_changed(server, registration, sealer)
    _assign_columns(server, wanted, sealer=sealer, has_new_url="url" in changed)
    if is_launch_changed:
        server.capabilities = None  # it may be another program
    if created or changed:
        server.full_clean(exclude=["team"])
        server.save()
    _switch_off_excluded(server, changed)
    return RegistrationResult(
        name=server.name,
        created=created,
        changed=() if created else tuple(changed),
        replaced=replaced,
        written_secrets=written_secrets.list_secret_places(registration.args),
        kept_filter=bool(server.tool_filter) and not registration.tools,
        enabled=server.enabled,
    )


def _switch_off_excluded(server: Server, changed: Iterable[str]) -> None:
    if {"include_tools", "exclude_tools"} & set(changed):
        tools = Tool.objects.filter(server=server, enabled=True).values_list("pk", "name")
        off = [pk for pk, name in tools if not server.tool_filter.admits(name)]
        Tool.objects.filter(pk__in=off).update(enabled=False)


def _make_launch(registration: ServerRegistration) -> launches.LaunchIdentity:
    names = (*launches.LAUNCH_FIELDS, "env")
    return launches.fill_launch(**{name: getattr(registration, name) for name in names})


def _keep_moved_secrets(
    registration: ServerRegistration, server: Server, sealer: Sealer
) -> ServerRegistration:
    """Keep secrets in the variables they were moved to; the entry may contain them as text."""
    entry = _make_launch(registration)
    moved = launches.find_moved_variables(server, sealer, entry=entry)
    added = {name: value for name, value in moved.items() if name not in registration.env}
    if not added:
        return registration
    return replace(
        registration,
        args=tuple(map(str, server.args)),
        url=launches.open_url(server, sealer),
        env={**registration.env, **added},
    )


def _differing_columns(server: Server, wanted: Mapping[str, Any], sealer: Sealer) -> list[str]:
    url = launches.try_open_url(server, sealer)
    return [
        name
        for name, value in wanted.items()
        if (url if name == "url" else getattr(server, name)) != value
    ]


def _seal_changed(server: Server, registration: ServerRegistration, sealer: Sealer) -> list[str]:
    """Seal the secrets that differ from the stored ones; return their names."""
    changed = []
    for name, secret in _entered_secrets(registration).items():
        if secret is not None and secret != _open_known_secret(server, name, sealer):
            changed.append(name)
            seal_secret(server, name, secret, sealer=sealer)
    return changed


def _assign_columns(
    server: Server, wanted: Mapping[str, Any], *, sealer: Sealer, has_new_url: bool
) -> None:
    for name in wanted.keys() - {"url"}:
        setattr(server, name, wanted[name])
    if has_new_url:
        launches.set_url(server, wanted["url"], sealer=sealer)


def _wanted_columns(
    registration: ServerRegistration, server: Server, sealer: Sealer
) -> dict[str, Any]:
    """Return the values of the columns that a registration sets, without secrets."""
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
    if registration.url != launches.try_open_url(server, sealer):
        wanted["private_network"] = registration.private_network
    if registration.team is not None:
        wanted["team"] = _find_team(registration.team)
    if registration.authorization is not None:
        wanted["authorization"] = registration.authorization
        wanted["oauth_client_id"] = registration.oauth_client_id
        wanted["oauth_scopes"] = registration.oauth_scopes
    return wanted | _wanted_limits(registration)


def _wanted_limits(registration: ServerRegistration) -> dict[str, Any]:
    """Return the columns that limit tools and times, if the registration has them."""
    names = ("connect_timeout_s", "call_timeout_s")
    limits_s = {name: getattr(registration, name) for name in names}
    wanted = {name: limit_s for name, limit_s in limits_s.items() if limit_s is not None}
    if registration.tools:
        include = registration.tools.include
        wanted["include_tools"] = None if include is None else list(include)
        wanted["exclude_tools"] = list(registration.tools.exclude)
    return wanted


def _find_team(name: str) -> Team:
    team = Team.objects.filter(name=name).first()
    if team is None:
        raise ValidationError(f"There is no team {name!r}; create it first.")
    return team


def _entered_secrets(registration: ServerRegistration) -> dict[str, Any]:
    """Return a registration's secrets by name; None keeps the stored one."""
    secret = registration.oauth_client_secret
    return {
        "env": dict(registration.env),
        "headers": dict(registration.headers),
        "oauth_client_secret": None if registration.authorization is None else secret,
    }


def _require_usable(registration: ServerRegistration) -> None:
    if any(definition.make_storable(text) != text for text in _list_texts(registration)):
        raise ValidationError("A text contains a NUL or an unpaired surrogate; enter it again.")
    if any(not name or "=" in name for name in registration.env):
        raise ValidationError("A name in env must not be empty or contain an equals sign.")
    if registration.transport == "stdio":
        problem = "" if registration.command else "a stdio server needs a command"
    else:
        problem = remote_entry.find_url_problem(registration.url)
        problem = problem or remote_entry.find_headers_problem(registration.headers)
    if problem:
        raise ValidationError(problem)


def _list_texts(registration: ServerRegistration) -> tuple[str, ...]:
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


def _open_known_secret(server: Server, name: str, sealer: Sealer) -> Any:
    """Return a stored secret, empty if there is none; None if it cannot be opened."""
    sealed = getattr(server, SEALED_COLUMNS[name])
    if not sealed:
        return "" if name == "oauth_client_secret" else {}
    try:
        return sealer.unseal(sealed)
    except UnsealingFailed:
        return None


def change_server(name: str, changes: Mapping[str, Any]) -> list[str]:
    """Change columns of a server; return the names of those that changed.

    Raises:
        UnknownServerRow: If there is no such server.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    row = _lock_server(name)
    changed = sorted(column for column in changes if getattr(row, column) != changes[column])
    for column in changed:
        setattr(row, column, changes[column])
    if changed:
        row.full_clean()
        row.save(update_fields=changed)
    _switch_off_excluded(row, changed)
    return changed


def delete_server(name: str) -> None:
    """Delete a server with its tools.

    Raises:
        UnknownServerRow: If there is no such server.
    """
    _lock_server(name).delete()


def _lock_server(name: str) -> Server:
    row = Server.objects.select_for_update().filter(name=name).first()
    if row is None:
        raise UnknownServerRow(name)
    return row


def seal_secret(server: Server, name: str, value: Any, *, sealer: Sealer) -> None:
    """Set one of a server's secrets, sealed; the caller saves the row.

    Args:
        server: Row to change.
        name: One of `SEALED_COLUMNS`.
        value: Environment, headers or client secret; an empty one clears it.
        sealer: Seals it.
    """
    setattr(server, SEALED_COLUMNS[name], sealer.seal(value) if value else "")


def open_headers(server: Server, sealer: Sealer) -> dict[str, str]:
    """Return the headers of a remote server in plain text.

    Raises:
        UnsealingFailed: If the installation's keys do not open them.
    """
    opened: dict[str, str] = sealer.unseal(server.headers_sealed) if server.headers_sealed else {}
    return opened


def load_specs(
    *,
    sealer: Sealer,
    connect_timeout_s: float,
    call_timeout_s: float,
    names: Iterable[str] | None = None,
    with_disabled: bool = False,
) -> tuple[ServerSpec, ...]:
    """Return how to start or reach each enabled server, by name.

    Args:
        sealer: Opens their secrets.
        connect_timeout_s: For servers without their own timeout.
        call_timeout_s: Likewise.
        names: Only these; None: all.
        with_disabled: Whether to include disabled servers.

    The spec of a server whose secrets no key opens says so, and its connections fail.
    """
    servers = Server.objects.defer("last_output").order_by("name")
    if not with_disabled:
        servers = servers.filter(enabled=True)
    if names is not None:
        servers = servers.filter(name__in=list(names))
    return tuple(
        ServerSpec(
            name=server.name,
            transport=cast(Any, server.transport),
            command=server.command,
            args=tuple(str(argument) for argument in server.args),
            cwd=server.cwd or None,
            private_network=server.private_network,
            authorization=cast(Any, server.authorization),
            session=cast(Any, server.session),
            idle_stop_s=server.idle_stop_s,
            connect_timeout_s=server.connect_timeout_s or connect_timeout_s,
            call_timeout_s=server.call_timeout_s or call_timeout_s,
            **_open_secrets(server, sealer),
        )
        for server in servers
    )


def _open_secrets(server: Server, sealer: Sealer) -> dict[str, Any]:
    """Return the fields of a server's spec that are sealed, or why they cannot be opened."""
    try:
        with launches.name_unreadable(server):
            return {
                "env": launches.open_env(server, sealer),
                "url": launches.open_url(server, sealer),
                "headers": open_headers(server, sealer),
            }
    except UnsealingFailed as error:
        return {"url": server.url, "unreadable": str(error)}


def launch_hash(server: Server) -> str:
    """Return the hash of a server's launch settings, without secrets."""
    return definition.launch_hash(
        {
            "transport": server.transport,
            "command": server.command,
            "args": server.args,
            "cwd": server.cwd,
            "url": server.url,
        }
    )


def record_connection(
    name: str,
    *,
    at: datetime,
    protocol_version: str,
    capabilities: Iterable[str] | None = None,
) -> None:
    """Record that a server answered; its last error is kept with its own time.

    Args:
        name: Of the server.
        at: When it answered.
        protocol_version: The negotiated MCP revision.
        capabilities: Names of its declared capabilities; None: unchanged.
    """
    row = Server.objects.filter(name=name)
    row.update(last_connected_at=at, protocol_version=protocol_version[:MAX_VERSION_LENGTH])
    notify.send_notification(notify.SERVER_STATUS, name)
    if capabilities is None:
        return
    declared = sorted(CAPABILITIES.intersection(capabilities))
    # A write to this column makes every process reload the catalogue.
    if row.filter(~Q(capabilities=declared) | Q(capabilities__isnull=True)).exists():
        row.update(capabilities=declared)


def record_error(name: str, *, at: datetime, error: str, output: Iterable[str] = ()) -> None:
    """Record a server's last error.

    Args:
        name: Of the server.
        at: When it occurred.
        error: In one line.
        output: Its redacted output before the error; replaces the stored one.
    """
    Server.objects.filter(name=name).update(
        last_error=definition.make_storable(error)[:MAX_ERROR_LENGTH],
        last_error_at=at,
        last_output=definition.make_storable(list(output))[-MAX_LINES:],
    )
    notify.send_notification(notify.SERVER_STATUS, name)
