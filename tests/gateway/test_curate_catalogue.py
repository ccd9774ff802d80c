"""Categories and settings of tools: what all teams share, only superusers change."""

import pytest
from django.contrib.auth.models import Permission

from gateway_project.access.roles import NotPermitted
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.curate_catalogue import (
    change_tool,
    change_tools,
    delete_category,
    save_category,
)
from gateway_project.use_cases.pin_tools import set_pinned
from tests.factories import CategoryFactory, MembershipFactory, TeamFactory, ToolFactory
from tests.gateway.admin_pages import act, page, sign_in_staff
from tools.models import Category, Tool
from tools.store.configuration import load_categories

pytestmark = pytest.mark.django_db

ROOT = Caller(user="root", team=None, person=None, scopes=frozenset({"*"}), kind="console")


def test_a_curator_of_one_team_adds_a_category_but_changes_and_deletes_none():
    curator = Caller(
        user="ann",
        team=TeamFactory().pk,
        person=None,
        scopes=frozenset({"curate"}),
        kind="console",
    )
    save_category(curator, "files", description="Of disks")
    with pytest.raises(NotPermitted, match="only a superuser decides what concerns all teams"):
        save_category(curator, "files", description="Of lawyers")
    with pytest.raises(NotPermitted):
        delete_category(curator, "files")
    assert load_categories() == {"files": "Of disks"}


def test_a_superuser_changes_and_deletes_a_category():
    save_category(ROOT, "files", description="Of disks")
    save_category(ROOT, "files", description="Of lawyers")
    assert load_categories() == {"files": "Of lawyers"}
    delete_category(ROOT, "files")
    assert load_categories() == {}


def test_staff_of_one_team_change_and_delete_no_category_in_the_admin(client):
    MembershipFactory(user=sign_in_staff(client))
    row = CategoryFactory(name="files")
    values = {"name": "law", "description": ""}
    assert client.post(page(Category, "change", row.pk), values).status_code == 403
    assert client.post(page(Category, "delete", row.pk), {"post": "yes"}).status_code == 403
    act(client, Category, "delete_selected", row, post="yes")
    assert list(load_categories()) == ["files"]


@pytest.fixture
def shared():
    """Return a tool of a server that all teams share."""
    return ToolFactory(server__name="s", name="shared", pinned=False)


@pytest.fixture
def owned():
    """Return a tool of the server of a team."""
    return ToolFactory(server__name="t", server__team=TeamFactory(), name="owned", pinned=False)


def curator_of(tool):
    team = tool.server.team_id
    return Caller(user="ann", team=team, person=None, scopes=frozenset({"curate"}), kind="console")


@pytest.mark.parametrize("values", [{"enabled": False}, {"danger": "read"}, {"approval": "never"}])
def test_a_curator_of_one_team_changes_no_tool_that_all_teams_share(shared, owned, values):
    curator = curator_of(owned)
    change_tool(curator, "t:owned", values, pk=owned.pk)
    with pytest.raises(NotPermitted, match="only a superuser decides what concerns all teams"):
        change_tool(curator, "s:shared", values, pk=shared.pk)
    before = Tool.objects.values().get(pk=shared.pk)
    with pytest.raises(NotPermitted):
        change_tools(curator, {"t:owned": owned.pk, "s:shared": shared.pk}, {"pinned": True})
    assert Tool.objects.values().get(pk=shared.pk) == before
    assert not Tool.objects.filter(pinned=True).exists(), "all or none"
    change_tool(ROOT, "s:shared", values, pk=shared.pk)


def test_a_curator_of_one_team_pins_no_tool_that_all_teams_share(shared, owned):
    curator = curator_of(owned)
    assert set_pinned(curator, [owned], pinned=True) == ("t:owned",)
    with pytest.raises(NotPermitted):
        set_pinned(curator, [owned, shared], pinned=False)
    assert Tool.objects.get(pinned=True) == owned
    assert set_pinned(ROOT, [shared], pinned=True) == ("s:shared",)


def test_staff_of_one_team_change_only_tools_of_its_servers_in_the_admin(client, shared, owned):
    MembershipFactory(user=sign_in_staff(client), team=owned.server.team)
    for tool, status in ((owned, 302), (shared, 403)):
        values = {"danger_override": "read", "approval": "never"}
        assert client.post(page(Tool, "change", tool.pk), values).status_code == status
    shared.refresh_from_db()
    owned.refresh_from_db()
    assert (owned.enabled, owned.pinned, owned.danger_override) == (False, False, "read")
    assert (shared.enabled, shared.pinned, shared.danger_override) == (True, False, "")
    said = act(client, Tool, "pin_tools", shared, owned)
    assert "only a superuser decides what concerns all teams" in said
    assert not Tool.objects.filter(pinned=True).exists()
    assert "1 tools pinned" in act(client, Tool, "pin_tools", owned)


def test_a_page_of_the_admin_says_why_it_is_read_only(client, shared, owned):
    staff = sign_in_staff(client)
    MembershipFactory(user=staff, team=owned.server.team)
    hints = ("choose the team in the console first", "only a superuser changes how it is used")
    assert [hint in read_page(client, owned) for hint in hints] == [False, False]
    MembershipFactory(user=staff)
    assert [hint in read_page(client, owned) for hint in hints] == [True, False]
    assert owned.server.team.name in read_page(client, owned)
    assert [hint in read_page(client, shared) for hint in hints] == [False, True]
    staff.user_permissions.set(Permission.objects.filter(codename="view_tool"))
    assert not any(hint in read_page(client, owned) for hint in hints), "who may change none"


def read_page(client, tool):
    return client.get(page(Tool, "change", tool.pk)).content.decode()
