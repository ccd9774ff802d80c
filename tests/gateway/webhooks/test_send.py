"""Messages as a receiver on loopback and a mailbox get them."""

import asyncio
import hashlib
import hmac
import json
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from aiohttp import web
from django.core import mail
from django.db import OperationalError

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.notify import CATALOGUE, DELIVERIES, Notification
from gateway_project.models import Webhook, WebhookDelivery
from gateway_project.webhooks import send, store
from gateway_project.webhooks.message import GIVE_UP_AFTER
from gateway_project.webhooks.send import (
    ATTEMPTS,
    SLOW_ATTEMPTS,
    SenderDependencies,
    WebhookSender,
)
from gateway_project.webhooks.store import ATTEMPT_LEASE
from tests.factories import TeamFactory
from tests.gateway.webhooks.receiver import receiving
from tests.patience import PATIENCE_S
from tools.upstream.http.client import HttpClient
from tools.upstream.network import NetworkRules, parse_networks

pytestmark = pytest.mark.django_db(transaction=True)

LOOPBACK = NetworkRules(allowed=parse_networks("127.0.0.0/8"))
SECRET = "whs_canary"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that the test advances."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def open_sender(sealer, clock):
    """Return a function that opens a process's sender."""

    @asynccontextmanager
    async def open_one(*, rules=LOOPBACK, mail_from=""):
        sender = WebhookSender(
            SenderDependencies(
                open_http=lambda: HttpClient(rules),
                sealer=sealer,
                console="https://console",
                mail_from=mail_from,
                now=clock,
            )
        )
        try:
            yield sender
        finally:
            await sender.aclose()

    return open_one


@pytest.fixture
def queue(sealer):
    """Return a function that stores a webhook and queues a test for it."""

    async def queue_one(url):
        def act():
            values = {"name": url, "url": url, "events": ["run.failed"]}
            row = store.save_webhook(values, secret=SECRET, sealer=sealer)
            return store.queue_test(row.pk, at=START)

        return await run_in_database_thread(act)

    return queue_one


async def delivery():
    return await run_in_database_thread(WebhookDelivery.objects.get)


async def test_a_message_arrives_signed_and_once(open_sender, queue):
    async with receiving() as receiver, open_sender() as sender:
        pk = await queue(receiver.url)
        assert await sender.send_due() == send.CHECK_INTERVAL_S
        await sender.send_due()
        ((headers, body),) = receiver.received
    assert json.loads(body)["id"] == headers["Foregate-Delivery"] == str(pk)
    assert json.loads(body)["link"] == "https://console/"
    assert headers["Foregate-Event"] == "test"
    assert headers["Content-Type"] == "application/json"
    signed = f"{headers['Foregate-Timestamp']}.".encode() + body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["Foregate-Signature"] == f"sha256={expected}"
    told = await delivery()
    assert (told.status, told.attempts, told.error) == ("delivered", 1, "")


async def test_a_failure_is_tried_again_with_the_same_id(open_sender, queue, clock):
    async with receiving(statuses=[500, 429, 204]) as receiver, open_sender() as sender:
        await queue(receiver.url)
        assert await sender.send_due() == 10.0
        told = await delivery()
        assert (told.status, told.error) == ("pending", "it answered with status 500")
        await sender.send_due()
        assert len(receiver.received) == 1, "it is not due yet"
        clock.now += timedelta(seconds=10)
        assert await sender.send_due() == 20.0
        clock.now += timedelta(seconds=20)
        await sender.send_due()
    ids = {headers["Foregate-Delivery"] for headers, _ in receiver.received}
    stamps = [headers["Foregate-Timestamp"] for headers, _ in receiver.received]
    assert (len(receiver.received), len(ids), len(set(stamps))) == (3, 1, 3)
    assert (await delivery()).status == "delivered"


async def test_an_attempt_that_ends_while_the_next_is_looked_up_is_not_forgotten(
    open_sender, queue, monkeypatch
):
    async with receiving(statuses=[500]) as receiver, open_sender() as sender:
        await queue(receiver.url)
        compute = sender._compute_wait_s

        async def compute_late():
            wait_s = await compute()
            if sender._in_flight:
                await sender.wanted.wait()
            return wait_s

        monkeypatch.setattr(sender, "_compute_wait_s", compute_late)
        assert await sender.send_due() == 10.0


async def test_after_a_day_it_is_given_up(open_sender, queue, clock):
    async with receiving(statuses=[503]) as receiver, open_sender() as sender:
        await queue(receiver.url)
        clock.now += GIVE_UP_AFTER
        await sender.send_due()
        clock.now += GIVE_UP_AFTER
        await sender.send_due()
    assert len(receiver.received) == 1
    assert (await delivery()).status == "given_up"


async def test_what_a_killed_process_was_sending_is_sent_by_another(
    open_sender, queue, clock, sealer
):
    async with receiving() as receiver, open_sender() as sender:
        await queue(receiver.url)
        (due,) = await run_in_database_thread(store.load_due, at=START)
        claim = await run_in_database_thread(store.claim_due, [due.pk], at=START, sealer=sealer)
        assert len(claim) == 1
        assert await sender.send_due() == ATTEMPT_LEASE.total_seconds()
        assert receiver.received == []
        clock.now += ATTEMPT_LEASE
        await sender.send_due()
        assert len(receiver.received) == 1
    assert (await delivery()).attempts == 2


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::ffff:127.0.0.1]:{port}/",
     "http://169.254.169.254/latest/", "http://10.0.0.1/"],
)  # fmt: skip
async def test_private_addresses_are_refused_also_behind_names(open_sender, queue, url):
    async with receiving() as receiver, open_sender(rules=NetworkRules()) as sender:
        port = receiver.url.rpartition(":")[2].partition("/")[0]
        await queue(url.format(port=port))
        await sender.send_due()
    assert receiver.received == []
    told = await delivery()
    assert told.status == "pending"
    assert "FOREGATE_ALLOW_PRIVATE" in told.error or "169.254" in told.error


async def test_a_redirect_is_not_followed(open_sender, queue):
    async with (
        receiving() as other,
        receiving(statuses=[307], headers={"Location": other.url}) as receiver,
        open_sender() as sender,
    ):
        await queue(receiver.url)
        await sender.send_due()
        assert len(receiver.received) == 1
        assert other.received == []
    assert (await delivery()).error == "it answered with status 307"


async def test_mail_goes_to_the_address(open_sender, queue):
    async with open_sender(mail_from="foregate@x.example") as sender:
        await queue("mailto:ops@x.example")
        await sender.send_due()
    (sent,) = mail.outbox
    assert (sent.to, sent.from_email) == (["ops@x.example"], "foregate@x.example")
    assert sent.subject == "[Foregate] This is a test"
    assert sent.body.endswith("https://console/")
    assert (await delivery()).status == "delivered"


async def test_without_a_mail_server_no_mail_is_sent(open_sender, queue):
    async with open_sender() as sender:
        await queue("mailto:ops@x.example")
        await sender.send_due()
    assert mail.outbox == []
    assert (await delivery()).error == "mail is not configured; set FOREGATE_EMAIL_URL"


async def test_a_mail_server_that_is_away_is_tried_again(open_sender, queue, monkeypatch):
    def refuse(_):
        raise ConnectionRefusedError(111, "s3cret host")

    monkeypatch.setattr(send.EmailMessage, "send", refuse)
    async with open_sender(mail_from="foregate@x.example") as sender:
        await queue("mailto:ops@x.example")
        await sender.send_due()
    told = await delivery()
    assert (told.status, told.error) == ("pending", "the mail server: ConnectionRefusedError")


async def test_a_defect_of_one_message_does_not_keep_the_others(open_sender, queue, monkeypatch):
    def crash(_):
        raise ZeroDivisionError

    monkeypatch.setattr(send.EmailMessage, "send", crash)
    async with receiving() as receiver, open_sender(mail_from="f@x.example") as sender:
        await queue("mailto:ops@x.example")
        await queue(receiver.url)
        await sender.send_due()
        assert len(receiver.received) == 1
    rows = await run_in_database_thread(
        lambda: dict(WebhookDelivery.objects.values_list("webhook__url", "error"))
    )
    assert rows == {"mailto:ops@x.example": send.INTERNAL_ERROR, receiver.url: ""}


async def test_a_secret_that_no_key_opens_does_not_keep_the_others(open_sender, queue):
    async with receiving() as receiver, open_sender() as sender:
        await queue("https://lost.example/hook")
        await run_in_database_thread(Webhook.objects.update, secret_sealed="of a lost key")
        await queue(receiver.url)
        await sender.send_due()
        assert len(receiver.received) == 1
    rows = await run_in_database_thread(
        lambda: dict(WebhookDelivery.objects.values_list("webhook__url", "error"))
    )
    told = "no key opens its secret; renew the secret"
    assert rows == {"https://lost.example/hook": told, receiver.url: ""}


async def test_neither_logs_nor_rows_hold_the_secret(open_sender, queue):
    with structlog.testing.capture_logs() as logs:
        async with receiving(statuses=[500]) as receiver, open_sender() as sender:
            await queue(receiver.url)
            await sender.send_due()

    def rows():
        return [*Webhook.objects.values(), *WebhookDelivery.objects.values()]

    assert logs
    assert SECRET not in str(logs)
    assert SECRET not in str(await run_in_database_thread(rows))


async def test_it_sends_as_soon_as_it_is_notified(open_sender, queue, monkeypatch):
    async with receiving() as receiver, open_sender() as sender, asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(sender.run())
        await queue(receiver.url)
        sender.handle_notification(Notification(channel=CATALOGUE, payload=""))
        sender.handle_notification(Notification(channel=DELIVERIES, payload=""))
        await receiver.arrived.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def test_while_the_database_is_away_it_waits(open_sender, monkeypatch):
    tried = asyncio.Event()

    def away(**_):
        loop.call_soon_threadsafe(tried.set)
        raise OperationalError("away")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(store, "load_due", away)
    async with open_sender() as sender, asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(sender.run())
        await tried.wait()
        assert not running.done()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.fixture
def queue_for(sealer):
    """Return a function that queues deliveries, longest due first, to webhooks of a team."""

    async def queue_some(name, url, *, webhooks=1, each=1, **values):
        def act():
            team = TeamFactory(name=name)
            for number in range(webhooks):
                row = store.save_webhook(
                    {"name": f"{number}", "url": url, "events": ["run.failed"], "team": team},
                    secret=SECRET,
                    sealer=sealer,
                )
                WebhookDelivery.objects.bulk_create(
                    WebhookDelivery(
                        webhook=row, event="test", data={}, occurred_at=START,
                        next_attempt_at=START, **values,
                    )
                    for _ in range(each)
                )  # fmt: skip

        await run_in_database_thread(act)

    return queue_some


@asynccontextmanager
async def hanging():
    """Listen, and answer nothing until the block is left; yields the URL and who came."""
    came, end = [], asyncio.Event()

    async def wait(request):
        came.append(request.path)
        await end.wait()
        return web.Response(status=204)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", wait)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", came
    finally:
        end.set()
        await runner.cleanup()


@asynccontextmanager
async def sending(sender):
    task = asyncio.create_task(sender.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_hanging_receivers_of_one_team_do_not_delay_another_team(
    open_sender, queue_for, monkeypatch
):
    monkeypatch.setattr(send, "TIMEOUT_S", PATIENCE_S)
    async with hanging() as (url, came), receiving() as receiver, open_sender() as sender:
        await queue_for("red", url, webhooks=10, each=4)
        await queue_for("blue", receiver.url)
        async with sending(sender):
            await receiver.arrived.wait()
            assert len(came) <= ATTEMPTS.each


async def test_receivers_that_failed_before_have_few_places_of_their_own(
    open_sender, queue_for, monkeypatch
):
    monkeypatch.setattr(send, "TIMEOUT_S", PATIENCE_S)
    async with hanging() as (url, came), receiving() as receiver, open_sender() as sender:
        for number in range(6):
            await queue_for(f"red {number}", url, webhooks=3, each=3, error="no answer")
        await queue_for("blue", receiver.url, webhooks=5, each=5)
        async with sending(sender):
            await receiver.arrived.wait()
            while len(receiver.received) < 25:
                receiver.arrived.clear()
                await receiver.arrived.wait()
            assert len(came) <= SLOW_ATTEMPTS.total


async def test_a_webhook_has_at_most_so_many_messages_at_once(open_sender, queue_for, monkeypatch):
    monkeypatch.setattr(send, "TIMEOUT_S", PATIENCE_S)
    async with hanging() as (url, came), receiving() as receiver, open_sender() as sender:
        await queue_for("red", url, each=20)
        await queue_for("blue", receiver.url)
        async with sending(sender):
            await receiver.arrived.wait()
            assert len(came) <= store.MAX_OF_WEBHOOK
