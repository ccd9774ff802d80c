"""Pass-through of everything servers offer besides tools, one function per entry point.

Permissions are checked here, once. Results are returned unchanged, except that lists carry the
gateway's exposed names of resources and prompts instead of the servers' own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from execution import call
from execution.call_errors import CallNotPermitted
from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.text import strip_invisible
from gateway_project.foundation.user_error import UserError
from tools import ids, resource_uris, skills, ui_pages
from tools.catalogue import CatalogueServer
from tools.item_lists import ListedItems
from tools.resource_uris import ResourceAddress
from tools.upstream.errors import UpstreamError
from tools.upstream.kinds import ITEMS, ItemKind
from tools.upstream.listing import ItemListing
from tools.upstream.request import Downstream, UpstreamRequest

READ_SCOPE: Final = "read"
_OWN_SCHEMES: Final = (resource_uris.UI_SCHEME, resource_uris.SKILL_SCHEME)
"""Of pages and skills, which are named by their server in any case."""
_EXPOSED_URIS: Final[Mapping[ItemKind, Callable[[str, str], str]]] = {
    "resources": resource_uris.exposed_uri,
    "templates": resource_uris.exposed_template,
}
_TEXT_KEYS: Final = ("description", "title")


class PassThroughError(UserError):
    """Root of the errors of passing requests through to servers.

    Attributes:
        code: Stable error code.
        data: Details for programs.
    """

    code = "read_failed"

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.data = data


class ReadNotPermitted(PassThroughError):
    """The caller may not read servers' items, or results of calls."""

    code = "not_permitted"

    def __init__(
        self, caller: Caller, *, what: str = "resources and prompts", scope: str = READ_SCOPE
    ) -> None:
        super().__init__(
            f"{caller.user!r} may not read {what}; an admin can grant the scope {scope!r}"
        )


class UnknownResource(PassThroughError):
    """No server visible to the caller has it."""

    code = "unknown_resource"

    def __init__(self, uri: str) -> None:
        super().__init__(
            f"no resource {uri!r}: no server lists it; resources/list shows what exists", uri=uri
        )


class AmbiguousResource(PassThroughError):
    """Several servers have it."""

    code = "ambiguous_resource"

    def __init__(self, uri: str, addresses: list[ResourceAddress]) -> None:
        exact = [resource_uris.exposed_uri(address.server, address.uri) for address in addresses]
        super().__init__(
            f"several servers have {uri!r}; use one of {', '.join(exact)}", uri=uri, uris=exact
        )


class UnknownPrompt(PassThroughError):
    """No server visible to the caller has it."""

    code = "unknown_prompt"

    def __init__(self, name: str, *, missing: Sequence[str]) -> None:
        unlisted = ", ".join(missing)
        advice = f"; {unlisted} cannot be listed now: see whether it needs a sign-in of yours"
        super().__init__(
            f"no prompt {name!r}; prompts/list shows what exists{advice if missing else ''}",
            name=name,
        )


class UnknownSkill(PassThroughError):
    """No server visible to the caller has it."""

    code = "unknown_skill"

    def __init__(self, uri: str) -> None:
        super().__init__(f"no skill or folder {uri!r}; skills/list shows what exists", uri=uri)


async def list_items(
    effects: Effects, caller: Caller, downstream: Downstream, kind: ItemKind
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """List the resources, templates or prompts of all servers visible to the caller.

    Prompts have distinct names.

    Returns:
        The items as clients see them, by server and in each server's order; and the servers whose
        items are missing or may be stale.
    """
    servers = _visible_servers(effects, caller)
    listed = await effects.item_lists.gather_lists(
        servers, kind, caller=caller, downstream=downstream
    )
    if kind == "prompts":
        prompts = _iterate_prompts(servers, listed.by_server)
        items = [_expose_item(item, "name", name) for name, _, item in prompts]
    else:
        items = list(_iterate_exposed(servers, listed, kind))
    return items, listed.missing


async def find_resource(
    effects: Effects, caller: Caller, downstream: Downstream, uri: str
) -> ResourceAddress:
    """Resolve a resource's exposed URI, or its own URI if that is unambiguous.

    An own URI is resolved to the one server that lists it, or whose templates match it; otherwise
    to the server whose result linked to it, or else to the server without a prefix.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownResource: If no server has it.
        AmbiguousResource: If several have it.
    """
    servers = _visible_servers(effects, caller)
    address = resource_uris.parse_uri(uri)
    if address is not None:
        if all(server.name != address.server for server in servers):
            raise UnknownResource(uri)
        return address
    listed = await effects.item_lists.gather_lists(
        servers, "resources", caller=caller, downstream=downstream
    )
    found = _find_owners(listed, "uri", uri, matches=operator.eq)
    if not found:
        listed = await effects.item_lists.gather_lists(
            servers, "templates", caller=caller, downstream=downstream
        )
        found = _find_owners(listed, "uriTemplate", uri, matches=resource_uris.matches_template)
    if len(found) != 1:
        linking = effects.item_lists.find_linking_server(uri, caller=caller)
        found = [
            ResourceAddress(server=s.name, uri=uri) for s in servers if s.name == linking
        ] or found
    if len(found) > 1:
        raise AmbiguousResource(uri, found)
    found = found or [
        ResourceAddress(server=server.name, uri=uri) for server in servers if server.unprefixed
    ]
    if not found:
        raise UnknownResource(uri)
    return found[0]


async def find_template(
    effects: Effects, caller: Caller, downstream: Downstream, uri: str
) -> ResourceAddress:
    """Resolve a template's exposed URI, or its own URI if only one server has it.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownResource: If no server or several have it.
    """
    servers = _visible_servers(effects, caller)
    address = resource_uris.parse_uri(uri)
    if address is not None:
        return await find_resource(effects, caller, downstream, uri)
    listed = await effects.item_lists.gather_lists(
        servers, "templates", caller=caller, downstream=downstream
    )
    found = _find_owners(listed, "uriTemplate", uri, matches=operator.eq)
    if len(found) != 1:
        raise UnknownResource(uri)
    return found[0]


async def find_prompt(
    effects: Effects, caller: Caller, downstream: Downstream, name: str
) -> tuple[str, str]:
    """Return the server and own name of a prompt by its exposed name or id `server:prompt`.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownPrompt: If no server has it.
    """
    servers = _visible_servers(effects, caller)
    listed = await effects.item_lists.gather_lists(
        servers, "prompts", caller=caller, downstream=downstream
    )
    for exposed, prompt, _ in _iterate_prompts(servers, listed.by_server):
        if name in (exposed, ids.join_id(*prompt)):
            return prompt
    for server in servers:
        if server.unprefixed:
            return server.name, name
    raise UnknownPrompt(name, missing=listed.missing)


async def list_skills(effects: Effects, caller: Caller, downstream: Downstream) -> ListedItems:
    """Return the skills of all servers visible to the caller, as their servers list them.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
    """
    servers = [one for one in _visible_servers(effects, caller) if _has_skills(effects, one)]
    return await effects.item_lists.gather_lists(
        servers, "skills", caller=caller, downstream=downstream
    )


async def find_skill(
    effects: Effects, caller: Caller, downstream: Downstream, uri: str
) -> ResourceAddress:
    """Resolve the URI of a skill, or of its folders: exposed, or its own if one server lists it.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownSkill: If no server with skills has it.
        AmbiguousResource: If several have it.
    """
    address = resource_uris.parse_uri(uri)
    if address is not None:
        for server in _visible_servers(effects, caller):
            if server.name == address.server and _has_skills(effects, server):
                return address
        raise UnknownSkill(uri)
    listed = await list_skills(effects, caller, downstream)
    candidates = (uri, *skills.find_candidates(uri))
    found = [
        ResourceAddress(server=name, uri=uri)
        for name, listing in listed.by_server.items()
        if any(item["uri"] in candidates for item in _iterate_named_items(listing, "uri"))
    ]
    if len(found) > 1:
        raise AmbiguousResource(uri, found)
    if not found:
        raise UnknownSkill(uri)
    return found[0]


def may_have_skills(effects: Effects, server: str) -> bool:
    """Whether what is read of a server may be a file of a skill."""
    found = effects.catalogue().servers.get(server)
    return found is not None and _has_skills(effects, found)


def _has_skills(effects: Effects, server: CatalogueServer) -> bool:
    """Whether a server declared skills when it was connected last, or does now."""
    if skills.EXTENSION in (server.capabilities or ()):
        return True
    try:
        return skills.declares(effects.requests.get_capabilities(server.name))
    except UpstreamError:  # not in the pool yet, or no longer
        return False


async def read_stored_result(effects: Effects, caller: Caller, result_id: str) -> str:
    """Return a result that was too large to send inline, as JSON.

    Requires the scope for calls, since a call returned it.

    Raises:
        ReadNotPermitted: If the caller may not make calls.
        UnknownResult: If it has expired or belongs to another caller.
    """
    if not caller.has_scope(call.SCOPE):
        raise ReadNotPermitted(caller, what="results of calls", scope=call.SCOPE)
    return await effects.result_store.read_result(result_id, caller)


async def send_request(
    effects: Effects, caller: Caller, server: str, request: UpstreamRequest
) -> dict[str, Any]:
    """Send a request to a server visible to the caller, and return its result unchanged.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownResource: If the caller does not see the server.
        UpstreamError: If the server returns no result.
    """
    if all(visible.name != server for visible in _visible_servers(effects, caller)):
        raise UnknownResource(server)
    try:
        return await effects.requests.request(server, request, caller=caller)
    except UpstreamError as error:
        raise error.limit_to(caller) from None


async def send_task_request(
    effects: Effects, caller: Caller, tool: str, request: UpstreamRequest
) -> dict[str, Any]:
    """Send a request about the MCP task of a call, and return its result unchanged.

    Raises:
        CallNotPermitted: If the caller may not call tools.
        UnknownTool: If the caller does not see the tool any more.
        UpstreamError: If the server returns no result.
    """
    if not caller.has_scope(call.SCOPE):
        raise CallNotPermitted(caller)
    server = effects.catalogue().find_tool(tool, caller).server
    try:
        return await effects.requests.request(server, request, caller=caller)
    except UpstreamError as error:
        raise error.limit_to(caller) from None


async def admit_page(
    effects: Effects,
    caller: Caller,
    downstream: Downstream,
    raw: Mapping[str, Any],
    *,
    address: ResourceAddress,
    uri: str,
) -> dict[str, Any]:
    """Return a page as it is sent, if it is as it was pinned.

    Args:
        effects: What compares it, and the lists of resources.
        caller: Who read it.
        downstream: How to reach the client.
        raw: As its server sent it.
        address: Where it was read.
        uri: By which the client asked for it.

    Raises:
        ContentUnavailable: If it is not as it was pinned.
    """
    servers = [one for one in _visible_servers(effects, caller) if one.name == address.server]
    listed = await effects.item_lists.gather_lists(
        servers, "resources", caller=caller, downstream=downstream
    )
    entries = _iterate_named_items(listed.by_server.get(address.server), "uri")
    entry = next((one for one in entries if one["uri"] == address.uri), None)
    page = ui_pages.complete_contents(raw, uri=address.uri, listed=entry, shown_as=uri)
    await effects.content.admit_page(address.server, address.uri, page)
    return page


def _visible_servers(effects: Effects, caller: Caller) -> list[CatalogueServer]:
    if not caller.has_scope(READ_SCOPE):
        raise ReadNotPermitted(caller)
    servers = effects.catalogue().list_servers(caller)
    if caller.group is None:
        return servers
    return [server for server in servers if caller.group in server.whole_groups]


def _iterate_exposed(
    servers: list[CatalogueServer], listed: ListedItems, kind: ItemKind
) -> Iterator[dict[str, Any]]:
    """Yield resources or templates with their exposed URIs."""
    field, expose = ITEMS[kind].key, _EXPOSED_URIS[kind]
    for server in servers:
        for item in _iterate_named_items(listed.by_server.get(server.name), field):
            own = item[field]
            is_named_so = server.unprefixed and not own.startswith(_OWN_SCHEMES)
            yield _expose_item(item, field, own if is_named_so else expose(server.name, own))


def _iterate_named_items(listing: ItemListing | None, field: str) -> Iterator[dict[str, Any]]:
    """Yield the addressable items: those whose name is a non-empty string."""
    for item in listing.items if listing else ():
        if isinstance(item.get(field), str) and item[field]:
            yield item


def _expose_item(item: Mapping[str, Any], field: str, value: str) -> dict[str, Any]:
    texts = {
        key: strip_invisible(item[key]) for key in _TEXT_KEYS if isinstance(item.get(key), str)
    }
    return {"name": item.get(field), **item, **texts, field: value}


def _iterate_prompts(
    servers: list[CatalogueServer], by_server: Mapping[str, ItemListing]
) -> Iterator[tuple[str, tuple[str, str], dict[str, Any]]]:
    """Yield the prompts of servers with their exposed names, which are unique.

    Prompts of the server without a prefix take precedence.
    """
    taken: set[str] = set()
    for server in sorted(servers, key=lambda server: not server.unprefixed):
        for item in _iterate_named_items(by_server.get(server.name), "name"):
            own = item["name"]
            name = own if server.unprefixed else ids.exposed_name(server.name, own)
            if name in taken:
                continue
            taken.add(name)
            yield name, (server.name, own), item


def _find_owners(
    listed: ListedItems, field: str, uri: str, *, matches: Callable[[str, str], bool]
) -> list[ResourceAddress]:
    """Return the resource at each server with an item whose field matches its URI."""
    return [
        ResourceAddress(server=name, uri=uri)
        for name, listing in listed.by_server.items()
        if any(matches(item[field], uri) for item in _iterate_named_items(listing, field))
    ]
