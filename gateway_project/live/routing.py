"""Addresses of the live updates, and the application that serves them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer
from channels.routing import URLRouter
from django.urls import path, re_path
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_project.live import relay
from gateway_project.live.consumers import (
    ApprovalsConsumer,
    LiveConsumer,
    RunConsumer,
    RunsConsumer,
    ServersConsumer,
    SpeculationConsumer,
)
from gateway_project.live.hub import Hub
from gateway_project.mcp.http.names import AllowedNames

LAYER_ALIAS: Final = "live"
"""Name of the channel layer in Django's settings, which few installations have."""


@dataclass(frozen=True, kw_only=True)
class LiveRoute:
    """An address of live updates.

    Attributes:
        path: As in Django's URL patterns.
        consumer: Serves its viewers.
    """

    path: str
    consumer: type[LiveConsumer]


ROUTES: Final = (
    LiveRoute(path="live/runs/", consumer=RunsConsumer),
    LiveRoute(path="live/runs/<uuid:run>/", consumer=RunConsumer),
    LiveRoute(path="live/approvals/", consumer=ApprovalsConsumer),
    LiveRoute(path="live/speculation/", consumer=SpeculationConsumer),
    LiveRoute(path="live/servers/", consumer=ServersConsumer),
)
"""Every address of live updates; tests of who sees what are derived from it."""


class _UnknownAddress(AsyncWebsocketConsumer):
    """Refuses a connection to any other address."""

    async def connect(self) -> None:
        """Refuse."""
        await self.close()


def make_live_application(names: AllowedNames, *, hub: Hub | None = None) -> ASGIApp:
    """Return the application that serves websockets.

    Args:
        names: Hosts that are answered, and origins that may connect.
        hub: The viewers of this process; None: a hub of its own.
    """
    shared = hub or Hub(_choose_relay())
    routes = [
        path(route.path, cast("Any", route.consumer.as_asgi(hub=shared, names=names)))
        for route in ROUTES
    ]
    unknown = re_path("", cast("Any", _UnknownAddress.as_asgi()))
    return cast("ASGIApp", URLRouter([*routes, unknown]))


def serve_by_protocol(http: ASGIApp, websocket: ASGIApp) -> ASGIApp:
    """Return an application that serves websockets by one application and HTTP by another."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        chosen = websocket if scope["type"] == "websocket" else http
        await chosen(scope, receive, send)

    return serve


def _choose_relay() -> Callable[[relay.Deliver], Awaitable[None]]:
    layer = get_channel_layer(LAYER_ALIAS)
    if layer is None:
        return relay.relay_from_database
    return partial(relay.relay_from_layer, layer)
