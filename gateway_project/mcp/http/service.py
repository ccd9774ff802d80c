"""ASGI application of a process: the MCP endpoint and its service, the probes, and all else."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Final

from asgiref.sync import ThreadSensitiveContext
from mcp_types import METHOD_NOT_FOUND
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway_project.access.bearers import BearerTokenCache
from gateway_project.access.throttle import client_network
from gateway_project.foundation import endpoint, telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.shares import Bound, Shares
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.attach.host import AttachOffer, host_attachments
from gateway_project.mcp.http.answers import HttpAnswer, RequestRejected, make_json_answer, reject
from gateway_project.mcp.http.gate import (
    AccessLog,
    DescribeResource,
    EndpointGate,
    answer_lacking_scope,
    answer_unavailable,
    judge_token,
)
from gateway_project.mcp.http.messages import ClientGone, hold_body, replay_body
from gateway_project.mcp.http.request import AllowedNames, HeaderMap, header_text
from gateway_project.mcp.http.sessions import Sessions
from gateway_project.mcp.runtime import PreparedRuntime, Runtime
from gateway_project.readiness import NotReady

CLEAN_UP_INTERVAL_S: Final = 3_600.0

REQUESTS: Final = Bound(total=40, each=20, fraction=0.5)
"""Requests served at once, except streams, and those of one holder; others wait. Half the
connections of a database."""
MAX_WAITING: Final = 100
"""Requests of one holder that wait."""
MAX_IDLE: Final = 16
"""Threads that are kept for the next requests, with their connections."""
STREAM_TYPE: Final = b"text/event-stream"

METRICS_SCOPE: Final = "metrics"
METRICS_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
READ_METHODS: Final = frozenset({"GET", "HEAD"})

SERVICE_SCOPE_KEY: Final = "foregate.service"
"""Key of the service in the scope of the requests that it does not serve itself."""
MAX_FORM_BYTES: Final = 16 * 1024 * 1024
"""Largest body of a request to the console or the API."""
PROBES: Final = "/health"
"""Path of the probes, which count as one holder: their own."""
BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

log = logging.getLogger(__name__)


class HttpService:
    """Serves clients over HTTP, for one event loop.

    Attributes:
        runtime: Serves the requests.
        gate: ASGI application of the endpoint.
        sessions: Serve what has passed the gate.

    Args:
        prepare: Loads the runtime; called in a thread.
        names: Host names and origins that are accepted.
        access_log: Records each request.
        open_to_all: Whether requests need no token and act for the local user; only where nobody
            but this machine can connect.
        describe_resource: Returns the address of the metadata by which clients get tokens; None:
            they get none here.
        offered: Offer to gateways over stdio to attach; None if they may not.
    """

    def __init__(
        self,
        prepare: Callable[[], PreparedRuntime],
        *,
        names: AllowedNames,
        access_log: AccessLog,
        open_to_all: bool = False,
        offered: AttachOffer | None = None,
        describe_resource: DescribeResource | None = None,
    ) -> None:
        self.runtime = Runtime(prepare)
        in_flight = mcp_server.InFlightCounter()
        server = mcp_server.build_server(self.runtime, in_flight=in_flight)
        self._host_attachments = partial(
            host_attachments, self.runtime, server, in_flight=in_flight, offered=offered
        )
        self.sessions = Sessions(server, self.runtime)
        self._bearers: BearerTokenCache | None = None
        self._access_log = access_log
        self.gate = EndpointGate(
            names=names,
            get_tokens=None if open_to_all else self.get_token_cache,
            serve=self.sessions.serve,
            has_group=self._has_group,
            access_log=access_log,
            describe_resource=describe_resource,
        )

    @asynccontextmanager
    async def run_service(self) -> AsyncIterator[None]:
        """Serve while the context is open; it must be entered and left in one task."""
        telemetry.http_sessions.set_function(lambda: len(self.sessions))
        telemetry.ready.set_function(lambda: self.runtime.readiness.find_obstacle() is None)
        async with TaskGroup() as group, self.sessions.run(), self._host_attachments():
            tasks = [
                group.create_task(self.runtime.run(), name="runtime"),
                group.create_task(self._recheck_tokens(), name="tokens"),
                group.create_task(self._clean_up(), name="clean-up"),
                group.create_task(self._access_log.run(), name="access log"),
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def get_token_cache(self) -> BearerTokenCache:
        """Return the cache that authenticates tokens, once the runtime is loaded.

        Raises:
            RequestRejected: If tokens cannot be checked.
        """
        if self._bearers is None:
            try:
                prepared = await self.runtime.get_prepared()
            except NotReady as error:
                raise answer_unavailable(str(error)) from None
            if prepared.look_up_tokens is None:
                raise answer_unavailable("this gateway knows no tokens")
            if self._bearers is None:  # another request may have come first
                self._bearers = BearerTokenCache(
                    prepared.look_up_tokens, record_use=prepared.record_token_use
                )
        return self._bearers

    def _has_group(self, name: str, caller: Caller | None) -> bool:
        """See `HasGroup`; until the catalogue is loaded, any group might exist."""
        gateway = self.runtime.readiness.current
        if gateway is None:
            return True
        return gateway.effects.catalogue().has_group(name, caller or gateway.caller)

    async def _recheck_tokens(self) -> None:
        """Keep noticing tokens that expire or are revoked while in use."""
        try:
            bearers = await self.get_token_cache()
        except RequestRejected:
            return
        await bearers.run()

    async def _clean_up(self) -> None:
        """Delete old rows of access once an hour."""
        try:
            prepared = await self.runtime.get_prepared()
        except NotReady:
            return
        while prepared.clean_up is not None:
            await asyncio.sleep(CLEAN_UP_INTERVAL_S)
            await prepared.clean_up()


class RequestThreads:
    """Lends a thread to each request; a stream gives up its place once it has begun.

    Holders whose requests wait take turns.
    """

    def __init__(self) -> None:
        self._places = Shares(REQUESTS)
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._idle: list[ThreadPoolExecutor] = []

    @asynccontextmanager
    async def lend(
        self, send: Send, *, holder: Hashable, is_privileged: bool = False
    ) -> AsyncIterator[Send]:
        """Run synchronous code of the block in one thread; yield what to send the response by.

        Args:
            send: Of the request.
            holder: Who sent it.
            is_privileged: Whether it may also have what is left for others.

        Raises:
            RequestRejected: If too many requests of the holder wait already.
        """
        if holder in self._waiting or not self._places.take(holder, is_privileged=is_privileged):
            await self._wait(holder)
        place = ExitStack()
        place.callback(self._give_back, holder)
        executor = self._idle.pop() if self._idle else ThreadPoolExecutor(max_workers=1)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                place.close()
            await send(message)

        try:
            async with ThreadSensitiveContext(executor=executor):
                yield watch
        finally:
            place.close()
            if len(self._idle) < MAX_IDLE:
                self._idle.append(executor)
            else:
                executor.shutdown(wait=False)

    async def _wait(self, holder: Hashable) -> None:
        """Wait until the holder has been given a place."""
        turns = self._waiting.setdefault(holder, deque())
        if len(turns) >= MAX_WAITING:
            wait = (b"retry-after", b"1")
            message = f"{MAX_WAITING} requests of yours wait already; wait for one to end"
            raise reject(429, "throttled", message, headers=(wait,))
        turn = asyncio.get_running_loop().create_future()
        turns.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(holder)
            else:
                turns.remove(turn)
                if not turns:
                    self._waiting.pop(holder, None)
            raise

    def _give_back(self, holder: Hashable) -> None:
        """Return a place, and let those have their turn who may have one now."""
        self._places.give_back(holder)
        for other in list(self._waiting):
            turns = self._waiting[other]
            if self._places.take(other):
                turns.popleft().set_result(None)
                self._waiting.move_to_end(other)
                if not turns:
                    del self._waiting[other]


def _is_stream(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(STREAM_TYPE)
        for name, value in message["headers"]
    )


async def serve_probe(
    service: Callable[[], HttpService],
    scope: Scope,
    receive: Receive,  # noqa: ARG001
    send: Send,
) -> None:
    """Serve a request for `/health`, `/health/ready` or `/metrics`.

    Args:
        service: Returns the service to report on.
        scope: Of the request, as the others are.
        receive: Not used.
        send: Sends the answer.
    """
    if scope["type"] != "http":
        await send({"type": "websocket.close", "code": 1000})
        return
    try:
        answer = await _answer_probe(service, scope)
    except RequestRejected as refusal:
        answer = refusal.answer
    await answer.send(send)


async def _answer_probe(service: Callable[[], HttpService], scope: Scope) -> HttpAnswer:
    if scope["method"] not in READ_METHODS:
        raise reject(405, "method_not_allowed", "use GET", headers=((b"allow", b"GET"),))
    if scope["path"] == "/health":
        return make_json_answer({"status": "ok"})
    if scope["path"] == "/health/ready":
        obstacle = service().runtime.readiness.find_obstacle()
        if obstacle is None:
            return make_json_answer({"status": "ok"})
        return make_json_answer({"status": "unavailable", "reason": obstacle.code}, status=503)
    if scope["path"] == "/metrics":
        return await _answer_metrics(service(), scope)
    raise reject(404, "not_found", "MCP is spoken at /mcp", code=METHOD_NOT_FOUND)


async def _answer_metrics(service: HttpService, scope: Scope) -> HttpAnswer:
    client = (scope.get("client") or ("",))[0]
    bearer = await judge_token(
        await service.get_token_cache(),
        dict(scope["headers"]),
        client,
        outage_grace_s=math.inf,  # a monitor is needed most where an outage is long
    )
    if not bearer.active_token.caller.has_scope(METRICS_SCOPE):
        raise answer_lacking_scope(METRICS_SCOPE)
    try:
        render = (await service.runtime.get_prepared()).render_metrics
    except NotReady as error:
        raise answer_unavailable(str(error)) from None
    is_away = service.runtime.readiness.find_obstacle() is not None
    body = await render(is_database_away=is_away) if render else b""
    return HttpAnswer(status=200, headers=((b"content-type", METRICS_TYPE),), body=body)


class Application:
    """Routes requests and runs the service for as long as the server runs.

    Under a server with the lifespan protocol (uvicorn) the service starts and stops with the
    server; under one without (daphne) the first request starts it.

    Args:
        make: Makes the service; called once, in the event loop.
        otherwise: Serves all other paths; by default the probes.
    """

    def __init__(
        self, make: Callable[[], HttpService], *, otherwise: ASGIApp | None = None
    ) -> None:
        self._make = make
        self._otherwise = otherwise or partial(serve_probe, lambda: self.service)
        self._service: HttpService | None = None
        self._started: asyncio.Event | None = None
        self._background: asyncio.Task[None] | None = None
        self._threads = RequestThreads()

    @property
    def service(self) -> HttpService:
        """The service, made on first use."""
        if self._service is None:
            self._service = self._make()
        return self._service

    def close(self) -> None:
        """End streams that would keep the server from stopping."""
        if self._service is not None:
            self._service.gate.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route an ASGI connection."""
        if scope["type"] == "lifespan":
            await self._handle_lifespan(receive, send)
        elif scope["type"] == "http" and endpoint.is_endpoint(scope["path"]):
            if self._started is None or not self._started.is_set():
                await self._start_service()
            await self.service.gate(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve_otherwise(scope, receive, send)
        else:
            await self._otherwise(scope, receive, send)

    async def _serve_otherwise(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of the console or of the API, which can reach the service."""
        headers = dict(scope["headers"])
        holder = _find_holder(scope, headers)
        try:
            if scope["method"] in BODILESS:
                await self._serve_in_thread(scope, receive, send, holder=holder)
                return
            async with hold_body(
                receive,
                declared=header_text(headers, b"content-length"),
                holder=holder,
                max_bytes=MAX_FORM_BYTES,
            ) as content:
                replayed = replay_body(content, receive)
                await self._serve_in_thread(scope, replayed, send, holder=holder)
        except RequestRejected as error:
            await error.problem.send(send)
        except ClientGone:
            return

    async def _serve_in_thread(
        self, scope: Scope, receive: Receive, send: Send, *, holder: str
    ) -> None:
        async with self._threads.lend(
            send, holder=holder, is_privileged=holder == PROBES
        ) as watched:
            inner = {**scope, SERVICE_SCOPE_KEY: self.service}
            await self._otherwise(inner, receive, watched)

    async def _handle_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._started = asyncio.Event()
        async with self.service.run_service():
            self._started.set()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start_service(self) -> None:
        """Start the service under a server without the lifespan protocol."""
        if self._started is None:
            self._started = asyncio.Event()
            self._background = asyncio.get_running_loop().create_task(
                self._run_service(self._started)
            )
        await self._started.wait()

    async def _run_service(self, started: asyncio.Event) -> None:
        """Run until the loop ends; the top level of its task, which logs any error."""
        try:
            async with self.service.run_service():
                started.set()
                await asyncio.Event().wait()
        except Exception:
            log.exception("the MCP endpoint failed")
            raise


def _find_holder(scope: Scope, headers: HeaderMap) -> str:
    """Return who counts as the sender of a request before it is authenticated.

    Whoever invents a token or a cookie is soon refused, as it costs little to check.
    """
    if scope["path"].startswith(PROBES):
        return PROBES
    sent = header_text(headers, b"authorization") or header_text(headers, b"cookie")
    return sent or client_network((scope.get("client") or ("",))[0])
