"""The gateway as an MCP client of one server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools import ui_pages
from tools.upstream.in_flight import InFlightRequest, InFlightRequests
from tools.upstream.status import ListName

SHARED_CAPABILITIES: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {},
    "sampling": {},
}
"""Declared on a shared connection; a client without one of them answers with an error."""
LISTING_EXTENSIONS: Mapping[str, Any] = {ui_pages.EXTENSION: ui_pages.CLIENT_SETTINGS}
"""Declared wherever tools are listed, whatever the client: a server may list others, or other
definitions, to one that shows no pages, and each connection must list the pinned ones."""


@dataclass(frozen=True, kw_only=True)
class ClientProfile:
    """The client side of the connections to one server.

    Attributes:
        capabilities: Client capabilities declared in the legacy handshake.
        flights: Requests in flight, including those waiting for the start.
        on_list_changed: Called with the kind of list that changed.
        on_resource_updated: Called with the URI of a resource whose content changed.
        on_roots_asked: Called if a server asks for roots on a shared connection: with the request
            of the only client, if that can tell its roots. Returns whether the connection has
            become that client's own.
        fatal_requests: Methods of optional requests that crashed the server's process.
    """

    capabilities: Mapping[str, Any]
    flights: InFlightRequests
    on_list_changed: Callable[[ListName], None]
    on_resource_updated: Callable[[str], None]
    on_roots_asked: Callable[[InFlightRequest | None], bool]
    fatal_requests: set[str] = field(default_factory=set)
