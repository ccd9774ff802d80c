"""Health and metrics endpoints for monitoring."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from mcp_types import METHOD_NOT_FOUND
from starlette.types import Receive, Scope, Send

from gateway_project.mcp.http.answers import HttpAnswer, RequestRejected, make_json_answer, reject
from gateway_project.mcp.http.authenticate import (
    answer_lacking_scope,
    answer_unavailable,
    judge_token,
)
from gateway_project.mcp.http.service import HttpService
from gateway_project.readiness import NotReady

METRICS_SCOPE: Final = "metrics"
METRICS_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
READ_METHODS: Final = frozenset({"GET", "HEAD"})


class Probes:
    """ASGI application of `/health`, `/health/ready` and `/metrics`.

    Args:
        service: Returns the service to report on.
    """

    def __init__(self, service: Callable[[], HttpService]) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Serve a request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        try:
            answer = await self._answer_request(scope)
        except RequestRejected as refusal:
            answer = refusal.answer
        await answer.send(send)

    async def _answer_request(self, scope: Scope) -> HttpAnswer:
        if scope["method"] not in READ_METHODS:
            raise reject(405, "method_not_allowed", "use GET", headers=((b"allow", b"GET"),))
        if scope["path"] == "/health":
            return make_json_answer({"status": "ok"})
        if scope["path"] == "/health/ready":
            return self._answer_ready()
        if scope["path"] == "/metrics":
            return await self._answer_metrics(scope)
        raise reject(404, "not_found", "MCP is spoken at /mcp", code=METHOD_NOT_FOUND)

    def _answer_ready(self) -> HttpAnswer:
        obstacle = self._service().runtime.readiness.find_obstacle()
        if obstacle is None:
            return make_json_answer({"status": "ok"})
        return make_json_answer({"status": "unavailable", "reason": obstacle.code}, status=503)

    async def _answer_metrics(self, scope: Scope) -> HttpAnswer:
        service = self._service()
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
