"""What servers offer beside tools, one function for each way in: lists, reads, prompts, the rest.

Permission is decided here, once. What a server answers is handed back as it came; only where a
list names a resource or a prompt does the gateway put a name of its own in place of the server's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import structlog

from execution.call import Progress
from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.tool_card import clean
from tools import ids, resource_uris
from tools.catalogue import CatalogueServer
from tools.resource_uris import Address
from tools.upstream.downstream import Downstream
from tools.upstream.errors import UpstreamError
from tools.upstream.kinds import ItemKind
from tools.upstream.listing import Listing

SCOPE: Final = "read"
STATELESS_SINCE: Final = "2026-07-28"
"""Version of the protocol from which on nothing is set for a connection."""
_TEXTS: Final = ("description", "title")

AnyEffects = Effects[Any]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Who:
    """Who asks, and the client that asks for them.

    Attributes:
        caller: Decides what is visible.
        downstream: What the client can be asked in turn.
        progress: Told what the server reports meanwhile; None: not asked for.
    """

    caller: Caller
    downstream: Downstream
    progress: Progress | None = None


@dataclass(frozen=True, kw_only=True)
class Items:
    """A list as clients see it.

    Attributes:
        items: By server, each in its server's order.
        missing: Servers whose part is not there, or may be out of date.
    """

    items: tuple[dict[str, Any], ...]
    missing: tuple[str, ...]


class PassThroughError(Exception):
    """Root of what stands between a caller and a server's resources and prompts.

    Attributes:
        code: Stable word for programs.
        data: More for programs.
    """

    code: ClassVar[str] = "read_failed"

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.data = data


class ReadNotPermitted(PassThroughError):
    """The caller may not read what servers offer."""

    code = "not_permitted"

    def __init__(self, caller: Caller) -> None:
        super().__init__(
            f"{caller.user!r} may not read resources and prompts; an admin can grant the scope "
            f"{SCOPE!r}"
        )


class UnknownResource(PassThroughError):
    """No server that the caller sees has it."""

    code = "unknown_resource"

    def __init__(self, uri: str) -> None:
        super().__init__(
            f"no resource {uri!r}: no server lists it; resources/list says what there is", uri=uri
        )


class AmbiguousResource(PassThroughError):
    """Several servers have it."""

    code = "ambiguous_resource"

    def __init__(self, uri: str, addresses: list[Address]) -> None:
        exact = [resource_uris.exposed_uri(found.server, found.uri) for found in addresses]
        super().__init__(
            f"several servers have {uri!r}; ask for one of {', '.join(exact)}", uri=uri, uris=exact
        )


class UnknownPrompt(PassThroughError):
    """No server that the caller sees has it."""

    code = "unknown_prompt"

    def __init__(self, name: str) -> None:
        super().__init__(f"no prompt {name!r}; prompts/list says what there is", name=name)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt at its server.

    Attributes:
        server: The server's name.
        name: Its name there.
    """

    server: str
    name: str


async def list_resources(effects: AnyEffects, who: Who) -> Items:
    """Return the resources of all servers that the caller sees."""
    return await _list(effects, who, "resources", field="uri", exposed=resource_uris.exposed_uri)


async def list_templates(effects: AnyEffects, who: Who) -> Items:
    """Return the resource templates of all servers that the caller sees."""
    return await _list(
        effects, who, "templates", field="uriTemplate", exposed=resource_uris.exposed_template
    )


async def list_prompts(effects: AnyEffects, who: Who) -> Items:
    """Return the prompts of all servers that the caller sees, under names of their own each."""
    servers = _servers(effects, who)
    listed = await effects.lists.gather(servers, "prompts", who.downstream)
    items = [_shown(item, "name", name) for name, _, item in _prompts(servers, listed.by_server)]
    return Items(items=tuple(items), missing=listed.missing)


async def find_resource(effects: AnyEffects, who: Who, uri: str) -> Address:
    """Return where a resource is, given its exposed URI, or its own where that is unambiguous.

    A server's own URI is one that a single server lists, or that fits templates of a single
    server; the server without a prefix is asked for the rest.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownResource: If no server has it.
        AmbiguousResource: If several have it.
    """
    servers = _servers(effects, who)
    address = resource_uris.parse(uri)
    if address is not None:
        if all(server.name != address.server for server in servers):
            raise UnknownResource(uri)
        return address
    found = await _listing(effects, who, servers, uri) or await _fitting(
        effects, who, servers, uri
    )
    if len(found) > 1:
        raise AmbiguousResource(uri, found)
    found = found or [
        Address(server=server.name, uri=uri) for server in servers if server.unprefixed
    ]
    if not found:
        raise UnknownResource(uri)
    return found[0]


async def find_template(effects: AnyEffects, who: Who, uri: str) -> Address:
    """Return where a template is, given as it is listed, or as its only server gave it.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownResource: If no server has it, or several have.
    """
    servers = _servers(effects, who)
    address = resource_uris.parse(uri)
    if address is not None:
        return await find_resource(effects, who, uri)
    listed = await effects.lists.gather(servers, "templates", who.downstream)
    having = [
        name
        for name, listing in listed.by_server.items()
        if any(item["uriTemplate"] == uri for item in _named(listing, "uriTemplate"))
    ]
    if len(having) != 1:
        raise UnknownResource(uri)
    return Address(server=having[0], uri=uri)


async def find_prompt(effects: AnyEffects, who: Who, name: str) -> Prompt:
    """Return where a prompt is, given its exposed name or its id server:prompt.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownPrompt: If no server has it.
    """
    servers = _servers(effects, who)
    listed = await effects.lists.gather(servers, "prompts", who.downstream)
    for exposed, prompt, _ in _prompts(servers, listed.by_server):
        if name in (exposed, ids.join(prompt.server, prompt.name)):
            return prompt
    for server in servers:
        if server.unprefixed:
            return Prompt(server=server.name, name=name)
    raise UnknownPrompt(name)


async def read_kept(effects: AnyEffects, who: Who, result_id: str) -> str:
    """Return a result that was too large to send unasked, as JSON.

    Raises:
        UnknownResult: If it has expired, or is not the caller's.
    """
    return await effects.kept.read(result_id, who.caller)


async def request(
    effects: AnyEffects, who: Who, server: str, method: str, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Send a request to a server that the caller sees, and return its result as it came.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
        UnknownResource: If the caller does not see the server.
        UpstreamError: If there is no result.
    """
    if all(known.name != server for known in _servers(effects, who)):
        raise UnknownResource(server)
    return await effects.requests.request(
        server, method, params, progress=who.progress, downstream=who.downstream
    )


async def set_log_level(effects: AnyEffects, who: Who, level: str) -> None:
    """Tell the running servers of the handshake era what a client wants to hear of their logs.

    A connection that several callers share logs as the last of them said; the others get what is
    severe enough for them. Servers of later eras are told with every request.

    Raises:
        ReadNotPermitted: If the caller lacks the scope.
    """
    async with asyncio.TaskGroup() as group:
        for server in _servers(effects, who):
            if _logs(effects, server.name):
                group.create_task(_say_level(effects, who, server.name, level))


def _logs(effects: AnyEffects, server: str) -> bool:
    try:
        able = effects.requests.capabilities(server) or {}
        status = effects.requests.status_of(server)
    except UpstreamError:  # not in the pool yet, or no more
        return False
    return (
        "logging" in able and status.state == "ready" and status.protocol_version < STATELESS_SINCE
    )


async def _say_level(effects: AnyEffects, who: Who, server: str, level: str) -> None:
    try:
        await effects.requests.request(
            server, "logging/setLevel", {"level": level}, downstream=who.downstream
        )
    except UpstreamError as error:
        log.info("log_level.not_set", server=server, reason=str(error))


def _servers(effects: AnyEffects, who: Who) -> list[CatalogueServer]:
    if not who.caller.may(SCOPE):
        raise ReadNotPermitted(who.caller)
    return effects.catalogue().servers_of(who.caller)


async def _list(
    effects: AnyEffects, who: Who, kind: ItemKind, *, field: str, exposed: Any
) -> Items:
    servers = _servers(effects, who)
    listed = await effects.lists.gather(servers, kind, who.downstream)
    items = []
    for server in servers:
        for item in _named(listed.by_server.get(server.name), field):
            own = item[field]
            items.append(
                _shown(item, field, own if server.unprefixed else exposed(server.name, own))
            )
    return Items(items=tuple(items), missing=listed.missing)


def _named(listing: Listing | None, field: str) -> Iterator[dict[str, Any]]:
    """Yield the items that can be asked for: those whose name is a text."""
    for item in listing.items if listing else ():
        if isinstance(item.get(field), str) and item[field]:
            yield item


def _shown(item: Mapping[str, Any], field: str, value: str) -> dict[str, Any]:
    texts = {key: clean(item[key]) for key in _TEXTS if isinstance(item.get(key), str)}
    return {"name": item.get(field), **item, **texts, field: value}


def _prompts(
    servers: list[CatalogueServer], by_server: Mapping[str, Listing]
) -> Iterator[tuple[str, Prompt, dict[str, Any]]]:
    """Yield the prompts of servers with their exposed names; no two share one.

    Those of the server without a prefix keep their own, and the others give way.
    """
    taken: set[str] = set()
    for server in sorted(servers, key=lambda server: not server.unprefixed):
        for item in _named(by_server.get(server.name), "name"):
            own = item["name"]
            name = own if server.unprefixed else ids.exposed_name(server.name, own)
            if name in taken:
                continue
            taken.add(name)
            yield name, Prompt(server=server.name, name=own), item


async def _listing(
    effects: AnyEffects, who: Who, servers: list[CatalogueServer], uri: str
) -> list[Address]:
    listed = await effects.lists.gather(servers, "resources", who.downstream)
    return [
        Address(server=name, uri=uri)
        for name, listing in listed.by_server.items()
        if any(item["uri"] == uri for item in _named(listing, "uri"))
    ]


async def _fitting(
    effects: AnyEffects, who: Who, servers: list[CatalogueServer], uri: str
) -> list[Address]:
    listed = await effects.lists.gather(servers, "templates", who.downstream)
    return [
        Address(server=name, uri=uri)
        for name, listing in listed.by_server.items()
        if any(
            resource_uris.matches(item["uriTemplate"], uri)
            for item in _named(listing, "uriTemplate")
        )
    ]
