"""An installation that people and clients sign in to."""

import pytest
from django.test import Client

from gateway_project.console import oauth_server
from tests.factories import UserFactory
from tests.gateway.oauth.flow import (
    register,
)


@pytest.fixture(autouse=True)
def installation(home, settings, monkeypatch):
    """Answer to the tests' host, and count registrations anew."""
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"allowed_hosts": "testserver"})
    monkeypatch.setattr(oauth_server, "_REGISTRATIONS", oauth_server.Throttle(limit=30))


@pytest.fixture
def ann():
    return UserFactory(username="ann", staff=True)


@pytest.fixture
def browser(ann):
    """Return the browser of a person who is signed in."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann)
    return client


@pytest.fixture
def client_id():
    return register().json()["client_id"]
