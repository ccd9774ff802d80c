"""What a monitor asks of a gateway that serves over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_types import METHOD_NOT_FOUND
from starlette.types import Receive, Scope, Send

from gateway_project.mcp.http.answers import Answer, Rejected, json_answer, rejected
from gateway_project.mcp.http.authenticate import judged, lacking, unavailable
from gateway_project.mcp.http.service import Service
from gateway_project.readiness import NotReady

METRICS_SCOPE: Final = "metrics"
METRICS_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
READ: Final = frozenset({"GET", "HEAD"})


class Probes:
    """ASGI application of `/health`, `/health/ready` and `/metrics`.

    Args:
        service: Returns what is asked about.
    """

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Serve a request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        try:
            answer = await self._answer(scope)
        except Rejected as refusal:
            answer = refusal.answer
        await answer.send(send)

    async def _answer(self, scope: Scope) -> Answer:
        if scope["method"] not in READ:
            raise rejected(405, "method_not_allowed", "use GET", headers=((b"allow", b"GET"),))
        if scope["path"] == "/health":
            return json_answer({"status": "ok"})
        if scope["path"] == "/health/ready":
            return self._ready()
        if scope["path"] == "/metrics":
            return await self._metrics(scope)
        raise rejected(404, "not_found", "MCP is spoken at /mcp", code=METHOD_NOT_FOUND)

    def _ready(self) -> Answer:
        readiness = self._service().runtime.readiness
        if readiness.current is not None:
            return json_answer({"status": "ok"})
        code = readiness.trouble.code if readiness.trouble else "starting"
        return json_answer({"status": "unavailable", "reason": code}, status=503)

    async def _metrics(self, scope: Scope) -> Answer:
        service = self._service()
        client = (scope.get("client") or ("",))[0]
        bearer = await judged(await service.bearers(), dict(scope["headers"]), client)
        if not bearer.standing.caller.may(METRICS_SCOPE):
            raise lacking(METRICS_SCOPE)
        try:
            exposition = (await service.runtime.prepared()).exposition
        except NotReady as trouble:
            raise unavailable(str(trouble)) from None
        body = await exposition() if exposition else b""
        return Answer(status=200, headers=((b"content-type", METRICS_TYPE),), body=body)
