"""Events become deliveries in their own transaction; each is claimed by one process."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connections, transaction
from django.utils import timezone

from execution.models import WorkflowExecution
from execution.store.escaping import escape_text
from gateway_project.foundation.caller import Caller
from gateway_project.models import Webhook, WebhookDelivery
from gateway_project.webhooks import store
from gateway_project.webhooks.message import GIVE_UP_AFTER
from gateway_project.webhooks.store import ATTEMPT_LEASE, UnknownWebhook
from tests.execution.asking import waiting
from tests.execution.stored import held
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tests.patience import PATIENCE_S
from tools.models import Tool

pytestmark = pytest.mark.django_db

EVENTS = ["approval.waiting", "run.failed", "definition.changed"]


def hook(sealer, name="ops", *, events=EVENTS, **values):
    columns = {"name": name, "url": "https://x.example/hook", "events": events, **values}
    return store.save_webhook(columns, secret="whs_s", sealer=sealer)


def claim(sealer, at):
    """Claim what is due, as a process does that has room for it."""
    pks = [one.pk for one in store.load_due(at=at)]
    return store.claim_due(pks, at=at, sealer=sealer)


def deliveries(**values):
    return list(WebhookDelivery.objects.filter(**values).order_by("pk"))


def fail(run, code="tool_error"):
    WorkflowExecution.objects.filter(pk=run).update(status="failed", error_code=code)


def test_an_approval_that_waits_is_told(sealer):
    webhook = hook(sealer)
    approval = waiting(sealer, asks="it deletes")
    (told,) = deliveries()
    assert (told.webhook, told.event, told.status) == (webhook, "approval.waiting", "pending")
    assert told.data | {"expires_at": ""} == {
        "approval": str(approval.pk), "run": str(approval.run_id), "task": "a",
        "tool": approval.tool, "reason": "it deletes", "user": "admin", "expires_at": "",
    }  # fmt: skip
    assert "/x" not in str(told.data), "no arguments"


def test_a_failed_run_is_told_once(sealer):
    hook(sealer)
    run = held(sealer).run
    fail(run)
    fail(run)
    (told,) = deliveries()
    assert (told.event, told.data) == (
        "run.failed", {"run": str(run), "code": "tool_error", "user": "admin"},
    )  # fmt: skip


def test_a_definition_that_is_quarantined_is_told_once(sealer):
    hook(sealer)
    tool = ToolFactory(server=ServerFactory(name="git"), name="log")
    for state in ("quarantined", "quarantined", "active"):
        Tool.objects.filter(pk=tool.pk).update(state=state)
    (told,) = deliveries()
    assert (told.event, told.data) == (
        "definition.changed", {"id": tool.pk, "tool": "git:log", "server": "git"},
    )  # fmt: skip


def test_only_what_is_chosen_is_told_and_nothing_while_disabled(sealer):
    hook(sealer, events=["definition.changed"])
    hook(sealer, "off", enabled=False)
    fail(held(sealer).run)
    assert deliveries() == []


def test_an_event_that_is_taken_back_is_not_told(sealer):
    hook(sealer)
    run = held(sealer).run
    with transaction.atomic():
        fail(run)
        assert len(deliveries()) == 1
        transaction.set_rollback(True)
    assert deliveries() == []


def test_a_team_is_told_of_its_own_events_and_of_shared_definitions(sealer):
    red, blue = TeamFactory(), TeamFactory()
    all_teams, own = hook(sealer, "all"), hook(sealer, "red", team=red)
    for team in (red.pk, blue.pk, None):
        caller = Caller(user="ann", team=team, person=None, scopes=frozenset(), kind="http")
        fail(held(sealer, caller=caller).run)
    for team in (red, blue, None):
        tool = ToolFactory(server=ServerFactory(team=team))
        Tool.objects.filter(pk=tool.pk).update(state="quarantined")
    assert len(deliveries(webhook=all_teams)) == 6
    assert [one.event for one in deliveries(webhook=own)] == [
        "run.failed", "definition.changed", "definition.changed",
    ]  # fmt: skip


def test_a_claimed_message_is_nobody_else_s_for_a_minute(sealer):
    hook(sealer)
    fail(held(sealer).run)
    at = timezone.now()
    (first,) = claim(sealer, at)
    assert (first.secret, first.attempt, first.url) == ("whs_s", 1, "https://x.example/hook")
    assert claim(sealer, at) == []
    assert store.load_next_attempt(after=at) == at + ATTEMPT_LEASE
    (second,) = claim(sealer, at + ATTEMPT_LEASE)
    assert (second.id, second.attempt) == (first.id, 2)
    store.finish_attempt(first, error="too late", at=at + ATTEMPT_LEASE)
    assert deliveries()[0].error == "", "what a process says that was thought dead counts no more"
    assert store.finish_attempt(second, error="", at=at + ATTEMPT_LEASE) == "delivered"
    (told,) = deliveries()
    assert (told.status, told.attempts, told.next_attempt_at) == ("delivered", 2, None)
    assert store.load_next_attempt(after=timezone.now()) is None


def test_a_failure_is_tried_again_until_it_is_given_up(sealer):
    hook(sealer)
    fail(held(sealer).run)
    at = timezone.now()
    (message,) = claim(sealer, at)
    assert store.finish_attempt(message, error="x" * 400, at=at) == "pending"
    (told,) = deliveries()
    assert (told.error, told.next_attempt_at) == ("x" * 300, at + timedelta(seconds=10))
    late = at + GIVE_UP_AFTER
    (message,) = claim(sealer, late)
    assert store.finish_attempt(message, error="down", at=late) == "given_up"
    (told,) = deliveries()
    assert (told.status, told.ended_at, told.next_attempt_at) == ("given_up", late, None)
    assert claim(sealer, late + timedelta(days=1)) == []


def test_a_disabled_webhook_is_sent_nothing(sealer):
    webhook = hook(sealer)
    fail(held(sealer).run)
    Webhook.objects.filter(pk=webhook.pk).update(enabled=False)
    assert claim(sealer, timezone.now()) == []
    assert store.load_next_attempt(after=timezone.now()) is None


def test_names_that_no_row_can_hold_are_told_as_they_are(sealer):
    hook(sealer)
    run = held(sealer).run
    fail(run, code=escape_text("a\x00b"))
    (message,) = claim(sealer, timezone.now())
    assert message.data["code"] == "a\x00b"


def test_old_deliveries_are_deleted(sealer):
    webhook = hook(sealer)
    at = timezone.now()
    for days in (31, 1):
        store.queue_test(webhook.pk, at=at - timedelta(days=days))
    assert store.count_old(at=at) == 1
    assert store.delete_old(at=at) == 1
    assert len(deliveries()) == 1


def test_the_secret_is_stored_sealed(sealer):
    row = hook(sealer)
    assert "whs_s" not in str(Webhook.objects.values().get())
    assert sealer.unseal(row.secret_sealed) == "whs_s"


@pytest.mark.parametrize("values", [{"url": "ftp://x"}, {"url": "x y"}, {"events": ["test"]}])
def test_the_database_refuses_what_cannot_be_sent(sealer, values):
    row = hook(sealer)
    with pytest.raises(IntegrityError), transaction.atomic():
        Webhook.objects.filter(pk=row.pk).update(**values)


def test_an_unknown_webhook_is_not_changed(sealer):
    with pytest.raises(UnknownWebhook):
        store.save_webhook({}, pk=7, secret=None, sealer=sealer)


@pytest.mark.django_db(transaction=True)
def test_of_processes_that_claim_at_once_one_gets_each_message(sealer):
    webhook = hook(sealer)
    at = timezone.now()
    pks = [store.queue_test(webhook.pk, at=at) for _ in range(20)]

    def claim_some(number):
        try:
            wanted = pks[number : number + 10]
            return [one.id for one in store.claim_due(wanted, at=at, sealer=sealer)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        claimed = [
            one for some in pool.map(claim_some, range(11), timeout=PATIENCE_S) for one in some
        ]
    assert len(claimed) == len(set(claimed))
    Webhook.objects.all().delete()


def test_of_each_webhook_as_much_is_due_as_is_sent_at_once_longest_due_first(sealer):
    at = timezone.now()
    busy, quiet = hook(sealer, "busy"), hook(sealer, "quiet")
    first = [store.queue_test(busy.pk, at=at - timedelta(minutes=n)) for n in range(5)]
    last = store.queue_test(quiet.pk, at=at)
    assert [one.pk for one in store.load_due(at=at)] == [*first[:-3:-1], last]


def test_a_receiver_is_slow_until_it_answers_again(sealer):
    webhook, at = hook(sealer), timezone.now()
    store.queue_test(webhook.pk, at=at)
    (message,) = claim(sealer, at)
    store.finish_attempt(message, error="no answer", at=at)
    store.queue_test(webhook.pk, at=at)
    (due,) = store.load_due(at=at)
    assert due.is_slow
    later = at + timedelta(seconds=10)
    again = next(one for one in claim(sealer, later) if one.id == message.id)
    store.finish_attempt(again, error="", at=later)
    assert not any(one.is_slow for one in store.load_due(at=later + ATTEMPT_LEASE))


def test_what_a_full_queue_does_not_take_is_given_up_and_said_so(sealer):
    webhook = hook(sealer)
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            webhook=webhook, event="test", data={}, occurred_at=timezone.now(),
            next_attempt_at=timezone.now(),
        )
        for _ in range(store.MAX_QUEUED - 1)
    )  # fmt: skip
    fail(held(sealer).run)
    fail(held(sealer).run)
    last, refused = deliveries(event="run.failed")
    assert (last.status, refused.status) == ("pending", "given_up")
    assert refused.error == "too many messages waited for this webhook"
    assert refused.ended_at is not None


def test_teams_choose_names_without_regard_to_others(sealer):
    red, blue = TeamFactory(), TeamFactory()
    for team in (red, blue, None):
        hook(sealer, "ops", team=team)
    for team in (red, None):
        with pytest.raises(ValidationError, match="of that name"):
            hook(sealer, "ops", team=team)
