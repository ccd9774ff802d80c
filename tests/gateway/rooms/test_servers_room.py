"""The rooms of servers: which there are, how they do, and what can be done about one."""

import html
import re
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from django.utils import timezone

from gateway_project.api import runtime
from gateway_project.console.rooms.servers import EMBEDDING_FOLLOWED
from gateway_project.foundation import sealing
from gateway_project.foundation.embedding_models import MINILM
from gateway_project.models import AuditEntry
from gateway_project.readiness import NotReady
from gateway_project.use_cases import discover_servers
from learning.memory.event import KIND_CODES, EventKind, EventOutcome
from learning.models import EpisodicEvent
from tests.factories import (
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    find_own_team,
)
from tests.gateway.rooms.conftest import browser
from tools.models import Server, ServerDiscovery, Tool, ToolEmbedding
from tools.registration import ServerRegistration
from tools.store.servers import register_servers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway")]
SERVERS = Path(__file__).resolve().parent.parent.parent / "servers"


def text_of(answer):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())).split())


def embed(tool):
    ToolEmbedding.objects.create(
        tool=tool,
        model=MINILM,
        content_hash=tool.definition.text_hash,
        dimensions=2,
        vector=[1.0, 0.0],
    )


def failing(name, **values):
    return ServerFactory(
        name=name,
        last_error=f"server '{name}': exited with code 1",
        last_error_at=timezone.now(),
        last_output=["a warning", "no TOKEN set"],
        **values,
    )


def called(tool, *, ms=100.0, outcome=EventOutcome.SUCCEEDED, ago=timedelta(), team=None):
    EpisodicEvent.objects.create(
        at=timezone.now() - ago, kind=KIND_CODES[EventKind.TASK_COMPLETE], session=1, team=team,
        tool=tool.pk, outcome=outcome.value, duration_ms=ms,
    )  # fmt: skip


def test_a_new_installation_says_how_to_get_servers(root, member):
    assert "Add servers" in text_of(root.get("/servers/"))
    assert "Only a superuser can add servers" in text_of(member.get("/servers/"))


def test_pages_of_servers_follow_how_many_new_tools_are_embedded(root):
    listed = ServerFactory(name="listed", discovered_at=timezone.now())
    first, second = ToolFactory(server=listed), ToolFactory(server=listed)
    embed(first)
    ToolFactory(server=ServerFactory(name="long-ago"))
    for page, tools in (("/servers/", 3), ("/servers/listed/", 2)):
        answer = root.get(page)
        assert f"Embedded 1 of {tools} tools" in text_of(answer)
        assert "console/servers.js" in answer.content.decode()
    assert "Embedded" not in text_of(root.get("/servers/long-ago/"))
    embed(second)
    assert "Embedded" not in text_of(root.get("/servers/listed/"))


def test_tools_that_nothing_embeds_are_not_followed_for_ever(root):
    ToolFactory(server=ServerFactory(discovered_at=timezone.now() - EMBEDDING_FOLLOWED))
    assert "Embedded" not in text_of(root.get("/servers/"))


def test_a_broken_server_never_looks_fine(root):
    ServerFactory(name="good", discovered_at=timezone.now())
    failing("bad")
    answer = root.get("/servers/")
    shown = answer.content.decode()
    assert "1 in trouble" in text_of(answer)
    assert shown.index("server-card--bad") < shown.index("server-card--ok")  # troubled first
    assert '<span class="badge badge--bad">failing</span>' in shown
    assert "exited with code 1" in shown


def test_the_list_shows_a_days_calls_of_the_team(member, root):
    tool, own = ToolFactory(server__name="git"), find_own_team("ann")
    for ms in (100.0, 300.0):
        called(tool, ms=ms, team=own)
    called(tool, outcome=EventOutcome.FAILED, ms=200.0, team=own)
    called(tool, outcome=EventOutcome.UNANSWERED, ms=9.0, ago=timedelta(days=2), team=own)
    called(tool, team=TeamFactory())
    shown = re.sub(r"\s", "", member.get("/servers/").content.decode())
    assert "<dd>4</dd>" in re.sub(r"\s", "", root.get("/servers/").content.decode())
    assert "<dt>calls,24h</dt><dd>3</dd>" in shown
    assert "<dt>errors</dt><dd>33%</dd>" in shown
    assert "<dt>p95</dt><dd>290ms</dd>" in shown


def test_servers_of_other_teams_are_not_shown(member, root):
    ServerFactory(name="theirs", team=TeamFactory())
    assert "theirs" not in member.get("/servers/").content.decode()
    assert member.get("/servers/theirs/").status_code == 404
    assert root.get("/servers/theirs/").status_code == 200


def test_a_broken_servers_page_says_why_with_what_it_wrote(root):
    failing("bad")
    text = text_of(root.get("/servers/bad/"))
    assert "What is wrong" in text
    assert "exited with code 1" in text
    assert "a warning no TOKEN set" in text


def test_only_superusers_are_shown_what_a_broken_server_wrote(member, root):
    failing("bad")
    for address in ("/", "/servers/", "/servers/bad/"):
        text = text_of(member.get(address))
        assert "superusers see the reason" in text
        assert "exited with code 1" not in text
        assert "no TOKEN set" not in text


def test_a_servers_page_says_how_its_calls_of_the_last_day_went_hour_by_hour(root, member):
    tool, own = ToolFactory(server__name="git"), find_own_team("ann")
    assert "the last 24 hours" not in text_of(root.get("/servers/git/"))
    hours = timedelta(hours=1)
    called(tool, team=own, ago=5.5 * hours)
    called(tool, team=own, ago=5.4 * hours, outcome=EventOutcome.UNANSWERED)
    called(tool, team=own, ago=2.5 * hours, outcome=EventOutcome.FAILED)
    called(tool, team=own, ago=25 * hours)
    called(tool, team=TeamFactory())
    called(ToolFactory(server__name="other"), ago=3.5 * hours)
    text = text_of(root.get("/servers/git/"))
    assert "4 calls in 3 of 24 hours; in 1 of them, some got no answer." in text
    assert "5 hours ago: 2 calls, 1 without an answer" in text
    assert "2 hours ago: 1 call, 1 ended with an error of the tool" in text
    assert "within the last hour: 1 call " in text
    assert "3 calls in 2 of 24 hours" in text_of(member.get("/servers/git/"))


def test_a_members_page_has_no_settings_and_no_actions(member, root, home):
    sealer = sealing.load_or_create_sealer(home)
    register_servers(
        [ServerRegistration(name="git", command="run-me", args=("--api-key", "s3cr3t-s3cr3t"),
                            env={"TOKEN": "hunter2-hunter2"})],
        sealer=sealer,
    )  # fmt: skip
    shown = member.get("/servers/git/").content.decode()
    assert "run-me" not in shown
    assert 'name="action"' not in shown
    for action in ("test", "discover", "change", "delete"):
        assert member.post("/servers/git/", {"action": action}).status_code == 403
    settings = root.get("/servers/git/").content.decode()
    assert "run-me" in settings
    assert "TOKEN" in settings
    assert "s3cr3t" not in settings
    assert "hunter2" not in settings


def test_secrets_that_no_key_opens_are_said_to_be_lost(root):
    server = ServerFactory(name="git")
    Server.objects.filter(pk=server.pk).update(env_sealed="gAAAA-not-ours")
    assert "no key of this installation opens them" in text_of(root.get("/servers/git/"))


def test_tools_of_a_server_are_listed_with_danger_and_state(root):
    server = ServerFactory(name="git")
    ToolFactory(server=server, name="log")
    ToolFactory(server=server, name="gone", enabled=False)
    ToolFactory(server__name="other", name="foreign")
    answer = root.get("/servers/git/")
    text = text_of(answer)
    assert "log" in text
    assert "disabled" in text
    assert "foreign" not in text
    assert "/tools/git:log/" in answer.content.decode()


def test_a_server_page_works_while_the_gateway_starts(root, monkeypatch):
    ServerFactory(name="git")

    def refuse(_request):
        raise NotReady("starting", "the gateway is still starting")

    monkeypatch.setattr(runtime, "load_effects", refuse)
    assert "the gateway is still starting" in text_of(root.get("/servers/git/"))
    assert root.get("/tools/").status_code == 200
    assert root.get("/playground/").status_code == 503


@pytest.mark.parametrize(
    ("given", "column", "value"),
    [
        ({"enabled": "no"}, "enabled", False),
        ({"trusted": "yes"}, "trusted", True),
        ({"price_per_call": ""}, "price_per_call", None),
        ({"price_per_call": "0.25"}, "price_per_call", 0.25),
        ({"call_timeout_s": " 900 "}, "call_timeout_s", 900),
        ({"call_timeout_s": ""}, "call_timeout_s", None),
    ],
)
def test_settings_are_changed_and_audited(root, given, column, value):
    server = ServerFactory(name="git", price_per_call=1, call_timeout_s=60)
    answer = root.post("/servers/git/", {"action": "change"} | given)
    assert answer.status_code == 302
    server.refresh_from_db()
    stored = getattr(server, column)
    assert (stored if stored is None or isinstance(stored, bool) else float(stored)) == value
    entry = AuditEntry.objects.get()
    assert entry.action == "server.changed"
    told = str(value) if column == "price_per_call" and value is not None else value
    assert entry.detail == {"changed": [column], column: told}


@pytest.mark.parametrize("price", ["much", "-1", "NaN", "1e9"])
def test_an_impossible_price_changes_nothing(root, price):
    ServerFactory(name="git", price_per_call=1)
    answer = root.post("/servers/git/", {"action": "change", "price_per_call": price}, follow=True)
    assert "Nothing was changed" in text_of(answer)
    assert Server.objects.get().price_per_call == 1


@pytest.mark.parametrize("limit", ["long", "0", "-1", "nan", "inf", "1000001"])
def test_an_impossible_time_limit_changes_nothing(root, limit):
    ServerFactory(name="git", call_timeout_s=60)
    answer = root.post("/servers/git/", {"action": "change", "call_timeout_s": limit}, follow=True)
    assert "Nothing was changed" in text_of(answer)
    assert Server.objects.get().call_timeout_s == 60


def test_a_server_is_deleted_only_with_its_name_typed(root):
    ServerFactory(name="git")
    kept = root.post("/servers/git/", {"action": "delete", "confirm": "gi"}, follow=True)
    assert "Nothing was deleted" in text_of(kept)
    assert Server.objects.exists()
    gone = root.post("/servers/git/", {"action": "delete", "confirm": "git"}, follow=True)
    assert "git was deleted" in text_of(gone)
    assert not Server.objects.exists()


def test_discovery_is_requested_and_the_page_follows_it(root):
    ServerFactory(name="git")
    answer = root.post("/servers/git/", {"action": "discover"}, follow=True)
    assert ServerDiscovery.objects.get().requested_at is not None
    assert AuditEntry.objects.get().action == "server.discovery_requested"
    shown = answer.content.decode()
    assert 'data-state="starting"' in shown
    assert 'data-follow="/live/servers/" data-only="git"' in shown
    ServerFactory(name="off", enabled=False)
    refused = root.post("/servers/off/", {"action": "discover"}, follow=True)
    assert "It is disabled" in text_of(refused)


def test_an_unknown_action_is_refused(root):
    ServerFactory(name="git")
    answer = root.post("/servers/git/", {"action": "explode"}, follow=True)
    assert "does not know that action" in text_of(answer)


committed = pytest.mark.django_db(transaction=True)


def served_by(script, **values):
    return ServerFactory(
        name=script, command=sys.executable, args=[str(SERVERS / f"{script}.py")], **values
    )


@committed
def test_a_test_shows_the_tools_and_stores_nothing(root, home):
    served_by("stateless", enabled=False)
    before = Server.objects.values().get()
    shown = text_of(root.post("/servers/stateless/", {"action": "test"}))
    assert "it answered" in shown
    assert "Not in the catalogue yet: " in shown
    assert "grow" in shown
    assert Server.objects.values().get() == before
    assert not Tool.objects.exists()
    assert not ServerDiscovery.objects.exists()
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject) == ("server.tested", "stateless")


@committed
def test_a_test_shows_why_a_server_fails_with_what_it_wrote(root, home):
    served_by("exits_at_once")
    shown = text_of(root.post("/servers/exits_at_once/", {"action": "test"}))
    assert "it failed" in shown
    assert "exited with code" in shown
    assert "What it wrote (stderr)" in shown
    assert Server.objects.get().last_error == ""


@committed
def test_a_test_shows_what_a_server_that_answers_wrote(root, home):
    writes = "loaded <b>3</b> plugins\n"
    begin = f"import runpy, sys; sys.stderr.write({writes!r}); sys.stderr.flush(); "
    run = f"runpy.run_path({str(SERVERS / 'legacy.py')!r}, run_name='__main__')"
    ServerFactory(name="talks", command=sys.executable, args=["-c", begin + run])
    shown = root.post("/servers/talks/", {"action": "test"}).content.decode()
    assert "it answered" in shown
    assert "loaded &lt;b&gt;3&lt;/b&gt; plugins" in shown
    assert Server.objects.get().last_output == []


@committed
def test_a_test_of_a_server_that_hangs_ends_in_bounded_time(root, home, monkeypatch):
    limited = partial(discover_servers.try_servers, limit_s=0.1)
    monkeypatch.setattr(discover_servers, "try_servers", limited)
    served_by("hangs_at_start")
    shown = text_of(root.post("/servers/hangs_at_start/", {"action": "test"}))
    assert "did not list its tools within 0.1 s" in shown


@pytest.mark.parametrize(
    "name", ["a/b", "add", "add/me", "progress", "..", "a/../b", "ünï çode", "5", "x?y#z%41", "a."]
)
def test_servers_of_any_name_have_a_page(root, name):
    ServerFactory(name=name)
    listed = root.get("/servers/").content.decode()
    (address,) = {
        found.replace("&amp;", "&")
        for found in re.findall(r'<a href="(/servers/[^"]*)">', listed)
        if found != "/servers/"
    }
    answer = root.get(address)
    assert answer.status_code == 200
    assert "it was never" not in text_of(answer)
    assert f"<title>{name}" in answer.content.decode() or name in text_of(answer)
    assert root.post(address, {"action": "change", "enabled": "no"}).status_code == 302
    assert not Server.objects.get().enabled


def test_a_server_needs_a_name(root):
    assert root.get("/servers/:/").status_code == 404


def test_a_member_sees_the_servers_of_the_team(db):
    team = TeamFactory(name="blue")
    ServerFactory(name="ours", team=team)
    seen = browser(MembershipFactory(team=team).user).get("/servers/").content.decode()
    assert "team blue" in seen
