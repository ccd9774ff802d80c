from pathlib import Path

import pytest

from gateway_project.client_config import locate

DESKTOP = "claude_desktop_config.json"


@pytest.mark.parametrize(
    ("platform", "environ", "path"),
    [
        ("darwin", {}, f"/home/ann/Library/Application Support/Claude/{DESKTOP}"),
        ("linux", {}, f"/home/ann/.config/Claude/{DESKTOP}"),
        ("linux", {"XDG_CONFIG_HOME": "/etc/ann"}, f"/etc/ann/Claude/{DESKTOP}"),
        ("linux", {"XDG_CONFIG_HOME": ""}, f"/home/ann/.config/Claude/{DESKTOP}"),
    ],
)
def test_claude_desktop_keeps_its_servers_where_the_platform_says(platform, environ, path):
    found = locate.candidates(
        locate.CLAUDE_DESKTOP, environ={"HOME": "/home/ann"} | environ, platform=platform
    )
    assert found == (Path(path),)


@pytest.mark.parametrize(
    ("environ", "user"),
    [
        ({}, "/home/ann/.claude.json"),
        ({"CLAUDE_CONFIG_DIR": "/srv/claude"}, "/srv/claude/.claude.json"),
        ({"CLAUDE_CONFIG_DIR": ""}, "/home/ann/.claude.json"),
    ],
)
def test_claude_code_keeps_them_in_the_project_and_with_the_user(
    tmp_path, monkeypatch, environ, user
):
    monkeypatch.chdir(tmp_path)
    found = locate.candidates(locate.CLAUDE_CODE, environ={"HOME": "/home/ann"} | environ)
    assert found == (tmp_path / ".mcp.json", Path(user))


def test_without_a_home_in_the_environment_the_systems_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (found,) = locate.candidates(locate.CLAUDE_DESKTOP, environ={}, platform="linux")
    assert found.is_relative_to(tmp_path)


def test_an_unknown_client_is_an_error_that_names_the_known_ones():
    with pytest.raises(ValueError, match=r"'emacs' is not a known client.*claude-desktop"):
        locate.candidates("emacs")
