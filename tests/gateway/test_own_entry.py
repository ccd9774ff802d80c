from pathlib import Path

import pytest

from gateway_project.client_config import clients, own_entry
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.client_config.own_entry import EntryNotSupported, OwnLaunch, list_own_urls
from gateway_project.foundation.config import Config

LAUNCH = {"command": ("/v/bin/python", "/fg/manage.py", "run_gateway")}
STARTED = {"command": "/v/bin/python", "args": ["/fg/manage.py", "run_gateway"]}


def build(client, path="/home/ann/x.json", **fields):
    return own_entry.build_entry(
        clients.CLIENTS[client], Path(path), OwnLaunch(**(LAUNCH | fields))
    )


@pytest.mark.parametrize(
    ("client", "beside"),
    [
        ("claude-desktop", {}),
        ("claude-code", {"type": "stdio"}),
        ("cursor", {}),
        ("vscode", {"type": "stdio"}),
        ("windsurf", {}),
        ("zed", {"source": "custom"}),
        ("codex", {"startup_timeout_sec": 60, "tool_timeout_sec": 3_600}),
        ("gemini", {}),
        ("copilot-cli", {"type": "local", "tools": ["*"]}),
    ],
)
def test_the_entry_is_written_in_the_clients_words(client, beside):
    assert build(client) == {**beside, **STARTED}


def test_user_and_home_options_are_included():
    found = build("cursor", user="ann", env={"FOREGATE_HOME": "/srv/fg"})
    assert found["args"] == [*STARTED["args"], "--user", "ann"]
    assert found["env"] == {"FOREGATE_HOME": "/srv/fg"}


@pytest.mark.parametrize("client", ["opencode", "kilo"])
def test_arguments_are_joined_to_the_command_where_the_client_wants_it(client):
    found = build(client, env={"FOREGATE_HOME": "/srv/fg"})
    assert (found["type"], found["enabled"]) == ("local", True)
    assert found["command"] == [STARTED["command"], *STARTED["args"]]
    assert found["environment"] == {"FOREGATE_HOME": "/srv/fg"}
    assert not {"args", "env"} & found.keys()


def test_goose_has_the_name_and_words_of_its_own():
    found = build("goose", env={"FOREGATE_HOME": "/srv/fg"})
    assert (found["name"], found["type"], found["enabled"]) == ("foregate", "stdio", True)
    assert (found["cmd"], found["args"]) == (STARTED["command"], STARTED["args"])
    assert found["envs"] == {"FOREGATE_HOME": "/srv/fg"}
    assert not {"command", "env"} & found.keys()
    remote = build("goose", url="http://localhost:8420/mcp")
    assert (remote["uri"], remote["env_keys"]) == ("http://localhost:8420/mcp", ["FOREGATE_TOKEN"])


def test_a_client_on_windows_is_led_into_wsl():
    path = "/mnt/c/Users/ann/.cursor/mcp.json"
    found = build("cursor", path, wsl_distribution="Debian", env={"FOREGATE_HOME": "/h"})
    assert found == {
        "command": "wsl.exe",
        "args": ["-d", "Debian", "--exec", "env", "FOREGATE_HOME=/h", *LAUNCH["command"]],
    }
    assert build("cursor", wsl_distribution="Debian") == STARTED
    assert own_entry.is_own_entry(
        ConfiguredServer(name="x", command="wsl.exe", args=tuple(found["args"]))
    )


@pytest.mark.parametrize(
    "client",
    sorted(clients.CLIENTS.keys() - {"claude-desktop", "zed", "lm-studio", "junie"}),
)
def test_a_running_gateway_is_reached_with_a_token_from_a_variable(client):
    found = build(client, url="http://localhost:8420/mcp")
    assert "http://localhost:8420/mcp" in found.values()
    assert "FOREGATE_TOKEN" in str(found)
    assert "command" not in found


@pytest.mark.parametrize("client", ["claude-desktop", "zed", "lm-studio", "junie"])
def test_a_client_that_cannot_send_a_token_is_refused_with_instructions(client):
    with pytest.raises(EntryNotSupported, match="without --http"):
        build(client, url="http://localhost:8420/mcp")


@pytest.mark.parametrize(
    ("entry", "own"),
    [
        ({"command": "python", "args": ("/x/manage.py", "run_gateway")}, True),
        ({"command": "/x/manage.py", "args": ("run_gateway", "--user", "a")}, True),
        ({"command": "py", "args": ("C:\\fg\\manage.py", "run_gateway")}, True),
        ({"command": "python", "args": ("/x/manage.py", "runserver")}, False),
        ({"command": "run_gateway"}, False),
        ({"transport": "http", "url": "http://127.0.0.1:8420/mcp"}, True),
        ({"transport": "http", "url": "http://localhost:8420"}, True),
        ({"transport": "http", "url": "http://localhost:8421/mcp"}, False),
        ({"transport": "http", "url": "https://tools.example/mcp"}, True),
        ({"transport": "http", "url": "https://${HOST}:x/mcp"}, False),
    ],
)
def test_foregates_own_entry_is_recognised(entry, own):
    urls = list_own_urls(Config(console_port=8420, public_url="https://tools.example"))
    assert own_entry.is_own_entry(ConfiguredServer(name="x", **entry), urls) is own
