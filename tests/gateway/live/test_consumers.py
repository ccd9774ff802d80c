"""Connections of viewers: who may connect, what they get, and what ends them."""

import asyncio
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import OperationalError

from execution.models import WorkflowExecution
from execution.status import RunStatus
from execution.store import views
from gateway_project.access import callers, roles
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.shares import Bound
from gateway_project.live import feed, hub, routing, run_feed
from tests.execution.stored import change, changes, held, write
from tests.factories import MembershipFactory, TeamFactory, UserFactory
from tests.gateway.live.viewing import sign_in

pytestmark = pytest.mark.django_db(transaction=True)
RUNS = "/live/runs/"


def caller_of(user, team=None):
    name = user.get_username()
    return Caller(user=name, team=team, person=None, scopes=frozenset({"read"}), kind="http")


def started(sealer, user, **said):
    return held(sealer, caller=caller_of(user), **said).run


@pytest.fixture
def ann():
    return UserFactory(username="ann")


def run_path(run, after=0):
    return f"/live/runs/{run}/?after={after}"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": ""},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"host": "evil.example", "origin": "http://evil.example"},
    ],
    ids=["no origin", "foreign", "sandboxed", "rebound"],
)
async def test_pages_of_others_are_refused(theatre, ann, headers):
    cookie = await run_in_database_thread(sign_in, ann)
    assert not await theatre.line(RUNS, cookie, **headers).connect()


async def test_an_unknown_address_is_refused(theatre, ann):
    cookie = await run_in_database_thread(sign_in, ann)
    assert not await theatre.line("/live/secrets/", cookie).connect()


@pytest.mark.parametrize("cookie", ["", "sessionid=made-up", "sessionid", 'a="\x01'])
async def test_who_is_not_signed_in_gets_nothing(theatre, cookie):
    line = theatre.line(RUNS, cookie)
    await line.connect()
    assert await line.read_end() == feed.SIGNED_OUT.code


async def test_a_role_without_the_scope_gets_nothing(theatre, ann):
    await run_in_database_thread(roles.set_roles, ann, ["viewer"])
    async with theatre.watch(ann, "/live/approvals/") as line:
        assert await line.read_end() == feed.NOT_PERMITTED.code
    async with theatre.watch(ann, RUNS) as line:
        assert (await line.read())["type"] == "start"


async def test_a_run_of_somebody_else_does_not_exist(theatre, ann, sealer):
    bobs = await run_in_database_thread(started, sealer, UserFactory.build(username="bob"))
    for run in (bobs, uuid4()):
        async with theatre.watch(ann, run_path(run)) as line:
            assert await line.read_end() == feed.UNKNOWN.code


async def test_a_run_is_followed_from_its_start(theatre, ann, sealer):
    run = await run_in_database_thread(started, sealer, ann)
    async with theatre.watch(ann, run_path(run)) as line:
        start = await line.read()
        assert start["type"] == "start"
        assert [event["seq"] for event in start["events"]] == [1]
        assert [task["task"] for task in start["tasks"]] == ["a", "b"]
        await theatre.listen()
        await run_in_database_thread(write, sealer, changes(run, change("a"), seqs=[2, 3]))
        changed = await line.read_until("changes")
        assert [event["seq"] for event in changed["events"]] == [2, 3]
        assert [(task["task"], task["status"]) for task in changed["tasks"]] == [("a", "running")]


async def test_who_connects_again_misses_nothing_and_gets_nothing_twice(
    theatre, ann, sealer, monkeypatch
):
    monkeypatch.setattr(run_feed, "KEPT_EVENTS", 2)  # older ones come from the database
    run = await run_in_database_thread(started, sealer, ann)
    seen = []
    async with theatre.watch(ann, run_path(run)) as line:
        seen += (await line.read())["events"]
    for number in range(2, 9):
        await run_in_database_thread(write, sealer, changes(run, seqs=[number]))
    async with theatre.watch(ann, run_path(run, after=seen[-1]["seq"])) as line:
        seen += (await line.read_until("start"))["events"]
        await run_in_database_thread(write, sealer, changes(run, seqs=[9]))
        seen += (await line.read_until("changes"))["events"]
    assert [event["seq"] for event in seen] == list(range(1, 10))


async def test_events_that_come_while_a_viewer_connects_are_sent_once(theatre, ann, sealer):
    run = await run_in_database_thread(started, sealer, ann)
    cookie = await run_in_database_thread(sign_in, ann)

    async def go_on():
        for number in range(2, 40):
            await run_in_database_thread(write, sealer, changes(run, seqs=[number]))

    async def follow():
        seqs = []
        async with theatre.watch(ann, run_path(run), cookie) as line:
            while not seqs or seqs[-1] < 39:
                seqs += [event["seq"] for event in (await line.read()).get("events", ())]
        return seqs

    async with asyncio.TaskGroup() as group:
        group.create_task(go_on())
        followers = [group.create_task(follow()) for _ in range(8)]
    assert [task.result() for task in followers] == [list(range(1, 40))] * 8


async def test_a_missed_history_comes_in_pages(theatre, ann, sealer, monkeypatch):
    monkeypatch.setattr(run_feed, "EVENT_PAGE", 2)
    run = await run_in_database_thread(started, sealer, ann)
    await run_in_database_thread(write, sealer, changes(run, seqs=range(2, 6)))
    async with theatre.watch(ann, run_path(run)) as line:
        pages = [await line.read() for _ in range(3)]
    assert [page["type"] for page in pages] == ["events", "events", "start"]
    assert [event["seq"] for page in pages for event in page["events"]] == [1, 2, 3, 4, 5]


async def test_a_viewer_who_knows_events_that_are_gone_begins_anew(theatre, ann, sealer):
    run = await run_in_database_thread(started, sealer, ann)
    async with theatre.watch(ann, run_path(run, after=500)) as line:
        start = await line.read()
    assert start["is_reset"]
    assert [event["seq"] for event in start["events"]] == [1]


@pytest.mark.parametrize("after", ["-1", "x", "9" * 40, "%00"])
async def test_an_impossible_number_means_from_the_start(theatre, ann, sealer, after):
    run = await run_in_database_thread(started, sealer, ann)
    async with theatre.watch(ann, run_path(run, after)) as line:
        assert [event["seq"] for event in (await line.read())["events"]] == [1]


async def test_many_viewers_of_a_run_cost_no_more_reads_than_one(
    theatre, ann, sealer, monkeypatch
):
    run = await run_in_database_thread(started, sealer, ann)
    cookie = await run_in_database_thread(sign_in, ann)
    reads = []
    load_view = views.load_view
    lines = [theatre.line(run_path(run), cookie) for _ in range(30)]
    for line in lines:
        await line.connect()
        await line.read_until("start")
    theatre.hub.deliver(None)  # what is left of the start has been read, when it is quiet again
    for line in lines:
        assert await line.receive_nothing(timeout=0.01)
    monkeypatch.setattr(
        views, "load_view", lambda *given, **said: reads.append(1) or load_view(*given, **said)
    )
    for number in range(2, 5):
        await run_in_database_thread(write, sealer, changes(run, seqs=[number]))
        for line in lines:
            assert (await line.read_until("changes"))["events"][-1]["seq"] == number
    for line in lines:
        await line.disconnect()
    assert 3 <= len(reads) <= 9


async def test_a_viewer_who_does_not_read_is_dropped_and_others_go_on(
    theatre, ann, sealer, monkeypatch
):
    monkeypatch.setattr(feed, "MAX_WAITING", 3)
    run = await run_in_database_thread(started, sealer, ann)
    async with theatre.watch(ann, run_path(run)) as line:
        await line.read_until("start")
        (seat,) = theatre.hub._seats
        async with theatre.watch(ann, run_path(run)) as other:
            await other.read_until("start")
            for number in range(5):
                seat.mailbox.put(f'{{"type": "filler", "number": {number}}}')
            assert await line.read_end() == feed.SLOW.code
            await run_in_database_thread(write, sealer, changes(run, seqs=[2]))
            assert (await other.read_until("changes"))["events"][0]["seq"] == 2


CHANGES = {
    "signs out": (lambda _user: Session.objects.all().delete(), feed.SIGNED_OUT),
    "is deactivated": (
        lambda user: get_user_model().objects.filter(pk=user.pk).update(is_active=False),
        feed.SIGNED_OUT,
    ),
    "gets another password": (
        lambda user: get_user_model().objects.filter(pk=user.pk).update(password="!new"),
        feed.SIGNED_OUT,
    ),
    "loses a role": (lambda user: roles.set_roles(user, ["viewer"]), feed.RIGHTS_CHANGED),
    "comes into a team": (lambda user: MembershipFactory(user=user), feed.RIGHTS_CHANGED),
    "is in no team as the first is created": (lambda _user: TeamFactory(), feed.RIGHTS_CHANGED),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_connection_ends_when_its_user(name, theatre, ann):
    change_something, ending = CHANGES[name]
    async with theatre.watch(ann, "/live/approvals/") as line:
        await line.read()
        await run_in_database_thread(change_something, ann)
        assert await line.read_end() == ending.code


async def test_leaving_a_team_ends_the_connection(theatre, ann):
    team = await run_in_database_thread(TeamFactory)
    member = await run_in_database_thread(MembershipFactory, user=ann, team=team)
    async with theatre.watch(ann, RUNS) as line:
        await line.read()
        await run_in_database_thread(member.delete)
        assert await line.read_end() == feed.RIGHTS_CHANGED.code


async def test_choosing_another_team_ends_the_connection(theatre, ann):
    teams = [(await run_in_database_thread(MembershipFactory, user=ann)).team.pk for _ in range(2)]
    cookie = await run_in_database_thread(sign_in, ann)
    async with theatre.watch(ann, RUNS, cookie) as line:
        await line.read()
        await run_in_database_thread(choose_team, cookie, teams[1])
        assert await line.read_end() == feed.RIGHTS_CHANGED.code


def choose_team(cookie, team):
    session = SessionStore(cookie.partition("=")[2])
    session[callers.TEAM_KEY] = team
    session.save()


async def test_a_viewer_whose_run_is_deleted_is_told_so(theatre, ann, sealer):
    run = await run_in_database_thread(started, sealer, ann)
    async with theatre.watch(ann, run_path(run)) as line:
        await line.read_until("start")
        await run_in_database_thread(WorkflowExecution.objects.all().delete)
        theatre.hub.deliver(None)
        assert await line.read_end() == feed.UNKNOWN.code


async def test_a_viewer_who_sends_something_is_ended(theatre, ann):
    async with theatre.watch(ann, RUNS) as line:
        await line.read()
        await line.send_text("hello")
        assert await line.read_end() == feed.SILENT.code


async def test_a_full_process_asks_to_come_back_later(theatre, ann, monkeypatch):
    monkeypatch.setattr(hub, "VIEWERS", Bound(total=1, each=50))
    async with theatre.watch(ann, RUNS) as line:
        await line.read()
        async with theatre.watch(ann, RUNS) as second:
            assert await second.read_end() == feed.BUSY.code


async def test_a_user_has_at_most_so_many_connections_and_others_still_connect(
    theatre, ann, monkeypatch
):
    monkeypatch.setattr(hub, "VIEWERS", Bound(total=100, each=2))
    bob = await run_in_database_thread(UserFactory, username="bob")
    async with theatre.watch(ann, RUNS) as first, theatre.watch(ann, "/live/servers/") as second:
        await first.read()
        await second.read()
        async with theatre.watch(ann, RUNS) as third:
            assert await third.read_end() == feed.CROWDED.code
        async with theatre.watch(bob, RUNS) as other:
            assert (await other.read())["type"] == "start"
    async with theatre.watch(ann, RUNS) as again:
        assert (await again.read())["type"] == "start"


async def test_without_the_database_a_viewer_is_asked_to_come_back_later(
    theatre, ann, monkeypatch
):
    def fail(_session):
        raise OperationalError("connection refused")

    cookie = await run_in_database_thread(sign_in, ann)
    monkeypatch.setattr(routing, "load_viewer", fail)
    async with theatre.watch(ann, RUNS, cookie) as line:
        assert await line.read_end() == feed.BUSY.code


async def test_a_feed_says_when_it_lost_the_database_and_catches_up_after(
    theatre, ann, sealer, monkeypatch
):
    run = await run_in_database_thread(started, sealer, ann)

    def fail(*_given, **_said):
        raise OperationalError("connection refused")

    monkeypatch.setattr("gateway_project.live.feed.OUTAGE_RETRY_S", 0.01)
    async with theatre.watch(ann, run_path(run)) as line:
        await line.read_until("start")
        with monkeypatch.context() as patched:
            patched.setattr(views, "load_view", fail)
            theatre.hub.deliver(None)  # a load that began before may still succeed
            await line.read_until("stalled")
            await run_in_database_thread(
                write, sealer, changes(run, change("a"), seqs=[2], status=RunStatus.WAITING)
            )
        caught_up = await line.read_until("changes")
        assert caught_up["run"]["status"] == "waiting"


async def test_a_broken_feed_ends_its_viewers_and_is_made_anew(theatre, ann, sealer, monkeypatch):
    run = await run_in_database_thread(started, sealer, ann)
    async with theatre.watch(ann, run_path(run)) as line:
        await line.read_until("start")
        with monkeypatch.context() as patched:
            patched.setattr(run_feed.RunFeed, "_load_changes", None)
            theatre.hub.deliver(None)
            assert await line.read_end() == feed.FAILED.code
    async with theatre.watch(ann, run_path(run)) as line:
        assert (await line.read())["type"] == "start"


async def test_nothing_is_left_when_the_last_viewer_has_gone(theatre, ann):
    async with theatre.watch(ann, RUNS) as line:
        await line.read()
        assert theatre.hub.viewer_count == 1
    await theatre.settle()
    assert not theatre.hub._feeds
    assert not theatre.hub._feed_tasks
    assert theatre.hub._common is None
