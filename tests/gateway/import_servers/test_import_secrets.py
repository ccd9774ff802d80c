"""Secrets in the arguments and addresses of what is imported: said, and sealed if one wants."""

import pytest
from django.conf import settings

from gateway_project.foundation import sealing
from gateway_project.management import question
from tests.gateway.import_servers.importing import changes, report, run
from tests.gateway.terminals import sit_at_terminal
from tools.models import Server
from tools.store import servers
from tools.upstream.spec import resolve_launch

pytestmark = pytest.mark.django_db

BAD = {
    "command": "npx",
    "args": ["-y", "bad-mcp", "--api-key", "hunter2hunter2", "--header", "X-Token: hunter3"],
}
FAR = {"url": "https://example.com/mcp?api_key=hunter4"}


def stored(name="bad"):
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    (spec,) = servers.load_specs(
        sealer=sealer, connect_timeout_s=1.0, call_timeout_s=1.0, names=[name]
    )
    return spec


def rows():
    return str(list(Server.objects.values()))


def test_secrets_in_arguments_are_reported_by_position_only(write):
    out, err = run(write(bad=BAD))
    assert "secret in argument 4 (--api-key), argument 6 (--header), which is not sealed" in err
    assert "--seal-secrets" in err
    assert "hunter" not in out + err
    assert stored().args == tuple(BAD["args"])


def test_secrets_are_moved_to_sealed_variables_on_request(write):
    found = report(write(bad=BAD, far=FAR), "--seal-secrets")
    assert found["warnings"] == []
    assert found["sealed"] == [
        "server 'bad': argument 4 (--api-key), argument 6 (--header) moved to API_KEY, X_TOKEN, "
        "which is sealed",
        "server 'far': its address (api_key) moved to API_KEY, which is sealed",
    ]
    assert "hunter" not in rows()
    spec = stored()
    assert spec.args[3:] == ("${API_KEY}", "--header", "X-Token: ${X_TOKEN}")
    launch = resolve_launch(spec, {"API_KEY": "of the gateway"})
    assert launch.args == tuple(BAD["args"])
    assert stored("far").url == "https://example.com/mcp?api_key=${API_KEY}"


def test_reimporting_the_same_entry_is_no_change_and_keeps_secrets_sealed(write):
    run(write(bad=BAD, far=FAR), "--seal-secrets", "--trust", "all")
    found = report(write(bad=BAD, far=FAR))
    assert changes(found) == {"bad": "unchanged", "far": "unchanged"}
    assert not any("not sealed" in line for line in found["warnings"])
    assert "hunter" not in rows()


def test_moving_the_secrets_of_a_trusted_server_keeps_its_trust(write):
    run(write(bad=BAD), "--trust", "all")
    out, _ = run(write(bad=BAD), "--seal-secrets")
    assert "updated  bad (args, env)" in out
    assert Server.objects.get().trusted


def test_another_secret_in_the_variable_changes_the_command_and_removes_trust(write):
    run(write(bad=BAD), "--seal-secrets", "--trust", "all")
    other = {**BAD, "args": [*BAD["args"][:3], "hunter5hunter5", *BAD["args"][4:]]}
    run(write(bad=other), "--seal-secrets")
    assert not Server.objects.get().trusted


@pytest.mark.parametrize(("said", "sealed"), [("none\ny", True), ("none\n", False)])
def test_a_terminal_is_prompted_without_showing_the_secret(write, monkeypatch, said, sealed):
    asked = []
    monkeypatch.setattr(question, "show_question", asked.append)
    sit_at_terminal(monkeypatch, said)
    run(write(bad=BAD))
    assert "  bad: argument 4 (--api-key), argument 6 (--header)\n" in asked[1]
    assert "hunter" not in asked[1]
    assert ("hunter" not in rows()) is sealed


def test_without_secrets_nothing_is_prompted(write, monkeypatch):
    asked = []
    monkeypatch.setattr(question, "show_question", asked.append)
    sit_at_terminal(monkeypatch, "none")
    run(write(time={"command": "mcp-server-time"}))
    assert len(asked) == 1
