import itertools
import json
import re
from pathlib import Path

import pytest

from gateway_project.client_config import raw_file, read_config
from gateway_project.client_config.clients import CLIENTS
from gateway_project.client_config.read_config import (
    ConfiguredServer,
    UnreadableConfig,
    parse_config,
)
from tools.tool_filter import ToolFilter

EXPECTED = r'expected \{"mcpServers"'


def servers(**entries):
    return json.dumps({"mcpServers": entries})


def parsed(**entries):
    return parse_config(servers(**entries), source="x.json")


def test_an_entry_is_read_with_everything_in_it():
    found = parsed(
        git={
            "type": "stdio",
            "command": "uvx",
            "args": ["mcp-server-git", 7],
            "env": {"TOKEN": "${TOKEN}", "PORT": 80},
            "cwd": "/srv",
            "timeout": 5,
            "note": "mine",
        }
    )
    assert found.problems == ()
    assert found.entries == (
        ConfiguredServer(
            name="git",
            command="uvx",
            args=("mcp-server-git", "7"),
            env={"TOKEN": "${TOKEN}", "PORT": "80"},
            cwd="/srv",
            extra={"timeout": 5, "note": "mine"},
            notes=(
                "has timeout, which is not taken over: its unit is not known; set the server's "
                "call_timeout_s",
                "has keys that Foregate does not know: note",
            ),
        ),
    )


@pytest.mark.parametrize("field", ["args", "env", "cwd"])
def test_null_means_omitted(field):
    assert parsed(git={"command": "git", field: None}).entries == (
        ConfiguredServer(name="git", command="git"),
    )


def test_a_server_disabled_in_the_client_stays_disabled():
    assert not parsed(git={"command": "git", "disabled": True}).entries[0].enabled
    assert parsed(git={"command": "git", "disabled": False}).entries[0].enabled


@pytest.mark.parametrize("flag", [True, False])
def test_a_boolean_is_written_as_json_writes_it(flag):
    entry = parsed(git={"command": "git", "args": [flag], "env": {"DEBUG": flag}}).entries[0]
    assert entry.args == (json.dumps(flag),)
    assert entry.env == {"DEBUG": json.dumps(flag)}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("bad", "uvx", "must be an object"),
        ("bad", None, "must be an object"),
        ("bad", {}, "has no command"),
        ("bad", {"command": "  "}, "has no command"),
        ("bad", {"command": []}, "has no command"),
        ("bad", {"url": "unix:///tmp/x"}, "http:// or https://"),
        ("bad", {"serverUrl": "https://me:pw@x"}, "user or password"),
        ("bad", {"httpUrl": ["https://x"]}, "httpUrl must be a string"),
        ("bad", {"type": "http"}, "http:// or https://"),
        ("bad", {"type": "ws", "url": "wss://x"}, "WebSocket"),
        ("bad", {"type": "pigeon", "url": "https://x"}, "unknown type: 'pigeon'"),
        ("bad", {"type": 7, "url": "https://x"}, "unknown type"),
        ("bad", {"url": "https://x", "headers": ["A"]}, "headers must be an object of strings"),
        ("bad", {"url": "https://x", "headers": {"A B": "1"}}, "not a valid header name"),
        ("bad", {"url": "https://x", "headers": {"A": "1\r\nB: 2"}}, "line break"),
        ("bad", {"command": "x", "args": "-v"}, "args must be a list of strings"),
        ("bad", {"command": "x", "args": [["-v"]]}, "args must be a list of strings"),
        ("bad", {"command": "x", "env": ["A=1"]}, "env must be an object of strings"),
        ("bad", {"command": "x", "env": {"A": {}}}, "env must be an object of strings"),
        ("bad", {"command": "x", "cwd": 7}, "cwd must be a string"),
        ("a:b", {"command": "x"}, "not contain a colon"),
        ("", {"command": "x"}, "rename it"),
        (" ", {"command": "x"}, "rename it"),
        ("a\tb", {"command": "x"}, "control character"),
        (" outer", {"command": "x"}, "rename it"),
        ("n" * 101, {"command": "x"}, "rename it"),
        ("bad", {"command": "a\x00b"}, "'bad'"),
        ("bad", {"command": "x", "args": ["a\x00b"]}, "'bad'"),
        ("bad", {"command": "x", "env": {"A": "\x00"}}, "'bad'"),
        ("bad", {"command": "x", "env": {"A=B": "1"}}, "'bad'"),
        ("bad", {"command": "\ud800"}, "'bad'"),
        ("bad", {"command": "x", "note": float("nan")}, "'bad'"),
    ],
)
def test_a_broken_entry_is_reported_and_does_not_affect_others(name, value, said):
    found = parsed(good={"command": "git"}, **{name: value})
    assert [entry.name for entry in found.entries] == ["good"]
    (problem,) = found.problems
    assert problem.startswith(f"x.json: server {name!r}: ")
    assert said in problem
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"mcpServers": {\n  "git": {"command": "x",,}\n}}', "line 2, column 26"),
        ('{\n"mcpServers": {} / none\n}', "line 2, column 18"),
        ('{"mcpServers": {}, /* open', "line 1, column 20"),
        ("{'mcpServers': {}}", "line 1, column 2"),
        ('{"mcpServers" {}}', "line 1, column 15"),
        ('{"mcpServers": {"a": [1 2]} // x\n}', "line 1, column 25"),
        ('{"mcpServers": {}} x', "line 1, column 20"),
    ],
)
def test_broken_json_is_named_with_its_line_and_column(text, where):
    with pytest.raises(UnreadableConfig, match=f"x.json: {where}: .*; fix the JSON"):
        parse_config(text, source="x.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", EXPECTED),
        ("7", EXPECTED),
        ("{}", "no mcpServers in it"),
        ("", "no mcpServers in it"),
        ("// only a comment", "no mcpServers in it"),
        ('{"mcp_servers": []}', "must be an object"),
        ('{"mcpServers": NaN}', "must be an object"),
        ('{"mcpServers": []}', "must be an object"),
        ('{"mcpServers": "x"}', "must be an object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"mcpServers": {"a": {"command": "x", "n": ' + "9" * 5_000 + "}}}", "x.json"),
    ],
    ids=lambda value: value[:30],
)
def test_an_invalid_server_list_is_one_line_with_the_expected_form(text, said):
    with pytest.raises(UnreadableConfig, match=said) as caught:
        parse_config(text, source="x.json")
    assert "\n" not in str(caught.value)


FLAT = {"time": {"command": "uvx"}, "web": {"url": "https://x.example/mcp"}}


@pytest.mark.parametrize(
    ("name", "document", "names"),
    [
        (".mcp.json", FLAT, ["time", "web"]),
        ("any.json", FLAT, ["time", "web"]),
        (".mcp.json", {"mcp_servers": FLAT}, ["time", "web"]),
        (".mcp.json", {"inputs": [], "servers": FLAT}, ["time", "web"]),
        ("crush.json", {"$schema": "x", "mcp": FLAT}, ["time", "web"]),
        (".mcp.json", {"mcpServers": {"command": {"command": "x"}}}, ["command"]),
        ("any.json", {"mcpServers": {"command": {"command": "x"}}}, ["command"]),
    ],
)
def test_a_named_file_is_read_in_whatever_form_it_has(tmp_path, name, document, names):
    file = tmp_path / name
    file.write_text(json.dumps(document))
    found = read_config.read_config(file)
    assert ([entry.name for entry in found.entries], found.problems) == (names, ())


def test_a_file_of_a_client_holds_what_the_client_would_start(tmp_path):
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps(FLAT))
    with pytest.raises(read_config.NoServerList, match="no mcpServers"):
        read_config.read_config(file, client=CLIENTS["claude-code"])


@pytest.mark.parametrize("text", ["{}", '{"time": {}}', '{"a": {"command": "x"}, "b": 1}'])
def test_a_file_of_a_client_without_servers_is_described_as_the_clients(tmp_path, text):
    file = tmp_path / ".vscode" / "mcp.json"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(read_config.NoServerList, match=r'expected \{"servers"'):
        read_config.read_config(file)


def test_a_file_of_goose_is_read_without_what_is_part_of_goose(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(
        "GOOSE_MODE: auto\nextensions:\n"
        "  developer: {type: builtin, name: developer, enabled: true, bundled: true}\n"
        "  todo: {type: platform, name: todo, enabled: true}\n"
        "  time:\n    type: stdio\n    name: Time\n    enabled: false\n    cmd: uvx\n"
        "    args: [mcp-server-time, --tz=$HOME, 8]\n    envs: {A: $B}\n    env_keys: [API_KEY]\n"
        "    available_tools: []\n    timeout: 300\n"
        "  wiki:\n    type: streamable_http\n    name: wiki\n    enabled: true\n"
        "    uri: https://wiki.example/${ROOM}\n    headers: {X-Key: $KEY, X-Token: '${TOKEN}'}\n"
        "    envs: {KEY: k1, ROOM: r1}\n    env_keys: [TOKEN]\n    available_tools: [read]\n"
    )
    found = read_config.read_config(file)
    assert found.problems == ()
    time, wiki = found.entries
    assert (time.name, time.command, time.enabled) == ("time", "uvx", False)
    assert time.args == ("mcp-server-time", "--tz=$HOME", "8")
    assert time.env == {"A": "$B", "API_KEY": "${API_KEY}"}
    assert (time.call_timeout_s, time.tools, time.notes) == (300, ToolFilter(), ())
    assert (wiki.transport, wiki.url) == ("http", "https://wiki.example/r1")
    assert wiki.headers == {"X-Key": "k1", "X-Token": "${TOKEN}"}
    assert wiki.tools == ToolFilter(include=("read",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("extensions: [", "line 1, column 14"),
        ("a: 1\na: 2\n", "line 2: 'a' is given twice; fix the YAML"),
        ("extensions: 7", "extensions must be an object"),
        ("GOOSE_MODE: auto", "expected extensions: with the name of each"),
        ("- a", "expected extensions: with the name of each"),
        ("a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n"
            for a, b in itertools.pairwise("abcdefgh")), "more than 100,000 values"),
    ],
)  # fmt: skip
def test_yaml_that_cannot_be_used_is_refused_in_one_line(tmp_path, text, said):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(UnreadableConfig, match=re.escape(said)) as caught:
        read_config.read_config(file)
    assert "\n" not in str(caught.value)


def test_a_duplicate_name_is_a_problem_and_neither_is_imported():
    text = '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "a": {"command": "z"}}}'
    found = parse_config(text, source="x.json")
    assert [entry.name for entry in found.entries] == ["b"]
    assert found.problems == ("x.json: 'a' is given twice; rename one of the two",)


def test_a_repeated_key_that_is_no_server_is_no_problem_of_the_servers():
    text = '{"x": {"command": 1}, "x": 2, "mcpServers": {"a": {"command": "x", "command": "y"}}}'
    found = parse_config(text, source="x.json")
    assert found.problems == ()
    assert found.entries[0].command == "y"


BY_PROJECT = json.dumps(
    {
        "mcpServers": {"user": {"command": "u"}, "both": {"command": "from user"}},
        "projects": {
            "/here": {"mcpServers": {"local": {"command": "l"}, "both": {"command": "local"}}},
            "/there": {"mcpServers": {"other": {"command": "o"}}},
            "/none": {},
            "/odd": [],
            "/odder": {"mcpServers": None},
        },
    }
)


@pytest.mark.parametrize(
    ("project", "commands"),
    [
        (None, {"user": "u", "both": "from user"}),
        ("/here", {"user": "u", "both": "local", "local": "l"}),
        ("/there", {"user": "u", "both": "from user", "other": "o"}),
        ("/none", {"user": "u", "both": "from user"}),
        ("/odd", {"user": "u", "both": "from user"}),
        ("/odder", {"user": "u", "both": "from user"}),
        ("/elsewhere", {"user": "u", "both": "from user"}),
    ],
)
def test_a_projects_own_servers_come_before_the_users(project, commands):
    found = parse_config(
        BY_PROJECT, source="x", project=None if project is None else Path(project)
    )
    assert {entry.name: entry.command for entry in found.entries} == commands
    local = {name for name, command in commands.items() if command in {"l", "local", "o"}}
    assert {entry.name for entry in found.entries if entry.is_project_local} == local


def test_a_duplicate_user_name_does_not_matter_to_a_project_with_its_own():
    text = (
        '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}, '
        '"projects": {"/here": {"mcpServers": {"a": {"command": "z"}}}}}'
    )
    found = parse_config(text, source="x.json", project=Path("/here"))
    assert [(entry.command, entry.is_project_local) for entry in found.entries] == [("z", True)]
    assert found.problems == ()
    assert len(parse_config(text, source="x.json").problems) == 1


@pytest.mark.parametrize("servers_of_project", [[], "x"])
def test_a_project_whose_servers_are_no_object_is_an_error(servers_of_project):
    text = json.dumps({"projects": {"/here": {"mcpServers": servers_of_project}}})
    with pytest.raises(UnreadableConfig, match="must be an object"):
        parse_config(text, source="x", project=Path("/here"))


def test_duplicates_in_another_project_are_ignored():
    text = (
        '{"mcpServers": {"a": {"command": "x"}}, "projects": {"/other": {"mcpServers": '
        '{"a": {"command": "y"}, "a": {"command": "z"}}}}}'
    )
    found = parse_config(text, source="x.json", project=Path("/here"))
    assert [entry.name for entry in found.entries] == ["a"]
    assert found.problems == ()


def test_a_file_is_read_and_a_byte_order_mark_ignored(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("\ufeff" + servers(git={"command": "é"}), encoding="utf-8")
    assert read_config.read_config(path).entries[0].command == "é"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        (b'{"mcpServers": "\xff"}', "not UTF-8"),
        (b" " * (raw_file.MAX_FILE_BYTES + 1), "20,000,001 bytes"),
        ("folder", "cannot read .*: Is a directory"),
        (b"{", "line 1, column 2"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_that_names_it(tmp_path, content, said):
    path = tmp_path / "x.json"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(UnreadableConfig, match=said) as caught:
        read_config.read_config(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, read_config.MissingConfig) == (content is None)


def test_a_path_below_a_file_does_not_exist(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(read_config.MissingConfig, match="does not exist"):
        read_config.read_config(tmp_path / "x" / "y.json")
