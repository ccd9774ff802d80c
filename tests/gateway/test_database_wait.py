"""Requests wait only briefly for a database that does not answer."""

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.signals import request_finished, request_started

from gateway_project import asgi
from gateway_project.console.database_wait import MAX_WAIT_S, limit_database_wait
from gateway_project.foundation.postgres import patience
from tests.patience import PATIENCE_S

SCOPE = {
    "type": "http",
    "http_version": "1.1",
    "method": "GET",
    "scheme": "http",
    "server": ("testserver", 80),
    "path": "/health",
    "query_string": b"",
    "headers": [(b"host", b"localhost")],
}


async def test_the_limit_holds_for_the_request_and_no_longer():
    limits = []

    async def serve(_scope, _receive, _send):
        limits.append((patience.is_limited(), patience.begin_wait(60.0)))

    await limit_database_wait(serve)(SCOPE, None, None)
    assert limits == [(True, pytest.approx(MAX_WAIT_S, abs=0.1))]
    assert not patience.is_limited()


async def test_checks_of_connections_around_a_request_are_limited_too():
    limits = {}

    def note_start(**_):
        limits["start"] = patience.is_limited()

    def note_end(**_):
        limits["end"] = patience.is_limited()

    request_started.connect(note_start)
    request_finished.connect(note_end)
    try:
        communicator = ApplicationCommunicator(asgi.application, dict(SCOPE))
        await communicator.send_input({"type": "http.request"})
        assert (await communicator.receive_output(PATIENCE_S))["status"] == 200
        await communicator.receive_output(PATIENCE_S)
        await communicator.wait(PATIENCE_S)
    finally:
        request_started.disconnect(note_start)
        request_finished.disconnect(note_end)
    assert limits == {"start": True, "end": True}
