"""Feeds of lists: what their viewers get, and that nothing of another team is in it."""

import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from execution.models import Approval, Speculation
from execution.speculation.outcome import Verdict
from execution.store import grants, speculations, views
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.live import list_feeds
from gateway_project.live.feed import Mailbox, Viewer
from gateway_project.live.routing import ROUTES
from gateway_project.use_cases import decide_approval
from tests.execution.asking import waiting
from tests.execution.stored import change, changes, held, write
from tests.factories import MembershipFactory, ServerFactory, TeamFactory, UserFactory
from tests.learning.taught import contributor
from tools.store import servers

pytestmark = pytest.mark.django_db(transaction=True)
AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
CANARY = "bravo"


@pytest.fixture
def ann():
    return UserFactory(username="ann")


def caller_of(user, team=None):
    name = user if isinstance(user, str) else user.get_username()
    scopes = frozenset({"read", "approve"})
    return Caller(user=name, team=team, person=None, scopes=scopes, kind="http")


def predict(user="ann", team=None):
    team = contributor(team, user).owner
    made = Speculation(
        user=user,
        team_id=team,
        context_hash=1,
        domain_hash=1,
        confidence=0.5,
        ranked_confidence=0.5,
        threshold=0.9,
        tools=[],
        workflow_digest="",
        created_at=timezone.now(),
        due_at=timezone.now(),
    )
    new = speculations.NewSpeculation(
        id=made.id,
        user=user,
        team=team,
        context_hash=1,
        domain_hash=1,
        confidence=0.5,
        ranked_confidence=0.5,
        threshold=0.9,
        is_admitted=False,
        is_runnable=False,
        tools=(),
        digest="",
        at=timezone.now(),
    )
    speculations.insert_speculations([new])
    return made.id


def reject(speculation):
    def is_allowed(_team, _user):
        return True

    with transaction.atomic():
        speculations.record_verdict(
            speculation, Verdict.REJECT, allowed=is_allowed, at=timezone.now()
        )


async def test_a_run_shows_in_the_list_when_it_is_started_and_as_it_goes(theatre, ann, sealer):
    async with theatre.watch(ann, "/live/runs/") as line:
        assert (await line.read()) == {"type": "start", "runs": []}
        await theatre.listen()
        made = await run_in_database_thread(held, sealer, caller=caller_of(ann))
        await run_in_database_thread(write, sealer, changes(made.run, change("a"), seqs=[2]))
        (row,) = (await line.read_until("runs"))["runs"]
        assert (row["run_id"], row["tasks"]) == (str(made.run), 2)


async def test_after_a_gap_a_list_is_sent_anew(theatre, ann, sealer):
    async with theatre.watch(ann, "/live/runs/") as line:
        await line.read()
        await run_in_database_thread(held, sealer, caller=caller_of(ann))
        theatre.hub.deliver(None)
        while not (await line.read_until("start"))["runs"]:
            pass


async def test_more_changes_than_are_read_at_once_are_a_gap(theatre, ann, monkeypatch):
    monkeypatch.setattr(list_feeds, "MAX_CHANGED", 2)
    async with theatre.watch(ann, "/live/runs/") as line:
        await line.read()
        for _ in range(3):
            theatre.hub.deliver(notify.Notification(channel=notify.RUNS, payload=str(uuid4())))
        assert (await line.read())["type"] == "start"


async def test_an_approval_comes_and_goes(theatre, ann, sealer):
    async with theatre.watch(ann, "/live/approvals/") as line:
        assert (await line.read())["pending"] == []
        await theatre.listen()
        asked = await run_in_database_thread(waiting, sealer, caller=caller_of(ann))
        assert [row["id"] for row in (await line.read())["pending"]] == [str(asked.pk)]
        await run_in_database_thread(
            decide_approval.decide_approval,
            caller_of(ann),
            asked.pk,
            approve=True,
            via="console",
        )
        assert (await line.read())["pending"] == []


async def test_a_server_that_fails_shows_at_once(theatre, ann):
    server = await run_in_database_thread(ServerFactory, name="notes")
    async with theatre.watch(ann, "/live/servers/") as line:
        (row,) = (await line.read())["servers"]
        assert row["last_error"] == ""
        await run_in_database_thread(
            servers.record_error, server.name, at=timezone.now(), error="it broke\u202e"
        )
        (row,) = (await line.read())["servers"]
        assert row["state"] == "failing"
        assert "it broke" not in row["last_error"]


async def test_the_switch_and_predictions_show_at_once(theatre, ann):
    async with theatre.watch(ann, "/live/speculation/") as line:
        start = await line.read()
        await theatre.listen()
        await run_in_database_thread(
            grants.switch_speculation, is_on=not start["is_on"], user="ann", at=AT
        )
        assert (await line.read_until("speculations"))["is_on"] is not start["is_on"]
        made = await run_in_database_thread(predict)
        changed = await line.read()
        assert changed["speculations"] == [{"id": str(made), "outcome": "", "shadow": True}]
        await run_in_database_thread(reject, made)
        assert (await line.read())["speculations"][0]["outcome"]


async def test_the_switch_shows_also_among_predictions_of_others():
    feed, mailbox = list_feeds.SpeculationsFeed(), Mailbox()
    approver = decide_approval.Approver(user="ann", teams=frozenset(), is_superuser=False)
    viewer = Viewer(caller=caller_of("ann"), approver=approver)
    (start,) = await feed.attach(mailbox, viewer, after=0)
    was_on = json.loads(start)["is_on"]
    await run_in_database_thread(grants.switch_speculation, is_on=not was_on, user="bob", at=AT)
    for _ in range(2):  # of the second, nothing is for ann
        made = await run_in_database_thread(predict, "bob")
        named = notify.Notification(channel=notify.PREDICTIONS, payload=str(made))
        feed.handle_notification(named)
        await feed.publish_changes()
    assert [json.loads(one) for one in mailbox._waiting] == [
        {"type": "speculations", "is_on": not was_on, "speculations": []}
    ]


@pytest.mark.parametrize("is_gap", [False, True])
async def test_what_changed_while_the_database_was_away_is_read_afterwards(
    theatre, ann, sealer, monkeypatch, is_gap
):
    async with theatre.watch(ann, "/live/runs/") as line:
        await line.read()
        await theatre.listen()
        load, failures = views.load_summaries, iter([OperationalError("connection refused")])

        def load_or_fail(*args, **values):
            if error := next(failures, None):
                raise error
            return load(*args, **values)

        monkeypatch.setattr("gateway_project.live.feed.OUTAGE_RETRY_S", 0.01)
        (feed,) = theatre.hub._feeds.values()
        async with feed._reading:
            made = await run_in_database_thread(held, sealer, caller=caller_of(ann))
            monkeypatch.setattr(views, "load_summaries", load_or_fail)
            theatre.hub.deliver(
                None if is_gap else notify.Notification(channel=notify.RUNS, payload=str(made.run))
            )
        assert (await line.read_until("stalled")) == {"type": "stalled"}
        (row,) = (await line.read())["runs"]
        assert row["run_id"] == str(made.run)


def make_rows_of(sealer, user, team, name):
    """Store something of every kind for a team; return the ids that give it away."""
    asked = waiting(sealer, caller=caller_of(user, team.pk))
    ServerFactory(name=f"{name}-server", team=team)
    servers.record_error(f"{name}-server", at=timezone.now(), error=f"{name} broke")
    made = predict(user, team.pk)
    return {name, str(asked.pk), str(asked.run_id), str(made)}


@pytest.fixture
def teams():
    """Two members of two teams, of which neither administers anything."""
    own, other = TeamFactory(name="alpha"), TeamFactory(name=CANARY)
    ann, bob = UserFactory(username="ann"), UserFactory(username="bob")
    MembershipFactory(user=ann, team=own)
    MembershipFactory(user=bob, team=other)
    return ann, own, other


@pytest.mark.parametrize("path", sorted(route.path for route in ROUTES))
async def test_nothing_of_another_team_reaches_a_viewer(path, theatre, teams, sealer):
    ann, own, other = teams
    hidden = await run_in_database_thread(make_rows_of, sealer, "bob", other, CANARY)
    bobs = (await run_in_database_thread(list, Approval.objects.all()))[0].run_id
    address = "/" + path.replace("<uuid:run>", str(bobs))
    async with theatre.watch(ann, address) as line:
        heard = []
        if "<uuid:run>" in path:
            assert await line.read_end() == 4404
        else:
            heard.append(await line.read())
            await theatre.listen()
            again = CANARY + "2"
            hidden |= await run_in_database_thread(make_rows_of, sealer, "bob", other, again)
            shown = await run_in_database_thread(make_rows_of, sealer, "ann", own, "alpha")
            while not any(one in json.dumps(heard) for one in shown):
                heard.append(await line.read())
        assert not [one for one in hidden if one in json.dumps(heard)]
