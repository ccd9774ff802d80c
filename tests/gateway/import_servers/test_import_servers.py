"""What an import of servers stores and says."""

import pytest
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from gateway_project.foundation import sealing
from gateway_project.models import AuditEntry
from gateway_project.use_cases.refusals import InvalidEntry
from tests.factories import TeamFactory
from tests.gateway.import_servers.importing import GIT, TIME, changes, names, report, run
from tools.models import Server
from tools.store import launches

pytestmark = pytest.mark.django_db


def test_servers_are_registered_by_the_local_admin_with_their_secrets_sealed(write, home):
    origin = write(git=GIT, time=TIME)
    out, err = run(origin)
    assert err == ""
    assert out.splitlines() == [
        "     added  git",
        "     added  time",
        "A running gateway or console discovers them within seconds, otherwise the next one to "
        "start. Next: manage.py status; or manage.py discover to do it now",
    ]
    git = Server.objects.get(name="git")
    assert (git.command, git.args, git.source) == ("uvx", ["mcp-server-git"], origin)
    assert launches.open_env(git, sealing.load_or_create_sealer(home)) == {"TOKEN": "hunter2"}
    entry = AuditEntry.objects.get(subject="git")
    assert (entry.action, entry.actor, entry.kind) == ("server.registered", "admin", "command")
    assert "hunter2" not in out


def test_a_second_import_changes_nothing(write):
    origin = write(git=GIT)
    run(origin)
    before = list(Server.objects.values())
    assert changes(report(origin)) == {"git": "unchanged"}
    assert list(Server.objects.values()) == before
    assert AuditEntry.objects.count() == 1


def test_an_import_updates_a_server_and_lists_the_changes(write):
    run(write(git=GIT, time=TIME))
    out, _ = run(write(git=GIT | {"command": "pipx", "env": {}}, time=TIME))
    assert "   updated  git (command, env)" in out.splitlines()
    assert " unchanged  time" in out.splitlines()[1]
    assert Server.objects.get(name="git").command == "pipx"


def test_servers_are_imported_for_one_team(write):
    TeamFactory(name="red")
    run(write(git=GIT), "--team", "red")
    run(write(git=GIT | {"command": "pipx"}))
    assert Server.objects.get(name="git").team.name == "red"
    with pytest.raises(InvalidEntry, match="no team 'blue'"):
        run(write(time=TIME), "--team", "blue")
    assert names() == {"git"}


def test_a_dry_run_says_what_would_change_and_stores_nothing(write, home):
    run(write(git=GIT, time=TIME))
    AuditEntry.objects.all().delete()
    origin = write(git=GIT | {"command": "pipx"}, time=TIME, fetch={"command": "f"})
    found = report(origin, "--dry-run")
    assert found["dry_run"] is True
    assert changes(found) == {"git": "update", "time": "unchanged", "fetch": "add"}
    assert names() == {"git", "time"}
    assert Server.objects.get(name="git").command == "uvx"
    assert not AuditEntry.objects.exists()


def test_a_dry_run_creates_no_user_and_no_key(write, home):
    out, _ = run(write(git=GIT), "--dry-run")
    assert "Next:" not in out
    assert not get_user_model().objects.exists()
    assert not home.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {\n  "git": {"command": "x",,}\n}}', "line 2, column 26"),
        ("{}", "no mcpServers in it"),
        ("[1]", "expected"),
    ],
)
def test_a_broken_file_is_one_line_that_says_where(write, text, said):
    with pytest.raises(CommandError, match=said) as caught:
        run(write(text))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line_that_names_it():
    with pytest.raises(CommandError, match=r"nowhere\.json does not exist; name an existing file"):
        run("/nowhere.json")


def test_a_broken_entry_is_named_and_does_not_spoil_the_others(write):
    out, err = run(write(git=GIT, bad={"command": 7}, far={"url": "wss://x"}))
    assert "server 'bad': has no command" in err
    assert "server 'far': the address must begin with http" in err
    assert "git" in out
    assert names() == {"git"}


@pytest.mark.parametrize(
    "broken",
    [
        {" outer": TIME},
        {"n" * 101: TIME},
        {"nul": {"command": "a\x00b"}},
        {"nul": {"command": "x", "args": ["\x00"]}},
    ],
    ids=["outer space", "too long", "nul in command", "nul in args"],
)
def test_an_entry_that_breaks_a_rule_of_the_catalogue_does_not_spoil_the_others(write, broken):
    found = report(write(git=GIT, **broken))
    assert len(found["problems"]) == 1
    assert names() == {"git"}


def test_a_duplicate_name_is_reported_and_the_others_are_imported(write):
    twice = '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "a": {"command": "z"}}}'
    _, err = run(write(twice))
    assert "'a' is given twice" in err
    assert names() == {"b"}


def test_where_no_entry_can_be_used_the_import_fails_and_says_why(write):
    with pytest.raises(CommandError, match="nothing could be imported"):
        run(write(bad={"command": 7}))


def test_an_empty_server_list_is_reported(write):
    out, err = run(write())
    assert (out, err) == ("No servers in it; nothing to import.\n", "")
    assert report(write())["servers"] == []


def test_a_server_of_the_same_name_from_another_source_is_replaced_with_notice(write):
    first = write(git=GIT, time=TIME)
    run(first)
    second = write(path="y.json", git={"command": "other"}, time=TIME)
    found = report(second, "--dry-run")
    assert report(second)["warnings"] == found["warnings"]
    assert found["warnings"] == [
        f"server 'git' replaces another of that name, which came from {first}"
    ]
    assert Server.objects.get(name="git").command == "other"


def test_variables_that_are_not_set_are_named_and_the_server_imported(write, monkeypatch):
    monkeypatch.setenv("SET", "1")
    for name in ("REPO", "TOKEN"):
        monkeypatch.delenv(name, raising=False)
    entry = {
        "command": "${SET}",
        "args": ["${REPO}", "${OTHER:-x}"],
        "env": {"A": "${env:TOKEN}"},
    }
    found = report(write(git=entry))
    (warning,) = found["warnings"]
    assert warning.startswith("server 'git' refers to variables that are not set: TOKEN, REPO;")
    assert "OTHER" not in warning
    assert names() == {"git"}
