"""The installation: who did what, its figures and its health."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from gateway_project.access import audit
from gateway_project.access.roles import ADMINISTER, READ
from gateway_project.access.visible_rows import limit_to_team
from gateway_project.api import runtime
from gateway_project.api.description import PAGE_PARAMETERS, page_of
from gateway_project.api.installation import list_tables, load_settings
from gateway_project.api.operations import Operation
from gateway_project.api.pages import read_choice, read_number, read_time
from gateway_project.api.problems import ApiError
from gateway_project.api.views import ApiView
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import OldKeysNeeded
from gateway_project.readiness import NotReady
from gateway_project.use_cases import rotate_keys as keys
from gateway_project.use_cases.rotate_keys import KeyRotation
from learning import report
from tools.overview import describe_database
from tools.store import overview

FORMATS: Final = ("jsonl", "csv")
"""Beside JSON, in which entries come in pages."""
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


@Operation(
    "GET audit/",
    ADMINISTER,
    parameters=[
        *FILTERS,
        OpenApiParameter("since", OpenApiTypes.DATETIME),
        OpenApiParameter("until", OpenApiTypes.DATETIME),
        OpenApiParameter(
            "export",
            OpenApiTypes.STR,
            enum=FORMATS,
            description="All entries at once, oldest first, in this format",
        ),
        *PAGE_PARAMETERS,
    ],
    answers={
        (200, "application/json"): page_of(AuditSerializer, "the audit trail"),
        (200, "application/jsonl"): OpenApiResponse({"type": "string"}),
        (200, "text/csv"): OpenApiResponse({"type": "string"}),
    },
)
def list_audit_entries(call: ApiView) -> Any:
    """List entries, newest first, or export them."""
    given = call.request.query_params
    rows = select_audit_rows(call.caller, given)
    form = read_choice(given, "export", FORMATS, default="json")
    return call.answer_rows(rows, _entry_to_json) if form == "json" else export_audit(rows, form)


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


@Operation(
    "GET metrics/",
    READ,
    parameters=[
        OpenApiParameter(
            "days", OpenApiTypes.INT, description=f"1 to {MAX_DAYS}", default=DEFAULT_DAYS
        )
    ],
    answers={"type": "object", "additionalProperties": True},
)
def get_metrics(call: ApiView) -> Any:
    """Return calls, success, waste, time saved, calibration of the caller's team."""
    days = read_number(call.request.query_params, "days", default=DEFAULT_DAYS, most=MAX_DAYS)
    owner, now, price = call.caller.owner, timezone.now(), settings.FOREGATE.token_price
    # Superusers see the runs of all teams, and so their activity.
    is_all = call.caller.has_scope(SCOPE_ALL)
    found = report.build_report(owner, days=days, at=now, token_price=price)
    activity = report.build_activity(owner, days=days, at=now, is_all=is_all)
    return {**found.to_json(), "activity": activity.to_json()}


@Operation("GET health/", READ, answers=HealthSerializer)
def get_health(call: ApiView) -> Any:
    """Say whether the gateway serves, and how its servers are."""
    service = runtime.find_service(call.request._request)
    readiness = service.runtime.readiness if service else None
    obstacle = readiness.find_obstacle() if readiness else NotReady("starting", "")
    visible = overview.load_visible_summaries(call.caller)
    return {
        "status": "degraded" if obstacle else "ok",
        "gateway": obstacle.code if obstacle else "ready",
        "servers": dict(Counter(server.state for server in visible)),
    }


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


@Operation("POST keys/", SCOPE_ALL, takes=RotationRequestSerializer, answers=RotationSerializer)
def rotate_keys(call: ApiView) -> Any:
    """Make a new key, or go on with a rotation, and seal what is stored again."""
    try:
        return keys.rotate_keys(
            call.caller,
            settings.FOREGATE.home,
            keys=call.given["keys"],
            removes_old=call.given["remove_old"],
            within_s=keys.ROTATE_WITHIN_S,
        )
    except OldKeysNeeded as error:
        raise ApiError(HTTPStatus.CONFLICT, "keys_needed", str(error)) from None


class SettingSerializer(serializers.Serializer[Any]):
    """A setting in force."""

    variable = serializers.CharField()
    value = serializers.CharField(help_text="As text; of a secret only whether it is set")
    is_set = serializers.BooleanField(help_text="False: the default")
    description = serializers.CharField(allow_blank=True)


class SettingListSerializer(serializers.Serializer[Any]):
    """All settings."""

    items = SettingSerializer(many=True)


class TableSerializer(serializers.Serializer[Any]):
    """A table with its size."""

    section = serializers.CharField()
    table = serializers.CharField()
    rows = serializers.IntegerField(help_text="About how many, as of its last analysis")
    bytes = serializers.IntegerField(help_text="With its indexes")


class DatabaseSerializer(serializers.Serializer[Any]):
    """The database."""

    kind = serializers.ChoiceField(["embedded", "external"])
    version = serializers.CharField()
    bytes = serializers.IntegerField()


class StorageSerializer(serializers.Serializer[Any]):
    """What is stored."""

    database = DatabaseSerializer()
    items = TableSerializer(many=True)


@Operation("GET settings/", ADMINISTER, answers=SettingListSerializer)
def list_settings(call: ApiView) -> Any:
    """List the settings in force, without any secret."""
    return {"items": load_settings(call.caller)}


@Operation("GET storage/", SCOPE_ALL, answers=StorageSerializer)
def get_storage(_call: ApiView) -> Any:
    """Return the sizes of all tables, the largest of each section first."""
    items = [
        {
            "section": section["label"],
            "table": row["label"],
            "rows": row["size"].rows,
            "bytes": row["size"].total_bytes,
        }
        for section in list_tables()
        for row in section["tables"]
    ]
    return {"database": describe_database(), "items": items}


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
