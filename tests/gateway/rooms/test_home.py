from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from gateway_project.access import one_time_password
from gateway_project.console.rooms import home as home_room
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from learning.memory.event import KIND_CODES, EventKind, EventOutcome
from learning.models import EpisodicEvent
from learning.report import Activity
from learning.store.activity import CallCounts
from tests.execution.stored import unknown
from tests.factories import ServerFactory, TeamFactory, ToolFactory, UserFactory, find_own_team
from tests.gateway.rooms.conftest import browser
from tools.models import Server
from tools.store import overview

pytestmark = pytest.mark.django_db
TODAY = date(2026, 11, 24)


def made_call(*, ms=100.0, team=None, outcome=EventOutcome.SUCCEEDED, at=None):
    return EpisodicEvent.objects.create(
        at=at or timezone.now(),
        kind=KIND_CODES[EventKind.TASK_COMPLETE],
        session=1,
        team=team,
        outcome=outcome.value,
        duration_ms=ms,
    )


def failing(**values):
    at = timezone.now()
    return ServerFactory(last_error="no TOKEN set", last_error_at=at, **values)


def up(**values):
    server = ServerFactory(**values)
    Server.objects.filter(pk=server.pk).update(
        last_connected_at=timezone.now(), discovered_at=timezone.now()
    )
    return server


def test_a_new_installation_is_shown_the_next_step_instead_of_charts(root):
    page = root.get("/").content.decode()
    assert "Add servers" in page
    assert "Connect a client" in page
    assert "chart-data" not in page


def test_members_of_a_new_installation_are_not_sent_to_pages_they_may_not_use(member):
    page = member.get("/").content.decode()
    assert "An admin of this installation adds them" in page


def test_troubled_servers_are_named_with_their_reason(root):
    up(name="good")
    failing(name="broken")
    response = root.get("/")
    page = response.content.decode()
    assert "Needs attention" in page
    assert "broken" in page
    assert "no TOKEN set" in page
    assert response.context["verdict"]["up"] == 1


def test_troubled_servers_beyond_the_first_are_counted(root):
    for number in range(8):
        failing(name=f"broken{number}")
    page = " ".join(root.get("/").content.decode().split())
    assert "2 more are in trouble" in page
    Server.objects.filter(name="broken7").delete()
    assert "1 more is in trouble" in " ".join(root.get("/").content.decode().split())


def test_a_run_of_unknown_outcome_waits_for_its_people(root, member, home):
    up()
    unknown(sealing.load_or_create_sealer(home, name=sealing.PAYLOADS))
    page = " ".join(root.get("/").content.decode().split())
    assert "Needs attention" in page
    assert "1 run made calls of which nobody knows" in page
    assert '/runs/?status=unknown"' in page
    assert "Needs attention" not in member.get("/").content.decode()


def test_what_a_server_says_of_its_error_cannot_run(root):
    failing_server = failing(name="evil")
    Server.objects.filter(pk=failing_server.pk).update(
        last_error="<script>alert(1)</script>\u202e" * 30
    )
    page = root.get("/").content.decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert" in page


def test_servers_of_other_teams_are_not_counted(member):
    failing(name="theirs", team=TeamFactory())
    up(name="shared")
    response = member.get("/")
    assert response.context["verdict"]["word"] == "All is well"
    assert b"theirs" not in response.content


def test_calls_are_counted_with_errors_and_durations(root):
    up()
    for ms in range(1, 101):
        made_call(ms=float(ms))
    made_call(outcome=EventOutcome.FAILED, ms=50.0)
    made_call(outcome=EventOutcome.UNANSWERED, ms=50.0)
    response = root.get("/")
    today = response.context["today"]
    assert (today["calls"], today["errors"]) == (102, 2)
    assert today["p95_ms"] == pytest.approx(95, abs=1)
    assert response.context["chart"]["calls"] == [0, 0, 0, 0, 0, 0, 102]


def test_figures_are_those_of_the_team_and_of_all_teams_for_a_superuser(root, member):
    made_call(team=TeamFactory())
    made_call(team=find_own_team("ann"))
    assert root.get("/").context["activity"].total.calls == 2
    assert member.get("/").context["activity"].total.calls == 1


def test_only_the_last_seven_days_count(root):
    made_call(at=timezone.now() - timedelta(days=8))
    assert root.get("/").context["activity"].total.calls == 0


def test_the_chart_has_every_day_also_those_without_calls():
    activity = Activity(
        days=(CallCounts(date(2026, 11, 20), 3, 1, 12.4), CallCounts(TODAY, 5, 0, None)),
        total=CallCounts(None, 8, 1, 12.4),
        saved_ahead_s=0.0,
        saved_parallel_s=0.0,
        runs=0,
    )
    chart = home_room.make_chart(activity, TODAY)
    assert chart["days"][0] == "2026-11-18"
    assert chart["days"][-1] == "2026-11-24"
    assert chart["calls"] == [0, 0, 3, 0, 0, 0, 5]
    assert chart["errors"] == [0, 0, 1, 0, 0, 0, 0]
    assert chart["p95_ms"] == [None, None, 12, None, None, None, None]
    now = datetime(2026, 11, 25, tzinfo=UTC)
    assert home_room.find_today(activity, now)["calls"] == 0


def test_health_is_said_in_words():
    up()
    servers = overview.load_server_summaries()
    assert home_room.describe_health(servers, unresolved=0)["word"] == "All is well"
    assert home_room.describe_health(servers, unresolved=1)["word"] == "Needs attention"
    failing()
    servers = overview.load_server_summaries()
    assert home_room.describe_health(servers, unresolved=0)["state"] == "warn"
    Server.objects.filter(last_error="").update(enabled=False)
    servers = overview.load_server_summaries()
    assert home_room.describe_health(servers, unresolved=0)["word"] == "No server answers"
    assert home_room.describe_health([], unresolved=0)["word"] == "No servers"


def test_tokens_saved_are_those_of_the_usable_tools_beside_the_gateways_own(settings):
    caller = Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="console")
    server = ServerFactory()
    for _ in range(100):
        ToolFactory(server=server)
    ToolFactory(server=server, pinned=False)
    ToolFactory(server=ServerFactory(team=TeamFactory()))
    saving = home_room.load_saving(caller)
    assert saving["tools"] == 100
    assert saving["saved"] == max(0, saving["listed"] - saving["shown"])
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"exposure": "full"})
    assert home_room.load_saving(caller)["saved"] == 0


def test_who_signed_in_with_a_one_time_password_is_told_to_set_a_lasting_one(db):
    user = UserFactory(username="ann")
    client = Client()
    user.set_unusable_password()
    user.save()
    client.force_login(user, backend=one_time_password.BACKEND)
    assert "Set a lasting password" in client.get("/").content.decode()
    assert "Set a lasting password" not in browser(user).get("/").content.decode()
    user.set_password("a lasting one")
    user.save()
    client.force_login(user, backend=one_time_password.BACKEND)
    assert "Set a lasting password" not in client.get("/").content.decode()
