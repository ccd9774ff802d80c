"""Addresses of live updates: each is listed here with the scope that it needs."""

from __future__ import annotations

import pytest
from django.test import Client

from gateway_project.access import second_factor
from gateway_project.live import feed, routing
from tests.factories import UserFactory

SOCKETS = {
    "live/runs/": "read",
    "live/runs/<uuid:run>/": "read",
    "live/approvals/": "approve",
    "live/speculation/": "read",
    "live/servers/": "read",
}
"""An address that is not listed fails the test; tests/gateway/live tries each across the border
of teams."""


def test_every_address_is_listed_with_its_scope():
    assert {route.path: route.feed.scope_needed for route in routing.ROUTES} == SOCKETS


@pytest.mark.django_db
def test_a_session_without_a_needed_second_factor_sees_nothing(home, settings):
    ann = UserFactory(username="ann")
    browser = Client()
    browser.force_login(ann)
    key = browser.session.session_key
    assert feed.load_viewer(key) is not None
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"require_mfa": "everybody"})
    assert feed.load_viewer(key) is None
    session = browser.session
    second_factor.record_given(session, ann)
    session.save()
    assert feed.load_viewer(key) is not None
