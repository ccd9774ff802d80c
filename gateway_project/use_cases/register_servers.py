"""Register upstream servers: only a superuser may, since each is a command to spawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction

from gateway_project.access import audit
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer
from tools.store import servers
from tools.store.servers import RegistrationResult, ServerRegistration
from tools.upstream import remote_entry


class RegistrationNotPermitted(Exception):
    """The caller lacks the permission; the message says who has it."""

    code = "not_permitted"


class InvalidServerEntry(Exception):
    """A server's entry is invalid; the message names the server and the rule in one line."""

    code = "invalid_arguments"


def register_servers(
    caller: Caller, registrations: Sequence[ServerRegistration], *, sealer: Sealer
) -> tuple[RegistrationResult, ...]:
    """Add or update servers in one transaction, with audit entries.

    Raises:
        RegistrationNotPermitted: If the caller is not a superuser.
        InvalidServerEntry: If an entry is invalid; nothing is stored then.
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
    return ServerRegistration(
        name=entry.name,
        transport=entry.transport,
        command=entry.command,
        args=entry.args,
        env=entry.env,
        cwd=entry.cwd,
        url=entry.url,
        headers=entry.headers,
        private_network=remote_entry.is_private_host(entry.url, environ),
        authorization="oauth" if entry.signs_in else None,
        oauth_client_id=entry.client_id,
        oauth_client_secret=entry.client_secret,
        oauth_scopes=entry.scopes,
        extra=entry.extra,
        source=source,
        enabled=entry.enabled,
        tools=entry.tools,
        connect_timeout_s=entry.connect_timeout_s,
        call_timeout_s=entry.call_timeout_s,
    )


def require_superuser(caller: Caller) -> None:
    """Check that a caller may decide which commands this machine runs.

    Raises:
        RegistrationNotPermitted: If they are not a superuser.
    """
    if not caller.has_scope(SCOPE_ALL):
        raise RegistrationNotPermitted(
            f"{caller.user!r} is not a superuser; only a superuser may register servers because "
            "they run commands"
        )


def _register_server(
    caller: Caller, registration: ServerRegistration, sealer: Sealer
) -> RegistrationResult:
    try:
        (outcome,) = servers.register_servers([registration], sealer=sealer)
    except ValidationError as error:
        raise InvalidServerEntry(
            f"server {registration.name!r}: {_explain_validation(error)}"
        ) from None
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
