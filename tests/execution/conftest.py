"""Fixtures of tests of runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection

from gateway_project.foundation import database


@pytest.fixture
def runs_db(db: None) -> Iterator[None]:
    """Keep runs for all threads to see, and leave none behind.

    What a process does about runs is done on database threads, which see nothing of the test's own
    transaction. Flushing all tables afterwards would take half a second.
    """
    yield
    database._threads.submit(_delete_runs).result(timeout=10)


def _delete_runs() -> None:
    with connection.cursor() as cursor:
        for model in reversed(list(apps.get_app_config("execution").get_models())):
            cursor.execute(f"DELETE FROM {model._meta.db_table}")
