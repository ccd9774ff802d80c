"""Rooms ask the database as often for many rows as for few."""

import pytest
from django.utils import timezone

from gateway_project.access import grant
from gateway_project.console.rooms import menu
from gateway_project.foundation import sealing
from gateway_project.models import AuditEntry
from tests.execution.asking import waiting
from tests.factories import MembershipFactory, ServerFactory, ToolFactory
from tests.gateway.rooms import test_access_rooms, test_live_query_counts, test_rooms_of_tools

pytestmark = pytest.mark.django_db
QUERY_COUNTS = {
    "/": 15,
    "/access/": 12,
    "/access/tokens/": 8,
    "/audit/": 9,
    "/clients/": 7,
    "/search/?q=name": 10,
    "/search/suggest?q=abcdef": 7,
    "/settings/": 7,
    "/switch/": 7,
    "/account/": 5,
    "/system/": 11,
}


def fill(home, *, rows):
    sealer = sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)
    for place in range(rows):
        server = ServerFactory(name=f"name{rows}-{place}")
        ToolFactory(server=server, name="name")
        ToolFactory(server=server, pinned=False)
        waiting(sealer)
        member = MembershipFactory()
        grant.create_user_token(member.user.username, name="t", scopes=("search",))
        AuditEntry.objects.create(
            at=timezone.now(),
            actor="x",
            kind="command",
            action=f"a{place}",
            subject="s",
            detail={"x": 1},
        )


def count_queries(client, counted):
    found = {}
    for path in QUERY_COUNTS:
        counted.clear()
        assert client.get(path).status_code == 200
        found[path] = len(counted)
    return found


def test_no_room_asks_more_often_for_more_rows(root, home, counted):
    fill(home, rows=1)
    count_queries(root, counted)  # what is asked once per process
    once = count_queries(root, counted)
    fill(home, rows=5)
    assert count_queries(root, counted) == once
    assert once == QUERY_COUNTS


def test_the_queries_of_every_room_are_counted():
    counted = {
        *QUERY_COUNTS,
        *test_live_query_counts.QUERY_COUNTS,
        *test_rooms_of_tools.PATHS,
        *test_access_rooms.PAGES,
    }
    assert {room.path for _, rooms in menu.SECTIONS for room in rooms} <= counted
