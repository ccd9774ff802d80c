import io
import json
import sys
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.core.management.base import CommandError

from gateway_project.access.callers import UnknownUser
from gateway_project.mcp import rehearsal
from tests.factories import UserFactory


@pytest.fixture(autouse=True)
def elsewhere(home, tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "DATABASE_URL", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("connect_client", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_a_client_is_connected_to_this_installation_and_released_again(tmp_path, home):
    path = tmp_path / ".cursor" / "mcp.json"
    out, err = run("cursor")
    entry = json.loads(path.read_text())["mcpServers"]["foregate"]
    assert entry == {
        "command": sys.executable,
        "args": [str(Path(django_settings.BASE_DIR) / "manage.py"), "run_gateway"],
        "env": {"FOREGATE_HOME": str(home)},
    }
    assert err == ""
    assert f"{path}: connected" in out
    assert "Next: " in out
    assert "unchanged" in run("cursor")[0]
    assert "deleted" in run("cursor", "--undo")[0]
    assert not path.parent.exists()


def test_a_dry_run_shows_the_difference(tmp_path):
    out, _ = run("codex", "--dry-run")
    assert "+[mcp_servers.foregate]" in out
    assert "+tool_timeout_sec = 3600" in out
    assert "would be connected" in out
    assert not (tmp_path / ".codex").exists()


def test_the_first_answers_to_a_client_that_waits_little_are_prepared(home, monkeypatch):
    asked = []

    def rehearse(command, params, *, environ):
        asked.append((command[-1], params["clientInfo"]["name"], environ))

    monkeypatch.setattr(rehearsal, "rehearse", rehearse)
    monkeypatch.setenv("FOREGATE_LOG_LEVEL", "debug")  # of this command, not of the client
    run("codex", "--dry-run")
    run("codex")
    run("codex")
    run("codex", "--undo")
    [(command, client, environ)] = asked
    assert (command, client) == ("run_gateway", "codex-mcp-client")
    assert environ["FOREGATE_HOME"] == str(home)
    assert "PATH" in environ
    assert "FOREGATE_LOG_LEVEL" not in environ


def test_settings_of_other_servers_are_not_shown(tmp_path):
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    given = {"env": {"TOKEN": "ghp_0123456789"}, "headers": {"Authorization": "Bearer s3cret!"}}
    path.write_text(json.dumps({"mcpServers": {"other": {"command": "npx", **given}}}))
    shown = "".join(run("cursor", *how)[0] for how in ((), ("--undo",)))
    assert '"TOKEN": "…"' in shown
    assert "ghp_" not in shown
    assert "s3cret" not in shown
    assert "Next: restart Cursor" in shown
    assert "ghp_0123456789" in path.read_text()


def test_a_project_file_can_be_chosen(tmp_path):
    run("claude-code", "--project")
    entry = json.loads((tmp_path / "project" / ".mcp.json").read_text())["mcpServers"]
    assert entry["foregate"]["type"] == "stdio"
    with pytest.raises(CommandError, match="no project file"):
        run("windsurf", "--project")


def test_the_report_is_there_as_json_too(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text("{}")
    found = json.loads(run("vscode", "--file", str(path), "--json")[0])
    assert (found["change"], found["path"]) == ("connected", str(path))
    assert Path(found["backup"]).read_text() == "{}"
    assert Path(found["backup"]).parent.stat().st_mode & 0o077 == 0


def test_a_gateway_that_runs_is_reached_by_its_address(tmp_path):
    _, err = run("gemini", "--http", "http://localhost:8420/mcp")
    entry = json.loads((tmp_path / ".gemini" / "settings.json").read_text())["mcpServers"]
    assert entry["foregate"]["httpUrl"] == "http://localhost:8420/mcp"
    assert "FOREGATE_TOKEN" in err
    assert "deleted" in run("gemini", "--undo")[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gemini", "--http", "ftp://x"), "--http ftp://x: the address must begin with http"),
        (("claude-desktop", "--http", "http://localhost:8420/mcp"), "without --http"),
    ],
)
def test_an_impossible_request_is_one_line(arguments, said):
    with pytest.raises(CommandError, match=said):
        run(*arguments)


@pytest.mark.django_db
def test_a_user_must_be_there(tmp_path):
    with pytest.raises(UnknownUser, match="no active user 'ann'"):
        run("cursor", "--user", "ann")
    UserFactory(username="ann")
    run("cursor", "--user", "ann")
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["foregate"]
    assert entry["args"][-2:] == ["--user", "ann"]


def test_a_database_url_is_reported_but_not_written(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://me:hunter2@db/x")
    out, err = run("cursor")
    assert "DATABASE_URL is set here" in err
    assert "hunter2" not in (tmp_path / ".cursor" / "mcp.json").read_text() + out + err


def test_a_file_that_cannot_be_read_is_left_as_it_is(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{broken")
    with pytest.raises(CommandError, match=r"line 1, column 2: .*it was not changed"):
        run("cursor", "--file", str(path))
    assert path.read_text() == "{broken"
