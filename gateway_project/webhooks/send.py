"""Sends messages that are due: over HTTP, signed, or by mail.

Every process with upstream connections does this. A message is claimed in the database before it
is sent, and its outcome is recorded after: a process that dies in between leaves it to the others,
so that a message may arrive twice, under the same id.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from smtplib import SMTPException
from typing import TYPE_CHECKING, Final

import django.db
import structlog
from django.core.mail import EmailMessage

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.notify import DELIVERIES, Notification
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.shares import Bound, Shares
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.foundation.text import strip_invisible
from gateway_project.webhooks import store
from gateway_project.webhooks.message import MAIL_SCHEME, WebhookMessage, build_headers
from gateway_project.webhooks.store import DueDelivery
from tools.upstream.errors import UpstreamError

if TYPE_CHECKING:
    from tools.upstream.http.client import HttpClient

ATTEMPTS: Final = Bound(total=16, each=8, fraction=0.5)
"""Messages that are being sent at once, and those of one team."""
SLOW_ATTEMPTS: Final = Bound(total=4, each=2, fraction=0.5)
"""The same for receivers that failed before, which have these places only."""
TIMEOUT_S: Final = 10.0
"""Within which a receiver has to answer, and a mail server to take a mail."""
CHECK_INTERVAL_S: Final = 60.0
"""Longest wait for notifications before the database is asked."""
DELETE_INTERVAL: Final = timedelta(hours=1)
"""Interval at which old deliveries are deleted."""
RETRY_PAUSE_S: Final = 5.0
"""Wait while the database is unavailable."""
INTERNAL_ERROR: Final = "a defect of the gateway; see its log"

log = structlog.get_logger(__name__)


class DeliveryFailed(Exception):
    """A message could not be delivered; the message says why, without a secret."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class SenderDependencies:
    """What messages are sent with.

    Attributes:
        open_http: Opens the client that guards the addresses it connects to; called once, when
            the first message is sent.
        sealer: Opens secrets.
        console: URL of the console, for links.
        mail_from: Sender of mails; empty: no mail can be sent.
        now: Clock.
    """

    open_http: Callable[[], HttpClient]
    sealer: Sealer
    console: str
    mail_from: str = ""
    now: Callable[[], datetime] = _utc_now


class WebhookSender:
    """Sends messages as they become due.

    Attributes:
        wanted: Set when there may be a new message.
    """

    def __init__(self, dependencies: SenderDependencies) -> None:
        self._dependencies = dependencies
        self._http: HttpClient | None = None
        self._attempts = Shares(ATTEMPTS)
        self._slow_attempts = Shares(SLOW_ATTEMPTS)
        self._in_flight: dict[int, DueDelivery] = {}
        self._deleted_at: datetime | None = None
        self.wanted = asyncio.Event()

    def handle_notification(self, event: Notification | None) -> None:
        """Look for new messages if the database notified of some; None: of anything."""
        if event is None or event.channel == DELIVERIES:
            self.wanted.set()

    async def aclose(self) -> None:
        """Close its connections."""
        if self._http is not None:
            await self._http.aclose()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            try:
                wait_s = await self.send_due()
            except django.db.Error as error:
                log.warning("webhooks.unavailable", error=summarize_error(error))
                self.wanted.clear()
                wait_s = RETRY_PAUSE_S
            await self._wait(wait_s)

    async def send_due(self) -> float:
        """Send all messages that are due, and what becomes due meanwhile.

        Returns:
            Seconds until the next is due.

        Raises:
            django.db.Error: If the database is unavailable.
        """
        try:
            async with TaskGroup() as group:
                while True:
                    self.wanted.clear()
                    await self._start_due(group)
                    await self._delete_old()
                    wait_s = await self._compute_wait_s()
                    # What ended meanwhile may be due again sooner than was just read.
                    if not (self._in_flight or self.wanted.is_set()):
                        return wait_s
                    await self._wait(wait_s)
        finally:
            for due in [*self._in_flight.values()]:
                self._finish(due)

    async def _start_due(self, group: TaskGroup) -> None:
        """Begin to send what is due, as far as there are places."""
        now = self._dependencies.now()
        due = await run_in_database_thread(store.load_due, at=now)
        chosen = {one.pk: one for one in self._choose(due)}
        if not chosen:
            return
        self._in_flight |= chosen
        messages = await run_in_database_thread(
            store.claim_due, chosen, at=now, sealer=self._dependencies.sealer
        )
        for message in messages:
            attempt = self._attempt(message, chosen.pop(message.id))
            group.create_task(attempt, name=f"webhook {message.id}")
        for taken_by_another in chosen.values():
            self._finish(taken_by_another)

    def _choose(self, due: Sequence[DueDelivery]) -> Iterator[DueDelivery]:
        """Take places for messages: one of each team in turn, and yield those that got one."""
        queues: dict[int | None, deque[DueDelivery]] = {}
        for one in due:
            queues.setdefault(one.team, deque()).append(one)
        sent = Counter(one.webhook for one in self._in_flight.values())
        while queues:
            for team, queue in list(queues.items()):
                one = queue.popleft()
                has_room = sent[one.webhook] < (1 if one.is_slow else store.MAX_OF_WEBHOOK)
                if has_room and self._places_for(one).take(team):
                    sent[one.webhook] += 1
                    yield one
                if not queue:
                    del queues[team]

    def _places_for(self, due: DueDelivery) -> Shares:
        return self._slow_attempts if due.is_slow else self._attempts

    def _finish(self, due: DueDelivery) -> None:
        """Return the place of a message."""
        del self._in_flight[due.pk]
        self._places_for(due).give_back(due.team)
        self.wanted.set()

    async def _delete_old(self) -> None:
        now = self._dependencies.now()
        if self._deleted_at is None or now >= self._deleted_at + DELETE_INTERVAL:
            self._deleted_at = now
            await run_in_database_thread(store.delete_old, at=now)

    async def _compute_wait_s(self) -> float:
        now = self._dependencies.now()
        next_at = await run_in_database_thread(store.load_next_attempt, after=now)
        if next_at is None:
            return CHECK_INTERVAL_S
        return min((next_at - now).total_seconds(), CHECK_INTERVAL_S)

    async def _wait(self, wait_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self.wanted.wait()

    async def _attempt(self, message: WebhookMessage, due: DueDelivery) -> None:
        """Send a message once and return its place."""
        try:
            await self._send(message)
        finally:
            self._finish(due)

    async def _send(self, message: WebhookMessage) -> None:
        """Send a message once and record the outcome."""
        error = ""
        try:
            await (self._mail(message) if message.is_mail else self._post(message))
        except (DeliveryFailed, UpstreamError) as failure:
            error = str(failure)
        except Exception:
            # Top of a task: one message must not keep the others from being sent.
            log.exception("webhooks.crashed", delivery=str(message.id))
            error = INTERNAL_ERROR
        status = await run_in_database_thread(
            store.finish_attempt, message, error=error, at=self._dependencies.now()
        )
        log.info(
            "webhooks.sent",
            delivery=str(message.id),
            event_kind=message.event.value,
            attempt=message.attempt,
            status=status,
        )

    async def _post(self, message: WebhookMessage) -> None:
        """Send a signed request; redirects are not followed.

        Raises:
            DeliveryFailed: If it cannot be signed, or is answered with anything but success.
            UpstreamError: If it is not answered, or its address may not be connected to.
        """
        if not message.secret:
            raise DeliveryFailed("no key opens its secret; renew the secret")
        body = message.build_body(self._dependencies.console)
        timestamp = int(self._dependencies.now().timestamp())
        if self._http is None:
            self._http = self._dependencies.open_http()
        response = await self._http.fetch(
            "POST",
            message.url,
            headers=build_headers(message, body, timestamp=timestamp),
            body=body,
            head_only=True,
            timeout_s=TIMEOUT_S,
        )
        if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            raise DeliveryFailed(f"it answered with status {response.status}")

    async def _mail(self, message: WebhookMessage) -> None:
        """Send a mail.

        Raises:
            DeliveryFailed: If mail is switched off, or the mail server does not take it.
        """
        dependencies = self._dependencies
        if not dependencies.mail_from:
            raise DeliveryFailed("mail is not configured; set FOREGATE_EMAIL_URL")
        lines = [strip_invisible(f"{name}: {value}") for name, value in message.data.items()]
        mail = EmailMessage(
            subject=f"[Foregate] {message.title}"[:200],
            body="\n".join(
                [message.title, "", *lines, "", message.build_link(dependencies.console)]
            ),
            from_email=dependencies.mail_from,
            to=[message.url.removeprefix(MAIL_SCHEME)],
            headers={"Message-ID": f"<{message.id}@foregate>", "Auto-Submitted": "auto-generated"},
        )
        try:
            await asyncio.to_thread(mail.send)
        except (OSError, SMTPException) as error:
            raise DeliveryFailed(f"the mail server: {type(error).__name__}") from None
