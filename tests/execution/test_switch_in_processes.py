"""The switch stops every process within a second, with the database or without it."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from execution.speculation.switch import MAX_AGE_S
from execution.store import grants
from tests.factories import SEEN_AT

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]
PATIENCE_S = 60.0
PROCESSES = 2


class Process:
    """A process that calls ahead, and what it said so far."""

    def __init__(self, database):
        self.said = []
        self.running = subprocess.Popen(
            [sys.executable, "-m", "tests.execution.ahead_process", json.dumps(database)],
            stdout=subprocess.PIPE,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "gateway_project.settings.test"},
            text=True,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.running.stdout:
            what, _, at = line.strip().partition(" ")
            if what in {"sent", "served"}:  # others are of the log
                self.said.append((what, float(at)))

    def list_since(self, at):
        return [what for what, said_at in self.said if said_at > at]

    def wait_for_both(self):
        """Wait until it calls ahead and serves."""
        since, until = time.time(), time.monotonic() + PATIENCE_S
        while {"sent", "served"} - set(self.list_since(since)):
            assert time.monotonic() < until, "it never called ahead and served"
            assert self.running.poll() is None
            time.sleep(0.05)

    def end(self):
        self.running.kill()
        self.running.wait()
        self.reader.join()
        self.running.stdout.close()


@pytest.fixture
def processes():
    database = {
        key: connection.settings_dict[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")
    }
    started = [Process(database) for _ in range(PROCESSES)]
    try:
        yield started
    finally:
        for one in started:
            one.end()


def require_silence(processes, *, since):
    time.sleep(MAX_AGE_S + 1.5)
    assert [one.list_since(since + MAX_AGE_S) for one in processes] == [[]] * PROCESSES
    assert all(one.running.poll() is None for one in processes)


def switch(*, is_on):
    grants.switch_speculation(is_on=is_on, user="ann", at=SEEN_AT)


@contextmanager
def refuse_others():
    """End all other connections to the database, and refuse new ones."""
    own = connection.get_connection_params()
    keep = {key: own[key] for key in ("user", "password", "host", "port") if own.get(key)}
    name = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with psycopg.connect(dbname="postgres", autocommit=True, **keep) as admin:
        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        try:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = %s AND pid <> %s",
                (name, pid),
            )
            yield
        finally:
            admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


def test_every_process_stops_within_a_second_and_goes_on_later(processes):
    switch(is_on=True)
    for one in processes:
        one.wait_for_both()
    switch(is_on=False)
    require_silence(processes, since=time.time())
    switch(is_on=True)
    for one in processes:
        one.wait_for_both()


def test_every_process_stops_within_a_second_without_the_database(processes):
    switch(is_on=True)
    for one in processes:
        one.wait_for_both()
    with refuse_others():
        switch(is_on=False)
        require_silence(processes, since=time.time())
        switch(is_on=True)
    for one in processes:
        one.wait_for_both()
