"""Requests wait only briefly for a database that does not answer."""

import pytest

from gateway_project.console.database_wait import MAX_WAIT_S, limit_database_wait
from gateway_project.foundation.postgres import patience

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
