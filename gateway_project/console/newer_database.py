"""Serves nothing once a newer version of Foregate has migrated the database."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from gateway_project.api import problems
from gateway_project.api.runtime import find_service

HEALTH_PATH = "/health"


class NewerDatabaseMiddleware:
    """Answers requests with 503 while the gateway in this process finds the database newer.

    Views would misread what the newer version stores, and write what it cannot use.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle a request unless the database is newer."""
        service = find_service(request)
        trouble = service.runtime.readiness.trouble if service else None
        is_probe = request.path_info.startswith(HEALTH_PATH)
        if trouble is None or trouble.code != "database_newer" or is_probe:
            return self._get_response(request)
        return problems.answer_not_ready(request, trouble)
