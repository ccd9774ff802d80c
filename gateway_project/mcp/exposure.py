"""Server tools as listed to clients: which of them, and their pinned definitions.

They are chosen for the fewest tokens of a whole job; the table of clients
(`client_config/clients.toml`) says what each makes of listed tools.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import structlog
from mcp.shared.inbound import X_MCP_HEADER_KEY, find_invalid_x_mcp_header, x_mcp_header_map
from mcp_types.methods import SERVER_RESULTS
from pydantic import TypeAdapter, ValidationError

from execution.call import SCOPE
from gateway_project.client_config.clients import UNKNOWN_LISTING, ListingForm, find_introduced
from gateway_project.foundation.caller import Caller, SessionKey
from gateway_project.foundation.exposure_setting import Exposure, read_setting
from gateway_project.foundation.text import strip_invisible, strip_invisible_deep
from gateway_project.mcp.listed_schema import adapt_schema
from gateway_project.mcp.results import strip_own_keys
from tools import ids, ui_pages
from tools.catalogue import Catalogue, CatalogueTool
from tools.visibility import list_servers_with_pages

MAX_SESSIONS: Final = 1_024
KEPT_S: Final = 3_600.0
"""How long a session that asks for no list keeps its exposure."""
GROWTH: Final = 2
"""By how much listed tools may outgrow what was chosen for, before a session is shown fewer."""
_FROM_MOST: Final[tuple[Exposure, ...]] = ("full", "hybrid", "meta")

MAX_CACHED: Final = 20_000
_LATEST_VERSION: Final = "2026-07-28"
_STRICTEST_VERSION: Final = "2025-11-25"
"""Version whose clients reject a whole list because of one invalid definition."""
_NOT_LISTED: Final = frozenset({"execution", "annotations"})
"""Extras that are not listed as they are: the gateway runs no tasks for clients, and hints are
listed among the others."""
_ANNOTATION_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(("destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"), bool),
    "title": str,
}

Definition = dict[str, Any]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ClientView:
    """What a client is shown of servers' tools.

    Attributes:
        exposure: Which tools; `auto`: it may call each by its listed name.
        form: What the client makes of listed tools.
        searches: Whether it searches listed tools itself.
    """

    exposure: Exposure
    form: ListingForm = UNKNOWN_LISTING
    searches: bool = False


def find_view(setting: str, caller: Caller, *, name: str, version: str = "") -> ClientView:
    """Return what the installation's setting says of a client.

    Args:
        setting: As read by `exposure_setting`.
        caller: Who asks.
        name: By which the client introduces itself.
        version: Of the client.
    """
    client = find_introduced(name)
    names = [name, client.name] if client else [name]
    form = client.listing if client else UNKNOWN_LISTING
    return ClientView(
        exposure=read_setting(setting).find(names, group=caller.group),
        form=form,
        searches=form.searches(version),
    )


def choose_exposure(
    chosen: OrderedDict[SessionKey, tuple[Exposure, float]],
    view: ClientView,
    catalogue: Catalogue,
    caller: Caller,
) -> ClientView:
    """Return the view of a client that asks for a list, with an exposure chosen if it is `auto`.

    Within a session a list never gains by a new choice, and loses only once it has far outgrown
    the former one: servers that connect or leave change nothing else.

    Args:
        chosen: The exposures of sessions, with the time at which each last asked; updated.
        view: Of the client.
        catalogue: As it is now.
        caller: Who asks.
    """
    if view.exposure != "auto":
        return view
    usable = catalogue.list_usable(caller)
    if not usable:  # nothing to choose by yet
        return replace(view, exposure="meta")
    former, asked_at = chosen.pop(caller.client_key, (None, 0.0))
    now = time.monotonic()
    exposure = _choose(view, usable, former if now - asked_at <= KEPT_S else None)
    chosen[caller.client_key] = exposure, now
    if len(chosen) > MAX_SESSIONS:
        chosen.popitem(last=False)
    return replace(view, exposure=exposure)


def _choose(view: ClientView, tools: list[CatalogueTool], former: Exposure | None) -> Exposure:
    """Return the exposure with the most tools whose listing is not too costly."""
    allowed = _FROM_MOST[_FROM_MOST.index(former) :] if former else _FROM_MOST
    for exposure in allowed[:-1]:
        listed = tools if exposure == "full" else [tool for tool in tools if tool.pinned]
        limit = view.form.max_tokens * (GROWTH if exposure == former else 1)
        if listed and _count_tokens(view, listed) <= limit:
            return exposure
    return "meta"


def _count_tokens(view: ClientView, tools: list[CatalogueTool]) -> int:
    if view.searches:
        return view.form.name_tokens * len(tools)
    return sum(tool.token_count for tool in tools)


_definition_cache: dict[tuple[str, str, str, bool], tuple[Definition, Definition]] = {}
_headerless_tools: set[tuple[str, str]] = set()
"""Definition hash and name of tools without header arguments: their schemas are read once."""


def list_exposed(
    catalogue: Catalogue,
    caller: Caller,
    exposure: Exposure,
    *,
    name_limit: int = ids.MAX_EXPOSED_LENGTH,
    shows_pages: bool = False,
    is_modern: bool = True,
) -> Sequence[Definition]:
    """Return the definitions of the tools listed beside the meta-tools, sorted by name.

    The result is built once for each catalogue, exposure, limit, team and group; of the caller's
    scopes only the permission to call tools matters.

    To a client that shows pages all servers are one. Lest any page calls any tool, those of
    servers without pages are listed as for models alone.

    Args:
        catalogue: As it is now.
        caller: Who asks.
        exposure: Chosen for the client: not `auto`.
        name_limit: Characters of a name that the client takes.
        shows_pages: Whether the client shows pages of servers, and keeps from its model what is
            for those alone.
        is_modern: Whether the client is of the stateless era.
    """
    if exposure == "meta" or not caller.has_scope(SCOPE):
        return ()
    key = ("shown", exposure, name_limit, shows_pages, caller.team, caller.group)
    eras = catalogue.derived_cache.get(key)
    if eras is None:
        usable = catalogue.list_usable(caller, for_pages=shows_pages)
        tools = [tool for tool in usable if _is_exposed(tool, exposure)]
        named = {catalogue.exposed_name(tool.tool, limit=name_limit): tool for tool in tools}
        have_pages = list_servers_with_pages(catalogue)
        definitions = [
            _keep_for_models(*_get_definitions(tool, name))
            if shows_pages and tool.server not in have_pages
            else _get_definitions(tool, name)
            for name, tool in sorted(named.items())
        ]
        eras = tuple([pair[era] for pair in definitions] for era in (0, 1))
        catalogue.derived_cache[key] = eras
    exposed: Sequence[Definition] = eras[0 if is_modern else 1]
    return exposed


def find_exposed(
    catalogue: Catalogue,
    caller: Caller,
    exposure: Exposure,
    name: str,
    *,
    name_limit: int = ids.MAX_EXPOSED_LENGTH,
) -> CatalogueTool | None:
    """Return the tool that a client may call by its exposed name, usable or not.

    Under `auto` that is any tool: a session may know names that it is no longer shown.
    """
    if exposure == "meta":
        return None
    tool = catalogue.find_exposed(name, caller, limit=name_limit)
    return tool if tool is not None and _is_exposed(tool, exposure) else None


def find_input_schema(
    catalogue: Catalogue,
    caller: Caller,
    exposure: Exposure,
    name: str,
    *,
    name_limit: int = ids.MAX_EXPOSED_LENGTH,
) -> Mapping[str, Any] | None:
    """Return the schema that checks the headers of a caller's call by an exposed name.

    Returns:
        None if the tool is not visible to the caller, or its listed schema mirrors no arguments as
        headers.
    """
    tool = find_exposed(catalogue, caller, exposure, name, name_limit=name_limit)
    if tool is None or not tool.is_usable:
        return None
    key = (tool.definition_hash, name)
    if key in _headerless_tools:
        return None
    schema: Mapping[str, Any] = _get_definitions(tool, name)[0]["inputSchema"]
    if x_mcp_header_map(schema):
        return schema
    if tool.definition_hash:
        if len(_headerless_tools) >= MAX_CACHED:
            _headerless_tools.clear()
        _headerless_tools.add(key)
    return None


def _is_exposed(tool: CatalogueTool, exposure: Exposure) -> bool:
    return exposure in {"full", "auto"} or (exposure == "hybrid" and tool.pinned)


def _get_definitions(tool: CatalogueTool, name: str) -> tuple[Definition, Definition]:
    """Return a tool's definition for each era, built once for each pinned definition and name."""
    if not tool.definition_hash:
        return _build_definitions(tool, name)
    key = (tool.definition_hash, tool.tool, name, tool.extras is None)
    definitions = _definition_cache.get(key)
    if definitions is None:
        if len(_definition_cache) >= MAX_CACHED:
            _definition_cache.clear()
        definitions = _definition_cache[key] = _build_definitions(tool, name)
    return definitions


def _build_definitions(tool: CatalogueTool, name: str) -> tuple[Definition, Definition]:
    extras = _list_extras(tool)
    definition: Definition = {**extras, "name": name}
    if tool.title:
        definition["title"] = strip_invisible(tool.title)
    if tool.description:
        definition["description"] = strip_invisible(tool.description)
    definition["inputSchema"] = _build_input_schema(tool)
    hints = {**(tool.extras or {}).get("annotations", {}), **tool.annotations}
    if hints:
        definition["annotations"] = {
            key: value
            for key, value in strip_invisible_deep(hints).items()
            if isinstance(value, _ANNOTATION_TYPES.get(key, object))
        }
    output = tool.output_schema
    if output is None:
        return (_require_valid(definition, version=_STRICTEST_VERSION),) * 2
    output = adapt_schema(strip_invisible_deep(output), is_result=True)
    modern = _require_valid({**definition, "outputSchema": output}, version=_LATEST_VERSION)
    is_object = output.get("type") == "object"  # the only type that the handshake era knows
    handshake = modern if is_object else definition
    return modern, _require_valid(handshake, version=_STRICTEST_VERSION)


def _list_extras(tool: CatalogueTool) -> Definition:
    """Return the other members as listed; of `_meta`, nothing in the gateway's own name."""
    extras = {key: value for key, value in (tool.extras or {}).items() if key not in _NOT_LISTED}
    stripped: Definition = strip_invisible_deep(extras)
    if "_meta" in stripped:
        stripped["_meta"] = ui_pages.expose_page(strip_own_keys(stripped["_meta"]), tool.server)
    return stripped


def _keep_for_models(*definitions: Definition) -> tuple[Definition, ...]:
    """Return definitions as of a tool that no page may call, unless they say who may."""
    return tuple(
        {**one, "_meta": ui_pages.keep_for_models(one.get("_meta") or {})} for one in definitions
    )


def _build_input_schema(tool: CatalogueTool) -> Any:
    schema = adapt_schema(strip_invisible_deep(tool.input_schema))
    reason = find_invalid_x_mcp_header(schema)
    if reason is not None:
        log.warning("exposure.header_omitted", tool=tool.tool, reason=reason)
        schema = _strip_header_keys(schema)
    return schema


def _require_valid(definition: Definition, *, version: str) -> Definition:
    """Return a definition, or what is left of one that clients of a version still reject.

    Arguments and results are validated against the pinned schemas regardless.
    """
    if _is_valid(definition, version=version):
        return definition
    return {"name": definition["name"], "inputSchema": {"type": "object"}}


def _is_valid(definition: Definition, *, version: str) -> bool:
    try:
        _make_list_adapter(version).validate_python(
            {**_LIST_ENVELOPE, "tools": [definition]}, by_name=False
        )
    except ValidationError:
        return False
    return True


@cache
def _make_list_adapter(version: str) -> TypeAdapter[Any]:
    surface: Any = SERVER_RESULTS["tools/list", version]
    return TypeAdapter(surface)


_LIST_ENVELOPE: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def _strip_header_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _strip_header_keys(item) for key, item in value.items() if key != X_MCP_HEADER_KEY
        }
    if isinstance(value, list):
        return [_strip_header_keys(item) for item in value]
    return value
