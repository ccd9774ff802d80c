"""The OpenAPI description of the API: what every operation has in common, and the page of it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.serializers import Serializer, SerializerMetaclass, URLField

from gateway_project.api.pages import DEFAULT_LIMIT, MAX_LIMIT
from gateway_project.mcp.http.answers import PROBLEM_CONTENT_TYPE

PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "description": "Problem details (RFC 9457); the codes are listed in docs/errors.md",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable, for programs"},
        "detail": {"type": "string", "description": "What to do, in one line"},
        "request_id": {"type": "string", "description": "To look for in the log"},
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
    "required": ["type", "title", "status", "code", "detail", "request_id"],
}
_PROBLEM: Final = {
    "description": "Problem",
    "content": {PROBLEM_CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
PAGE_PARAMETERS: Final = (
    OpenApiParameter(
        "limit",
        OpenApiTypes.INT,
        description=f"Items of a page, 1 to {MAX_LIMIT}",
        default=DEFAULT_LIMIT,
    ),
    OpenApiParameter(
        "cursor", OpenApiTypes.STR, description="Of the page before: follow its `next`"
    ),
)
"""Parameters of every list."""


def page_of(item: type[Serializer[Any]], plural: str) -> type[Serializer[Any]]:
    """Return the serializer of a page of items, which is named after theirs."""
    members = {
        "__doc__": f"A page of {plural}.",
        "__module__": item.__module__,
        "items": item(many=True),
        "next": URLField(allow_null=True),
    }
    name = f"{item.__name__.removesuffix('Serializer')}PageSerializer"
    page: type[Serializer[Any]] = SerializerMetaclass(name, (Serializer,), members)
    return page


class ApiSchema(AutoSchema):
    """Describes an operation; the resource is its tag."""

    def get_tags(self) -> list[str]:
        """Return the first part of the path after the prefix."""
        return [self.path.removeprefix("/api/v1/").split("/")[0]]


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the problems that every operation can return; a hook of the generator."""
    result["components"].setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    for operations in result["paths"].values():
        for method, operation in operations.items():
            responses = operation.setdefault("responses", {})
            responses.setdefault("default", _PROBLEM)
            if method == "post":
                operation.setdefault("parameters", []).append(
                    {
                        "in": "header",
                        "name": "Idempotency-Key",
                        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
                        "description": "Repeated requests with it are made once",
                    }
                )
    return result


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
