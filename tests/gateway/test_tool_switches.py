import json

import pytest

from gateway_project.client_config.read_config import find_client_files, gather_servers
from tools.tool_filter import ToolFilter

SERVER = {"command": "x"}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "GEMINI_CLI_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    return folder


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def on(client):
    return {entry.name for entry in gather_servers(client).entries if entry.enabled}


def of_claude(project, **own):
    write(project / ".mcp.json", {"mcpServers": {"shared": SERVER, "other": SERVER}})
    user = {"mcpServers": {"user": SERVER}, "projects": {str(project): own}}
    write(project.parent / ".claude.json", user)


def test_claude_code_switches_servers_off_for_a_project(project):
    of_claude(project, disabledMcpServers=["user", "other"])
    assert on("claude-code") == {"shared"}


def test_a_project_file_does_not_affect_user_settings(project):
    of_claude(project, disabledMcpjsonServers=["shared", "user"])
    assert on("claude-code") == {"other", "user"}


@pytest.mark.parametrize(
    "file", [".claude/settings.json", ".claude/settings.local.json", "../.claude/settings.json"]
)
def test_its_settings_switch_off_too(project, file):
    of_claude(project)
    write(project / file, {"disabledMcpjsonServers": ["shared"]})
    assert on("claude-code") == {"other", "user"}


@pytest.mark.parametrize("settings", ["{broken", "[]", '{"disabledMcpjsonServers": 7}', ""])
def test_empty_settings_disable_nothing(project, settings):
    of_claude(project)
    write(project / ".claude" / "settings.json", settings)
    assert on("claude-code") == {"shared", "other", "user"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"mcp": {"excluded": ["a"]}}, {"b"}),
        ({"mcp": {"allowed": ["a"]}}, {"a"}),
        ({"mcp": {"allowed": ["a", "b"], "excluded": ["b"]}}, {"a"}),
        ({"excludeMCPServers": ["b"]}, {"a"}),
        ({"allowMCPServers": ["b"]}, {"b"}),
        ({"mcp": []}, {"a", "b"}),
    ],
)
def test_geminis_lists_are_honoured(project, settings, expected):
    write(
        project / ".gemini/settings.json", {"mcpServers": {"a": SERVER, "b": SERVER}, **settings}
    )
    assert on("gemini") == expected


def off(client, server="git"):
    entries = {entry.name: entry for entry in gather_servers(client).entries}
    return entries[server].tools


@pytest.mark.parametrize(
    "file", [".claude/settings.json", ".claude/settings.local.json", "../.claude/settings.json"]
)
@pytest.mark.parametrize(
    ("rule", "excluded"),
    [
        ("mcp__git__push", ("push",)),
        ("mcp__git__push_*", ("push_*",)),
        ("mcp__git", ("*",)),
        ("mcp__git__*", ("*",)),
        ("mcp__*", ("*",)),
        ("mcp__gitlab__push", ()),
        ("Bash(git push:*)", ()),
    ],
)
def test_tools_that_claude_codes_settings_deny_stay_off(project, file, rule, excluded):
    write(project / ".mcp.json", {"mcpServers": {"git": SERVER}})
    write(project / file, {"permissions": {"deny": [rule]}})
    for origin in ("claude-code", ".mcp.json", str(project / ".mcp.json")):
        assert off(origin) == ToolFilter(exclude=excluded)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"tools": {"exclude": ["git__push"]}}, ToolFilter(exclude=("push",))),
        ({"excludeTools": ["push"]}, ToolFilter(exclude=("push",))),
        ({"tools": {"exclude": ["run_shell_command(rm)"]}}, ToolFilter()),
    ],
)
def test_tools_that_gemini_excludes_in_any_of_its_files_stay_off(project, settings, expected):
    write(project / ".gemini/settings.json", {"mcpServers": {"git": SERVER}})
    write(project.parent / ".gemini/settings.json", settings)
    assert off("gemini") == expected


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ({"tool_permissions": {"tools": {"mcp:git:push": {"default": "deny"}}}},
         ToolFilter(exclude=("push",))),
        ({"default_profile": "mine", "profiles": {"mine": {"context_servers": {"git": {
            "tools": {"push": False, "log": True}}}}}}, ToolFilter(exclude=("push",))),
        ({"profiles": {"write": {"enable_all_context_servers": False, "context_servers": {"git": {
            "tools": {"log": True}}}}}}, ToolFilter(include=("log",))),
        ({"profiles": {"ask": {"enable_all_context_servers": False}}}, ToolFilter()),
    ],
)  # fmt: skip
def test_tools_that_zeds_profile_leaves_out_stay_off(project, agent, expected):
    servers = {"context_servers": {"git": SERVER}, "agent": agent}
    write(project.parent / ".config/zed/settings.json", servers)
    assert off("zed") == expected


def test_foregates_own_entry_is_skipped_and_reported(project):
    own = {"command": "python", "args": ["/fg/manage.py", "run_gateway"]}
    write(project / ".cursor/mcp.json", {"mcpServers": {"foregate": own, "a": SERVER}})
    found = gather_servers("cursor")
    assert [entry.name for entry in found.entries] == ["a"]
    assert found.notes == ("server 'foregate' is Foregate itself and left out",)


def test_installed_clients_are_found_with_their_servers(project):
    write(project / ".cursor/mcp.json", {"mcpServers": {"a": SERVER}})
    write(project.parent / ".codex/config.toml", '[mcp_servers.b]\ncommand = "x"\n')
    write(project.parent / ".config/zed/settings.json", '// none\n{ "theme": "x", }')
    write(project.parent / ".gemini/settings.json", "{broken")
    found = {item.client: item for item in find_client_files()}
    assert set(found) == {"cursor", "codex", "zed", "gemini"}
    assert [entry.name for entry in found["codex"].parsed.entries] == ["b"]
    assert found["zed"].parsed.entries == ()
    assert found["gemini"].parsed is None
    assert "line 1" in found["gemini"].problem
