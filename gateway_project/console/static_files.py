"""Serves the console's static files under ASGI."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile


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
