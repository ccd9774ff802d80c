"""Approving tools: what is pinned, by whom, and what cannot be."""

import threading
from datetime import timedelta

import pytest
from django.db import connection

from tests.factories import (
    UserFactory,
)
from tests.patience import PATIENCE_S
from tests.tools.store.conftest import READ, READ_MORE, READ_MOST, START, pinned, states
from tools.models import Tool
from tools.store import catalogue
from tools.store.catalogue import ListingChanges

pytestmark = pytest.mark.django_db


def approve(*names, user=None):
    tools = Tool.objects.filter(name__in=names).select_related("server")
    return catalogue.approve_tools(tools, user=user, at=START + timedelta(days=1))


def test_approving_pins_the_newest_definition_with_its_approver(record):
    record(READ)
    record(READ_MORE)
    ann = UserFactory()
    assert approve("read", user=ann) == {"s:read": Tool.objects.get(name="read").definition.hash}
    assert states() == {"read": "active"}
    assert pinned() == "Reads more."
    row = Tool.objects.get().definition
    assert (row.approved_by, row.approved_at) == (ann, START + timedelta(days=1))
    assert record(READ_MORE) == ListingChanges(unchanged=1)


@pytest.mark.parametrize(
    "listings",
    [
        [READ, READ_MORE, READ_MOST, READ_MORE],
        [READ, READ_MORE, READ_MOST, READ_MORE, READ_MORE],
    ],
)
def test_approving_pins_what_the_server_lists_now_also_after_going_back_and_forth(
    record, listings
):
    for listed in listings:
        record(listed)
    approve("read")
    assert pinned() == listings[-1].description


def test_approving_a_tool_that_went_back_to_what_is_pinned_changes_nothing(record):
    record(READ)
    record(READ_MORE)
    record(READ)
    assert approve("read") == {}
    assert pinned() == "Reads."


def test_a_removed_tool_cannot_be_approved(record):
    record(READ)
    record(READ_MORE)
    record()
    assert approve("read") == {}
    assert states() == {"read": "removed"}
    assert pinned() == "Reads."


@pytest.mark.django_db(transaction=True)
def test_an_approval_is_not_lost_to_a_listing_recorded_at_the_same_time(record, monkeypatch):
    record(READ)
    record(READ_MORE)
    settle, approved = catalogue._settle_states, threading.Event()

    def approve_elsewhere():
        try:
            approve("read")
        finally:
            connection.close()
            approved.set()

    def settle_late(*args, **kwargs):
        thread.start()
        approved.wait(timeout=1)  # an approval that waits for the listing is right too
        return settle(*args, **kwargs)

    thread = threading.Thread(target=approve_elsewhere)
    monkeypatch.setattr(catalogue, "_settle_states", settle_late)
    record(READ_MORE)
    thread.join(timeout=PATIENCE_S)
    assert pinned() == "Reads more."
    assert states() == {"read": "active"}
