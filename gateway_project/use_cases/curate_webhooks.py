"""Curate webhooks, with permission checks and audit entries."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet

from gateway_project.access import audit
from gateway_project.access.roles import ADMINISTER, require_scope
from gateway_project.access.visible_rows import limit_to_team
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases.refusals import InvalidEntry, change_or_refuse
from gateway_project.webhooks import store
from gateway_project.webhooks.message import MAIL_SCHEME
from gateway_project.webhooks.store import MAX_WEBHOOKS, UnknownWebhook
from tools.store import configuration

SECRET_PREFIX: Final = "whs_"  # noqa: S105 - what every secret begins with
SECRET_BYTES: Final = 32
MAX_TESTS: Final = 6
"""Tests of a team's webhooks within `TESTS_WITHIN`."""
TESTS_WITHIN: Final = timedelta(minutes=1)


class TooManyTests(InvalidEntry):
    """A team had as many tests sent as it may in a while."""

    code = "throttled"

    def __init__(self) -> None:
        super().__init__(f"{MAX_TESTS} tests were sent in the last minute; try again in a minute")


def select_webhooks(caller: Caller) -> QuerySet[Any]:
    """Return the webhooks of the caller's team; superusers see all.

    Raises:
        NotPermitted: If the caller lacks the scope.
    """
    require_scope(caller, ADMINISTER)
    return limit_to_team(store.select_webhooks(), caller, is_shared=False)


def find_webhook(caller: Caller, pk: int) -> Any:
    """Return a webhook.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownWebhook: If there is none for the caller.
    """
    row = select_webhooks(caller).filter(pk=pk).first()
    if row is None:
        raise UnknownWebhook(pk)
    return row


def save_webhook(
    caller: Caller,
    values: Mapping[str, Any],
    *,
    pk: int | None = None,
    renews_secret: bool = False,
    sealer: Sealer,
) -> tuple[Any, str]:
    """Add a webhook, or change one; return its row and the secret that was made.

    A new secret cannot be shown again; empty: none was made.

    Args:
        caller: The actor; unless a superuser, they save webhooks of the team they act for.
        values: `name`, `url`, `events`, `enabled` and `team` (a name, or None); what is missing
            stays as it is.
        pk: Primary key of the one to change; None: a new one.
        renews_secret: Whether to make a new secret for one that there is; a new one gets one.
        sealer: Seals the secret.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownWebhook: If there is none for the caller.
        InvalidEntry: If a value is invalid; nothing is stored then.
    """
    require_scope(caller, ADMINISTER)
    if pk is not None:
        find_webhook(caller, pk)
    columns = {name: value for name, value in values.items() if name != "team"}
    if pk is None or "team" in values:
        columns["team_id"] = _find_team(caller, values.get("team"))
    if "url" in columns:
        check_url(columns["url"])
    secret = None
    if pk is None or renews_secret:
        secret = SECRET_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with change_or_refuse():
        if pk is None:
            _check_places(columns["team_id"])
        row = store.save_webhook(columns, pk=pk, secret=secret, sealer=sealer)
        verb = "registered" if pk is None else "changed"
        changed = [*values, *(("secret",) if secret else ())]
        audit.record_audit(
            caller, f"webhook.{verb}", row.name, detail={"changed": sorted(changed)}
        )
    return row, secret or ""


def delete_webhook(caller: Caller, pk: int) -> None:
    """Delete a webhook with its deliveries.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownWebhook: If there is none for the caller.
    """
    row = find_webhook(caller, pk)
    with transaction.atomic():
        store.delete_webhook(pk)
        audit.record_audit(caller, "webhook.deleted", row.name)


def send_test(caller: Caller, pk: int, *, at: datetime) -> int:
    """Have a running process send a test; return the id of its delivery.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownWebhook: If there is none for the caller.
        InvalidEntry: If it is disabled.
        TooManyTests: If its team has just had others.
    """
    row = find_webhook(caller, pk)
    if not row.enabled:
        raise InvalidEntry("it is disabled; enable it first")
    if store.count_tests(row.team_id, since=at - TESTS_WITHIN) >= MAX_TESTS:
        raise TooManyTests
    with transaction.atomic():
        audit.record_audit(caller, "webhook.tested", row.name)
        return store.queue_test(pk, at=at)


def retry_delivery(caller: Caller, pk: int, delivery: int, *, at: datetime) -> None:
    """Have a running process send once more what was given up.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownWebhook: If there is none for the caller.
        InvalidEntry: If it is disabled, or has given up no such delivery.
    """
    row = find_webhook(caller, pk)
    if not row.enabled:
        raise InvalidEntry("it is disabled; enable it first")
    with transaction.atomic():
        if not store.queue_again(pk, delivery, at=at):
            raise InvalidEntry(f"it has given up no delivery {delivery}")
        audit.record_audit(caller, "webhook.retried", row.name, detail={"delivery": delivery})


def _check_places(team: int | None) -> None:
    """Check that a team may have one more."""
    if store.select_webhooks().filter(team=team).count() >= MAX_WEBHOOKS:
        raise InvalidEntry(f"there are {MAX_WEBHOOKS} webhooks; delete some first")


def _find_team(caller: Caller, name: str | None) -> int | None:
    """Return the primary key of the team whose events are told."""
    if name is None and caller.team is not None and not caller.has_scope(SCOPE_ALL):
        return caller.team
    try:
        team = configuration.find_team(name)
    except LookupError:
        raise InvalidEntry(f"there is no team {name!r}") from None
    if not caller.has_scope(SCOPE_ALL) and (team is None or team != caller.team):
        raise InvalidEntry("only a superuser registers webhooks of another team or of all teams")
    return team


def check_url(url: str) -> None:
    """Check that an address can be sent to; whether it may be is checked when it is.

    Raises:
        InvalidEntry: If not.
    """
    if url.startswith(MAIL_SCHEME):
        try:
            validate_email(url.removeprefix(MAIL_SCHEME))
        except ValidationError:
            raise InvalidEntry("mailto: needs one mail address, and nothing else") from None
        return
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        parts.port  # noqa: B018 - raises if it is none
    except ValueError:
        is_usable = False
    if not is_usable:
        raise InvalidEntry("the address must be http://…, https://… or mailto:ADDRESS")
    if "@" in parts.netloc:
        raise InvalidEntry("the address must not hold a user or password")
