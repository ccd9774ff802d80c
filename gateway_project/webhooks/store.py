"""Stores webhooks and what they are told of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber

from execution.store.escaping import unescape_json
from gateway_project.foundation import notify
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from gateway_project.foundation.user_error import UserError
from gateway_project.models import Webhook, WebhookDelivery
from gateway_project.webhook_events import WebhookEvent
from gateway_project.webhooks.message import WebhookMessage, find_next_attempt

MAX_WEBHOOKS: Final = 50
"""Of a team, and of all without a team."""
MAX_OF_WEBHOOK: Final = 2
"""Messages that are sent to one webhook at once."""
MAX_QUEUED: Final = 1_000
"""Messages that wait for one webhook; further ones are given up at once, by the trigger that would
queue them (migration 0011)."""
ATTEMPT_LEASE: Final = timedelta(seconds=60)
"""After which a message is sent again if the process that was sending it has said nothing."""
KEPT_DELIVERIES: Final = timedelta(days=30)
MAX_ERROR_CHARS: Final = 300


class UnknownWebhook(UserError, LookupError):
    """There is no such webhook, or it is another team's."""

    code = "unknown_webhook"

    def __init__(self, pk: int) -> None:
        super().__init__(f"there is no webhook {pk}")


def select_webhooks() -> QuerySet[Webhook]:
    """Return all webhooks with their teams."""
    return Webhook.objects.select_related("team")


def annotate_outcomes(webhooks: QuerySet[Webhook]) -> QuerySet[Webhook]:
    """Add the last delivery (`last_status`, `last_event`, `last_at`) and the number `given_up`."""
    last = WebhookDelivery.objects.filter(webhook=OuterRef("pk")).order_by("-pk")[:1]
    given_up = Q(deliveries__status=WebhookDelivery.Status.GIVEN_UP)
    return webhooks.annotate(
        given_up=Count("deliveries", filter=given_up),
        last_status=Subquery(last.values("status")),
        last_event=Subquery(last.values("event")),
        last_at=Subquery(last.values("occurred_at")),
    )


def select_deliveries(webhook: int) -> QuerySet[WebhookDelivery]:
    """Return what a webhook was told of, or is to be."""
    return WebhookDelivery.objects.filter(webhook=webhook)


def save_webhook(
    values: Mapping[str, Any], *, pk: int | None = None, secret: str | None, sealer: Sealer
) -> Webhook:
    """Add a webhook, or change columns of one.

    Args:
        values: By column.
        pk: Primary key of the one to change; None: a new one.
        secret: Its new secret; None: it stays.
        sealer: Seals the secret.

    Raises:
        UnknownWebhook: If there is no such one.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    row = Webhook() if pk is None else Webhook.objects.filter(pk=pk).first()
    if row is None:
        raise UnknownWebhook(pk or 0)
    for column, value in values.items():
        setattr(row, column, value)
    if secret is not None:
        row.secret_sealed = sealer.seal(secret)
    row.full_clean()
    row.save()
    return row


def delete_webhook(pk: int) -> None:
    """Delete a webhook with its deliveries."""
    Webhook.objects.filter(pk=pk).delete()


def queue_test(webhook: int, *, at: datetime) -> int:
    """Queue a test for a webhook; return the id of its delivery."""
    delivery = WebhookDelivery.objects.create(
        webhook_id=webhook,
        event=WebhookEvent.TEST.value,
        data={},
        occurred_at=at,
        next_attempt_at=at,
    )
    notify.send_notification(notify.DELIVERIES, "")
    return int(delivery.pk)


def queue_again(webhook: int, delivery: int, *, at: datetime) -> bool:
    """Queue a delivery that was given up once more; return False if there is none."""
    rows = select_deliveries(webhook).filter(pk=delivery, status=WebhookDelivery.Status.GIVEN_UP)
    count = rows.update(status=WebhookDelivery.Status.PENDING, next_attempt_at=at, ended_at=None)
    if count:
        notify.send_notification(notify.DELIVERIES, "")
    return bool(count)


def count_tests(team: int | None, *, since: datetime) -> int:
    """Return how many tests were queued for a team's webhooks since a time."""
    rows = WebhookDelivery.objects.filter(webhook__team=team, event=WebhookEvent.TEST.value)
    return rows.filter(occurred_at__gt=since).count()


@dataclass(frozen=True, kw_only=True)
class DueDelivery:
    """A message that is due.

    Attributes:
        pk: Of the delivery.
        webhook: Primary key of the webhook.
        team: Primary key of the webhook's team; None: it has none.
        is_slow: Whether an earlier attempt to reach the webhook failed, and none succeeded since.
    """

    pk: int
    webhook: int
    team: int | None
    is_slow: bool


def load_due(*, at: datetime) -> list[DueDelivery]:
    """Return what is due, of each webhook as much as is sent at once, longest due first."""
    failed = _select_pending().filter(webhook=OuterRef("webhook")).exclude(error="")
    place = Window(RowNumber(), partition_by="webhook", order_by="next_attempt_at")
    rows = (
        _select_pending()
        .filter(next_attempt_at__lte=at)
        .annotate(place=place, is_slow=Exists(failed))
        .filter(place__lte=MAX_OF_WEBHOOK)
        .order_by("next_attempt_at")
    )
    found = rows.values_list("pk", "webhook_id", "webhook__team_id", "is_slow")
    return [
        DueDelivery(pk=pk, webhook=webhook, team=team, is_slow=is_slow)
        for pk, webhook, team, is_slow in found
    ]


def claim_due(pks: Collection[int], *, at: datetime, sealer: Sealer) -> list[WebhookMessage]:
    """Claim messages that are still due; no other process gets them for a while.

    Args:
        pks: Of the deliveries.
        at: The time.
        sealer: Opens secrets.
    """
    with transaction.atomic():
        due = _select_pending().filter(pk__in=pks, next_attempt_at__lte=at)
        rows = list(
            due.select_for_update(skip_locked=True, of=("self",)).select_related("webhook")
        )
        WebhookDelivery.objects.filter(pk__in=[row.pk for row in rows]).update(
            attempts=F("attempts") + 1, next_attempt_at=at + ATTEMPT_LEASE
        )
    return [
        WebhookMessage(
            id=row.pk,
            url=row.webhook.url,
            secret=_open_secret(row.webhook, sealer),
            event=WebhookEvent(row.event),
            data=unescape_json(row.data),
            occurred_at=row.occurred_at,
            attempt=row.attempts + 1,
        )
        for row in rows
    ]


def _open_secret(webhook: Webhook, sealer: Sealer) -> str:
    """Return the secret of a webhook; empty if no key opens it: others are told nevertheless."""
    try:
        return str(sealer.unseal(webhook.secret_sealed))
    except UnsealingFailed:
        return ""


def load_next_attempt(*, after: datetime) -> datetime | None:
    """Return when the next message is due after a time; None: none is."""
    rows = _select_pending().filter(next_attempt_at__gt=after)
    found: datetime | None = rows.aggregate(at=Min("next_attempt_at"))["at"]
    return found


def finish_attempt(message: WebhookMessage, *, error: str, at: datetime) -> str:
    """Record how an attempt ended; return the status of the delivery.

    Nothing is recorded if another process has made a further attempt meanwhile.

    Args:
        message: As claimed.
        error: Why it failed; empty: it was delivered.
        at: The time.
    """
    next_at = find_next_attempt(message.occurred_at, message.attempt, at=at) if error else None
    statuses = WebhookDelivery.Status
    status = statuses.DELIVERED if not error else statuses.PENDING
    if error and next_at is None:
        status = statuses.GIVEN_UP
    WebhookDelivery.objects.filter(
        pk=message.id, attempts=message.attempt, status=statuses.PENDING
    ).update(
        status=status,
        error=error[:MAX_ERROR_CHARS],
        next_attempt_at=next_at,
        ended_at=None if next_at else at,
    )
    return str(status)


def count_old(*, at: datetime) -> int:
    """Return how many deliveries are no longer kept."""
    return _select_old(at).count()


def delete_old(*, at: datetime) -> int:
    """Delete deliveries that are no longer kept; return how many there were."""
    return _select_old(at).delete()[0]


def _select_pending() -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(
        status=WebhookDelivery.Status.PENDING, webhook__enabled=True
    )


def _select_old(at: datetime) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(occurred_at__lte=at - KEPT_DELIVERIES)
