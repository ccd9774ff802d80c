"""Tells browsers what pages may load: nothing from elsewhere, and no inline code or style."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

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
