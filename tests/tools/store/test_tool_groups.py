"""Stored groups, and what they make of the catalogue."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from gateway_project.foundation.caller import Caller
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tools.models import Category, ToolGroup
from tools.store import tool_groups
from tools.store.catalogue import load_catalogue
from tools.store.tool_groups import UnknownToolGroup

pytestmark = pytest.mark.django_db


def make(name="desk", team=None, **values):
    with transaction.atomic():
        return tool_groups.save_group(name, values, team=team)


def test_the_catalogue_says_which_tools_and_servers_a_group_holds():
    git, time = ServerFactory(name="git"), ServerFactory(name="time")
    for server, name in ((git, "log"), (git, "status"), (time, "now"), (time, "later")):
        ToolFactory(server=server, name=name)
    code = Category.objects.create(name="code")
    other = ToolFactory(server__name="files", name="read", category=code)
    make(servers=["git"], tools=["time:now"], categories=["code"])
    make("far", servers=["nowhere"])
    found = load_catalogue()
    held = {name for name, tool in found.tools.items() if "desk" in tool.groups}
    assert held == {"git:log", "git:status", "time:now", f"{other.server.name}:read"}
    assert {name for name, one in found.servers.items() if "desk" in one.groups} == {
        "git", "time", "files",
    }  # fmt: skip
    assert [name for name, one in found.servers.items() if one.whole_groups] == ["git"]
    assert found.groups == {"desk": None, "far": None}


def test_a_group_is_there_for_its_team_alone():
    team, other = TeamFactory(), TeamFactory()
    make(team=team.pk)
    make("all")
    assert tool_groups.find_group("desk", team=team.pk) is not None
    assert tool_groups.find_group("desk", team=other.pk) is None
    assert tool_groups.find_group("desk", team=None) is None
    assert tool_groups.find_group("all", team=other.pk) is not None
    catalogue = load_catalogue()

    def sees(pk, name):
        caller = Caller(user="a", team=pk, person=None, scopes=frozenset(), kind="http")
        return catalogue.has_group(name, caller)

    assert sees(team.pk, "desk")
    assert not sees(other.pk, "desk")
    assert sees(other.pk, "all")
    assert not sees(None, "none")


@pytest.mark.parametrize("name", ["", "A", "a/b", "-a", "a" * 65, "é"])
def test_a_name_fits_an_address(name):
    with pytest.raises(ValidationError):
        make(name)


@pytest.mark.parametrize("name", ["A", "a/b", "-a"])
def test_no_row_has_a_name_that_does_not(name):
    with pytest.raises(IntegrityError), transaction.atomic():
        ToolGroup.objects.create(name=name)


def test_an_unknown_group_is_not_deleted():
    with pytest.raises(UnknownToolGroup, match="there is no tool group 'none'"):
        tool_groups.delete_group("none")
