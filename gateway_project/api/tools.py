"""Tools: search, those that the caller may know of, their relations and what can replace them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter
from rest_framework.response import Response

from gateway_project import flow
from gateway_project.access.roles import SEARCH
from gateway_project.api.operations import Operation
from gateway_project.api.pages import read_choice
from gateway_project.api.runtime import run_coroutine
from gateway_project.api.views import ApiView
from gateway_project.find.answers import ToolDescription
from gateway_project.foundation.schema_parts import TEXT, describe_object
from gateway_project.foundation.text import strip_invisible
from gateway_project.mcp import arguments
from gateway_project.mcp.meta_tools.find import DESCRIBE_TOOL, SEARCH_TOOLS, read_find_request
from tools.catalogue import CatalogueTool
from tools.danger import Danger

MAX_DESCRIPTION: Final = 500
FILTERS: Final = ("server", "category", "state", "danger")
SEARCH_PARAMETERS: Final = ("query", "limit", "server", "category", "detail")
_DESCRIPTION: Final = DESCRIBE_TOOL.output_schema or {}
_DANGERS: Final = [danger.value for danger in Danger]
_ITEM: Final = describe_object(
    {
        "tool": {**TEXT, "description": "Id: server:tool"},
        "name": {**TEXT, "description": "Exposed name"},
        "title": TEXT,
        "description": {**TEXT, "description": f"Cut at {MAX_DESCRIPTION} characters"},
        "server": TEXT,
        "category": TEXT,
        "state": {**TEXT, "description": "active, or why it cannot be called"},
        "danger": {"enum": _DANGERS},
        "tokens": {"type": "integer"},
    },
    optional=("title", "description", "category"),
)


@Operation(
    "POST search/",
    SEARCH,
    in_groups=True,
    takes={"application/json": SEARCH_TOOLS.input_schema},
    answers=SEARCH_TOOLS.output_schema,
    examples={"search": {"query": "read a file", "limit": 3}},
)
def search(call: ApiView) -> Any:
    """Find tools by what they do."""
    return _search(call, call.read_object())


@Operation(
    "GET search/",
    SEARCH,
    in_groups=True,
    answers=SEARCH_TOOLS.output_schema,
    parameters=[
        OpenApiParameter(
            name, SEARCH_TOOLS.input_schema["properties"][name], required=name == "query"
        )
        for name in SEARCH_PARAMETERS
    ],
)
def search_by_address(call: ApiView) -> Any:
    """Find tools by what they do; for a browser or a script."""
    given: dict[str, Any] = dict(call.request.query_params.items())
    limit = given.get("limit", "")
    if limit.isascii() and limit.removeprefix("-").isdigit():
        given["limit"] = int(limit)
    return _search(call, given)


@Operation("GET tools/", SEARCH, in_groups=True, answers=_ITEM, plural="tools", parameters=FILTERS)
def list_tools(call: ApiView) -> Response:
    """List tools by id; `search/` finds them by what they do."""
    given = call.request.query_params
    wanted = {name: given[name] for name in FILTERS if name in given}
    read_choice(wanted, "danger", _DANGERS, default=Danger.READ.value)
    catalogue = call.visibility.catalogue
    visible = (
        tool
        for tool in map(catalogue.tools.__getitem__, sorted(catalogue.tools))
        if call.visibility.find_tool(tool.pk) is not None and has_values(tool, wanted)
    )
    return call.answer_sorted(
        visible, _make_item(catalogue.exposed_name), key=lambda tool: (tool.tool,)
    )


@Operation("GET tools/<path:tool>/", SEARCH, in_groups=True, answers=_DESCRIPTION)
def get_tool(call: ApiView, tool: str) -> Any:
    """Return a tool's full definition."""
    described = _describe(call, tool)
    return described.as_json(call.effects.catalogue().exposed_name(described.tool.tool))


@Operation(
    "GET tools/<path:tool>/related/",
    SEARCH,
    in_groups=True,
    answers=describe_object({"tool": TEXT, "relations": _DESCRIPTION["properties"]["relations"]}),
)
def list_related_tools(call: ApiView, tool: str) -> Any:
    """Return how a tool is related to others, strongest first."""
    described = _describe(call, tool)
    relations = [dict(relation) for relation in described.relations]
    return {"tool": described.tool.tool, "relations": relations}


@Operation(
    "GET tools/<path:tool>/alternatives/",
    SEARCH,
    in_groups=True,
    answers=describe_object({"tool": TEXT, "alternatives": {"type": "array", "items": TEXT}}),
)
def list_alternative_tools(call: ApiView, tool: str) -> Any:
    """Return the ids of tools that can replace a tool, best first."""
    described = _describe(call, tool)
    return {"tool": described.tool.tool, "alternatives": list(described.alternatives)}


def _search(call: ApiView, given: dict[str, Any]) -> Any:
    checked = arguments.check_arguments(SEARCH_TOOLS, given)
    wanted = read_find_request(checked)
    return run_coroutine(flow.find_tools, call.effects, call.caller, wanted).as_json()


def _describe(call: ApiView, tool: str) -> ToolDescription:
    return run_coroutine(flow.describe_tool, call.effects, call.caller, tool)


def find_state(tool: CatalogueTool) -> str:
    """Return a tool's state in a word: `disabled`, whatever else it is, if an admin did that."""
    return tool.state if tool.enabled else "disabled"


def has_values(tool: CatalogueTool, wanted: Mapping[str, str]) -> bool:
    """Whether a tool has some values of `FILTERS`."""
    values = {
        "server": tool.server,
        "category": tool.category,
        "state": find_state(tool),
        "danger": tool.danger.value,
    }
    return all(values[name] == value for name, value in wanted.items())


def _make_item(name_tool: Callable[[str], str]) -> Callable[[CatalogueTool], dict[str, Any]]:
    def make(tool: CatalogueTool) -> dict[str, Any]:
        return {
            "tool": tool.tool,
            "name": name_tool(tool.tool),
            "title": strip_invisible(tool.title),
            "description": strip_invisible(tool.description)[:MAX_DESCRIPTION],
            "server": tool.server,
            "category": tool.category,
            "state": find_state(tool),
            "danger": tool.danger.value,
            "tokens": tool.token_count,
        }

    return make
