"""The API as its clients reach it; behind it stands a gateway on the rows of the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client

from gateway_project.access import roles, tokens
from gateway_project.api import runtime, views
from gateway_project.api.throttling import MINUTE_S, RateLimiter
from gateway_project.foundation import sealing
from gateway_project.foundation.sealing import Sealer
from graph.store.relations import load_topology
from tests.factories import MembershipFactory, UserFactory
from tools.models import Team
from tools.store.catalogue import load_catalogue

PREFIX = "/api/v1/"
ROLES = (*roles.ROLES, "superuser")


@dataclass(frozen=True)
class ApiClient:
    """Sends requests with a token; none without one."""

    token: str = ""
    http: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request; `path` is relative to the API, or an address it gave."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            given.setdefault("Authorization", f"Bearer {self.token}")
        content = body if isinstance(body, bytes) else b"" if body is None else to_bytes(body)
        address = path if PREFIX in path else PREFIX + path
        return self.http.generic(
            method, address, content, content_type="application/json", headers=given
        )

    def get(self, path: str, **headers: str) -> Any:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.send("POST", path, body, **headers)


def to_bytes(body: Any) -> bytes:
    return json.dumps(body).encode()


def make_user(name: str, role: str = "", *, team: Any = None, team_role: str = "member") -> User:
    """Create a user with a role, or a superuser, in a team."""
    user: User = UserFactory(username=name, superuser=role == "superuser")
    if role in roles.ROLES:
        roles.set_roles(user, [role])
    if team is not None:
        MembershipFactory(user=user, team=team, role=team_role)
    return user


def make_client(
    user: User, *, team: Any = None, scopes: Sequence[str] = (*roles.SCOPES, "*"), **values: Any
) -> ApiClient:
    """Create a token with all scopes that its user holds, and a client that sends it."""
    _, token = tokens.create_token(user, name="test", scopes=scopes, team=team, **values)
    return ApiClient(token)


@pytest.fixture
def sign_in(db: None) -> Callable[..., ApiClient]:
    """Return a function that creates a user with a role and a client of theirs."""

    def create(role: str = "superuser", *, name: str = "", team: Any = None) -> ApiClient:
        return make_client(make_user(name or f"the {role}", role, team=team), team=team)

    return create


@pytest.fixture
def root(sign_in: Callable[..., ApiClient]) -> ApiClient:
    """Return a client of a superuser."""
    return sign_in("superuser", name="root")


@pytest.fixture
def payloads(home: Any) -> Sealer:
    """Return the sealer of what runs take and return."""
    return sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)


@pytest.fixture(autouse=True)
def gateway(world: Any, home: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have a gateway run in the process, on what the database holds at each request.

    Words are searched in memory, as while the database is away.
    """
    world.search_error = OperationalError("away")

    def load(_request: Any) -> Any:
        found = load_catalogue()
        world.catalogue = found
        teams = [None, *Team.with_private.values_list("pk", flat=True)]
        graphs = {team: load_topology(team) for team in teams}
        return replace(world.effects, catalogue=lambda: found, topology=graphs.__getitem__)

    monkeypatch.setattr(runtime, "load_effects", load)
    monkeypatch.setattr(views, "_PER_MINUTE", RateLimiter(0, MINUTE_S))
    return world
