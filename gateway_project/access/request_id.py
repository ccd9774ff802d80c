"""Request ids of the console: taken from the request header or generated, and returned."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from gateway_project.foundation import telemetry

HEADER = "X-Request-ID"
_VALID_ID = re.compile(r"[A-Za-z0-9._-]{1,32}")


class RequestIdMiddleware:
    """Binds a request id to all log entries of a request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle a request under its id."""
        header = request.headers.get(HEADER, "")
        with telemetry.bind_request_id(
            header if _VALID_ID.fullmatch(header) else None
        ) as request_id:
            response = self._get_response(request)
            response[HEADER] = request_id
            return response
