"""Change and delete registered servers, with permission checks and audit entries."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.register_servers import InvalidServerEntry, require_superuser
from tools.store import servers


def change_server(caller: Caller, name: str, changes: Mapping[str, Any]) -> None:
    """Change how a server may be used; its tools stay as they are.

    Args:
        caller: The actor.
        name: Of the server.
        changes: New values of `enabled`, `trusted` and `price_per_call`.

    Raises:
        RegistrationNotPermitted: If the caller is not a superuser.
        UnknownServerRow: If there is no such server.
        InvalidServerEntry: If a value is invalid; nothing is stored then.
    """
    require_superuser(caller)
    with transaction.atomic():
        try:
            changed = servers.change_server(name, changes)
        except ValidationError as error:
            raise InvalidServerEntry(f"server {name!r}: {' '.join(error.messages)}") from None
        if changed:
            values = {column: _describe(changes[column]) for column in changed}
            detail = {"changed": changed, **values}
            audit.record_audit(caller, "server.changed", name, detail=detail)


def _describe(value: Any) -> Any:
    """Return a switch as it is, and a price as text."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


def delete_server(caller: Caller, name: str) -> None:
    """Delete a server with its tools and everything known about them.

    Raises:
        RegistrationNotPermitted: If the caller is not a superuser.
        UnknownServerRow: If there is no such server.
    """
    require_superuser(caller)
    with transaction.atomic():
        servers.delete_server(name)
        audit.record_audit(caller, "server.deleted", name)
