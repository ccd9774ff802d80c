"""Search: tools for a query, exactly as MCP clients find them."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project import flow
from gateway_project.access.roles import SEARCH
from gateway_project.api.runtime import run_coroutine
from gateway_project.api.views import ApiView
from gateway_project.mcp import arguments, meta_tools

ADDRESS_PARAMETERS: Final = ("query", "limit", "server", "category", "detail")
_TOOL: Final = meta_tools.BY_NAME[meta_tools.SEARCH]
_PROPERTIES: Final = _TOOL.input_schema["properties"]


class SearchView(ApiView):
    """POST a query, or GET with `query` and `limit`."""

    scopes: ClassVar = {"GET": SEARCH, "POST": SEARCH}
    serves_groups = True

    @extend_schema(
        operation_id="search",
        request={"application/json": _TOOL.input_schema},
        responses={200: _TOOL.output_schema},
        examples=[
            OpenApiExample("search", value={"query": "read a file", "limit": 3}, request_only=True)
        ],
    )
    def post(self, _request: Request) -> Response:
        """Find tools by what they do."""
        return self._find(self.read_object())

    @extend_schema(
        operation_id="search_by_address",
        parameters=[
            OpenApiParameter(name, _PROPERTIES[name], required=name == "query")
            for name in ADDRESS_PARAMETERS
        ],
        responses={200: _TOOL.output_schema},
    )
    def get(self, request: Request) -> Response:
        """Find tools by what they do; for a browser or a script."""
        given: dict[str, Any] = dict(request.query_params.items())
        limit = given.get("limit", "")
        if limit.isascii() and limit.removeprefix("-").isdigit():
            given["limit"] = int(limit)
        return self._find(given)

    def _find(self, given: dict[str, Any]) -> Response:
        checked = arguments.check_arguments(meta_tools.SEARCH, given)
        found = run_coroutine(
            flow.find_tools, self.effects, self.caller, arguments.read_find_request(checked)
        )
        return Response(found.as_json())
