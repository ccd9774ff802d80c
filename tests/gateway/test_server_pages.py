"""What the admin shows of servers."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.factories import SEEN_AT, ServerFactory, ToolFactory
from tests.gateway.admin_pages import SERVER, page, sign_in_root
from tools.models import Server, ServerDiscovery
from tools.server_condition import LONGEST_ATTEMPT, ServerHistory, judge_condition
from tools.store import discoveries

LATER = SEEN_AT + timedelta(hours=1)
ERROR = "server 'bad': exited with code 1; its last output: <b>no token</b>"


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
def test_a_new_server_s_page_has_no_state_and_a_stored_one_leads_to_its_room(client):
    sign_in_root(client)
    server = ServerFactory(name="add")
    assert "Next contact" not in client.get(page(Server, "add")).content.decode()
    shown = client.get(page(Server, "change", server.pk)).content.decode()
    assert 'href="/servers/:/?name=add"' in shown


@pytest.mark.django_db
def test_a_server_added_in_the_console_is_due(client, home):
    sign_in_root(client)
    client.post(page(Server, "add"), SERVER)
    state = discoveries.load_states()["git"]
    now = datetime.now(UTC)
    assert state.due_at(now) == now
