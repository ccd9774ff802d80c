"""Subscriptions to updates of single resources, in both eras."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import anyio
import structlog
from mcp_types import EmptyResult, SubscriptionsListenRequestParams

from gateway_project import pass_through
from gateway_project.mcp import changes, client_state, task_requests
from gateway_project.mcp.changes import ChangeHub
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.pass_through import PassThroughError
from tools.resource_uris import ResourceAddress
from tools.upstream.downstream import Downstream
from tools.upstream.errors import UpstreamError
from tools.upstream.request import UpstreamRequest

SUBSCRIBE_METHOD = "resources/subscribe"
UNSUBSCRIBE_METHOD = "resources/unsubscribe"

log = structlog.get_logger(__name__)


async def subscribe(request: ClientRequest, params: Mapping[str, Any]) -> EmptyResult:
    """Serve `resources/subscribe`, for clients of the handshake era."""
    downstream = request.build_downstream()
    state = client_state.state_of(request.ctx)
    state.client_key, watched = request.caller.client_key, state.watched_resources
    if not watched:
        state.at_end.push_async_callback(_release_all, request, downstream, watched)
    await _watch_resource(request, downstream, str(params["uri"]), watched)
    return EmptyResult()


async def unsubscribe(request: ClientRequest, params: Mapping[str, Any]) -> EmptyResult:
    """Serve `resources/unsubscribe`; unsubscribes at the server once no stream is left."""
    uri = str(params["uri"])
    watched = client_state.state_of(request.ctx).watched_resources
    released = [address for address, known_as in watched.items() if known_as == uri]
    for address in released:
        del watched[address]
    await _release_resources(request, request.build_downstream(), released)
    return EmptyResult()


async def listen(request: ClientRequest, params: Mapping[str, Any]) -> NoReturn:
    """Serve `subscriptions/listen` with resources or MCP tasks among the subscriptions.

    The acknowledgement leaves out resources that the caller cannot read, and tasks that are no run
    of theirs.
    """
    downstream = request.build_downstream()
    asked = SubscriptionsListenRequestParams.model_validate(params, by_name=False)
    watched: dict[ResourceAddress, str] = {}
    try:
        for uri in asked.notifications.resource_subscriptions or []:
            try:
                await _watch_resource(request, downstream, str(uri), watched)
            except (PassThroughError, UpstreamError) as error:
                log.info("subscriptions.refused", uri=str(uri), reason=str(error))
        task_ids = (asked.notifications.model_extra or {}).get(changes.TASK_IDS)
        await changes.serve_listen(
            _get_change_hub(request),
            request.ctx,
            asked,
            watched,
            client=request.caller.client_key,
            tasks=await task_requests.find_followed(request, task_ids),
        )
    finally:
        with anyio.move_on_after(client_state.CLOSE_TIMEOUT_S, shield=True):
            await _release_all(request, downstream, watched)


async def _watch_resource(
    request: ClientRequest, downstream: Downstream, uri: str, watched: dict[ResourceAddress, str]
) -> None:
    address = await pass_through.find_resource(request.effects, request.caller, downstream, uri)
    await _send_request(request, downstream, address, SUBSCRIBE_METHOD)
    watched[address] = uri


async def _release_all(
    request: ClientRequest, downstream: Downstream, watched: dict[ResourceAddress, str]
) -> None:
    released = list(watched)
    watched.clear()
    await _release_resources(request, downstream, released)


async def _release_resources(
    request: ClientRequest, downstream: Downstream, released: Iterable[ResourceAddress]
) -> None:
    for address in released:
        # The pool counts clients; another stream of this one may still watch the resource.
        if _get_change_hub(request).is_watching(request.caller.client_key, address):
            continue
        try:
            await _send_request(request, downstream, address, UNSUBSCRIBE_METHOD)
        except (PassThroughError, UpstreamError) as error:
            log.info("subscriptions.unsubscribe_failed", uri=address.uri, reason=str(error))


async def _send_request(
    request: ClientRequest, downstream: Downstream, address: ResourceAddress, method: str
) -> None:
    await pass_through.send_request(
        request.effects,
        request.caller,
        address.server,
        UpstreamRequest(method=method, params={"uri": address.uri}, downstream=downstream),
    )


def _get_change_hub(request: ClientRequest) -> ChangeHub:
    hub: ChangeHub = request.ctx.lifespan_context.changes
    return hub
