"""Fixtures of tests of runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection


@pytest.fixture
def runs_db(django_db_setup: None, django_db_blocker) -> Iterator[None]:
    """Use the database from all threads, and leave no run behind.

    A test that commits and flushes all tables afterwards takes half a second for that alone.
    """
    with django_db_blocker.unblock():
        yield
        with connection.cursor() as cursor:
            for model in reversed(list(apps.get_app_config("execution").get_models())):
                cursor.execute(f"DELETE FROM {model._meta.db_table}")
        connection.close()
