"""Register upstream servers: only a superuser may, since each is a command to spawn."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer
from tools.store import servers
from tools.store.servers import Registered, Registration


class NotPermitted(Exception):
    """The caller may not do this; the message says who may."""


class NotRegistrable(Exception):
    """A server's entry breaks a rule of the catalogue; one line that says whose and which."""


def register_servers(
    caller: Caller, registrations: Sequence[Registration], *, sealer: Sealer
) -> tuple[Registered, ...]:
    """Add servers or bring them up to date, all or none, and write it down.

    Raises:
        NotPermitted: If the caller is no superuser.
        NotRegistrable: If an entry breaks a rule; nothing is stored then.
    """
    if not caller.may(SCOPE_ALL):
        raise NotPermitted(
            f"{caller.user!r} is no superuser; only a superuser may register servers, since "
            "they are commands to run"
        )
    with transaction.atomic():
        return tuple(_register(caller, item, sealer) for item in registrations)


def _register(caller: Caller, registration: Registration, sealer: Sealer) -> Registered:
    try:
        (outcome,) = servers.register([registration], sealer=sealer)
    except ValidationError as error:
        raise NotRegistrable(f"server {registration.name!r}: {_reason(error)}") from None
    if outcome.created or outcome.changed:
        action = "server.registered" if outcome.created else "server.changed"
        audit.record(caller, action, outcome.name, detail={"changed": list(outcome.changed)})
    return outcome


def _reason(error: ValidationError) -> str:
    if not hasattr(error, "error_dict"):
        return " ".join(error.messages)
    return " ".join(
        message if field == NON_FIELD_ERRORS else f"{field}: {message}"
        for field, messages in error.message_dict.items()
        for message in messages
    )
