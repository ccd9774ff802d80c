"""People who look at the rooms of the console."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth.models import Group
from django.test import Client

from tests.factories import UserFactory


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


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
