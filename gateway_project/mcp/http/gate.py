"""The way of an HTTP request to the protocol: checks first, cheapest and most public first."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from mcp_types import INTERNAL_ERROR
from starlette.types import Receive, Scope, Send

from gateway_project.access.bearers import Bearer
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.mcp import who
from gateway_project.mcp.http import body, checks
from gateway_project.mcp.http.access_log import AccessLog
from gateway_project.mcp.http.answers import Answer, Headers, Rejected, rejected
from gateway_project.mcp.http.authenticate import Authenticate, unauthorized
from gateway_project.mcp.http.checks import Given, text
from gateway_project.mcp.http.names import Names
from gateway_project.mcp.http.open_requests import OpenRequests
from gateway_project.mcp.http.reply import Reply

MAX_OPEN: Final = 256
"""Requests that one token may have open at once, streams included."""
CLOSED_BY_CLIENT: Final = 499
LISTEN: Final = "subscriptions/listen"
REQUEST_ID: Final = b"x-request-id"
_USABLE_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,32}")
_EXPOSED: Final = (b"access-control-expose-headers", b"mcp-session-id, x-request-id")

Serve = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger("foregate.http")


class Gate:
    """ASGI application of the endpoint.

    Args:
        names: What requests may name.
        authenticate: Says who sends a request.
        serve: Speaks the protocol; gets requests whose scope names the caller.
        access_log: Takes down each request.
    """

    def __init__(
        self, *, names: Names, authenticate: Authenticate, serve: Serve, access_log: AccessLog
    ) -> None:
        self._names = names
        self._authenticate = authenticate
        self._serve = serve
        self._access_log = access_log
        self._open = OpenRequests()

    def close(self) -> None:
        """End what would never end by itself, and take nothing new of its kind."""
        self._open.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; whatever goes wrong is told in its response and in the log."""
        started = time.perf_counter()
        given: Given = dict(scope["headers"])
        with telemetry.request(_given_id(given)) as request_id:
            reply = Reply(send, headers=self._headers(given, request_id))
            try:
                caller = await self._pass(scope, given, receive, reply)
            except Rejected as refusal:
                caller = None
                await reply.answer(refusal.answer)
            except body.Gone:
                caller, reply.status = None, CLOSED_BY_CLIENT
            except Exception:
                caller = None
                log.exception("http.internal_error")
                await reply.answer(_defect(request_id))
            self._record(scope, given, reply.status, caller, started)

    async def _pass(
        self, scope: Scope, given: Given, receive: Receive, reply: Reply
    ) -> Caller | None:
        checks.place(given, self._names)
        checks.method(scope["method"], given)
        client = scope.get("client")
        bearer, caller = await self._authenticate(given, client[0] if client else "")
        if len(bearer.open) >= MAX_OPEN:
            raise rejected(429, "throttled", f"{MAX_OPEN} requests are open; wait for one to end")
        who.admit(scope, caller)
        await self._while_valid(bearer, scope, given, receive, reply)
        return caller

    async def _while_valid(
        self, bearer: Bearer, scope: Scope, given: Given, receive: Receive, reply: Reply
    ) -> None:
        """Serve until the response is complete, the token is good no more, or the end is near."""
        endless = scope["method"] == "GET" or text(given, b"mcp-method") == LISTEN
        try:
            async with bearer.valid() as end:
                with self._open.held(end, endless=endless):
                    # Bodies count as open: they lie in memory while they come.
                    receive = await _complete(scope, given, receive)
                    await self._serve(scope, receive, reply.send)
        except TimeoutError:
            if not end.expired():
                raise
            if self._open.closing:
                raise rejected(503, "stopping", "the gateway is shutting down") from None
            raise unauthorized("the token has just ended", error="invalid_token") from None

    def _headers(self, given: Given, request_id: str) -> Headers:
        own: Headers = ((REQUEST_ID, request_id.encode()),)
        origin = given.get(b"origin")
        if origin is None or not self._names.foreign(origin.decode("latin-1")):
            return own
        return (
            *own,
            (b"access-control-allow-origin", origin),
            (b"vary", b"origin"),
            _EXPOSED,
        )

    def _record(
        self, scope: Scope, given: Given, status: int, caller: Caller | None, started: float
    ) -> None:
        """Take down a request: no token, no argument, of a session its first digits."""
        telemetry.http_requests.labels(scope["method"], str(status)).inc()
        fields: dict[str, Any] = {
            "method": scope["method"],
            "status": status,
            "ms": round((time.perf_counter() - started) * 1000, 1),
            "client": (scope.get("client") or ("",))[0],
            "request_id": telemetry.current_request_id(),
        }
        if caller is not None:
            fields["user"] = caller.user
        if b"mcp-method" in given:
            fields["mcp"] = text(given, b"mcp-method")[:64]
        if b"mcp-session-id" in given:
            fields["session"] = text(given, b"mcp-session-id")[:8]
        self._access_log.note(fields)


async def _complete(scope: Scope, given: Given, receive: Receive) -> Receive:
    """Read the body of a request and return a `receive` that tells of it."""
    if scope["method"] != "POST":
        return receive
    whole = await body.read(receive, declared=text(given, b"content-length"))
    checks.era(given, whole)
    return body.replay(whole, receive)


def _given_id(given: Given) -> str | None:
    value = given.get(REQUEST_ID)
    return value.decode() if value and _USABLE_ID.fullmatch(value) else None


def _defect(request_id: str) -> Answer:
    return rejected(
        500,
        "internal_error",
        f"something in the gateway went wrong; the log of this request ({request_id}) says what",
        code=INTERNAL_ERROR,
    ).answer
