"""The gateway as one server sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.upstream.flights import Flights
from tools.upstream.limits import Limits
from tools.upstream.status import Kind

SHARED_CAPABILITIES: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {},
    "sampling": {},
}
"""What some client of a shared connection may be able to do; who is not, answers with an error."""


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Who hears of what concerns no request.

    Attributes:
        changed: Told what kind of list has changed.
        updated: Told the URI of a resource whose content has changed.
    """

    changed: Callable[[Kind], None]
    updated: Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Client:
    """Who a server has to do with.

    Attributes:
        capabilities: What it can be asked, in the handshake of old.
        flights: Requests under way, also those that wait for the start.
        listeners: Who hears of changes.
        limits: Caps on what the server may send and cost.
    """

    capabilities: Mapping[str, Any]
    flights: Flights
    listeners: Listeners
    limits: Limits
