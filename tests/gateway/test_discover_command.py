import json

import pytest
from django.core.management import CommandError, call_command

from gateway_project.management.commands import discover
from gateway_project.use_cases.refresh_catalogue import CatalogueRefresh
from tools.discover import DiscoveryResult
from tools.store.catalogue import ListingChanges

pytestmark = pytest.mark.django_db

GOOD = DiscoveryResult(
    server="git",
    tools=3,
    recorded=ListingChanges(added=("log",), changed=("push",), unchanged=1),
    warnings=("tool 'x' is listed [twice]",),
    duration_s=0.25,
)
BAD = DiscoveryResult(server="bad", error="server 'bad': [gone]")


@pytest.fixture(autouse=True)
def outcome(monkeypatch):
    """What the servers say, and how many tools get embedded."""
    told = {"servers": (GOOD, BAD), "unknown": ()}

    async def refresh(_config, *, names, on_done):
        for server in told["servers"]:
            on_done(server)
        return CatalogueRefresh(servers=told["servers"], unknown=told["unknown"])

    monkeypatch.setattr(discover, "refresh_catalogue", refresh)
    monkeypatch.setattr(discover, "embed_changed", lambda _: 3)
    return told


def test_each_server_gets_a_line_with_escaped_text(home, capsys):
    with pytest.raises(CommandError, match="1 of 2 servers failed; "):
        call_command("discover")
    printed = capsys.readouterr().out
    assert "git: 3 tools (1 new, 1 changed and quarantined) in 0.2 s" in printed
    assert "tool 'x' is listed [twice]" in printed
    assert "failed  server 'bad': [gone]" in printed


def test_the_report_holds_every_server(home, capsys):
    with pytest.raises(CommandError):
        call_command("discover", "--json")
    report = json.loads(capsys.readouterr().out)
    assert [(one["server"], one["ok"]) for one in report["servers"]] == [
        ("git", True),
        ("bad", False),
    ]
    assert report["servers"][0]["changed"] == ["push"]
    assert (report["embedded"], report["failed"]) == (3, 1)


def test_embedding_can_be_left_for_later(home, outcome, capsys):
    outcome.update(servers=(GOOD,))
    call_command("discover", "--json", "--no-embed")
    assert json.loads(capsys.readouterr().out)["embedded"] is None


@pytest.mark.parametrize(
    ("servers", "unknown", "said"),
    [((GOOD,), ("typo",), "typo"), ((BAD,), (), "doctor")],
)
def test_a_discovery_that_missed_a_server_is_an_error(home, outcome, servers, unknown, said):
    outcome.update(servers=servers, unknown=unknown)
    with pytest.raises(CommandError, match=said):
        call_command("discover")


def test_without_servers_it_says_how_to_add_some(home, outcome, capsys):
    outcome.update(servers=())
    call_command("discover")
    assert "import_servers" in capsys.readouterr().out
