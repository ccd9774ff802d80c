"""Subscriptions to the updates of single resources, in both eras."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import structlog
from mcp_types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from gateway_project import pass_through
from gateway_project.mcp import changes, client_state
from gateway_project.mcp.asked import Asked
from gateway_project.mcp.changes import Changes
from gateway_project.pass_through import PassThroughError, Who
from tools.resource_uris import Address
from tools.upstream.errors import UpstreamError

SUBSCRIBE = "resources/subscribe"
UNSUBSCRIBE = "resources/unsubscribe"

log = structlog.get_logger(__name__)


async def subscribe(asked: Asked, params: SubscribeRequestParams) -> EmptyResult:
    """Serve `resources/subscribe`, for clients of the handshake era."""
    who = asked.who()
    state = client_state.of(asked.ctx)
    state.session, watched = who.downstream.session, state.watched
    if not watched:
        client_state.at_end(asked.ctx, partial(_let_all_go, asked, who, watched))
    await _watch(asked, who, str(params.uri), watched)
    return EmptyResult()


async def unsubscribe(asked: Asked, params: UnsubscribeRequestParams) -> EmptyResult:
    """Serve `resources/unsubscribe`; the server is told when nobody is left."""
    uri = str(params.uri)
    watched = client_state.of(asked.ctx).watched
    gone = [address for address, known_as in watched.items() if known_as == uri]
    for address in gone:
        del watched[address]
    await _let_go(asked, asked.who(), gone)
    return EmptyResult()


async def listen(
    asked: Asked, params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    """Serve `subscriptions/listen` where resources are among what is listened for.

    Those that the caller cannot have are left out of the acknowledgement.
    """
    who = asked.who()
    watched: dict[Address, str] = {}
    client_state.at_end(asked.ctx, partial(_let_all_go, asked, who, watched))
    for uri in params.notifications.resource_subscriptions or []:
        try:
            await _watch(asked, who, str(uri), watched)
        except (PassThroughError, UpstreamError) as error:
            log.info("subscriptions.refused", uri=str(uri), reason=str(error))
    session = who.downstream.session
    return await changes.listen(_changes(asked), asked.ctx, params, watched, session=session)


async def _watch(asked: Asked, who: Who, uri: str, watched: dict[Address, str]) -> None:
    address = await pass_through.find_resource(asked.effects, who, uri)
    params = {"uri": address.uri}
    await pass_through.request(asked.effects, who, address.server, SUBSCRIBE, params)
    watched[address] = uri


async def _let_all_go(asked: Asked, who: Who, watched: dict[Address, str]) -> None:
    gone = list(watched)
    watched.clear()
    await _let_go(asked, who, gone)


async def _let_go(asked: Asked, who: Who, gone: Iterable[Address]) -> None:
    for address in gone:
        # The pool counts sessions; another stream of this one may still want to hear.
        if _changes(asked).watches(who.downstream.session, address):
            continue
        try:
            await pass_through.request(
                asked.effects, who, address.server, UNSUBSCRIBE, {"uri": address.uri}
            )
        except (PassThroughError, UpstreamError) as error:
            log.info("subscriptions.not_ended", uri=address.uri, reason=str(error))


def _changes(asked: Asked) -> Changes:
    found: Changes = asked.ctx.lifespan_context.changes
    return found
