"""Answers soon while the database is down: a page that says so is of more use than a wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from gateway_project.foundation.postgres import patience

MAX_WAIT_S: Final = 5.0
"""A keeper restarts a killed database within a few seconds, which nobody need notice."""


class DatabaseWaitMiddleware:
    """Lets requests wait only briefly for a database that does not answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request; a database that stays away makes it fail with 503."""
        with patience.limit_wait(MAX_WAIT_S):
            return self._get_response(request)
