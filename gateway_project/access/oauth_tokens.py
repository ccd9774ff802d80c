"""Access tokens that this gateway issued to MCP clients by OAuth, as bearer tokens.

They are stored as digests, like other tokens, hold the scopes of clients at most, and serve MCP
only, at the address for which they were issued.

References:
    RFC 8707, Resource Indicators for OAuth 2.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import F, QuerySet
from django.utils import timezone
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
)

from gateway_project.access import roles
from gateway_project.access.active_token import ActiveToken
from gateway_project.foundation import endpoint
from gateway_project.foundation.caller import CLIENT_SCOPES, Caller

UNUSED_CLIENT_KEPT: Final = timedelta(days=1)
"""After which a client that registered itself and was never authorized is deleted."""


MAX_CLIENTS: Final = 1_000
"""Clients that registered themselves."""
MAX_CLIENTS_OF_ADDRESS: Final = 100
"""Of them, those that one address registered and nobody authorized."""


def admit_client(client_id: str, *, network: str) -> None:
    """Record where a new client was registered from; if there are too many, others give way.

    A client counts as the person's who authorized it, before that as the address's. Who holds most
    loses the one that was not used for longest, so that nobody can lock out the others.

    Args:
        client_id: Of the client, which is stored already.
        network: Network of the address that registered it.
    """
    clients = get_application_model().objects
    clients.filter(client_id=client_id).update(registered_from=network)
    rows = clients.exclude(registered_from="").exclude(client_id=client_id)
    own = rows.filter(registered_from=network)
    if rows.count() < MAX_CLIENTS and own.count() < MAX_CLIENTS_OF_ADDRESS:
        return
    uses = _load_last_uses()
    idle: dict[Any, list[tuple[datetime, int]]] = {}
    for pk, address, created in rows.values_list("pk", "registered_from", "created"):
        holder, used_at = uses.get(pk, (address, created))
        idle.setdefault(holder, []).append((used_at, pk))
    crowded = idle.get(network, [])
    if sum(map(len, idle.values())) >= MAX_CLIENTS:
        crowded = max(idle.values(), key=len)
    elif len(crowded) < MAX_CLIENTS_OF_ADDRESS:
        return
    clients.filter(pk=min(crowded)[1]).delete()


def _load_last_uses() -> dict[int, tuple[int, datetime]]:
    """Return who authorized clients, and when they last got a token, by client."""
    uses: dict[int, tuple[int, datetime]] = {}
    for model in (get_grant_model(), get_access_token_model(), get_refresh_token_model()):
        rows = model.objects.filter(user__isnull=False).order_by("updated")
        for client, user, at in rows.values_list("application", "user", "updated"):
            _, before = uses.get(client, (user, at))
            uses[client] = user, max(before, at)
    return uses


def load_active_tokens(digests: Collection[str]) -> dict[str, ActiveToken]:
    """Return the tokens among some digests that are not revoked, expired ones too, by digest.

    Raises:
        django.db.Error: If the database is unavailable.
    """
    rows = (
        get_access_token_model()
        .objects.filter(token_checksum__in=digests, user__is_active=True)
        .select_related("user")
        .prefetch_related("user__groups", "user__memberships")
        .annotate(person=F("user__private_team__pk"))
    )
    return {row.token_checksum: _to_active_token(row) for row in rows if is_for_us(row.resource)}


def is_for_us(resources: Iterable[Any]) -> bool:
    """Whether a token was issued for an MCP endpoint of this gateway, or for several of one group.

    A token for several groups would have to be limited to all of them.
    """
    return len(_find_groups(resources)) == 1


def _find_groups(resources: Iterable[Any]) -> set[str | None]:
    """Return the tool groups of the own endpoints among some addresses; None: the whole one."""
    return {
        endpoint.find_group(urlsplit(resource).path)
        for resource in resources or ()
        if is_own_resource(resource)
    }


def is_own_resource(resource: Any) -> bool:
    """Whether an address is an MCP endpoint of this gateway, under a name that it answers to.

    With `FOREGATE_PUBLIC_URL`, that and addresses of this machine are its own.
    """
    path = _find_own_path(resource)
    return path is not None and endpoint.is_endpoint(path)


def is_own_origin(resource: str) -> bool:
    """Whether an address is the origin of this gateway, under a name that it answers to."""
    return _find_own_path(resource) in ("", "/")


def _find_own_path(resource: Any) -> str | None:
    """Return the path of an address of this gateway; None: it is of something else."""
    if not isinstance(resource, str):
        return None
    try:
        parts = urlsplit(resource)
        host = parts.hostname or ""
    except ValueError:
        return None
    if "@" in parts.netloc or "\\" in parts.netloc or parts.query or parts.fragment:
        return None
    return parts.path if parts.scheme in ("http", "https") and is_own_host(host) else None


def is_own_host(host: str) -> bool:
    """Whether this gateway answers to a host name."""
    config = settings.FOREGATE
    own = {"localhost", "127.0.0.1", "::1"}
    if config.public_url:
        return host in own | {urlsplit(config.public_url).hostname}
    allowed = [name.strip().lower() for name in config.allowed_hosts.split(",") if name.strip()]
    return host in own or any(
        name == "*" or name == host or (name.startswith(".") and host.endswith(name))
        for name in allowed
    )


def select_unused_clients() -> QuerySet[Any]:
    """Return the clients that registered a day ago or earlier and have no tokens."""
    rows: QuerySet[Any] = get_application_model().objects.filter(
        created__lt=timezone.now() - UNUSED_CLIENT_KEPT,
        grant__isnull=True,
        refreshtoken__isnull=True,
    )
    return rows.exclude(accesstoken__user__isnull=False)


def _to_active_token(row: Any) -> ActiveToken:
    held = roles.compute_scopes(row.user)
    granted = roles.limit_scopes([*row.scope.split()], held)
    teams = [membership.team_id for membership in row.user.memberships.all()]
    caller = Caller(
        user=row.user.get_username(),
        team=teams[0] if len(teams) == 1 else None,
        person=row.person,
        scopes=granted & frozenset(CLIENT_SCOPES),
        kind="http",
    )
    (group,) = _find_groups(row.resource)
    return ActiveToken(
        caller=caller.limit_to_group(group),
        expires_at=row.expires.timestamp(),
        is_for_mcp=True,
    )
