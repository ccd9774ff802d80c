"""Gate of the HTTP endpoint: checks each request, cheapest checks first, before the protocol."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

import structlog
from mcp_types import INTERNAL_ERROR, METHOD_NOT_FOUND
from starlette.types import Receive, Scope, Send

from gateway_project.access.bearers import BearerToken
from gateway_project.foundation import endpoint, telemetry
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.shares import Bound, Shares
from gateway_project.mcp.http import body, checks
from gateway_project.mcp.http.access_log import AccessLog
from gateway_project.mcp.http.answers import HeaderPairs, HttpAnswer, RequestRejected, reject
from gateway_project.mcp.http.authenticate import (
    LOCAL_BEARER,
    GetTokens,
    admit_client,
    answer_unauthorized,
)
from gateway_project.mcp.http.checks import HeaderMap, header_text
from gateway_project.mcp.http.names import AllowedNames
from gateway_project.mcp.http.request import HttpRequest

OPEN_REQUESTS: Final = Bound(total=1_500, each=256)
"""Requests for MCP and streams of events that are open at once, and those of one user. Fewer than
the connections, so that some are left for short requests."""
CLOSED_BY_CLIENT: Final = 499
LISTEN_METHOD: Final = "subscriptions/listen"
REQUEST_ID_HEADER: Final = b"x-request-id"
_VALID_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,32}")
_EXPOSE_HEADERS: Final = (
    b"access-control-expose-headers",
    b"mcp-session-id, x-request-id, www-authenticate",
)

DescribeResource = Callable[[str, str, str], str]
"""Returns the address of the protected resource metadata, given a request's scheme, host, path."""
HasGroup = Callable[[str, Caller | None], bool]
"""Whether a caller, None for the local one, may be limited to a tool group of some name."""
ServeRequest = Callable[[HttpRequest], Awaitable[None]]

log = structlog.get_logger("foregate.http")


open_requests: Final = Shares(OPEN_REQUESTS)
"""The process's, by user."""


class EndlessRequests:
    """Tracks requests that would stay open as long as their client, so that they can be ended."""

    def __init__(self) -> None:
        self._endless: set[asyncio.Timeout] = set()
        self.is_closing = False

    def add(self, end: asyncio.Timeout) -> None:
        """Track a request by its timeout; it ends at once if closing."""
        if self.is_closing:
            end.reschedule(0.0)
        self._endless.add(end)

    def discard(self, end: asyncio.Timeout) -> None:
        """Track a request no longer."""
        self._endless.discard(end)

    def close(self) -> None:
        """End all endless requests, later ones included."""
        self.is_closing = True
        now = asyncio.get_running_loop().time()
        for end in self._endless:
            end.reschedule(now)


class EndpointGate:
    """ASGI application of the endpoint.

    Args:
        names: Host names and origins that are accepted.
        get_tokens: Returns what authenticates callers; None: each request is the local caller's,
            for loopback addresses only.
        serve: Serves MCP.
        access_log: Records each request.
        describe_resource: Returns the address of the metadata by which clients get tokens; None:
            they get none here.
        has_group: Says which tool groups there are.
    """

    def __init__(
        self,
        *,
        names: AllowedNames,
        get_tokens: GetTokens | None,
        serve: ServeRequest,
        access_log: AccessLog,
        has_group: HasGroup,
        describe_resource: DescribeResource | None = None,
    ) -> None:
        self._names = names
        self._describe_resource = describe_resource
        self._get_tokens = get_tokens
        self._serve = serve
        self._has_group = has_group
        self._access_log = access_log
        self._endless = EndlessRequests()

    def close(self) -> None:
        """End endless requests and refuse new ones."""
        self._endless.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; failures are reported in its response and in the log."""
        started = time.perf_counter()
        headers: HeaderMap = dict(scope["headers"])
        with telemetry.bind_request_id(_read_request_id(headers)) as request_id:
            common = self._build_headers(headers, request_id)
            request = HttpRequest(scope, receive, send, common=common)
            caller: Caller | None = None  # whom the log names: nobody where a request fails
            try:
                await self._check_and_serve(request)
                caller = request.caller
            except RequestRejected as refusal:
                answer = self._complete_challenge(refusal.answer, scope, headers)
                await request.send_answer(answer)
            except body.ClientGone:
                request.status = CLOSED_BY_CLIENT
            except Exception:
                log.exception("http.internal_error")
                await request.send_answer(_answer_internal_error(request_id))
            self._log_request(request, caller, started)

    async def _check_and_serve(self, request: HttpRequest) -> None:
        headers = request.headers
        checks.check_names(headers, self._names)
        checks.check_method(request.verb, headers)
        bearer = LOCAL_BEARER
        if self._get_tokens is not None:
            bearer = await admit_client(await self._get_tokens(), headers, request.address)
            request.caller = bearer.active_token.caller
        request.is_local = self._get_tokens is None
        request.token = bearer.digest
        request.group = endpoint.find_group(request.path)
        if request.group is not None:
            self._check_group(request.group, request.caller)
        user, caller = request.user, request.caller
        is_superuser = caller is None or caller.has_scope(SCOPE_ALL)
        if not open_requests.take(user, is_privileged=is_superuser):
            raise reject(
                429,
                "throttled",
                f"{open_requests.count_of(user)} requests of yours are open; wait for one to end",
                headers=((b"retry-after", b"1"),),
            )
        try:
            await self._serve_while_valid(bearer, request)
        finally:
            open_requests.give_back(user)

    def _check_group(self, group: str, caller: Caller | None) -> None:
        """Check that a caller may use the endpoint of a tool group.

        Raises:
            RequestRejected: If there is no such group for them, or they are limited to another.
        """
        other = None if caller is None else caller.group
        if other not in (None, group) or not self._has_group(group, caller):
            raise reject(
                404,
                "not_found",
                f"there is no tool group {group!r} for you; MCP is spoken at "
                f"{endpoint.ENDPOINT_PATH}",
                code=METHOD_NOT_FOUND,
            )

    async def _serve_while_valid(self, bearer: BearerToken, request: HttpRequest) -> None:
        """Serve until the response is complete, the token becomes invalid or the gate closes."""
        headers = request.headers
        endless = request.verb == "GET" or header_text(headers, b"mcp-method") == LISTEN_METHOD
        try:
            async with bearer.enforce_validity(endless=endless) as end:
                if endless:
                    self._endless.add(end)
                try:
                    declared = header_text(headers, b"content-length")
                    async with body.hold_body(
                        request.receive, declared=declared, holder=request.user
                    ) as request.body:
                        await self._serve(request)
                finally:
                    self._endless.discard(end)
        except TimeoutError:
            if not end.expired():
                raise
            if self._endless.is_closing:
                raise reject(503, "stopping", "the gateway is shutting down") from None
            raise answer_unauthorized(
                "the token is no longer valid", error="invalid_token"
            ) from None

    def _complete_challenge(
        self, answer: HttpAnswer, scope: Scope, headers: HeaderMap
    ) -> HttpAnswer:
        """Add to a challenge for a token where a client learns how to get one (RFC 9728)."""
        if self._describe_resource is None:
            return answer
        address = self._describe_resource(
            scope["scheme"], header_text(headers, b"host"), scope["path"].rstrip("/")
        )
        completed = tuple(
            (name, value + f', resource_metadata="{address}"'.encode())
            if name == b"www-authenticate"
            else (name, value)
            for name, value in answer.headers
        )
        return replace(answer, headers=completed)

    def _build_headers(self, headers: HeaderMap, request_id: str) -> HeaderPairs:
        base: HeaderPairs = ((REQUEST_ID_HEADER, request_id.encode()),)
        origin = headers.get(b"origin")
        if origin is None or not self._names.is_configured_origin(origin.decode("latin-1")):
            return base
        return (
            *base,
            (b"access-control-allow-origin", origin),
            (b"vary", b"origin"),
            _EXPOSE_HEADERS,
        )

    def _log_request(self, request: HttpRequest, caller: Caller | None, started: float) -> None:
        """Record a request without tokens or arguments; of a session only its first digits."""
        telemetry.http_requests.labels(request.verb, request.status).inc()
        fields: dict[str, Any] = {
            "method": request.verb,
            "status": request.status,
            "ms": round((time.perf_counter() - started) * 1000, 1),
            "client": request.address,
            "request_id": telemetry.current_request_id(),
        }
        if caller is not None:
            fields["user"] = caller.user
        if b"mcp-method" in request.headers:
            fields["mcp"] = header_text(request.headers, b"mcp-method")[:64]
        if b"mcp-session-id" in request.headers:
            fields["session"] = header_text(request.headers, b"mcp-session-id")[:8]
        self._access_log.record(fields)


def _read_request_id(headers: HeaderMap) -> str | None:
    value = headers.get(REQUEST_ID_HEADER)
    return value.decode() if value and _VALID_REQUEST_ID.fullmatch(value) else None


def _answer_internal_error(request_id: str) -> HttpAnswer:
    return reject(
        500,
        "internal_error",
        f"internal gateway error; see the log for request {request_id}",
        code=INTERNAL_ERROR,
    ).answer
