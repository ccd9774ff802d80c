"""What a monitor asks of the console: is it alive, is it ready, what are its figures."""

from __future__ import annotations

import structlog
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from gateway_project import metrics as metrics_of_all
from gateway_project.access import tokens
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from tools.store import overview

BEARER = "bearer"
METRICS_SCOPE = "metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

log = structlog.get_logger(__name__)


@require_safe
def live(_: HttpRequest) -> JsonResponse:
    """Answer as long as the process does."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(_: HttpRequest) -> JsonResponse:
    """Answer 200 if the database does too, else 503; what is wrong with it stands in the log."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error as error:
        log.warning("database unavailable", error=str(error).strip())
        return JsonResponse({"status": "unavailable", "database": "unavailable"}, status=503)
    return JsonResponse({"status": "ok", "database": "ok"})


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Serve Prometheus metrics to a bearer token of scope `metrics`."""
    caller = _bearer(request)
    if caller is None:
        response = HttpResponse("a bearer token is needed; make one in the console\n", status=401)
        response["WWW-Authenticate"] = "Bearer"
        return response
    if not caller.may(METRICS_SCOPE):
        return HttpResponse("the token lacks the scope metrics\n", status=403)
    _count()
    return HttpResponse(metrics_of_all.exposition(), content_type=CONTENT_TYPE)


def _bearer(request: HttpRequest) -> Caller | None:
    """Return the caller whose token the request carries.

    References:
        RFC 9110, section 11.1: the name of the scheme is taken in any case.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return tokens.authenticate(token.strip()) if scheme.lower() == BEARER else None


def _count() -> None:
    """Bring the gauges up to date; they describe the installation, not this process."""
    enabled = [server.enabled for server in overview.servers()]
    telemetry.servers_by_state.labels("enabled").set(enabled.count(True))
    telemetry.servers_by_state.labels("disabled").set(enabled.count(False))
    telemetry.tools_listed.set(overview.usable_tools())
