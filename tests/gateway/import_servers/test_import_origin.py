"""Where an import of servers looks for them, and who may import."""

import json

import pytest
from django.core.management.base import CommandError

from gateway_project.management import error_text
from tests.factories import UserFactory
from tests.gateway.import_servers.importing import GIT, TIME, names, run
from tools.models import Server

pytestmark = pytest.mark.django_db


def test_a_server_remembers_the_whole_path_of_its_file(write, tmp_path, monkeypatch):
    write(git=GIT)
    monkeypatch.chdir(tmp_path)
    run("x.json")
    assert Server.objects.get().source == str(tmp_path / "x.json")


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


@pytest.mark.parametrize("client", ["claude-code", "claude-desktop"])
def test_a_missing_client_is_one_line_with_the_searched_paths(client):
    with pytest.raises(CommandError, match=f"no configuration of {client} at /"):
        run(client)


def complaint(origin):
    """Return the one line that `manage.py` ends with when the import fails."""
    try:
        run(origin)
    except CommandError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - as the top level does
        return error_text.explain_user_error(error)
    pytest.fail("the import succeeded")


@pytest.mark.parametrize("who", [{"is_active": False, "superuser": True}, {"staff": True}])
def test_a_local_admin_without_the_right_is_refused_in_one_line(write, who):
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
