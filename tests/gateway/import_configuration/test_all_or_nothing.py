"""An import that cannot be made, or is only tried, changes nothing at all."""

import pytest

from gateway_project.use_cases import curate_people
from tests.gateway.import_configuration.installation import EMPTY, snapshot

pytestmark = pytest.mark.django_db


def test_a_dry_run_tells_all_and_stores_nothing(filled):
    wanted = filled.export()
    wanted["servers"]["time"] = {"command": "uvx"}
    wanted["users"]["eve"] = {"roles": ["admin"]}
    del wanted["servers"]["web"]
    before = snapshot()
    imported = filled.load(wanted, prune=True, dry_run=True)
    lines = {change.describe() for change in imported.changes}
    assert lines == {"+ server time", "- server web"}
    assert len(imported.conflicts) == 1
    assert snapshot() == before


INAPPLICABLE = [
    ({"servers": {"new": {"command": "x", "env": {"A": {"sealed": "kept"}}}}},
     "/servers/new/env/A", "nothing is stored to keep"),
    ({"servers": {"new": {"command": "x", "oauth_client_secret": {"sealed": "kept"}}}},
     "/servers/new/oauth_client_secret", "nothing is stored to keep"),
    ({"servers": {"web": {"transport": "http", "url": "https://evil.example/?k=[redacted]"}}},
     "/servers/web/url", "write it out"),
    ({"servers": {"git": {"command": "evil", "args": ["[redacted]"]}}},
     "/servers/git/args", "write it out"),
    ({"servers": {"new": {"command": "x", "team": "none"}}},
     "/servers/new/team", "not in teams"),
    ({"servers": {"new": {}}}, "/servers/new", "needs a command"),
    ({"servers": {"new": {"transport": "http", "url": "ftp://x"}}}, "/servers/new", "http"),
    ({"servers": {"a": {"command": "x", "unprefixed": True},
                  "b": {"command": "x", "unprefixed": True}}},
     "/servers/b", "empty prefix"),
    ({"tools": {"git:git_log": {"category": "none"}}},
     "/tools/git:git_log/category", "not in categories"),
    ({"budgets": {"none": {"waste": 0, "calls_per_minute": 1, "dollars_per_day": 0}}},
     "/budgets/none", "not in servers"),
    ({"users": {"ann": {"roles": ["king"]}}}, "/users/ann/roles", "only the roles viewer"),
    ({"grants": [{"tool": "git:git_log", "team": "none", "definition": "0" * 64}]},
     "/grants/0/team", "not in teams"),
    ({"relations": [
        {"source": "git:git_commit", "kind": "precedes", "target": "git:git_status"},
        {"source": "git:git_status", "kind": "replaces", "target": "git:git_log",
         "deprecated_at": "1970-01-01"}]},
     "/relations/1", "2000"),
]  # fmt: skip
"""What is wrong with a document, its place and what is said of it."""


def test_a_document_that_cannot_be_applied_changes_nothing(filled):
    before = snapshot()
    for changes, path, message in INAPPLICABLE:
        wanted = {**EMPTY, "teams": {"first": {}}, **changes}
        assert message in filled.problems(wanted).get(path, ""), changes
        assert snapshot() == before, changes


def test_a_failure_at_the_end_takes_everything_back(filled, monkeypatch):
    wanted = filled.export()
    wanted["servers"]["time"] = {"command": "uvx"}
    wanted["relations"] = []
    wanted["users"]["ann"]["roles"] = ["viewer"]

    def fail(*_):
        raise RuntimeError("gone")

    monkeypatch.setattr(curate_people, "change_roles", fail)
    before = snapshot()
    with pytest.raises(RuntimeError, match="gone"):
        filled.load(wanted, prune=True)
    assert snapshot() == before
