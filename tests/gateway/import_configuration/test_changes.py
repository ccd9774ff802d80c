"""What an import changes, once, with audit entries."""

import pytest

from gateway_project.access import roles
from gateway_project.models import AuditEntry
from graph.models import ToolDependency
from tests.gateway.import_configuration.installation import CANARY, snapshot
from tools.models import Server

pytestmark = pytest.mark.django_db


def test_changes_are_applied_and_audited_once(filled):
    wanted = filled.export()
    wanted["servers"]["git"] |= {"trusted": False, "idle_stop_s": 30, "description": "Ours"}
    wanted["servers"]["time"] = {"command": "uvx", "args": ["mcp-time"], "team": "new"}
    wanted["teams"]["new"] = {}
    wanted["users"]["ann"] = {"roles": ["viewer"]}
    wanted["relations"][1]["rejected"] = False
    wanted["budgets"]["git"]["waste"] = 0
    wanted["tools"]["git:git_commit"] = {"danger": "destructive", "approval": "always"}
    wanted["dangerous_operations"]["EXEC"] = wanted["dangerous_operations"].pop("exec")
    wanted["dangerous_operations"]["EXEC"]["enabled"] = True
    assert filled.diff(wanted) == [
        "+ team new",
        '~ server git: idle_stop_s null → 30, trusted true → false, description "" → Ours',
        "+ server time",
        "+ tool git:git_commit",
        "~ dangerous operation exec: enabled false → true",
        "~ relation git:git_log → git:git_commit (precedes): rejected true → false",
        "~ budget of git: waste 0.25 → 0",
        '~ user ann: roles ["curator"] → ["viewer"]',
    ]
    AuditEntry.objects.all().delete()
    assert len(filled.load(wanted).changes) == 8
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert actions >= {
        "team.registered", "server.changed", "server.registered", "tool.changed",
        "dangerousoperation.changed", "relation.withdrawn", "relations.imported",
        "speculation_budget.changed", "user.roles_changed", "configuration.imported",
    }  # fmt: skip
    assert filled.diff(wanted) == []
    git = Server.objects.get(name="git")
    assert (git.trusted, git.idle_stop_s, git.extra) == (False, 30.0, {"x": CANARY})
    assert git.source == "/home/x"
    assert git.args[-1] == CANARY
    assert roles.load_roles("ann") == ("viewer",)
    relation = ToolDependency.objects.get(kind="precedes")
    assert not relation.rejected
    assert relation.evidence.get().source == "curated"
    before = snapshot()
    assert filled.load(wanted).changes == ()
    assert snapshot() == before
    assert CANARY not in str(list(AuditEntry.objects.values_list("detail", "subject")))


def test_the_unprefixed_server_can_change_within_one_import(filled):
    wanted = filled.export()
    wanted["servers"]["web"]["unprefixed"] = True
    filled.load(wanted)
    wanted["servers"]["web"]["unprefixed"] = False
    wanted["servers"]["git"]["unprefixed"] = True
    filled.load(wanted)
    assert Server.objects.get(unprefixed=True).name == "git"
