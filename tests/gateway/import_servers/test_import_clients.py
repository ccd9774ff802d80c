"""`import_servers` from every client, and of remote servers."""

import json

import pytest

from gateway_project.foundation import sealing
from tests.gateway.import_servers.importing import command, report
from tools.models import Server
from tools.store import launches, servers

pytestmark = pytest.mark.django_db

GIT = {"command": "uvx", "args": ["mcp-server-git"]}


FAR = {
    "type": "http",
    "url": "https://example.com/mcp?api_key=hunter2",
    "headers": {"Authorization": "Bearer ${FAR_TOKEN}", "X-Key": "hunter3"},
    "oauth": {"clientId": "me", "clientSecret": "hunter4"},
    "timeout": 5,
}


def test_a_remote_server_is_registered_with_its_secrets_sealed(write, home, monkeypatch):
    monkeypatch.delenv("FAR_TOKEN", raising=False)
    out, err = command("--from", write(far=FAR))
    far = Server.objects.get()
    assert (far.transport, far.price_per_call) == ("http", None)
    assert launches.open_url(far, sealing.load_or_create_sealer(home)) == FAR["url"]
    assert "hunter" not in far.url
    assert (far.authorization, far.oauth_client_id) == ("oauth", "me")
    assert far.extra == {"timeout": 5}
    sealer = sealing.load_or_create_sealer(home)
    assert servers.open_headers(far, sealer) == FAR["headers"]
    assert sealer.unseal(far.oauth_client_secret_sealed) == "hunter4"
    assert "not set: FAR_TOKEN" in err
    assert "what looks like a secret in its address (api_key)" in err
    assert "hunter" not in out + err


def test_an_address_in_a_private_network_is_allowed_and_reported(write):
    _, err = command(
        "--from", write(near={"url": "http://localhost:3000/mcp"}, far={"url": "https://e.com/"})
    )
    assert "server 'near' lies on this machine or in a private network" in err
    assert "'far'" not in err
    flags = dict(Server.objects.values_list("name", "private_network"))
    assert flags == {"near": True, "far": False}


def test_inputs_that_a_client_prompts_for_are_reported(write):
    document = {
        "inputs": [{"id": "key", "description": "A key"}],
        "servers": {"x": {"command": "x", "env": {"K": "${input:key}"}}},
    }
    found = report(write(json.dumps(document)))
    assert "asks for 'key' (A key) in the editor; set KEY" in found["warnings"][0]


@pytest.mark.parametrize(
    ("client", "path", "text"),
    [
        ("cursor", ".cursor/mcp.json", '{"mcpServers": {"git": {"command": "x"}}}'),
        ("vscode", "project/.vscode/mcp.json", '{"servers": {"git": {"command": "x"},}} // x'),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            '{"mcpServers": {"git": {"command": "x"}}}',
        ),
        (
            "zed",
            ".config/zed/settings.json",
            '// x\n{"context_servers": {"git": {"command": "x"}}}',
        ),
        ("codex", ".codex/config.toml", '[mcp_servers.git]\ncommand = "x"\n'),
        ("gemini", "project/.gemini/settings.json", '{"mcpServers": {"git": {"command": "x"}}}'),
    ],
)
def test_the_servers_of_every_client_are_found(write, monkeypatch, client, path, text):
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    write(text, path=path)
    assert [row["change"] for row in report(client)["servers"]] == ["added"]
    assert Server.objects.get().source == client


def test_without_a_client_the_installed_ones_are_listed_and_nothing_is_imported(write):
    own = {"command": "python", "args": ["/fg/manage.py", "run_gateway"]}
    write(path=".cursor/mcp.json", git=GIT, foregate=own)
    write("{broken", path="project/.mcp.json")
    out, err = command()
    assert "cursor  " in out
    assert "    git; connected to Foregate" in out
    assert "Next: manage.py import_servers --from CLIENT" in out
    assert ".mcp.json: line 1" in err
    found = {item["client"]: item for item in json.loads(command("--json")[0])["clients"]}
    assert (found["cursor"]["servers"], found["cursor"]["connected"]) == (["git"], True)
    assert not Server.objects.exists()


def test_an_absence_of_clients_is_reported(monkeypatch):
    assert command() == ("No client's configuration is here; name a file with --from.\n", "")


def test_what_a_client_switches_off_stays_off_and_is_reported(write):
    origin = write(git=GIT | {"excludeTools": ["push"]}, time={"command": "x", "includeTools": []})
    _, err = command("--from", origin)
    assert err.splitlines() == [
        "server 'git' keeps push switched off (excludeTools)",
        "server 'time' keeps all tools switched off (includeTools)",
    ]
    rows = Server.objects.order_by("name").values_list("include_tools", "exclude_tools")
    assert list(rows) == [(None, ["push"]), ([], [])]


def test_a_filter_that_the_file_does_not_have_any_more_is_kept_and_reported(write):
    command("--from", write(git=GIT | {"excludeTools": ["push"]}))
    _, err = command("--from", write(git=GIT))
    assert "server 'git' keeps the tool filter that it has, though the file has none" in err
    assert Server.objects.get().exclude_tools == ["push"]


def test_a_server_that_stays_on_though_its_file_switches_it_off_is_reported(write):
    command("--from", write(git=GIT))
    _, err = command("--from", write(git=GIT | {"disabled": True}))
    assert "server 'git' stays switched on, though the file switches it off" in err
    assert Server.objects.get().enabled
