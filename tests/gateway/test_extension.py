"""Servers that are installed in Claude Desktop as extensions."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from gateway_project.client_config import extension
from gateway_project.client_config.read_config import UnreadableConfig, gather_servers
from tools.upstream.interpolate import interpolate_text

CONFIG = {"command": "python3", "args": ["${__dirname}/server.py"]}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install an extension; return what an import finds in its folder and in Claude Desktop."""
    claude = tmp_path / ".config/Claude"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(tmp_path)

    def _install(config, user_config=None, settings=None, **manifest):
        folder = claude / "Claude Extensions/local.mcpb.ann.notes"
        folder.mkdir(parents=True)
        server = {"type": "python", "mcp_config": config}
        document = {"name": "notes", "server": server, "user_config": user_config or {}}
        (folder / "manifest.json").write_text(json.dumps(document | manifest))
        if settings is not None:
            kept = claude / "Claude Extensions Settings/local.mcpb.ann.notes.json"
            kept.parent.mkdir()
            kept.write_text(json.dumps(settings))
        found = gather_servers("claude-desktop")
        alone = gather_servers(str(folder / "manifest.json"))
        assert found.entries == alone.entries == gather_servers(str(folder)).entries
        assert found.problems == alone.problems
        return found

    return _install


def test_an_extension_is_started_from_its_folder(install, tmp_path):
    (server,) = install(CONFIG).entries
    folder = tmp_path / ".config/Claude/Claude Extensions/local.mcpb.ann.notes"
    assert (server.name, server.command, server.args) == (
        "notes",
        "python3",
        (f"{folder}/server.py",),
    )
    assert (server.enabled, server.notes) == (True, ())


def test_settings_are_those_that_the_user_entered_else_the_defaults(install, tmp_path):
    config = CONFIG | {
        "args": ["${user_config.folders}", "--in=${user_config.base}", "${user_config.none}"],
        "env": {"DEEP": "${user_config.deep}", "NONE": "x${user_config.none}"},
    }
    options = {
        "folders": {"type": "directory", "multiple": True},
        "base": {"type": "directory", "default": "${HOME}/notes"},
        "deep": {"type": "boolean", "default": False},
        "none": {"type": "string"},
    }
    entered = {"folders": ["/a", "/b${x}"], "deep": True}
    (server,) = install(config, options, {"userConfig": entered}).entries
    args = [interpolate_text(arg, {}) for arg in server.args]
    assert args == ["/a", "/b${x}", f"--in={tmp_path}/notes"]
    assert server.env == {"DEEP": "true", "NONE": "x"}


@pytest.mark.parametrize("settings", [None, {"userConfig": {"token": "__encrypted__:c2VjcmV0"}}])
def test_a_secret_becomes_a_variable_that_has_to_be_set(install, settings):
    config = CONFIG | {"env": {"TOKEN": "Bearer ${user_config.token}"}}
    options = {"token": {"type": "string", "sensitive": True}}
    (server,) = install(config, options, settings).entries
    assert server.env == {"TOKEN": "Bearer ${TOKEN}"}
    assert "needs its setting 'token': set TOKEN" in server.notes[0]


def test_what_an_extension_passes_on_is_not_a_variable(install):
    (server,) = install(CONFIG | {"args": ["-c", "echo ${x}"]}).entries
    assert server.args == ("-c", "echo $${x}")


def test_an_extension_that_is_switched_off_is_registered_as_disabled(install):
    assert not install(CONFIG, settings={"isEnabled": False}).entries[0].enabled


def test_what_a_platform_overrides_holds_there(install):
    overrides = {"linux": {"command": "node"}, "darwin": {"command": "bun"}}
    (server,) = install(CONFIG | {"platform_overrides": overrides}).entries
    assert server.command == "node"


@pytest.mark.parametrize("config", [None, {"command": ""}, []])
def test_an_extension_that_cannot_be_started_is_named(install, config):
    found = install(config)
    assert found.entries == ()
    assert "server 'notes'" in found.problems[0]


def pack(path, **files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name.replace("_", "."))
            entry.external_attr = 0o755 << 16
            archive.writestr(entry, text)
    return str(path)


def test_a_packed_extension_is_unpacked_once_into_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREGATE_HOME", str(tmp_path / "home"))
    server = {"type": "binary", "mcp_config": {"command": "${__dirname}/run.sh"}}
    manifest = json.dumps({"name": "notes", "server": server})
    path = pack(tmp_path / "notes.mcpb", manifest_json=manifest, run_sh="#!/bin/sh")
    for _ in range(2):
        [entry] = gather_servers(path).entries
        assert entry.name == "notes"
        command = Path(entry.command)
        assert command.read_text() == "#!/bin/sh"
        assert os.access(command, os.X_OK)
    assert command.is_relative_to(tmp_path / "home/extensions")
    assert len(list((tmp_path / "home/extensions").iterdir())) == 1


@pytest.mark.parametrize(("limit", "why"), [(10**6, "no manifest.json"), (1, "too much")])
def test_an_archive_that_is_no_extension_is_not_unpacked(tmp_path, monkeypatch, limit, why):
    monkeypatch.setenv("FOREGATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(extension, "MAX_UNPACKED_BYTES", limit)
    files = {"manifest_json": "{}"} if limit == 1 else {"other_json": "{}"}
    path = pack(tmp_path / "notes.mcpb", **files)
    with pytest.raises(UnreadableConfig, match=why):
        gather_servers(path)
    (tmp_path / "notes.mcpb").write_bytes(b"PK")
    with pytest.raises(UnreadableConfig, match="cannot be unpacked"):
        gather_servers(path)
    assert not list((tmp_path / "home/extensions").iterdir())
