"""Secrets of servers in a document: sealed, compared, and never shown."""

import json

import pytest

from tests.gateway.import_configuration.installation import CANARY
from tools.models import Server
from tools.store import configuration, launches

pytestmark = pytest.mark.django_db


def test_secrets_in_a_document_are_sealed_and_compared_without_being_shown(filled, sealer):
    wanted = filled.export()
    wanted["servers"]["git"]["env"]["TOKEN"] = CANARY
    wanted["servers"]["web"]["url"] = f"https://example.com/mcp?api_key={CANARY}"
    wanted["servers"]["git"]["args"][-1] = CANARY
    assert filled.diff(wanted) == []
    other = "0ther" + CANARY
    wanted["servers"]["git"]["env"]["TOKEN"] = other
    wanted["servers"]["git"]["args"][-1] = other
    wanted["servers"]["web"]["url"] = f"https://example.com/mcp?api_key={other}"
    wanted["servers"]["web"]["headers"]["Authorization"] = f"Bearer {other}"
    lines = filled.diff(wanted)
    assert len(lines) == 2
    assert "env TOKEN changed" in lines[0]
    assert "headers Authorization changed" in lines[1]
    assert CANARY not in str(lines)
    imported = filled.load(wanted)
    assert CANARY not in str([change.to_json() for change in imported.changes])
    assert CANARY not in repr(imported)
    git = Server.objects.get(name="git")
    assert launches.open_env(git, sealer)["TOKEN"] == other
    assert launches.open_url(Server.objects.get(name="web"), sealer).endswith(other)
    assert CANARY not in json.dumps(filled.export())
    assert filled.diff(wanted) == []


def test_another_secret_alone_is_a_difference(filled, sealer):
    for name, field, value in (
        ("git", "args", ["mcp-git", "--token", CANARY[::-1]]),
        ("web", "url", f"https://example.com/mcp?api_key={CANARY[::-1]}"),
        ("git", "env", {"TOKEN": CANARY[::-1], "HOST": "${GIT_HOST}"}),
        ("web", "oauth_client_secret", CANARY[::-1]),
    ):
        wanted = filled.export()
        wanted["servers"][name][field] = value
        (line,) = filled.diff(wanted)
        assert line.startswith(f"~ server {name}: {field} ")
        assert CANARY[::-1] not in line
        filled.load(wanted)
        assert configuration.load_servers(sealer)[name][field] == value
        assert filled.diff(wanted) == []
