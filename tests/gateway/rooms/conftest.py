"""People who look at the rooms of the console."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import SynchronousOnlyOperation
from django.db import OperationalError
from django.test import Client

from execution.speculation.rules import AdmissibilityRules
from execution.store.grants import load_grants
from gateway_project.api import runtime
from gateway_project.console.rooms.report_cache import REPORTS
from gateway_project.readiness import NotReady
from graph.record import GraphMetric
from graph.store.relations import load_topology
from tests.factories import UserFactory
from tools.models import Team
from tools.store.catalogue import load_catalogue


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture(autouse=True)
def no_reports(monkeypatch):
    """Have no report of an earlier test in memory, and build reports on the test's connection."""
    REPORTS.clear()
    monkeypatch.setattr(REPORTS, "_start", lambda work: work())


@pytest.fixture
def root(db):
    return browser(UserFactory(username="root", superuser=True))


@pytest.fixture
def member(db):
    return browser(UserFactory(username="ann"))


@pytest.fixture
def sign_in(db):
    """Return a function that signs somebody in with a role."""

    def enter(role: str, username: str = "ann") -> Client:
        user = UserFactory(username=username)
        user.groups.add(Group.objects.get_or_create(name=role)[0])
        return browser(user)

    return enter


@pytest.fixture
def counted(monkeypatch):
    """Return the list of statements that are sent from now on, but for savepoints."""
    sent: list[str] = []
    execute = psycopg.Cursor.execute

    def count(cursor, query, *args, **options):
        if "SAVEPOINT" not in str(query):
            sent.append(str(query))
        return execute(cursor, query, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", count)
    return sent


@pytest.fixture
def no_gateway(gateway, monkeypatch):
    """Have no gateway in the process, as in a console that was started for approvals."""

    def refuse(_request):
        raise NotReady("starting", "start the whole console")

    monkeypatch.setattr(runtime, "load_effects", refuse)


@pytest.fixture
def gateway(world, home, monkeypatch):
    """Have a gateway run in the process, on what the database holds at each look.

    Words are searched in memory, as while the database is away.
    """
    world.search_error = OperationalError("away")
    metrics: dict[int, GraphMetric] = {}

    def load(_request):
        found = [load_catalogue()]
        teams = [None, *Team.with_private.values_list("pk", flat=True)]
        graphs = {team: load_topology(team) for team in teams}
        grants = load_grants()

        def catalogue():
            with suppress(SynchronousOnlyOperation):  # the flow asks in the event loop
                found[0] = load_catalogue()
            return found[0]

        return replace(
            world.effects,
            catalogue=catalogue,
            topology=graphs.__getitem__,
            metrics=lambda: metrics,
            rules=lambda: AdmissibilityRules(catalogue=found[0], grants=grants),
        )

    monkeypatch.setattr(runtime, "load_effects", load)
    return world
