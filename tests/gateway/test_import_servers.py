import io
import json

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandError

from gateway_project.foundation import sealing
from gateway_project.management import complaints
from gateway_project.models import AuditEntry
from tests.factories import UserFactory
from tools.models import Server
from tools.store import servers

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def elsewhere(home, tmp_path, monkeypatch):
    """Work in an empty folder as a user without any client."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)


@pytest.fixture
def write(tmp_path):
    """Write a configuration; a text as it is, keywords as servers."""

    def _write(text=None, path="x.json", **entries):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"mcpServers": entries}) if text is None else text)
        return str(file)

    return _write


def run(origin, *options):
    """Return what the command writes to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    call_command("import_servers", "--from", origin, *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def report(origin, *options):
    return json.loads(run(origin, *options, "--json")[0])


def changes(found):
    return {server["name"]: server["change"] for server in found["servers"]}


def names():
    return set(Server.objects.values_list("name", flat=True))


GIT = {"command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "hunter2"}}
TIME = {"command": "mcp-server-time"}


def test_servers_are_registered_by_the_local_admin_with_their_secrets_sealed(write, home):
    origin = write(git=GIT, time=TIME)
    out, err = run(origin)
    assert err == ""
    assert out.splitlines() == [
        "     added  git",
        "     added  time",
        "Next: manage.py discover",
    ]
    git = Server.objects.get(name="git")
    assert (git.command, git.args, git.source) == ("uvx", ["mcp-server-git"], origin)
    assert servers.open_env(git, sealing.load_or_create(home)) == {"TOKEN": "hunter2"}
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


def test_an_import_brings_a_server_up_to_date_and_says_in_what(write):
    run(write(git=GIT, time=TIME))
    out, _ = run(write(git=GIT | {"command": "pipx", "env": {}}, time=TIME))
    assert "   updated  git (command, env)" in out.splitlines()
    assert " unchanged  time" in out.splitlines()[1]
    assert Server.objects.get(name="git").command == "pipx"


def test_servers_that_are_not_in_the_file_are_left_alone(write):
    run(write(git=GIT))
    run(write(time=TIME))
    assert names() == {"git", "time"}


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


def test_a_dry_run_says_in_what_a_server_would_change(write):
    run(write(git=GIT), "--trust", "git")
    (server,) = report(write(git=GIT | {"env": {}}), "--dry-run", "--trust", "none")["servers"]
    assert server == {"name": "git", "change": "update", "fields": ["trusted", "env"]}
    assert trusted() == {"git"}


def test_a_dry_run_makes_no_user_and_no_key_and_promises_nothing(write, home):
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
    with pytest.raises(CommandError, match=r"nowhere\.json does not exist"):
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


def test_a_name_that_stands_twice_is_named_and_the_others_are_imported(write):
    twice = '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "a": {"command": "z"}}}'
    _, err = run(write(twice))
    assert "'a' stands twice" in err
    assert names() == {"b"}


def test_where_no_entry_can_be_used_the_import_fails_and_says_why(write):
    with pytest.raises(CommandError, match="nothing could be imported"):
        run(write(bad={"command": 7}))


def test_an_empty_list_of_servers_is_said_to_be_empty(write):
    out, err = run(write())
    assert (out, err) == ("No servers in it; nothing to import.\n", "")
    assert report(write())["servers"] == []


def test_a_server_of_the_same_name_from_elsewhere_is_replaced_and_that_is_said(write):
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


def trusted():
    return set(Server.objects.filter(trusted=True).values_list("name", flat=True))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), set()),
        (("--trust", "none"), set()),
        (("--trust", "git"), {"git"}),
        (("--trust", "git", "--trust", "time"), {"git", "time"}),
        (("--trust", "all"), {"git", "time"}),
    ],
)
def test_only_what_a_person_names_is_trusted(write, options, expected):
    run(write(git=GIT, time=TIME), *options)
    assert trusted() == expected


def test_trusting_a_server_that_is_not_in_the_file_is_refused(write):
    with pytest.raises(CommandError, match="--trust gti: no such server in the file; it has git"):
        run(write(git=GIT), "--trust", "gti")
    assert names() == set()


def test_importing_again_without_a_word_keeps_what_was_trusted(write):
    run(write(git=GIT, time=TIME), "--trust", "git")
    run(write(git=GIT, time=TIME))
    assert trusted() == {"git"}
    run(write(git=GIT, time=TIME), "--trust", "time")
    assert trusted() == {"git", "time"}


def test_trust_can_be_withdrawn(write):
    run(write(git=GIT, time=TIME), "--trust", "all")
    out, _ = run(write(git=GIT, time=TIME), "--trust", "none", "--trust", "time")
    assert "   updated  git (trusted)" in out.splitlines()
    assert trusted() == {"time"}
    run(write(git=GIT, time=TIME), "--trust", "none")
    assert trusted() == set()


@pytest.fixture
def answer(monkeypatch):
    """Sit at a terminal and answer each question thus; returns how often it was asked."""
    asked = []

    def _answer(text):
        def reply(*prompt):
            assert prompt == (), "input() writes its prompt to stdout, which is for the report"
            asked.append(text)
            if text is EOFError:
                raise EOFError
            return text

        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", reply)
        return asked

    return _answer


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", set()),
        ("git", {"git"}),
        ("git, time", {"git", "time"}),
        ("git,time", {"git", "time"}),
        ("all", {"git", "time"}),
        ("nobody", set()),
        (EOFError, set()),
    ],
)
def test_on_a_terminal_it_is_asked_once_whom_to_trust(write, answer, said, expected):
    asked = answer(said)
    _, err = run(write(git=GIT, time=TIME))
    assert len(asked) == 1
    assert "Servers: git, time\n" in err
    assert trusted() == expected


def test_an_answer_that_names_no_server_is_said_to_have_no_effect(write, answer):
    answer("git, nobody")
    assert "no such server is in it: nobody" in run(write(git=GIT))[1]
    assert trusted() == {"git"}


def test_an_empty_answer_leaves_trust_as_it_is_and_none_withdraws_it(write, answer):
    run(write(git=GIT), "--trust", "git")
    answer("")
    run(write(git=GIT))
    assert trusted() == {"git"}
    answer("none")
    run(write(git=GIT))
    assert trusted() == set()


def test_asking_does_not_spoil_a_report_as_json(write, answer):
    answer("")
    assert changes(report(write(git=GIT))) == {"git": "added"}


@pytest.mark.parametrize("options", [("--dry-run",), ("--trust", "none")])
def test_one_who_only_looks_or_has_said_it_is_not_asked(write, answer, options):
    asked = answer("all")
    run(write(git=GIT), *options)
    assert asked == []


def test_where_there_is_no_server_nobody_is_asked(write, answer):
    asked = answer("all")
    run(write())
    assert asked == []


def test_a_server_that_the_client_switched_off_is_imported_switched_off(write):
    run(write(git=GIT | {"disabled": True}))
    assert not Server.objects.get().enabled


def test_a_server_remembers_the_whole_path_of_its_file(write, tmp_path, monkeypatch):
    write(git=GIT)
    monkeypatch.chdir(tmp_path)
    run("x.json")
    assert Server.objects.get().source == str(tmp_path / "x.json")


def test_the_servers_of_claude_desktop_are_found(write, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    write(path=".config/Claude/claude_desktop_config.json", git=GIT)
    assert changes(report("claude-desktop")) == {"git": "added"}
    assert Server.objects.get().source == "claude-desktop"


def test_the_servers_of_claude_code_are_those_of_project_folder_and_user(write, tmp_path):
    write(path="project/.mcp.json", git=GIT, both={"command": "from project"})
    local = {"local": {"command": "l"}, "git": {"command": "from local"}}
    user = {
        "mcpServers": {"user": TIME, "both": {"command": "from user"}},
        "projects": {str(tmp_path / "project"): {"mcpServers": local}},
    }
    write(json.dumps(user), path=".claude.json")
    run("claude-code")
    commands = dict(Server.objects.values_list("name", "command"))
    assert commands == {
        "git": "from local",  # a person's own entry for this folder wins, as in the client
        "both": "from project",
        "user": TIME["command"],
        "local": "l",
    }


@pytest.mark.parametrize("other", ["{}", '{"numStartups": 3}', "{broken"])
def test_a_file_of_claude_code_without_servers_does_not_spoil_the_other(write, other):
    write(path="project/.mcp.json", git=GIT)
    write(other, path=".claude.json")
    _, err = run("claude-code")
    assert ".claude.json: " in err
    assert names() == {"git"}


@pytest.mark.parametrize("client", ["claude-code", "claude-desktop"])
def test_a_client_that_is_not_there_is_one_line_that_says_where_it_was_looked_for(client):
    with pytest.raises(CommandError, match=f"no configuration of {client} at /"):
        run(client)


def complaint(origin):
    """Return the one line that `manage.py` ends with when the import fails."""
    try:
        run(origin)
    except CommandError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - as the top level does
        return complaints.explain(error)
    pytest.fail("the import succeeded")


@pytest.mark.parametrize("who", [{"is_active": False, "superuser": True}, {"staff": True}])
def test_a_local_admin_who_may_not_is_one_line_that_says_so(write, who):
    UserFactory(username="admin", **who)
    line = complaint(write(git=GIT))
    assert line is not None, "a traceback"
    assert "'admin'" in line
    assert "\n" not in line
    assert names() == set()


def test_a_broken_key_file_is_one_line_that_names_it(write, home):
    (home / "keys").mkdir(parents=True)
    (home / "keys" / "sealing.keys").write_text("rubbish")
    line = complaint(write(git=GIT))
    assert line is not None, "a traceback"
    assert "sealing.keys" in line
