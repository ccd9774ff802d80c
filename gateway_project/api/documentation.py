"""Serves the OpenAPI description and a page to read it; both need no sign-in."""

from __future__ import annotations

import json
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

OPENAPI_TYPE = "application/vnd.oai.openapi+json; version=3.1"


@require_safe
def serve_schema(_: HttpRequest) -> HttpResponse:
    """Serve the OpenAPI description as JSON."""
    return HttpResponse(_build_schema(), content_type=OPENAPI_TYPE)


@require_safe
def serve_page(request: HttpRequest) -> HttpResponse:
    """Serve the page that shows the description; its assets come with the product."""
    return render(request, "api/docs.html")


@cache
def _build_schema() -> bytes:
    """Return the description, which is the same for everybody."""
    description = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return json.dumps(description, ensure_ascii=False).encode()
