"""What an import removes: nothing, unless it is asked to prune."""

import pytest

from execution.models import SpeculationBudget, SpeculationGrant
from gateway_project.access import roles
from graph.models import ToolDependency
from tests.factories import MembershipFactory, TeamFactory
from tests.gateway.import_configuration.installation import EMPTY, snapshot
from tools.models import Category, DangerousOperation, Server, Team, Tool

pytestmark = pytest.mark.django_db


def test_nothing_is_removed_without_prune(filled):
    before = snapshot()
    imported = filled.load({**EMPTY, "servers": {}, "relations": [], "grants": [], "users": {}})
    assert imported.changes == ()
    assert len(imported.left) == 6
    assert snapshot() == before


def test_prune_removes_what_is_not_in_the_document(filled):
    MembershipFactory(team=TeamFactory(name="inhabited"))
    empty = {name: [] if name in ("relations", "grants") else {} for name in filled.export()}
    empty |= EMPTY | {"format": "foregate-configuration"}
    imported = filled.load(empty, prune=True)
    assert [line for line in imported.conflicts if "inhabited" in line]
    assert len(imported.conflicts) == 1
    assert Server.objects.count() == Tool.objects.count() == Category.objects.count() == 0
    assert list(Team.objects.values_list("name", flat=True)) == ["inhabited"]
    assert ToolDependency.objects.count() == 0
    assert roles.load_roles("ann") == ()
    assert DangerousOperation.objects.get(pattern="exec").enabled
    assert not DangerousOperation.objects.filter(pattern="launch rocket").exists()
    assert filled.diff(empty) == ["- team inhabited"]


def test_prune_leaves_sections_alone_that_are_missing(filled):
    filled.load({**EMPTY, "users": {}}, prune=True)
    assert roles.load_roles("ann") == ()
    assert Server.objects.count() == 2
    assert SpeculationGrant.objects.filter(revoked_at=None).count() == 1


def test_a_pruned_tool_keeps_its_row_and_loses_its_settings(filled):
    filled.load({**EMPTY, "tools": {}, "relations": [], "grants": [], "budgets": {}}, prune=True)
    tool = Tool.objects.get(name="git_log")
    assert (tool.pinned, tool.category) == (False, None)
    assert not ToolDependency.objects.exists()
    assert not SpeculationGrant.objects.filter(revoked_at=None).exists()
    assert not SpeculationBudget.objects.exists()


def test_a_server_can_leave_a_team_that_is_pruned(filled):
    wanted = filled.export()
    del wanted["teams"]["ops"]
    wanted["servers"]["web"]["team"] = None
    assert filled.load(wanted, prune=True).conflicts == ()
    assert not Team.objects.exists()
    assert filled.diff(wanted) == []
