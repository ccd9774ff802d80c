"""What a monitor asks of the console: is it alive, is it ready, what are its figures."""

from __future__ import annotations

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from gateway_project import metrics as metrics_of_all
from gateway_project.access import tokens
from gateway_project.foundation import telemetry
from tools.store import overview

BEARER = "Bearer "
METRICS_SCOPE = "metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@require_safe
def live(_: HttpRequest) -> JsonResponse:
    """Answer as long as the process does."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(_: HttpRequest) -> JsonResponse:
    """Answer 200 if the database does too, else 503 with a line that says what is wrong."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error as error:
        return JsonResponse({"status": "unavailable", "database": _first_line(error)}, status=503)
    return JsonResponse({"status": "ok", "database": "ok"})


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Serve Prometheus metrics to a bearer token of scope `metrics`."""
    header = request.headers.get("Authorization", "")
    caller = tokens.authenticate(header.removeprefix(BEARER)) if BEARER in header else None
    if caller is None:
        response = HttpResponse("a bearer token is needed; make one in the console\n", status=401)
        response["WWW-Authenticate"] = "Bearer"
        return response
    if not caller.may(METRICS_SCOPE):
        return HttpResponse("the token lacks the scope metrics\n", status=403)
    _count()
    return HttpResponse(metrics_of_all.exposition(), content_type=CONTENT_TYPE)


def _count() -> None:
    """Bring the gauges up to date; they describe the installation, not this process."""
    enabled = [server.enabled for server in overview.servers()]
    telemetry.servers_by_state.labels("enabled").set(enabled.count(True))
    telemetry.servers_by_state.labels("disabled").set(enabled.count(False))
    telemetry.tools_listed.set(overview.usable_tools())
