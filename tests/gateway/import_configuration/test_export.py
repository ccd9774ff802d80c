"""What is exported: everything, nothing secret, and enough to make another installation."""

import json

import pytest
from django.contrib.auth import get_user_model

from gateway_project.access import roles
from gateway_project.access.roles import NotPermitted
from gateway_project.configuration.document import write_document
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.import_configuration import export_configuration
from graph.relations import SHIPPED
from tests.factories import EvidenceFactory, RelationFactory, ServerFactory, ToolFactory
from tests.gateway.import_configuration.installation import CANARY, EMPTY, Installation, snapshot
from tools.models import Category, DangerousOperation, Server, Team, Tool
from tools.store import configuration, launches

pytestmark = pytest.mark.django_db


def test_everything_is_exported_and_nothing_secret(filled):
    exported = filled.export()
    assert CANARY not in json.dumps(exported)
    assert CANARY not in json.dumps(filled.export(with_variables=True))
    kept = {"sealed": "kept"}
    assert exported["teams"] == {"ops": {"approve_from": "write", "requires_second_person": True}}
    assert exported["servers"] == {
        "git": {
            "command": "uvx",
            "args": ["mcp-git", "--token", "[redacted]"],
            "env": {"HOST": "${GIT_HOST}", "TOKEN": kept},
            "trusted": True,
        },
        "web": {
            "transport": "http",
            "url": "https://example.com/mcp?api_key=[redacted]",
            "headers": {"Authorization": kept, "X-Key": "Bearer ${WEB}"},
            "authorization": "oauth",
            "oauth_client_id": "me",
            "oauth_client_secret": kept,
            "session": "per_caller",
            "price_per_call": "0.0125",
            "team": "ops",
        },
    }
    assert exported["categories"] == {"history": {"description": "What was"}}
    assert exported["tools"] == {"git:git_log": {"pinned": True, "category": "history"}}
    assert exported["tool_groups"] == {"desk": {"servers": ["git"], "tools": ["web:page"]}}
    assert exported["dangerous_operations"]["launch rocket"] == {"reason": "explodes"}
    assert exported["dangerous_operations"]["exec"]["enabled"] is False
    assert len(exported["dangerous_operations"]) == 2
    assert exported["relations"] == [
        {
            "source": "git:git_log", "kind": "depends_on", "target": "git:git_status",
            "reason": "why",
        },
        {
            "source": "git:git_log", "kind": "precedes", "target": "git:git_commit",
            "rejected": True,
        },
    ]  # fmt: skip
    assert exported["budgets"] == {
        "git": {"waste": 0.25, "calls_per_minute": 60, "dollars_per_day": "1.5"}
    }
    assert exported["users"] == {"ann": {"roles": ["curator"]}}
    (grant,) = exported["grants"]
    assert grant["tool"] == "git:git_log"
    assert (grant["closed_world"], grant["note"]) == (True, "read only")


def test_an_export_differs_from_nothing_and_its_import_changes_nothing(filled):
    exported = filled.export()
    assert filled.diff(exported) == []
    before = snapshot()
    imported = filled.load(exported, prune=True)
    assert (imported.changes, imported.left, imported.conflicts) == ((), (), ())
    assert snapshot() == before


def test_another_installation_becomes_the_same(filled, sealer):
    exported = filled.export(with_variables=True)
    exported["servers"]["web"]["oauth_client_secret"] = "typed"
    hashes = {tool.name: tool.definition.hash for tool in Tool.objects.all()}
    Server.objects.all().delete()
    Team.objects.all().delete()
    Category.objects.all().delete()
    DangerousOperation.objects.filter(pattern="launch rocket").delete()
    DangerousOperation.objects.update(enabled=True)
    roles.set_roles(get_user_model().objects.get(username="ann"), [])
    first = filled.load(exported)
    assert len(first.conflicts) == 4  # the tool's settings, two relations, the grant
    git = Server.objects.get(name="git")
    for name in hashes:
        tool = ToolFactory(server=git, name=name, annotations={"readOnlyHint": True})
        assert tool.definition.hash == hashes[name]
    assert filled.load(exported).conflicts == ()
    again = filled.export(with_variables=True)
    exported["servers"]["web"]["oauth_client_secret"] = {"sealed": "kept"}
    assert again == exported
    assert filled.diff(exported) == []
    assert launches.open_env(git, sealer) == {"HOST": "${GIT_HOST}", "TOKEN": "${GIT_TOKEN}"}


def test_variables_are_named_after_their_servers(filled):
    servers = filled.export(with_variables=True)["servers"]
    assert servers["git"]["env"] == {"HOST": "${GIT_HOST}", "TOKEN": "${GIT_TOKEN}"}
    assert servers["git"]["args"] == ["mcp-git", "--token", "${TOKEN}"]  # its own variable
    assert servers["web"]["url"] == "https://example.com/mcp?api_key=${WEB_API_KEY}"
    assert servers["web"]["headers"]["Authorization"] == "${WEB_AUTHORIZATION}"


def test_relations_that_are_shipped_or_observed_are_not_exported(filled):
    shipped, observed = (
        RelationFactory(source=Tool.objects.get(name="git_status"), kind=kind)
        for kind in ("precedes", "provides")
    )
    EvidenceFactory(relation=shipped, origin=SHIPPED)
    EvidenceFactory(relation=observed, source="observed")
    exported = filled.export()
    assert len(exported["relations"]) == 2
    pruned = filled.load({**exported, "relations": []}, prune=True, dry_run=True)
    assert len(pruned.changes) == 2


def test_only_superusers_export_compare_and_import(here):
    admin = Installation(
        Caller(user="ann", team=None, person=None, scopes=frozenset(roles.SCOPES), kind="http"),
        here.sealer,
    )
    for use in (admin.export, lambda: admin.diff(EMPTY), lambda: admin.load(EMPTY)):
        with pytest.raises(NotPermitted):
            use()


def test_an_export_is_the_same_text_each_time(filled):
    texts = {
        write_document(export_configuration(filled.caller, sealer=filled.sealer)) for _ in range(2)
    }
    assert len(texts) == 1


def test_tools_are_found_by_their_settings(filled):
    ServerFactory(name="plain")
    assert set(configuration.load_tool_settings()) == {"git:git_log"}
