"""Health, readiness and metrics endpoints of the console."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog
from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.views.decorators.http import require_safe

from gateway_project import metrics as metrics_of_all
from gateway_project.access import tokens
from gateway_project.console import identity
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import find_write_obstacle
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.postgres.failures import DatabaseUnavailable
from tools.store import overview

BEARER_SCHEME = "bearer"
METRICS_SCOPE = "metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

log = structlog.get_logger(__name__)


@require_safe
def report_liveness(_: HttpRequest) -> JsonResponse:
    """Answer 200 while the process is alive."""
    return JsonResponse({"status": "ok"})


@require_safe
def report_readiness(_: HttpRequest) -> JsonResponse:
    """Answer 200 if the database is migrated and takes writes, else 503; details are logged."""
    try:
        migrate.require_migrated()
        if obstacle := find_write_obstacle():
            raise DatabaseUnavailable(obstacle)
    except migrate.SchemaMismatch as error:
        log.warning("readiness.schema_mismatch", code=error.code, error=str(error))
        state = error.code.removeprefix("database_")
        return JsonResponse({"status": "unavailable", "database": state}, status=503)
    except Error as error:
        log.warning("readiness.database_unavailable", error=str(error).strip())
        return JsonResponse({"status": "unavailable", "database": "unavailable"}, status=503)
    return JsonResponse({"status": "ok", "database": "ok"})


class ProbeMiddleware:
    """Answers `/health` and `/health/ready` before hosts are checked and HTTPS is asked for.

    Containers and proxies ask a process by its own address, over plain HTTP.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a probe; pass every other request on."""
        return _PROBES.get(request.path_info, self._get_response)(request)


_PROBES: Final[dict[str, Callable[[HttpRequest], HttpResponse]]] = {
    "/health": report_liveness,
    "/health/ready": report_readiness,
}


@require_safe
def prove_identity(request: HttpRequest) -> HttpResponse:
    """Prove to another process of this installation that this is its console."""
    nonce = request.GET.get("nonce", "")
    if not nonce or len(nonce) > identity.MAX_NONCE_LENGTH:
        return HttpResponseBadRequest(
            f"give a nonce of up to {identity.MAX_NONCE_LENGTH} characters\n"
        )
    return JsonResponse({"proof": identity.compute_proof(settings.FOREGATE, nonce)})


@require_safe
def serve_metrics(request: HttpRequest) -> HttpResponse:
    """Serve Prometheus metrics to a bearer token of scope `metrics`."""
    caller = _authenticate_bearer(request)
    if caller is None:
        response = HttpResponse("a bearer token is needed; make one in the console\n", status=401)
        response["WWW-Authenticate"] = "Bearer"
        return response
    if not caller.has_scope(METRICS_SCOPE):
        return HttpResponse("the token lacks the scope metrics\n", status=403)
    _update_gauges()
    return HttpResponse(metrics_of_all.expose_metrics(), content_type=CONTENT_TYPE)


def _authenticate_bearer(request: HttpRequest) -> Caller | None:
    """Return the caller of the request's bearer token; None if it has no valid one.

    References:
        RFC 9110, section 11.1: scheme names are case-insensitive.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return tokens.authenticate_token(token.strip()) if scheme.lower() == BEARER_SCHEME else None


def _update_gauges() -> None:
    """Update the gauges that describe the installation, not this process."""
    telemetry.ready.set(not find_write_obstacle())
    enabled = [server.enabled for server in overview.load_server_summaries()]
    telemetry.servers_by_state.labels("enabled").set(enabled.count(True))
    telemetry.servers_by_state.labels("disabled").set(enabled.count(False))
    telemetry.tools_listed.set(overview.count_usable_tools())
