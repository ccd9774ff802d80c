"""The console's page of the memory's events: who sees which, and how they are filtered."""

from uuid import UUID

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.utils import timezone

import gateway_project.urls  # noqa: F401 - finds the pages
from execution.snapshot import compute_run_session
from learning.admin import events as event_pages
from learning.memory.stored_observation import compress_observation
from learning.models import EpisodicEvent
from tests.factories import MembershipFactory, TeamFactory, ToolFactory, UserFactory
from tests.gateway.admin_pages import page

pytestmark = pytest.mark.django_db
CONTEXT = -(2**63)
RUN = UUID(int=7)


def store(**values):
    given = {"at": timezone.now(), "kind": 1, "session": 1} | values
    return EpisodicEvent.objects.create(**given)


def listed(client, **query):
    response = client.get(page(EpisodicEvent, "changelist"), query)
    return {row.pk for row in response.context["cl"].result_list}


def test_events_are_filtered_by_team_tool_context_kind_and_outcome(client, root):
    team, tool = TeamFactory(), ToolFactory()
    first = store(team=team, tool=tool.pk, outcome=1)
    second = store(context_hash=CONTEXT, kind=2, session=compute_run_session(RUN))
    for query, wanted in (
        ({}, {first, second}),
        ({"of_team": team.pk}, {first}),
        ({"of_team": "none"}, {second}),
        ({"tool": tool.pk}, {first}),
        ({"context": CONTEXT}, {second}),
        ({"session": 1}, {first}),
        ({"run": str(RUN)}, {second}),
        ({"run": "x"}, {first, second}),
        ({"kind__exact": 2}, {second}),
        ({"outcome__exact": 1}, {first}),
        ({"of_team": "x", "tool": "9" * 30, "context": "1.5"}, {first, second}),
    ):
        assert listed(client, **query) == {row.pk for row in wanted}, query
    shown = client.get(page(EpisodicEvent, "changelist")).content.decode()
    assert f'href="?tool={tool.pk}"' in shown
    assert f'href="?context={CONTEXT}">8000000000000000' in shown


def test_events_of_other_teams_and_of_tools_out_of_sight_are_hidden(client):
    own, other = TeamFactory(), TeamFactory()
    user = UserFactory(is_staff=True)
    MembershipFactory(user=user, team=own)
    user.user_permissions.set(Permission.objects.filter(codename="view_episodicevent"))
    client.force_login(user)
    seen = [store(team=own), store(), store(tool=ToolFactory().pk)]
    hidden = [store(team=other), store(tool=ToolFactory(server__team=other).pk), store(tool=10**9)]
    assert listed(client) == {row.pk for row in seen}
    teams = client.get(page(EpisodicEvent, "changelist")).content.decode()
    assert f"of_team={other.pk}" not in teams
    for row in hidden:
        assert client.get(page(EpisodicEvent, "change", row.pk)).status_code == 404


def test_events_of_deleted_tools_are_not_shown(client, root):
    tool = ToolFactory()
    store(tool=tool.pk)
    tool.delete()
    assert listed(client) == set()


def test_a_long_list_is_neither_counted_nor_sorted_as_a_whole(client, root, monkeypatch):
    monkeypatch.setattr(event_pages, "MAX_COUNTED", 2)
    for _ in range(3):
        store()
    response = client.get(page(EpisodicEvent, "changelist"))
    assert response.context["cl"].result_count == 2
    options = admin.site._registry[EpisodicEvent]
    assert (options.search_fields, options.date_hierarchy, options.sortable_by) == ((), None, ())


def test_a_sealed_value_is_shown_by_its_size_alone(client, root):
    row = store(sealed=b"canary")
    shown = client.get(page(EpisodicEvent, "change", row.pk)).content.decode()
    assert "6\xa0bytes" in shown
    assert "canary" not in shown


def test_an_observation_is_shown_as_the_structure_it_is(client, root):
    row = store(observation=compress_observation({"order": [1, 2]}))
    damaged = store(observation=b"no zlib")
    shown = client.get(page(EpisodicEvent, "change", row.pk)).content.decode()
    assert "[1, 2]" in shown
    assert (
        "damaged (error)" in client.get(page(EpisodicEvent, "change", damaged.pk)).content.decode()
    )
