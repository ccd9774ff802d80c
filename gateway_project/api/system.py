"""The installation: who did what, its figures and its health."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, ClassVar, Final

from django.conf import settings
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access import audit
from gateway_project.access.roles import ADMINISTER, READ
from gateway_project.access.visible_rows import limit_to_team
from gateway_project.api import runtime
from gateway_project.api.description import PAGE_PARAMETERS, page_of
from gateway_project.api.pages import paginate_rows, read_time
from gateway_project.api.problems import ApiError, InvalidInput
from gateway_project.api.views import ApiView
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import OldKeysNeeded
from gateway_project.readiness import NotReady
from gateway_project.use_cases.rotate_keys import ROTATE_WITHIN_S, KeyRotation, rotate_keys
from learning import report
from tools.store import overview

FORMATS: Final = ("json", "jsonl", "csv")
FILTERS: Final = ("action", "actor", "kind", "subject")
DEFAULT_DAYS: Final = 7
MAX_DAYS: Final = 365


class AuditSerializer(serializers.Serializer[Any]):
    """Who changed what, when and how connected."""

    id = serializers.IntegerField(source="pk")
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    kind = serializers.CharField(help_text="Connection: stdio, http, command or console")
    team = serializers.CharField(source="team.name", allow_null=True, default=None)
    action = serializers.CharField()
    subject = serializers.CharField()
    request_id = serializers.CharField(allow_blank=True)
    detail = serializers.DictField()


class HealthSerializer(serializers.Serializer[Any]):
    """Whether the installation can serve."""

    status = serializers.ChoiceField(["ok", "degraded"])
    gateway = serializers.CharField(help_text="ready, or why it is not")
    servers = serializers.DictField(
        child=serializers.IntegerField(), help_text="Visible servers by state"
    )


class AuditView(ApiView):
    """The audit trail of the caller's team; superusers see all of it."""

    scopes: ClassVar = {"GET": ADMINISTER}

    @extend_schema(
        operation_id="list_audit_entries",
        parameters=[
            *(OpenApiParameter(name, OpenApiTypes.STR) for name in FILTERS),
            OpenApiParameter("since", OpenApiTypes.DATETIME),
            OpenApiParameter("until", OpenApiTypes.DATETIME),
            OpenApiParameter(
                "export",
                OpenApiTypes.STR,
                enum=FORMATS[1:],
                description="All entries at once, oldest first, in this format",
            ),
            *PAGE_PARAMETERS,
        ],
        responses={
            (200, "application/json"): page_of(AuditSerializer, "the audit trail"),
            (200, "application/jsonl"): OpenApiResponse({"type": "string"}),
            (200, "text/csv"): OpenApiResponse({"type": "string"}),
        },
    )
    def get(self, request: Request) -> Any:
        """List entries, newest first, or export them."""
        rows = select_audit_rows(self.caller, request.query_params)
        form = request.query_params.get("export", FORMATS[0])
        if form not in FORMATS:
            raise InvalidInput(f"export: one of {', '.join(FORMATS[1:])}")
        if form == FORMATS[0]:
            page = paginate_rows(request, rows)
            return Response(page.as_json(request, _entry_to_json))
        return export_audit(rows, form)


def select_audit_rows(caller: Caller, given: Mapping[str, str]) -> Any:
    """Return the entries of the audit trail that a caller asks for and may see.

    Args:
        caller: Who asks.
        given: Values of `FILTERS`, `since` and `until`, as in an address.

    Raises:
        InvalidInput: If a time is invalid.
    """
    rows = audit.select_entries(
        **{name: given[name] for name in FILTERS if name in given},
        since=read_time(given, "since"),
        until=read_time(given, "until", is_end=True),
    )
    return limit_to_team(rows, caller, is_shared=not caller.are_teams_used)


def export_audit(rows: Any, form: str) -> StreamingHttpResponse:
    """Return entries as a file, oldest first.

    Args:
        rows: From `select_audit_rows`.
        form: `csv` or `jsonl`.
    """
    lines = _write_csv(rows) if form == "csv" else _write_jsonl(rows)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/jsonl"
    response = StreamingHttpResponse(list(lines), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="audit.{form}"'
    return response


class MetricsView(ApiView):
    """What the team's predictions have shown; Prometheus reads /metrics.

    The activity is that of all teams for superusers, who see the runs of all.
    """

    scopes: ClassVar = {"GET": READ}

    @extend_schema(
        operation_id="get_metrics",
        parameters=[
            OpenApiParameter(
                "days", OpenApiTypes.INT, description=f"1 to {MAX_DAYS}", default=DEFAULT_DAYS
            )
        ],
        responses={200: {"type": "object", "additionalProperties": True}},
    )
    def get(self, request: Request) -> Response:
        """Return calls, success, waste, time saved, calibration of the caller's team."""
        text = request.query_params.get("days", str(DEFAULT_DAYS))
        days = int(text) if text.isascii() and text.isdigit() and len(text) <= len("365") else 0
        if not 1 <= days <= MAX_DAYS:
            raise InvalidInput(f"days: a whole number from 1 to {MAX_DAYS}")
        owner, now = self.caller.owner, timezone.now()
        found = report.build_report(
            owner, days=days, at=now, token_price=settings.FOREGATE.token_price
        )
        activity = report.build_activity(
            owner, days=days, at=now, is_all=self.caller.has_scope(SCOPE_ALL)
        )
        return Response({**found.to_json(), "activity": activity.to_json()})


class HealthView(ApiView):
    """Health, for people and programs with a token; /health needs none."""

    scopes: ClassVar = {"GET": READ}

    @extend_schema(operation_id="get_health", responses=HealthSerializer)
    def get(self, request: Request) -> Response:
        """Say whether the gateway serves, and how its servers are."""
        service = runtime.find_service(request._request)
        readiness = service.runtime.readiness if service else None
        obstacle = readiness.find_obstacle() if readiness else NotReady("starting", "")
        states: dict[str, int] = {}
        for server in overview.load_server_summaries():
            if self.caller.has_scope(SCOPE_ALL) or self.caller.can_see_team(server.team_pk):
                states[server.state] = states.get(server.state, 0) + 1
        answer = {
            "status": "degraded" if obstacle else "ok",
            "gateway": obstacle.code if obstacle else "ready",
            "servers": states,
        }
        return Response(HealthSerializer(answer).data)


class RotationRequestSerializer(serializers.Serializer[Any]):
    """Which keys to rotate."""

    keys = serializers.ChoiceField(
        sealing.KEY_NAMES,
        help_text="sealing: credentials of servers, and what was learned; payloads: of runs",
    )
    remove_old = serializers.BooleanField(
        default=False, help_text="Make no new key, and remove the older ones at the end"
    )


class RotationSerializer(serializers.Serializer[KeyRotation]):
    """What a rotation did."""

    keys = serializers.CharField()
    is_new = serializers.BooleanField(
        help_text="False: no key was made, an earlier rotation went on"
    )
    is_complete = serializers.BooleanField(help_text="False: send it again; it goes on")
    resealed = serializers.IntegerField(help_text="Values sealed again")
    unreadable = serializers.DictField(
        child=serializers.IntegerField(), help_text="Values that no key opens, by table"
    )
    removed = serializers.IntegerField(help_text="Older keys removed")


class KeysView(ApiView):
    """The keys that seal stored values."""

    scopes: ClassVar = {"POST": SCOPE_ALL}

    @extend_schema(
        operation_id="rotate_keys",
        request=RotationRequestSerializer,
        responses=RotationSerializer,
    )
    def post(self, _request: Request) -> Response:
        """Make a new key, or go on with a rotation, and seal what is stored again."""
        given = self.read_body(RotationRequestSerializer)
        try:
            done = rotate_keys(
                self.caller,
                settings.FOREGATE.home,
                keys=given["keys"],
                removes_old=given["remove_old"],
                within_s=ROTATE_WITHIN_S,
            )
        except OldKeysNeeded as error:
            raise ApiError(HTTPStatus.CONFLICT, "keys_needed", str(error)) from None
        return Response(RotationSerializer(done).data)


def _entry_to_json(row: Any) -> Any:
    return AuditSerializer(row).data


def _write_jsonl(rows: Any) -> Iterator[bytes]:
    for row in rows.order_by("pk").iterator():
        yield json.dumps(_entry_to_json(row), ensure_ascii=False).encode() + b"\n"


def _write_csv(rows: Any) -> Iterator[bytes]:
    fields = list(AuditSerializer().fields)
    write = _make_csv_writer()
    yield write(fields)
    for row in rows.order_by("pk").iterator():
        entry = _entry_to_json(row) | {"detail": json.dumps(row.detail, ensure_ascii=False)}
        yield write(
            [_defuse(str(entry[name] if entry[name] is not None else "")) for name in fields]
        )


def _make_csv_writer() -> Callable[[list[str]], bytes]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)

    def write(values: list[str]) -> bytes:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow(values)
        return buffer.getvalue().encode()

    return write


def _defuse(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
