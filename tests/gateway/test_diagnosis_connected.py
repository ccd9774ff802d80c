import json
import sys

import pytest

from gateway_project.diagnosis import check_clients
from gateway_project.foundation.config import Config
from tools.upstream.spec import ServerSpec

SPECS = (
    ServerSpec(name="git", command="uvx", args=("mcp-server-git",)),
    ServerSpec(name="far", transport="http", url="https://e.com/mcp"),
)


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "foregate"
    folder.mkdir()
    (folder / "manage.py").touch()
    return folder


@pytest.fixture
def cursor(tmp_path, monkeypatch):
    """Give Cursor these servers; returns its file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "foregate") if (tmp_path / "foregate").exists() else None
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()

    def write(**servers):
        path.write_text(json.dumps({"mcpServers": servers}))

    return write


def own(base, home, **fields):
    entry = {"command": sys.executable, "args": [str(base / "manage.py"), "run_gateway"]}
    return entry | {"env": {"FOREGATE_HOME": str(home)}} | fields


def found(base, home):
    return list(check_clients.check_clients(Config(home=home), base=base, specs=SPECS))


def test_a_client_that_starts_this_installation_is_right(base, tmp_path, cursor):
    cursor(foregate=own(base, tmp_path))
    (finding,) = found(base, tmp_path)
    assert (finding.check, finding.verdict) == ("client cursor", "ok")


def test_a_client_that_starts_the_installed_command_is_right(base, tmp_path, cursor, monkeypatch):
    for name in ("foregate", "other/foregate"):
        (tmp_path / "bin" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    command = str(tmp_path / "bin" / "foregate")
    monkeypatch.setenv("FOREGATE_COMMAND", json.dumps([command]))
    cursor(foregate=own(base, tmp_path, command=command, args=["gateway"]))
    (finding,) = found(base, tmp_path)
    assert finding.verdict == "ok"
    other = str(tmp_path / "bin" / "other" / "foregate")
    cursor(foregate=own(base, tmp_path, command=other, args=["gateway"]))
    (finding,) = found(base, tmp_path)
    assert (finding.verdict, f"another installation, {other}" in finding.detail) == (
        "warning",
        True,
    )


def test_a_client_that_also_starts_the_same_servers_is_a_warning(base, tmp_path, cursor):
    git = {"command": "uvx", "args": ["mcp-server-git"]}
    far = {"url": "https://e.com/mcp"}
    cursor(foregate=own(base, tmp_path), git=git, far=far, mine={"command": "x"})
    finding = found(base, tmp_path)[1]
    assert finding.verdict == "warning"
    assert "starts git, far beside Foregate" in finding.detail
    cursor(git=git)
    assert found(base, tmp_path) == []
    cursor(foregate=own(base, tmp_path), git=git | {"disabled": True})
    assert len(found(base, tmp_path)) == 1


@pytest.mark.parametrize(
    ("fields", "verdict", "said"),
    [
        ({"command": "/gone/python"}, "failure", "starts /gone/python, which no longer exists"),
        ({"args": ["/gone/manage.py", "run_gateway"]}, "failure", "connect_client cursor"),
        ({"env": {"FOREGATE_HOME": "/other"}}, "warning", "uses the data in /other"),
        ({"env": {}}, "warning", "uses the data in"),
    ],
)
def test_a_client_that_starts_something_else_gets_instructions(
    base, tmp_path, cursor, fields, verdict, said
):
    cursor(foregate=own(base, tmp_path, **fields))
    (finding,) = found(base, tmp_path)
    assert (finding.verdict, said in finding.detail) == (verdict, True), finding


def test_another_installation_is_distinguished_from_this_one(base, tmp_path, cursor):
    other = tmp_path / "other"
    other.mkdir()
    (other / "manage.py").touch()
    cursor(foregate=own(other, tmp_path))
    (finding,) = found(base, tmp_path)
    assert "starts another installation" in finding.detail


def test_a_client_that_reaches_a_running_gateway_is_right(base, tmp_path, cursor):
    cursor(foregate={"url": "http://localhost:8420/mcp"})
    assert found(base, tmp_path)[0].detail == "connected to http://localhost:8420/mcp"


def test_a_file_that_cannot_be_read_is_a_warning(base, tmp_path, cursor):
    cursor()
    (tmp_path / ".cursor" / "mcp.json").write_text("{broken")
    (finding,) = found(base, tmp_path)
    assert "line 1, column 2" in finding.detail
