"""What the console shows of servers, and what a superuser can have done with them."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from gateway_project.console import server_pages
from gateway_project.models import AuditEntry
from gateway_project.use_cases import discover_servers
from tests.factories import SEEN_AT, ServerFactory, ToolFactory
from tests.gateway.admin_pages import SERVER, act, page, sign_in_root, sign_in_staff
from tools.models import Server, ServerDiscovery, Tool
from tools.server_condition import LONGEST_ATTEMPT, ServerHistory, judge_condition
from tools.store import discoveries

SERVERS = Path(__file__).resolve().parent.parent / "servers"
LATER = SEEN_AT + timedelta(hours=1)
ERROR = "server 'bad': exited with code 1; its last output: <b>no token</b>"
committed = pytest.mark.django_db(transaction=True)


def served_by(script, **values):
    return ServerFactory(
        name=script, command=sys.executable, args=[str(SERVERS / f"{script}.py")], **values
    )


def cells(client):
    """Return the list of servers as text, by name."""
    shown = client.get(page(Server, "changelist")).content.decode()
    rows = re.findall(r"<tr>(<td class=\"action-checkbox.*?)</tr>", shown, re.DOTALL)
    texts = [re.sub(r"<[^>]*>", " ", row) for row in rows]
    return {text.split()[0]: " ".join(text.split()) for text in texts}, shown


@pytest.mark.parametrize(
    ("past", "word"),
    [
        ({}, "never contacted"),
        ({"enabled": False, "last_error_at": SEEN_AT}, "disabled"),
        ({"discovered_at": SEEN_AT}, "up"),
        ({"last_connected_at": LATER, "last_error_at": SEEN_AT, "last_error": "x"}, "up"),
        ({"last_error_at": SEEN_AT, "last_error": "x"}, "failing"),
        ({"discovered_at": SEEN_AT, "last_error_at": LATER, "last_error": "x"}, "failing"),
        (
            {"last_error_at": SEEN_AT, "last_error": "x", "error_code": "sign_in_required"},
            "sign-in needed",
        ),
        ({"requested_at": LATER}, "starting"),
        ({"started_at": LATER, "last_error_at": SEEN_AT, "last_error": "x"}, "starting"),
        ({"started_at": LATER - LONGEST_ATTEMPT, "discovered_at": SEEN_AT}, "up"),
    ],
)
def test_a_servers_condition_follows_its_latest_record(past, word):
    judged = judge_condition(ServerHistory(**{"enabled": True} | past), now=LATER)
    assert judged.word == word
    assert bool(judged.reason) == (word in ("failing", "sign-in needed"))


@pytest.mark.django_db
def test_the_list_shows_each_servers_condition_in_words(client):
    sign_in_root(client)
    ToolFactory(server=ServerFactory(name="good", discovered_at=SEEN_AT, trusted=True))
    ServerFactory(name="bad", last_error=ERROR, last_error_at=LATER, trusted=True)
    ServerFactory(name="off", enabled=False)
    rows, shown = cells(client)
    assert " up 1 " in rows["good"]
    assert " failing since 2026-11-01 01:00:00 UTC " in rows["bad"]
    assert "exited with code 1" in rows["bad"]
    assert "<b>no token" not in shown
    assert " disabled " in rows["off"]
    assert "icon-yes" not in shown


@pytest.mark.django_db
def test_a_server_page_shows_state_error_and_stderr_first(client):
    sign_in_root(client)
    server = ServerFactory(
        name="bad", last_error=ERROR, last_error_at=LATER, last_output=["a warning", "E404"]
    )
    ServerDiscovery.objects.create(
        server=server, server_updated_at=server.updated_at, failures=2,
        failing_since=SEEN_AT, retry_at=LATER, error_code="server_exited",
    )  # fmt: skip
    shown = client.get(page(Server, "change", server.pk)).content.decode()
    state = shown[: shown.index('name="description"')]
    text = " ".join(re.sub(r"<[^>]*>", " ", state).split())
    assert "State: failing since 2026-11-01 00:00:00 UTC" in text
    assert "Next contact: 2026-11-01 01:00:00 UTC" in text
    assert "Stderr: a warning E404" in text
    assert "server &#x27;bad&#x27;: exited with code 1" in text
    assert "Last contact: never" in text


@pytest.mark.django_db
def test_a_new_server_s_page_has_no_state_and_nothing_to_test(client):
    sign_in_root(client)
    shown = client.get(page(Server, "add")).content.decode()
    assert "Discover now" not in shown
    assert "Next contact" not in shown


@pytest.mark.django_db
def test_the_buttons_of_a_server_are_no_part_of_the_form_that_saves_it(client):
    sign_in_root(client)
    server = ServerFactory()
    shown = client.get(page(Server, "change", server.pk)).content.decode()
    for action in ("test", "discover"):
        assert f'action="{reverse(f"server-{action}", args=[server.pk])}"' in shown
        assert f'form="server-{action}"' in shown
    form = shown[shown.index('<form id="server-test"') :]
    assert "_save" not in form


@committed
def test_a_connection_test_shows_the_tools_and_stores_nothing(client, home):
    sign_in_root(client)
    server = served_by("stateless", enabled=False)
    before = Server.objects.values().get()
    shown = client.post(reverse("server-test", args=[server.pk])).content.decode()
    assert "answered" in shown
    assert "Not in the catalogue yet: " in shown
    assert "grow" in shown
    assert Server.objects.values().get() == before
    assert not Tool.objects.exists()
    assert not ServerDiscovery.objects.exists()
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject) == ("server.tested", "stateless")


@committed
def test_a_connection_test_shows_the_failure_with_server_output(client, home):
    sign_in_root(client)
    server = served_by("exits_at_once")
    shown = client.post(reverse("server-test", args=[server.pk])).content.decode()
    assert "failed" in shown
    assert "exited with code" in shown
    assert "stderr" in shown
    assert Server.objects.get().last_error == ""


@committed
@pytest.mark.parametrize(
    ("writes", "shown_as"),
    [
        ("loaded <b>3</b> plugins\n", "loaded &lt;b&gt;3&lt;/b&gt; plugins"),
        ("", "No stderr output was captured"),
    ],
)
def test_a_successful_test_shows_server_output_too(client, home, writes, shown_as):
    sign_in_root(client)
    path = SERVERS / "legacy.py"
    begin = f"import runpy, sys; sys.stderr.write({writes!r}); sys.stderr.flush(); "
    run = f"runpy.run_path({str(path)!r}, run_name='__main__')"
    server = ServerFactory(name="talks", command=sys.executable, args=["-c", begin + run])
    shown = client.post(reverse("server-test", args=[server.pk])).content.decode()
    assert "answered" in shown
    assert shown_as in shown
    assert Server.objects.get().last_output == []


@committed
def test_a_test_of_a_server_that_hangs_ends_in_bounded_time(client, home, monkeypatch):
    limited = discover_servers.try_servers

    async def at_once(caller, names, *, config):
        return await limited(caller, names, config=config, limit_s=0.1)

    monkeypatch.setattr(server_pages.discover_servers, "try_servers", at_once)
    sign_in_root(client)
    server = served_by("hangs_at_start")
    shown = client.post(reverse("server-test", args=[server.pk])).content.decode()
    assert "did not list its tools within 0.1 s" in shown


@committed
def test_several_servers_are_tested_from_the_list(client, home):
    sign_in_root(client)
    shown = act(client, Server, "try_out", served_by("stateless"), served_by("exits_at_once"))
    assert "<h2>exits_at_once</h2>" in shown
    assert "<h2>stateless</h2>" in shown


@pytest.mark.django_db
def test_too_many_servers_are_not_tested_at_once(client):
    sign_in_root(client)
    chosen = [ServerFactory() for _ in range(server_pages.MAX_TESTED_SERVERS + 1)]
    assert "Choose at most 20 servers" in act(client, Server, "try_out", *chosen)


@pytest.mark.django_db
def test_discover_now_requests_a_discovery_and_shows_its_progress(client):
    sign_in_root(client)
    server = ServerFactory(name="git")
    answer = client.post(reverse("server-discover", args=[server.pk]), follow=True)
    shown = answer.content.decode()
    assert "starting" in shown
    assert 'http-equiv="refresh"' in shown
    assert ServerDiscovery.objects.get().requested_at is not None
    assert AuditEntry.objects.get().action == "server.discovery_requested"
    ServerDiscovery.objects.update(requested_at=None, server_updated_at=server.updated_at)
    Server.objects.update(last_error="<i>gone</i>", last_error_at=timezone.now())
    shown = client.get(answer.request["PATH_INFO"], {"server": ["git"]}).content.decode()
    assert "failing" in shown
    assert "&lt;i&gt;gone" in shown
    assert 'http-equiv="refresh"' not in shown


@pytest.mark.django_db
def test_the_progress_page_follows_how_many_tools_are_embedded(client):
    sign_in_root(client)
    ToolFactory(server=ServerFactory(name="git", discovered_at=timezone.now()))
    ToolFactory(server=ServerFactory(name="other"))
    shown = client.get(reverse("server-progress"), {"server": ["git"]}).content.decode()
    assert "Embedded 0 of 1 tools" in shown
    assert 'http-equiv="refresh"' in shown
    assert "is contacting the servers" not in shown


@pytest.mark.django_db
def test_discovering_a_disabled_server_is_refused_with_a_message(client):
    sign_in_root(client)
    off, on = ServerFactory(name="off", enabled=False), ServerFactory(name="on")
    assert "Server off is disabled" in act(client, Server, "discover", off, on)
    assert ServerDiscovery.objects.get().server == on
    assert "Server off is disabled" in act(client, Server, "discover", off)


@pytest.mark.django_db
@pytest.mark.parametrize("action", ["server-test", "server-discover"])
def test_only_superusers_can_start_servers(client, action):
    server = ServerFactory()
    sign_in_staff(client)
    assert client.post(reverse(action, args=[server.pk])).status_code == 403
    assert client.get(reverse("server-progress")).status_code == 403
    shown = client.get(page(Server, "change", server.pk)).content.decode()
    assert "Discover now" not in shown
    client.logout()
    assert client.post(reverse(action, args=[server.pk])).status_code == 302
    assert not ServerDiscovery.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_a_server_added_in_the_console_is_due(client, home):
    sign_in_root(client)
    client.post(page(Server, "add"), SERVER)
    state = discoveries.load_states()["git"]
    now = datetime.now(UTC)
    assert state.due_at(now) == now
