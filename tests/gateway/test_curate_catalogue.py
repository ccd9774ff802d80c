"""Categories and settings of tools: what all teams share, only superusers change."""

import pytest

from gateway_project.access.roles import NotPermitted
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.curate_catalogue import (
    change_tool,
    change_tools,
    delete_category,
    save_category,
)
from tests.factories import TeamFactory, ToolFactory
from tools.models import Tool
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
