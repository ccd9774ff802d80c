"""Middleware of the console: content security, static files, and a database that is newer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from gateway_project.api import problems
from gateway_project.api.runtime import find_service

HEADER: Final = "Content-Security-Policy"
_DIRECTIVES: Final = (
    "default-src 'self'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
)
POLICY: Final = "; ".join((*_DIRECTIVES, "form-action 'self'"))
REDIRECTING_POLICY: Final = "; ".join(
    (*_DIRECTIVES, "form-action 'self' https: http://127.0.0.1:* http://localhost:*")
)
"""Of pages whose form ends at another site: OAuth redirects to a client or to a server."""

GetResponse = Callable[[HttpRequest], HttpResponseBase]
HEALTH_PATH = "/health"


class ContentSecurityMiddleware:
    """Sets the policy on each response that has none of its own.

    References:
        W3C, Content Security Policy Level 3.
    """

    def __init__(self, get_response: GetResponse) -> None:
        """Create the middleware.

        Args:
            get_response: Answers a request.
        """
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a request with the policy."""
        response = self._get_response(request)
        response.headers.setdefault(HEADER, POLICY)
        return response


def allow_form_redirect(response: HttpResponseBase, scheme: str) -> None:
    """Let the form of a page also end at a program of this machine, by the program's scheme."""
    response.headers[HEADER] = f"{REDIRECTING_POLICY} {scheme}:"


def allow_form_redirects(view: Callable[..., HttpResponseBase]) -> Any:
    """Let the forms of a view's page end at another site, which a browser else prevents."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.headers.setdefault(HEADER, REDIRECTING_POLICY)
        return response

    return answer


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


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serves whole files; the largest has a few hundred kilobytes.

    WhiteNoise would stream them from synchronous iterators, which Django under ASGI reads
    completely before it sends anything, with a warning for each file.
    """

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """Return the file, or the answer to a conditional or range request."""
        answer = static_file.get_response(request.method, request.META)
        content = b""
        if answer.file is not None:
            with answer.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(answer.status))
        del response["Content-Type"]
        for name, value in answer.headers:
            response[name] = value
        return response
