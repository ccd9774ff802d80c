"""The configuration of the whole installation as one document, for superusers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from gateway_project.api.operations import Operation
from gateway_project.api.pages import read_flag
from gateway_project.api.problems import ApiError
from gateway_project.api.views import ApiView
from gateway_project.configuration.document import (
    FORMAT,
    VERSION,
    Document,
    InvalidConfiguration,
    read_document,
    to_json,
)
from gateway_project.configuration.sections import SECTIONS
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.foundation.schema_parts import describe_object
from gateway_project.foundation.sealing import UnsealingFailed
from gateway_project.use_cases import import_configuration as use_case

_DOCUMENT: Final[dict[str, Any]] = {
    "type": "object",
    "description": "See docs/configuration.md; sections that are missing are left alone",
    "properties": {
        "format": {"type": "string", "enum": [FORMAT]},
        "version": {"type": "integer", "enum": [VERSION]},
        **{
            name: {"type": "array", "items": {"type": "object", "additionalProperties": True}}
            if section.key
            else {"type": "object", "additionalProperties": True}
            for name, section in SECTIONS.items()
        },
    },
    "required": ["version"],
    "additionalProperties": False,
}
_CHANGES: Final = {
    "type": "array",
    "items": describe_object(
        {
            "change": {"type": "string", "enum": ["added", "changed", "removed"]},
            "section": {"type": "string", "enum": list(SECTIONS)},
            "subject": {"type": "string"},
            "fields": {"type": "array", "items": {"type": "string"}},
            "line": {"type": "string", "description": "The change in words, without secrets"},
        }
    ),
}
_DIFFERENCE: Final = describe_object({"equal": {"type": "boolean"}, "changes": _CHANGES})
_IMPORTED: Final = describe_object(
    {
        "imported": {"type": "boolean"},
        "changes": _CHANGES,
        "left": _CHANGES,
        "conflicts": {"type": "array", "items": {"type": "string"}},
    }
)


@Operation(
    "GET configuration/",
    SCOPE_ALL,
    parameters=[
        OpenApiParameter(
            "variables",
            OpenApiTypes.BOOL,
            default=False,
            description="Write ${NAME} in place of secrets, for another installation",
        )
    ],
    answers=_DOCUMENT,
)
def export_configuration(call: ApiView) -> Any:
    """Return the configuration as a document, without secrets."""
    with _explaining_errors():
        document = use_case.export_configuration(
            call.caller,
            sealer=call.secret_sealer,
            with_variables=bool(read_flag(call.request.query_params, "variables")),
        )
    return to_json(document)


@Operation(
    "POST configuration/",
    SCOPE_ALL,
    parameters=[
        OpenApiParameter("dry_run", OpenApiTypes.BOOL, default=False, description="Store nothing"),
        OpenApiParameter(
            "prune",
            OpenApiTypes.BOOL,
            default=False,
            description="Remove what the document's sections do not hold",
        ),
    ],
    takes={"application/json": _DOCUMENT},
    answers=_IMPORTED,
)
def import_configuration(call: ApiView) -> Any:
    """Apply a document in one transaction: all of it or, on errors, nothing."""
    given = call.request.query_params
    with _explaining_errors():
        imported = use_case.import_configuration(
            call.caller,
            _read_document(call.request),
            sealer=call.secret_sealer,
            prune=bool(read_flag(given, "prune")),
            dry_run=bool(read_flag(given, "dry_run")),
        )
    return imported.to_json()


@Operation(
    "POST configuration/diff/",
    SCOPE_ALL,
    takes={"application/json": _DOCUMENT},
    answers=_DIFFERENCE,
)
def compare_configuration(call: ApiView) -> Any:
    """Compare a document with what is stored; `removed` entries are not in the document."""
    with _explaining_errors():
        changes = use_case.compare_configuration(
            call.caller, _read_document(call.request), sealer=call.secret_sealer
        )
    return {"equal": not changes, "changes": [one.to_json() for one in changes]}


@contextmanager
def _explaining_errors() -> Iterator[None]:
    try:
        yield
    except InvalidConfiguration as refused:
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            refused.code,
            str(refused),
            data={"problems": [problem._asdict() for problem in refused.problems]},
        ) from None
    except UnsealingFailed as error:
        raise ApiError(HTTPStatus.CONFLICT, "sealed", str(error)) from None


def _read_document(request: Request) -> Document:
    """Read the body itself: names given twice and the like are lost in a parsed one."""
    kind = str(request.content_type).partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMediaType(kind)
    return read_document(request.body)
