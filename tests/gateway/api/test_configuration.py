"""The configuration over REST, for superusers."""

import json
from contextlib import contextmanager

import pytest

from gateway_project.foundation import advisory
from gateway_project.models import AuditEntry
from tests.factories import ServerFactory, TeamFactory
from tools.models import Server, Team

pytestmark = pytest.mark.django_db

CANARY = "c4n4ry9f8e7d6c5b4a39281706f5e4d3"
SERVER = {"command": "uvx", "args": ["mcp-time"], "env": {"TOKEN": CANARY}}


def test_an_exported_document_is_imported_again(root):
    ServerFactory(name="git", team=TeamFactory(name="ops"))
    document = root.get("configuration/").json()
    assert document["servers"] == {
        "git": {"command": "mcp-server-nowhere", "price_per_call": None, "team": "ops"}
    }
    assert root.post("configuration/diff/", document).json() == {"equal": True, "changes": []}
    imported = root.post("configuration/", document).json()
    assert imported == {"imported": True, "changes": [], "left": [], "conflicts": []}


def test_a_document_is_compared_tried_and_applied(root):
    ServerFactory(name="old")
    document = {"version": 1, "servers": {"time": SERVER}}
    compared = root.post("configuration/diff/", document).json()
    assert [change["line"] for change in compared["changes"]] == ["- server old", "+ server time"]
    tried = root.post("configuration/?dry_run=true&prune=true", document).json()
    assert (tried["imported"], len(tried["changes"])) == (False, 2)
    assert Server.objects.get().name == "old"
    applied = root.post("configuration/?prune=true", document, Idempotency_Key="k")
    assert applied.json()["changes"] == tried["changes"]
    assert CANARY not in applied.content.decode()
    again = root.post("configuration/?prune=true", document, Idempotency_Key="k")
    assert again["Idempotency-Replayed"] == "true"
    assert Server.objects.get().name == "time"
    exported = root.get("configuration/")
    assert CANARY not in exported.content.decode()
    assert exported.json()["servers"]["time"]["env"] == {"TOKEN": {"sealed": "kept"}}
    variables = root.get("configuration/?variables=true").json()
    assert variables["servers"]["time"]["env"] == {"TOKEN": "${TIME_TOKEN}"}
    actions = AuditEntry.objects.filter(action="configuration.imported")
    assert actions.get().actor == "root"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b" ", ""),
        (b"[" * 100_000, ""),
        (b'{"version": 1, "version": 1}', ""),
        (b'{"version": 1, "servers": {"a": {"trusted": 1}}}', "/servers/a/trusted"),
        (b'{"version": 1, "\\ud800": 1}', "/\\ud800"),
        (b'{"version": 1, "servers": {"a": {}}}', "/servers/a"),
        (b'{"version": 1, "budgets": {"a": {"waste": 0, "calls_per_minute": 1, '
         b'"dollars_per_day": 0}}}', "/budgets/a"),
        (b" " * 10 * 1024 * 1024, ""),
    ],
    ids=lambda value: repr(value)[:50],
)  # fmt: skip
def test_a_bad_document_is_refused_with_its_places(root, body, path):
    response = root.post("configuration/", body)
    assert response.status_code == 400, response.content
    problem = response.json()
    assert problem["code"] == "invalid_configuration"
    assert problem["problems"][0]["path"] == path
    assert not Server.objects.exists()


def test_only_json_and_known_flags_are_taken(root):
    assert root.post("configuration/?prune=yes", {"version": 1}).status_code == 400
    response = root.http.generic(
        "POST", "/api/v1/configuration/", json.dumps({"version": 1}).encode(),
        content_type="text/plain", headers={"Authorization": f"Bearer {root.token}"},
    )  # fmt: skip
    assert response.status_code == 415


def test_admins_are_no_superusers(sign_in):
    admin = sign_in("admin")
    assert admin.get("configuration/").status_code == 403
    assert admin.post("configuration/", {"version": 1}).status_code == 403
    assert admin.post("configuration/diff/", {"version": 1}).status_code == 403


def test_imports_exclude_each_other(root, monkeypatch):
    @contextmanager
    def hold_elsewhere(*_, **__):
        yield False

    monkeypatch.setattr(advisory, "try_lock", hold_elsewhere)
    response = root.post("configuration/", {"version": 1, "teams": {"ops": {}}})
    assert (response.status_code, response.json()["code"]) == (409, "import_in_progress")
    assert not Team.objects.exists()


def test_secrets_that_no_key_opens_are_named(root, sealer):
    ServerFactory(name="git", env_sealed=sealer.seal({"TOKEN": CANARY}))
    response = root.get("configuration/")
    assert (response.status_code, response.json()["code"]) == (409, "sealed")
    assert root.post("configuration/", {"version": 1}).status_code == 409
