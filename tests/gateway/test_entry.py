import json

import pytest

from gateway_project.client_config import clients
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.client_config.read_config import UnreadableConfig, parse_config


def only(entry, client=None, **document):
    """Return what a client's file with one server in it holds."""
    known = clients.CLIENTS[client] if client else None
    key = known.servers_key if known else "mcpServers"
    found = parse_config(json.dumps({key: {"x": entry}, **document}), source="f", client=known)
    assert found.problems == ()
    return found.entries[0]


def toml(text):
    found = parse_config(text, source="f", client=clients.CLIENTS["codex"])
    assert found.problems == ()
    return found.entries[0]


URL = "https://example.com/mcp"


@pytest.mark.parametrize(
    ("client", "entry", "transport"),
    [
        ("claude-code", {"type": "http", "url": URL}, "http"),
        ("claude-code", {"type": "streamable-http", "url": URL}, "http"),
        ("claude-code", {"type": "sse", "url": URL}, "sse"),
        ("cursor", {"url": URL}, "http"),
        ("cursor", {"url": "https://example.com/sse"}, "sse"),
        ("cursor", {"url": "https://example.com/sse/?key=1"}, "sse"),
        ("vscode", {"type": "http", "url": URL}, "http"),
        ("windsurf", {"serverUrl": URL}, "http"),
        ("zed", {"url": URL}, "http"),
        ("gemini", {"httpUrl": URL}, "http"),
        ("gemini", {"url": URL}, "sse"),
        ("gemini", {"url": URL, "type": "http"}, "http"),
        (None, {"transport": "streamable_http", "url": URL}, "http"),
        (None, {"transport": "sse-first", "url": URL}, "sse"),
        (None, {"type": "http-stream", "url": URL}, "http"),
        (None, {"type": "HTTP+SSE", "url": URL}, "sse"),
        (None, {"type": "streamableHttp", "baseUrl": URL}, "http"),
    ],
)
def test_a_remote_server_is_read_in_every_clients_format(client, entry, transport):
    found = only({**entry, "headers": {"X-Key": "1"}, "note": "mine"}, client)
    assert (found.transport, found.command) == (transport, "")
    assert found.url == next(value for key, value in entry.items() if "url" in key.lower())
    assert found.headers == {"X-Key": "1"}
    assert found.extra == {"note": "mine"}


@pytest.mark.parametrize("command", ["uvx", ["uvx"]])
def test_variables_may_be_called_environment(command):
    assert only({"command": command, "environment": {"A": "1"}}).env == {"A": "1"}


@pytest.mark.parametrize(
    ("transport", "expected"),
    [
        ({"type": "stdio", "command": "uvx", "args": ["x"]}, ("stdio", "uvx", ("x",), "")),
        ({"type": "sse", "url": URL}, ("sse", "", (), URL)),
        ({"type": "http"}, ("http", "", (), "https://other.example")),
    ],
)
def test_a_transport_may_be_an_object(transport, expected):
    beside = {} if "command" in transport or "url" in transport else {"url": expected[3]}
    found = only({"transport": transport, **beside})
    assert (found.transport, found.command, found.args, found.url) == expected


@pytest.mark.parametrize(
    "entry",
    [
        {"command": {"path": "uvx", "args": ["x"], "env": {"A": "1"}}, "settings": {}},
        {"source": "custom", "command": "uvx", "args": ["x"], "env": {"A": "1"}},
    ],
)
def test_zed_is_read_in_its_older_and_newer_form(entry):
    found = only(entry, "zed")
    assert (found.command, found.args, found.env) == ("uvx", ("x",), {"A": "1"})


def test_a_zed_extension_is_reported_as_such():
    text = json.dumps({"context_servers": {"x": {"source": "extension", "settings": {}}}})
    found = parse_config(text, source="f", client=clients.CLIENTS["zed"])
    assert "is a Zed extension" in found.problems[0]


def test_codex_entries_include_forwarded_variables():
    found = toml(
        '[mcp_servers.x]\ncommand = "uvx"\nargs = ["x"]\nstartup_timeout_sec = 20\n'
        'env_vars = ["A", { name = "B", source = "remote" }, "C"]\n[mcp_servers.x.env]\nC = "3"\n'
    )
    assert found.env == {"A": "${A:-}", "B": "${B:-}", "C": "3"}
    assert (found.connect_timeout_s, found.extra) == (20, {})


def test_codex_names_the_variables_of_its_headers():
    found = toml(
        f'[mcp_servers.x]\nurl = "{URL}"\nbearer_token_env_var = "TOKEN"\nscopes = ["a", "b"]\n'
        'http_headers = { A = "1" }\nenv_http_headers = { B = "KEY" }\nenabled = false\n'
    )
    assert found.headers == {"A": "1", "B": "${KEY}", "Authorization": "Bearer ${TOKEN}"}
    assert (found.authorization, found.oauth_scopes, found.enabled) == ("oauth", "a b", False)


def test_broken_toml_is_one_line():
    with pytest.raises(UnreadableConfig, match=r"f: Invalid value .*; fix the TOML"):
        toml("x = ")


@pytest.mark.parametrize(
    ("client", "auth"),
    [
        ("cursor", {"auth": {"CLIENT_ID": "me", "CLIENT_SECRET": "s", "scopes": ["a", "b"]}}),
        ("gemini", {"oauth": {"clientId": "me", "clientSecret": "s", "scopes": ["a", "b"]}}),
        ("claude-code", {"oauth": {"clientId": "me", "clientSecret": "s", "scopes": "a b"}}),
        (None, {"oauth": {"clientId": "me", "clientSecret": "s"}, "oauthScopes": ["a", "b"]}),
    ],
)
def test_oauth_settings_of_a_client_are_imported(client, auth):
    found = only({"type": "http", "url": URL, **auth}, client)
    assert (found.authorization, found.oauth_client_id) == ("oauth", "me")
    assert found.oauth_client_secret == "s"
    assert found.oauth_scopes == "a b"
    assert found.extra == {}
    assert "'s'" not in repr(found)


def test_vs_codes_inputs_become_variables():
    inputs = [{"id": "key", "type": "promptString", "description": "A key"}, "odd", {"id": 7}]
    found = only({"command": "x", "env": {"K": "${input:key}"}}, "vscode", inputs=inputs)
    assert found.env == {"K": "${KEY}"}
    assert "set KEY in the gateway's environment" in found.notes[0]


def test_gemini_may_leave_braces_out():
    found = only({"command": "x", "env": {"K": "$KEY"}, "cwd": "/d"}, "gemini")
    assert found.env == {"K": "${KEY}"}
    assert only({"command": "x", "env": {"K": "$KEY"}}, "cursor").env == {"K": "$KEY"}


def test_paths_relative_to_the_project_are_found_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert only({"command": "./run"}).cwd == str(tmp_path)
    assert only({"command": "node", "args": ["../x.js"]}).cwd == str(tmp_path)
    assert only({"command": "node", "cwd": "./sub"}).cwd == str(tmp_path / "sub")
    assert only({"command": "node", "args": ["./x"], "cwd": "/srv"}).cwd == "/srv"
    assert only({"command": "node", "args": ["x"]}).cwd == ""


def test_an_env_file_is_reported_as_unread():
    assert "envFile" in only({"command": "x", "envFile": ".env"}).notes[0]


def test_values_that_look_secret_are_not_kept_in_clear():
    found = only({"command": "x", "apiKey": "hunter2", "tokenBudget": 5, "note": "mine"})
    assert found.extra == {"tokenBudget": 5, "note": "mine"}
    assert "'apiKey' looks like a secret" in found.notes[0]


@pytest.mark.parametrize("flag", [{"disabled": True}, {"enabled": False}])
def test_either_keyword_disables_a_server(flag):
    assert not only({"command": "x", **flag}).enabled


@pytest.mark.parametrize("key", ["mcpServers", "servers", "context_servers", "mcp_servers"])
def test_a_generic_file_may_use_any_clients_format(key):
    found = parse_config(json.dumps({key: {"x": {"command": "c"}}}), source="f")
    assert found.entries == (ConfiguredServer(name="x", command="c"),)


@pytest.mark.parametrize(
    ("written", "kept", "said"),
    [
        ({"accept": "*/*", "X": "1"}, {"X": "1"}, "sets itself, which are left out: accept"),
        ({"Transfer-Encoding": "chunked", "Mcp-Session-Id": "s", "X": "1"}, {"X": "1"},
         "left out: Transfer-Encoding, Mcp-Session-Id"),
        ({"Host": "mcp.corp.example"}, {"Host": "mcp.corp.example"}, "sent in place of"),
        ({"x-key": "1", "X-Key": "2"}, {"X-Key": "2"}, "of which the last holds: x-key"),
    ],
)  # fmt: skip
def test_headers_that_an_entry_cannot_have_are_left_out_with_a_note(written, kept, said):
    found = only({"url": URL, "headers": written})
    assert found.headers == kept
    assert said in found.notes[0]


def test_blanks_around_headers_and_missing_values_do_not_matter():
    found = only({"url": URL, "headers": {" X-Key ": "1\n", "Y": None}})
    assert (found.headers, found.notes) == ({"X-Key": "1"}, ())
    assert only({"command": "x", "env": {"A": None, "B": "1"}}).env == {"B": "1"}
