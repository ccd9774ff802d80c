import json

import pytest

from gateway_project.client_config.read_config import (
    MissingConfig,
    UnreadableConfig,
    gather_servers,
)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """Work in a project folder of a user without any client."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return folder


def listed(**commands):
    return {"mcpServers": {name: {"command": command} for name, command in commands.items()}}


@pytest.fixture
def keep(tmp_path, project):
    """Keep the files of Claude Code: the project's, and the user's with local servers in it."""

    def _keep(*, shared=None, user=None, local=None):
        if shared is not None:
            (project / ".mcp.json").write_text(json.dumps(shared))
        if user is not None or local is not None:
            content = (user or {}) | ({"projects": {str(project): local}} if local else {})
            (tmp_path / ".claude.json").write_text(json.dumps(content))

    return _keep


def commands(found):
    return {entry.name: entry.command for entry in found.entries}


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({"local": "l", "shared": "s", "user": "u"}, "l"),
        ({"local": "l", "user": "u"}, "l"),
        ({"local": "l", "shared": "s"}, "l"),
        ({"shared": "s", "user": "u"}, "s"),
        ({"user": "u"}, "u"),
    ],
    ids=lambda value: "-".join(value),
)
def test_local_comes_before_project_before_user(keep, kept, expected):
    keep(**{scope: listed(git=command) for scope, command in kept.items()})
    found = gather_servers("claude-code")
    assert commands(found) == {"git": expected}
    assert found.problems == ()


def test_a_user_whose_project_has_an_empty_list_has_no_problem(keep):
    keep(shared=listed(git="s"), user={"numStartups": 3}, local=listed())
    found = gather_servers("claude-code")
    assert commands(found) == {"git": "s"}
    assert found.problems == ()


@pytest.mark.parametrize("broken", [".mcp.json", "../.claude.json"])
def test_a_broken_file_is_reported_and_does_not_affect_others(keep, project, broken):
    keep(shared=listed(git="s"), user=listed(git="u"))
    (project / broken).write_text("{broken")
    found = gather_servers("claude-code")
    assert len(found.entries) == 1
    (problem,) = found.problems
    assert broken.removeprefix("../") in problem


def test_if_no_file_is_usable_each_is_reported_in_one_line(keep, project):
    keep(shared={}, user={})
    (project / ".mcp.json").write_text("{broken")
    with pytest.raises(UnreadableConfig) as caught:
        gather_servers("claude-code")
    assert ".mcp.json: line 1" in str(caught.value)
    assert ".claude.json: no mcpServers" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_are_reported_with_the_searched_paths(tmp_path, project):
    with pytest.raises(UnreadableConfig) as caught:
        gather_servers("claude-code")
    assert str(caught.value) == (
        f"no configuration of claude-code at {project}/.mcp.json or {tmp_path}/.claude.json"
    )


def test_a_file_is_read_by_its_path_from_home_or_here(tmp_path, project):
    (tmp_path / "x.json").write_text(json.dumps(listed(git="home")))
    (project / "x.json").write_text(json.dumps(listed(git="here")))
    assert commands(gather_servers("~/x.json")) == {"git": "home"}
    assert commands(gather_servers("x.json")) == {"git": "here"}


def test_a_missing_file_is_one_line_that_names_the_clients_too():
    with pytest.raises(MissingConfig, match=r"claude_code does not exist.*or claude-code"):
        gather_servers("claude_code")


def test_an_unknown_home_folder_is_one_line_with_instructions():
    with pytest.raises(UnreadableConfig, match="no such user here; give the full path"):
        gather_servers("~nobody-of-that-name/x.json")


VSCODE_PLACES = [
    (".vscode/settings.json", {"mcp": {"servers": None}}),
    (".vscode/mcp.json", {"servers": None}),
    ("team.code-workspace", {"folders": [], "settings": {"mcp": {"servers": None}}}),
    (".devcontainer/devcontainer.json",
     {"customizations": {"vscode": {"mcp": {"servers": None}}}}),
    (".devcontainer.json",
     {"customizations": {"vscode": {"settings": {"mcp": {"servers": None}}}}}),
    ("../.config/Code/User/settings.json", {"editor.fontSize": 12, "mcp": {"servers": None}}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "document"), VSCODE_PLACES)
def test_every_place_where_vs_code_keeps_servers_is_read(project, monkeypatch, path, document):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    file = project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    servers = json.dumps({"git": {"command": "x", "args": ["${input:place}"]}})
    inputs = '"inputs": [{"id": "place", "default": "b"}]'
    text = json.dumps(document).replace('"servers": null', f'"servers": {servers}, {inputs}')
    file.write_text(text)
    for origin in ("vscode", str(file)):
        (entry,) = gather_servers(origin).entries
        assert (entry.name, entry.args) == ("git", ("${PLACE:-b}",))


@pytest.mark.parametrize(
    ("path", "document", "args"),
    [
        ("opencode.json", {"mcp": {"x": {"type": "local", "command": ["c", "{env:NONE}", "${A}"],
                                         "environment": {"B": "1"}}}}, ("${NONE:-}", "$${A}")),
        ("opencode.jsonc", {"mcp": {"servers": {"x": {"command": ["c"],
                                                      "environment": {"B": "1"}}}}}, ()),
        ("any.json", {"mcp": {"servers": {"x": {"command": "c", "args": ["${A}"],
                                                "env": {"B": "1"}}}}}, ("$${A}",)),
        ("amp/settings.json", {"amp.mcpServers": {"x": {"command": "c", "env": {"B": "1"}}}}, ()),
        (".kiro/settings/mcp.json", {"mcpServers": {"x": {"command": "c", "args": ["${a}"],
                                                          "env": {"B": "1"}}}}, ("$${a}",)),
    ],
)  # fmt: skip
def test_files_of_other_clients_are_read_where_they_are_named(project, path, document, args):
    file = project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
    (entry,) = gather_servers(str(file)).entries
    assert (entry.command, entry.args, entry.env) == ("c", args, {"B": "1"})
