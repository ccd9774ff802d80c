"""Tools: those that the caller may know of, their relations and what can replace them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project import flow
from gateway_project.access.roles import SEARCH
from gateway_project.api.description import describe_list
from gateway_project.api.problems import InvalidInput
from gateway_project.api.runtime import run_coroutine
from gateway_project.api.views import ApiView
from gateway_project.find.answers import ToolDescription
from gateway_project.foundation.text import strip_invisible
from gateway_project.mcp import meta_tools
from tools.catalogue import CatalogueTool
from tools.danger import Danger
from tools.visibility import Visibility

MAX_DESCRIPTION: Final = 500
FILTERS: Final = ("server", "category", "state", "danger")
_DESCRIPTION: Final = meta_tools.BY_NAME[meta_tools.DESCRIBE].output_schema or {}
_TEXT: Final = {"type": "string"}
_ITEM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tool": {**_TEXT, "description": "Id: server:tool"},
        "name": {**_TEXT, "description": "Exposed name"},
        "title": _TEXT,
        "description": {**_TEXT, "description": f"Cut at {MAX_DESCRIPTION} characters"},
        "server": _TEXT,
        "category": _TEXT,
        "state": {**_TEXT, "description": "active, or why it cannot be called"},
        "danger": {"enum": [danger.value for danger in Danger]},
        "tokens": {"type": "integer"},
    },
    "required": ["tool", "name", "server", "state", "danger", "tokens"],
}


class ToolListView(ApiView):
    """All tools that the caller may know of, usable or not."""

    scopes: ClassVar = {"GET": SEARCH}
    serves_groups = True

    @describe_list(
        "list_tools", _ITEM, "", *(OpenApiParameter(name, OpenApiTypes.STR) for name in FILTERS)
    )
    def get(self, request: Request) -> Response:
        """List tools by id; `search/` finds them by what they do."""
        effects = self.effects
        catalogue = effects.catalogue()
        wanted = {
            name: request.query_params[name] for name in FILTERS if name in request.query_params
        }
        if wanted.get("danger", Danger.READ.value) not in [danger.value for danger in Danger]:
            raise InvalidInput(f"danger: one of {', '.join(danger.value for danger in Danger)}")
        visibility = Visibility(catalogue=catalogue, caller=self.caller)
        visible = (
            tool
            for tool in map(catalogue.tools.__getitem__, sorted(catalogue.tools))
            if visibility.find_tool(tool.pk) is not None and _matches(tool, wanted)
        )
        return self.answer_sorted(
            visible, _make_item(catalogue.exposed_name), key=lambda tool: (tool.tool,)
        )


class ToolView(ApiView):
    """One tool."""

    scopes: ClassVar = {"GET": SEARCH}
    serves_groups = True

    @extend_schema(operation_id="get_tool", responses={200: _DESCRIPTION})
    def get(self, _request: Request, tool: str) -> Response:
        """Return a tool's full definition."""
        effects = self.effects
        described = _describe(self, tool)
        return Response(described.as_json(effects.catalogue().exposed_name(described.tool.tool)))


class RelatedView(ApiView):
    """Relations of a tool."""

    scopes: ClassVar = {"GET": SEARCH}
    serves_groups = True

    @extend_schema(
        operation_id="list_related_tools",
        responses={
            200: {
                "type": "object",
                "properties": {
                    "tool": _TEXT,
                    "relations": _DESCRIPTION["properties"]["relations"],
                },
                "required": ["tool", "relations"],
            }
        },
    )
    def get(self, _request: Request, tool: str) -> Response:
        """Return how a tool is related to others, strongest first."""
        described = _describe(self, tool)
        relations = [dict(relation) for relation in described.relations]
        return Response({"tool": described.tool.tool, "relations": relations})


class AlternativesView(ApiView):
    """What can replace a tool."""

    scopes: ClassVar = {"GET": SEARCH}
    serves_groups = True

    @extend_schema(
        operation_id="list_alternative_tools",
        responses={
            200: {
                "type": "object",
                "properties": {"tool": _TEXT, "alternatives": {"type": "array", "items": _TEXT}},
                "required": ["tool", "alternatives"],
            }
        },
    )
    def get(self, _request: Request, tool: str) -> Response:
        """Return the ids of tools that can replace a tool, best first."""
        described = _describe(self, tool)
        return Response(
            {"tool": described.tool.tool, "alternatives": list(described.alternatives)}
        )


def _describe(view: ApiView, tool: str) -> ToolDescription:
    return run_coroutine(flow.describe_tool, view.effects, view.caller, tool)


def _matches(tool: CatalogueTool, wanted: dict[str, str]) -> bool:
    values = {
        "server": tool.server,
        "category": tool.category,
        "state": _find_state(tool),
        "danger": tool.danger.value,
    }
    return all(values[name] == value for name, value in wanted.items())


def _find_state(tool: CatalogueTool) -> str:
    return tool.state if tool.enabled else "disabled"


def _make_item(name_tool: Callable[[str], str]) -> Callable[[CatalogueTool], dict[str, Any]]:
    def make(tool: CatalogueTool) -> dict[str, Any]:
        return {
            "tool": tool.tool,
            "name": name_tool(tool.tool),
            "title": strip_invisible(tool.title),
            "description": strip_invisible(tool.description)[:MAX_DESCRIPTION],
            "server": tool.server,
            "category": tool.category,
            "state": _find_state(tool),
            "danger": tool.danger.value,
            "tokens": tool.token_count,
        }

    return make
