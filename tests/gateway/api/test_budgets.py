"""Budgets of speculation, and what concerns all teams, by REST."""

import pytest

from execution.models import SpeculationBudget, SpeculationGrant
from tests.factories import SEEN_AT, ServerFactory, TeamFactory, ToolFactory

pytestmark = pytest.mark.django_db

BUDGET = {"waste": 0.2, "calls_per_minute": 5, "dollars_per_day": "1.0000"}


def test_an_admin_of_a_team_sets_and_resets_the_budget_of_its_server_only(sign_in):
    team = TeamFactory()
    ServerFactory(name="own", team=team)
    shared = SpeculationBudget.objects.create(server=ServerFactory(name="shared"), waste=0.1)
    admin = sign_in("admin", team=team)
    assert admin.send("PUT", "budgets/own/", BUDGET).status_code == 200
    assert admin.send("DELETE", "budgets/own/").status_code == 204
    refused = admin.send("PUT", "budgets/shared/", BUDGET)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_permitted")
    assert admin.send("DELETE", "budgets/shared/").status_code == 403
    assert SpeculationBudget.objects.get() == shared
    shared.refresh_from_db()
    assert shared.waste == 0.1


def test_an_admin_of_a_team_withdraws_no_grant_that_is_for_everybody(sign_in):
    tool = ToolFactory(server__name="shared")
    values = {"tool": tool, "definition_hash": "0" * 64, "launch_hash": "0" * 64}
    grant = SpeculationGrant.objects.create(**values, granted_by="root", granted_at=SEEN_AT)
    admin = sign_in("admin", team=TeamFactory())
    assert admin.send("DELETE", f"grants/{grant.pk}/").status_code == 403
    grant.refresh_from_db()
    assert grant.revoked_at is None


def test_a_budget_that_changed_since_it_was_read_is_left_alone(root):
    ServerFactory(name="notes")
    tag = root.get("budgets/notes/")["ETag"]
    assert root.send("PUT", "budgets/notes/", BUDGET, If_Match=tag).status_code == 200
    for method, body in (("PUT", BUDGET | {"waste": 0.9}), ("DELETE", None)):
        refused = root.send(method, "budgets/notes/", body, If_Match=tag)
        assert (refused.status_code, refused.json()["code"]) == (412, "precondition_failed")
    assert SpeculationBudget.objects.get().waste == 0.2
    tag = root.get("budgets/notes/")["ETag"]
    assert root.send("DELETE", "budgets/notes/", If_Match=tag).status_code == 204


def test_settings_of_a_tool_that_changed_since_they_were_read_are_left_alone(root):
    tool = ToolFactory(server__name="notes", name="read")
    path = "tools/notes:read/settings/"
    tag = root.get(path)["ETag"]
    assert root.send("PATCH", path, {"pinned": True}, If_Match=tag).status_code == 200
    refused = root.send("PATCH", path, {"pinned": False}, If_Match=tag)
    assert (refused.status_code, refused.json()["code"]) == (412, "precondition_failed")
    tool.refresh_from_db()
    assert tool.pinned
    tag = root.get(path)["ETag"]
    assert root.send("PATCH", path, {"pinned": False}, If_Match=tag).status_code == 200
