"""Request ids of the console: taken from the caller's header or made, and given back."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from gateway_project.foundation import telemetry

HEADER = "X-Request-ID"
_USABLE = re.compile(r"[A-Za-z0-9._-]{1,32}")


class RequestIdMiddleware:
    """Binds an id to everything logged while a request is handled."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle a request under its id."""
        given = request.headers.get(HEADER, "")
        with telemetry.request(given if _USABLE.fullmatch(given) else None) as request_id:
            response = self._get_response(request)
            response[HEADER] = request_id
            return response
