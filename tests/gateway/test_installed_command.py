"""The command `foregate`: what it starts, what clients are told to start, and `up`."""

import importlib.util
import json
import plistlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command

from gateway_project import VERSION
from gateway_project.client_config import own_entry
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.client_config.own_entry import describe_own_launch, is_own_entry
from gateway_project.client_config.read_config import DetectedClient, ParsedConfig
from gateway_project.management.commands import service, up

ROOT = Path(__file__).resolve().parents[2]


def load(name):
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / "packaging" / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cli = load("launcher/cli.py")
build = load("build.py")


def make_executable(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_clients_start_the_link_that_upgrades_replace(tmp_path):
    target = make_executable(tmp_path / "tools" / "foregate-1" / "foregate")
    link = tmp_path / "bin" / "foregate"
    link.parent.mkdir()
    link.symlink_to(target)
    assert cli.find_own_command(str(link)) == [str(link)]


def test_clients_start_uvx_where_the_command_is_in_its_cache(tmp_path, monkeypatch):
    uvx = make_executable(tmp_path / "bin" / "uvx")
    monkeypatch.setenv("PATH", str(uvx.parent))
    cached = make_executable(tmp_path / "uv" / "archive-v0" / "x" / "bin" / "foregate")
    assert cli.find_own_command(str(cached)) == [str(uvx), "foregate"]


def test_a_module_is_started_as_one():
    started = cli.find_own_command(str(ROOT / "packaging" / "launcher" / "__main__.py"))
    assert started == [sys.executable, "-m", "foregate"]


@pytest.mark.parametrize("command", [["/home/ann/.local/bin/foregate"], ["/b/uvx", "foregate"]])
def test_the_entry_of_an_installation_names_its_command(monkeypatch, command):
    monkeypatch.setenv("FOREGATE_COMMAND", json.dumps(command))
    launch = describe_own_launch(base=ROOT, user="", url="", home=None)
    assert launch.command == (*command, "gateway")
    entry = ConfiguredServer(name="x", command=launch.command[0], args=launch.command[1:])
    assert is_own_entry(entry)


def test_a_checkout_names_its_interpreter(monkeypatch):
    monkeypatch.delenv("FOREGATE_COMMAND", raising=False)
    launch = describe_own_launch(base=ROOT, user="", url="", home=None)
    assert launch.command == (sys.executable, str(ROOT / "manage.py"), own_entry.GATEWAY_COMMAND)


@pytest.mark.parametrize(
    ("text", "installed"),
    [
        ("run `manage.py status`", "run `foregate status`"),
        ("`.venv/bin/python manage.py run_gateway` starts", "`foregate run_gateway` starts"),
        ('base / "manage.py"', 'base / "manage.py"'),
        ("/opt/fg/manage.py run_gateway", "/opt/fg/manage.py run_gateway"),
    ],
)
def test_texts_of_an_installation_name_its_command(text, installed):
    assert build.HINT.sub("foregate ", text) == installed


@pytest.fixture
def called(monkeypatch):
    """Commands that `up` runs, and two clients, one of which has nothing new."""
    ran = []
    monkeypatch.setattr(up, "call_command", lambda *args, **named: ran.append((args, named)))
    monkeypatch.setattr(up.migrate, "migrate_once", lambda: None)
    monkeypatch.setattr(up.overview, "list_server_names", lambda: frozenset({"known"}))

    def detect(client, *names):
        entries = tuple(ConfiguredServer(name=name, command="x") for name in names)
        return DetectedClient(
            client=client, path=Path("/f"), parsed=ParsedConfig(entries=entries, problems=())
        )

    found = (detect("cursor", "known"), detect("codex", "known", "new"))
    monkeypatch.setattr(up, "find_client_files", lambda: found)
    return ran


def test_up_imports_what_is_new_lists_tools_and_serves(called, capsys):
    call_command("up", yes=True)
    assert called == [
        (("import_servers",), {"origin": "codex"}),
        (("discover",), {}),
        (("run_console",), {}),
    ]
    assert "connect_client CLIENT" in capsys.readouterr().out


def test_up_imports_nothing_unasked(called, monkeypatch, capsys):
    monkeypatch.setattr(up.question, "is_terminal", lambda: False)
    call_command("up", no_console=True)
    assert called == [(("discover",), {})]
    assert "import_servers --from codex" in capsys.readouterr().out


def test_up_shows_the_demonstration(called):
    call_command("up", demo=True)
    assert called == [(("demo",), {"serve": True})]


def test_a_unit_of_systemd_quotes_what_it_would_expand():
    unit = service._make_unit(["/a b/foregate", "run_console"], {"FOREGATE_HOME": "/x%y$z"})
    assert b'ExecStart="/a b/foregate" "run_console"' in unit
    assert b'Environment="FOREGATE_HOME=/x%%y$$z"' in unit


def test_an_agent_of_launchd_starts_the_same():
    agent = plistlib.loads(service._make_agent(["/a b/foregate", "run_console"], {"A": "b"}))
    assert agent["ProgramArguments"] == ["/a b/foregate", "run_console"]
    assert agent["EnvironmentVariables"] == {"A": "b"}


def test_a_dry_run_of_service_writes_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(service.sys, "platform", "linux")
    call_command("service", "install", dry_run=True)
    assert "systemctl --user enable --now foregate.service" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_the_wheel_has_one_name_and_runs(tmp_path):
    subprocess.run(
        [sys.executable, ROOT / "packaging" / "build.py", "--out", tmp_path], check=True
    )
    (wheel,) = tmp_path.glob("foregate-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name.split("/")[0] for name in archive.namelist()}
        archive.extractall(tmp_path / "site")
    assert {name for name in names if not name.endswith(".dist-info")} == {"foregate"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "foregate", "help"],
        env={"PYTHONPATH": str(tmp_path / "site"), "FOREGATE_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "run_gateway" in done.stdout


def test_the_version_that_is_told_is_foregates_own():
    command = [sys.executable, str(ROOT / "manage.py"), "--version"]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    assert told.stdout == f"foregate {VERSION}\n"
