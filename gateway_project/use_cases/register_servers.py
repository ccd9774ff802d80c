"""Register upstream servers: only a superuser may, since each is a command to spawn."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer
from tools.store import servers
from tools.store.servers import Registered, Registration


class NotPermitted(Exception):
    """The caller may not do this; the message says who may."""


class NotRegistrable(Exception):
    """A server's entry breaks a rule of the catalogue; one line that says which."""


def register_servers(
    caller: Caller, registrations: Sequence[Registration], *, sealer: Sealer
) -> tuple[Registered, ...]:
    """Add servers or bring them up to date, all or none, and write it down.

    Raises:
        NotPermitted: If the caller is no superuser.
        NotRegistrable: If an entry breaks a rule; nothing is stored then.
    """
    if not caller.may(SCOPE_ALL):
        raise NotPermitted("only a superuser may register servers: they are commands to run")
    with transaction.atomic():
        try:
            outcome = servers.register(registrations, sealer=sealer)
        except ValidationError as error:
            raise NotRegistrable("; ".join(error.messages)) from None
        for item in outcome:
            if item.created or item.changed:
                action = "server.registered" if item.created else "server.changed"
                audit.record(caller, action, item.name, detail={"changed": list(item.changed)})
    return outcome
