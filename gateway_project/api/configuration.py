"""The configuration of the whole installation as one document, for superusers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, ClassVar, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.api.problems import ApiError, InvalidInput
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
from gateway_project.foundation.sealing import UnsealingFailed
from gateway_project.use_cases.import_configuration import (
    compare_configuration,
    export_configuration,
    import_configuration,
)

_FLAGS: Final = {"true": True, "false": False}
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
_CHANGES: Final[dict[str, Any]] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "change": {"type": "string", "enum": ["added", "changed", "removed"]},
            "section": {"type": "string", "enum": list(SECTIONS)},
            "subject": {"type": "string"},
            "fields": {"type": "array", "items": {"type": "string"}},
            "line": {"type": "string", "description": "The change in words, without secrets"},
        },
        "required": ["change", "section", "subject", "fields", "line"],
    },
}
_DIFFERENCE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"equal": {"type": "boolean"}, "changes": _CHANGES},
    "required": ["equal", "changes"],
}
_IMPORTED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "imported": {"type": "boolean"},
        "changes": _CHANGES,
        "left": _CHANGES,
        "conflicts": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["imported", "changes", "left", "conflicts"],
}


class ConfigurationView(ApiView):
    """The stored configuration; it covers all teams, and servers are commands to run."""

    scopes: ClassVar = {"GET": SCOPE_ALL, "POST": SCOPE_ALL}

    @extend_schema(
        operation_id="export_configuration",
        parameters=[
            OpenApiParameter(
                "variables",
                OpenApiTypes.BOOL,
                default=False,
                description="Write ${NAME} in place of secrets, for another installation",
            )
        ],
        responses={200: _DOCUMENT},
    )
    def get(self, request: Request) -> Response:
        """Return the configuration as a document, without secrets."""
        with _explaining_errors():
            document = export_configuration(
                self.caller,
                sealer=self.secret_sealer,
                with_variables=_read_flag(request, "variables"),
            )
        return Response(to_json(document))

    @extend_schema(
        operation_id="import_configuration",
        parameters=[
            OpenApiParameter(
                "dry_run", OpenApiTypes.BOOL, default=False, description="Store nothing"
            ),
            OpenApiParameter(
                "prune",
                OpenApiTypes.BOOL,
                default=False,
                description="Remove what the document's sections do not hold",
            ),
        ],
        request={"application/json": _DOCUMENT},
        responses={200: _IMPORTED},
    )
    def post(self, request: Request) -> Response:
        """Apply a document in one transaction: all of it or, on errors, nothing."""
        with _explaining_errors():
            imported = import_configuration(
                self.caller,
                _read_document(request),
                sealer=self.secret_sealer,
                prune=_read_flag(request, "prune"),
                dry_run=_read_flag(request, "dry_run"),
            )
        return Response(
            {
                "imported": not imported.dry_run,
                "changes": [one.to_json() for one in imported.changes],
                "left": [one.to_json() for one in imported.left],
                "conflicts": list(imported.conflicts),
            }
        )


class DifferenceView(ApiView):
    """What a document would change."""

    scopes: ClassVar = {"POST": SCOPE_ALL}

    @extend_schema(
        operation_id="compare_configuration",
        request={"application/json": _DOCUMENT},
        responses={200: _DIFFERENCE},
    )
    def post(self, request: Request) -> Response:
        """Compare a document with what is stored; `removed` entries are not in the document."""
        with _explaining_errors():
            changes = compare_configuration(
                self.caller, _read_document(request), sealer=self.secret_sealer
            )
        return Response({"equal": not changes, "changes": [one.to_json() for one in changes]})


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


def _read_flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "false")
    if text not in _FLAGS:
        raise InvalidInput(f"{name}: true or false")
    return _FLAGS[text]
