from pathlib import Path

import pytest

from gateway_project.client_config import clients
from gateway_project.client_config.clients import PlatformFolders

DESKTOP = "Claude/claude_desktop_config.json"
HOME = {"HOME": "/home/ann"}


def found(client, *, platform="linux", windows=Path("/nowhere"), **environ):
    place = PlatformFolders(environ=HOME | environ, platform=platform, windows_users=windows)
    return clients.candidate_files(client, folders=place)


@pytest.mark.parametrize(
    ("platform", "environ", "path"),
    [
        ("darwin", {}, f"/home/ann/Library/Application Support/{DESKTOP}"),
        ("linux", {}, f"/home/ann/.config/{DESKTOP}"),
        ("linux", {"XDG_CONFIG_HOME": "/etc/ann"}, f"/etc/ann/{DESKTOP}"),
        ("linux", {"XDG_CONFIG_HOME": ""}, f"/home/ann/.config/{DESKTOP}"),
    ],
)
def test_claude_desktop_keeps_its_servers_where_the_platform_says(platform, environ, path):
    assert found("claude-desktop", platform=platform, **environ) == (Path(path),)


@pytest.mark.parametrize(
    ("client", "environ", "user"),
    [
        ("claude-code", {}, "/home/ann/.claude.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/srv/claude"}, "/srv/claude/.claude.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": ""}, "/home/ann/.claude.json"),
        ("codex", {}, "/home/ann/.codex/config.toml"),
        ("codex", {"CODEX_HOME": "/srv/codex"}, "/srv/codex/config.toml"),
        ("gemini", {}, "/home/ann/.gemini/settings.json"),
        ("gemini", {"GEMINI_CLI_HOME": "/srv"}, "/srv/.gemini/settings.json"),
        ("cursor", {}, "/home/ann/.cursor/mcp.json"),
        ("vscode", {}, "/home/ann/.config/Code/User/mcp.json"),
        ("zed", {}, "/home/ann/.config/zed/settings.json"),
    ],
)
def test_others_keep_them_in_the_project_and_with_the_user(
    tmp_path, monkeypatch, client, environ, user
):
    monkeypatch.chdir(tmp_path)
    project = tmp_path / clients.CLIENTS[client].project_file
    assert found(client, **environ) == (project, Path(user))


@pytest.mark.parametrize(
    ("platform", "environ", "path"),
    [
        ("linux", {}, "/home/ann/.config/goose/config.yaml"),
        ("darwin", {}, "/home/ann/.config/goose/config.yaml"),
        ("linux", {"XDG_CONFIG_HOME": "/etc/ann"}, "/etc/ann/goose/config.yaml"),
        ("linux", {"GOOSE_PATH_ROOT": "/srv/g"}, "/srv/g/config/config.yaml"),
    ],
)
def test_goose_keeps_its_servers_in_its_configuration(platform, environ, path):
    assert found("goose", platform=platform, **environ) == (Path(path),)


def test_windsurf_knows_no_projects():
    assert found("windsurf") == (Path("/home/ann/.codeium/windsurf/mcp_config.json"),)


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("vscode", "Library/Application Support/Code/User/mcp.json"),
        ("zed", ".config/zed/settings.json"),
    ],
)
def test_on_macos_the_editors_have_folders_of_their_own(client, path):
    assert found(client, platform="darwin")[1] == Path("/home/ann") / path


def test_other_editions_of_an_editor_are_found_where_they_are(tmp_path):
    insiders = tmp_path / ".config" / "Code - Insiders" / "User" / "mcp.json"
    insiders.parent.mkdir(parents=True)
    insiders.write_text("{}")
    assert found("vscode", HOME=str(tmp_path))[1:] == (
        tmp_path / ".config" / "Code" / "User" / "mcp.json",
        insiders,
    )


@pytest.mark.parametrize(
    ("client", "below"),
    [
        ("claude-desktop", f"AppData/Roaming/{DESKTOP}"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("zed", "AppData/Roaming/Zed/settings.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ],
)
def test_in_wsl_the_clients_of_windows_are_found_too(tmp_path, client, below):
    file = tmp_path / "ann" / below
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    (tmp_path / "Public").mkdir()
    assert file in found(client, windows=tmp_path, WSL_DISTRO_NAME="Debian")
    assert file not in found(client, windows=tmp_path)


def test_in_wsl_without_windows_drives_there_is_nothing_more():
    assert len(found("claude-desktop", WSL_DISTRO_NAME="Debian")) == 1


def test_without_a_home_in_the_environment_the_systems_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    place = PlatformFolders(environ={}, platform="linux")
    (path,) = clients.candidate_files("claude-desktop", folders=place)
    assert path.is_relative_to(tmp_path)


def test_an_unknown_client_is_an_error_that_names_the_known_ones():
    with pytest.raises(ValueError, match=r"'emacs' is not a known client.*claude-desktop"):
        clients.candidate_files("emacs")


def test_every_client_documents_how_to_reload_its_file():
    assert all(client.reload_hint for client in clients.CLIENTS.values())
