"""Register, change and delete servers: only superusers may, since each is a command to spawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any, Final

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction

from gateway_project.access import audit
from gateway_project.access.roles import require_scope
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases.refusals import InvalidEntry
from tools.registration import ServerRegistration
from tools.store import overview, servers
from tools.store.overview import ServerSummary
from tools.store.servers import RegistrationResult, UnknownServerRow
from tools.upstream import remote_entry

MAX_TIME_LIMIT_S: Final = 1e6
"""As in a configuration document."""


def register_servers(
    caller: Caller, registrations: Sequence[ServerRegistration], *, sealer: Sealer
) -> tuple[RegistrationResult, ...]:
    """Add or update servers in one transaction, with audit entries.

    Raises:
        NotPermitted: If the caller is not a superuser.
        InvalidEntry: If an entry is invalid; nothing is stored then.
    """
    require_superuser(caller)
    with transaction.atomic():
        return tuple(_register_server(caller, item, sealer) for item in registrations)


def make_registration(
    entry: ConfiguredServer, environ: Mapping[str, str], *, source: str
) -> ServerRegistration:
    """Return the registration of an entry.

    Args:
        entry: As a client has it.
        environ: The gateway's environment, whose variables entries may use.
        source: Where the entry comes from.
    """
    values = {one.name: getattr(entry, one.name) for one in fields(ServerRegistration)}
    values["private_network"] = remote_entry.is_private_host(entry.url, environ)
    return ServerRegistration(**values | {"source": source})


def find_server(caller: Caller, name: str, *, with_output: bool = False) -> ServerSummary:
    """Return a server that the caller may know of.

    Raises:
        UnknownServerRow: If there is none.
    """
    for server in overview.load_visible_summaries(caller, names=[name], with_output=with_output):
        return server
    raise UnknownServerRow(name)


def require_superuser(caller: Caller) -> None:
    """Check that a caller may decide which commands this machine runs.

    Raises:
        NotPermitted: If they are not a superuser.
    """
    refusal = "is not a superuser; only a superuser may register servers because they run commands"
    require_scope(caller, SCOPE_ALL, refusal)


def _register_server(
    caller: Caller, registration: ServerRegistration, sealer: Sealer
) -> RegistrationResult:
    try:
        (outcome,) = servers.register_servers([registration], sealer=sealer)
    except ValidationError as error:
        raise InvalidEntry(f"server {registration.name!r}: {_explain_validation(error)}") from None
    if outcome.created or outcome.changed:
        action = "server.registered" if outcome.created else "server.changed"
        audit.record_audit(caller, action, outcome.name, detail={"changed": list(outcome.changed)})
    return outcome


def _explain_validation(error: ValidationError) -> str:
    if not hasattr(error, "error_dict"):
        return " ".join(error.messages)
    return " ".join(
        message if field == NON_FIELD_ERRORS else f"{field}: {message}"
        for field, messages in error.message_dict.items()
        for message in messages
    )


def change_server(caller: Caller, name: str, changes: Mapping[str, Any]) -> None:
    """Change how a server may be used; its tools stay as they are.

    Args:
        caller: The actor.
        name: Of the server.
        changes: New values of `enabled`, `trusted`, `price_per_call` and `call_timeout_s`.

    Raises:
        NotPermitted: If the caller is not a superuser.
        UnknownServerRow: If there is no such server.
        InvalidEntry: If a value is invalid; nothing is stored then.
    """
    require_superuser(caller)
    limit_s = changes.get("call_timeout_s")
    if limit_s is not None and not 0 < limit_s <= MAX_TIME_LIMIT_S:
        raise InvalidEntry(
            f"the time limit of a call is a number of seconds above 0 and at most "
            f"{MAX_TIME_LIMIT_S:,.0f}, or none: the installation's"
        )
    with transaction.atomic():
        try:
            changed = servers.change_server(name, changes)
        except ValidationError as error:
            raise InvalidEntry(f"server {name!r}: {' '.join(error.messages)}") from None
        if changed:
            values = {column: _describe(changes[column]) for column in changed}
            detail = {"changed": changed, **values}
            audit.record_audit(caller, "server.changed", name, detail=detail)


def _describe(value: Any) -> Any:
    """Return a switch or time limit as it is, and a price as text."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


def delete_server(caller: Caller, name: str) -> None:
    """Delete a server with its tools and everything known about them.

    Raises:
        NotPermitted: If the caller is not a superuser.
        UnknownServerRow: If there is no such server.
    """
    require_superuser(caller)
    with transaction.atomic():
        servers.delete_server(name)
        audit.record_audit(caller, "server.deleted", name)
