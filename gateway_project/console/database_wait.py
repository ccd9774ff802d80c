"""Answers soon while the database is down: a page that says so is of more use than a wait."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_project.foundation.postgres import patience

MAX_WAIT_S: Final = 5.0
"""A keeper restarts a killed database within a few seconds, which nobody need notice."""


def limit_database_wait(application: ASGIApp) -> ASGIApp:
    """Return an application whose requests fail with 503 if the database stays away.

    Around all of Django: it checks its connections before the first middleware.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        with patience.limit_wait(MAX_WAIT_S):
            await application(scope, receive, send)

    return serve
