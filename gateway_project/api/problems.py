"""Maps errors to problem details with the stable codes of docs/errors.md.

References:
    RFC 9457, Problem Details for HTTP APIs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import structlog
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DataError
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template import loader
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response

from gateway_project.access.active_token import TokensUnavailable
from gateway_project.foundation import telemetry
from gateway_project.foundation.database import is_database_away
from gateway_project.mcp import errors
from gateway_project.mcp.http.answers import PROBLEM_CONTENT_TYPE, make_problem
from gateway_project.readiness import NotReady

API_PATH: Final = "/api/"
MAX_LISTED_PROBLEMS: Final = 50
_STATUS_BY_CODE: Final[Mapping[str, int]] = {
    "not_found": 404,
    "not_permitted": 403,
    "second_person_required": 403,
    "tool_unavailable": 409,
    "approval_required": 409,
    "call_in_progress": 409,
    "approval_not_pending": 409,
    "idempotency_conflict": 422,
    "request_in_progress": 409,
    "import_in_progress": 409,
    "feedback_given": 409,
    "speculation_resolved": 409,
    "token_not_grantable": 403,
    "too_many_runs": 429,
    "throttled": 429,
    "arguments_too_large": 413,
    "message_too_large": 413,
    "deadline_exceeded": 504,
    "call_timed_out": 504,
    "connect_timed_out": 504,
    "starting": 503,
    "stopping": 503,
    "internal_error": 500,
    "database_unavailable": 503,
    "database_unmigrated": 503,
    "database_newer": 503,
    "database_too_old": 503,
    "sign_in_required": 409,
    "sign_in_unavailable": 503,
    "circuit_open": 503,
}
"""Status by code; `unknown_…` is 404, `run_…` 409, those of upstream servers 502, others 400."""
_UPSTREAM_CODES: Final = frozenset(
    {
        *("spawn_failed", "server_exited", "server_stopped", "not_taken", "protocol_violation"),
        *("too_many_values", "unsendable", "upstream_refused", "unset_variable", "bad_address"),
        *("too_many_sessions", "forbidden_address", "unreachable", "connection_lost"),
        *("http_refused", "session_expired", "definition_changed"),
    }
)
_CODE_BY_STATUS: Final[Mapping[int, str]] = {
    400: "invalid_arguments",
    401: "unauthorized",
    403: "not_permitted",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    415: "unsupported_media_type",
    429: "throttled",
}

log = structlog.get_logger(__name__)


class ApiError(Exception):
    """A request that cannot be served, and the problem that it is reported as.

    Attributes:
        status: Of HTTP.
        code: Stable code, listed in docs/errors.md.
        detail: One line that says what to do.
        data: More members of the problem.
        headers: More headers of the response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        data: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = int(status)
        self.code = code
        self.detail = message
        self.data = dict(data or {})
        self.headers = dict(headers or {})

    def as_json(self) -> dict[str, Any]:
        """Return the body of the response."""
        return make_problem(self.status, self.code, self.detail) | self.data


class InvalidInput(ApiError):
    """Fields of a request are invalid.

    Args:
        message: One line that says what to do.
        problems: `path` as a JSON Pointer or the name of a query parameter, and `message`.
    """

    def __init__(self, message: str, *, problems: list[dict[str, str]] | None = None) -> None:
        super().__init__(
            HTTPStatus.BAD_REQUEST,
            "invalid_arguments",
            message,
            data={"problems": problems[:MAX_LISTED_PROBLEMS]} if problems else None,
        )


class NotFound(ApiError):
    """An object does not exist, or the caller may not know of it."""

    def __init__(self, what: str) -> None:
        super().__init__(HTTPStatus.NOT_FOUND, "not_found", f"there is no {what}")


_UNAVAILABLE: Final = ApiError(
    503,
    "database_unavailable",
    "the database cannot be reached; try again in a moment",
    headers={"Retry-After": "2"},
)
_UNSTORABLE: Final = ApiError(
    400, "invalid_arguments", "a value is out of range or cannot be stored; correct the request"
)
_PROBLEM_BY_ERROR: Final[Mapping[type[Exception], ApiError]] = {
    RequestDataTooBig: ApiError(413, "message_too_large", "the request is too large; send less"),
    Http404: ApiError(404, "not_found", "there is nothing at this address"),
    DataError: _UNSTORABLE,
    SuspiciousOperation: _UNSTORABLE,
}


def handle_exception(error: Exception, _context: Mapping[str, Any]) -> Response:
    """Return the response to a request that failed: the exception handler of the API."""
    problem = describe_problem(error)
    return Response(
        problem.as_json(),
        status=problem.status,
        headers=problem.headers,
        content_type=PROBLEM_CONTENT_TYPE,
    )


def describe_problem(error: Exception) -> ApiError:
    """Return the problem that an error is reported as; a defect is logged, never shown."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, exceptions.APIException):
        return _describe_framework_error(error)
    if _is_unavailable(error):
        return _UNAVAILABLE
    for kind, problem in _PROBLEM_BY_ERROR.items():
        if isinstance(error, kind):
            return problem
    code, message = errors.explain_error(error)
    return ApiError(find_status(code), code, message, data=errors.collect_error_data(error))


def find_status(code: str) -> int:
    """Return the HTTP status of an error code.

    Example:
        >>> [find_status(code) for code in ("unknown_run", "not_permitted", "unreachable", "x")]
        [404, 403, 502, 400]
    """
    if code in _UPSTREAM_CODES:
        return 502
    if code.startswith("unknown_"):
        return 404
    if code.startswith("run_"):  # its state does not allow the action
        return 409
    return _STATUS_BY_CODE.get(code, 400)


def answer_bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Answer a request that no view accepts, such as one for a foreign host."""
    if not _is_for_api(request):
        return defaults.bad_request(request, exception)
    detail = "the request cannot be served: its host or its address is not accepted"
    return _build_response(ApiError(400, "invalid_arguments", detail))


def answer_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Answer a request for an address that there is not."""
    if not _is_for_api(request):
        return defaults.page_not_found(request, exception)
    return _build_response(_PROBLEM_BY_ERROR[Http404])


def answer_server_error(request: HttpRequest) -> HttpResponseBase:
    """Answer a request that failed outside the views of the API; Django has logged it.

    Django calls this while the error is being handled.
    """
    error = sys.exception()
    if isinstance(error, Exception) and _is_unavailable(error):
        return _answer_unavailable(request)
    if not _is_for_api(request):
        return defaults.server_error(request)
    detail = f"internal error; see the log for request {telemetry.current_request_id()}"
    return _build_response(ApiError(500, "internal_error", detail))


def answer_not_ready(request: HttpRequest, trouble: NotReady) -> HttpResponse:
    """Answer a request that cannot be served at present, whatever it asks for."""
    return _answer_unavailable(request, describe_problem(trouble))


def _answer_unavailable(request: HttpRequest, problem: ApiError = _UNAVAILABLE) -> HttpResponse:
    """Say why nothing is served; asks the database nothing, so the page has no frame of a room."""
    if _is_for_api(request):
        return _build_response(problem)
    is_read = request.method in {"GET", "HEAD"}
    context = {
        "problem": problem,
        "is_newer": problem.code == "database_newer",
        "is_action": not is_read,
        "retry_url": request.get_full_path() if is_read else request.path,
        "request_id": telemetry.current_request_id(),
    }
    page = loader.render_to_string("console/unavailable.html", context)
    return HttpResponse(page, status=problem.status, headers=problem.headers)


def _is_for_api(request: HttpRequest) -> bool:
    return request.path_info.startswith(API_PATH)


def _build_response(problem: ApiError) -> HttpResponse:
    return JsonResponse(
        problem.as_json(),
        status=problem.status,
        headers=problem.headers,
        content_type=PROBLEM_CONTENT_TYPE,
    )


def _is_unavailable(error: Exception) -> bool:
    is_away = isinstance(error, DatabaseError) and is_database_away(error)
    return is_away or isinstance(error, TokensUnavailable)


def _describe_framework_error(error: exceptions.APIException) -> ApiError:
    status = int(error.status_code)
    headers: dict[str, str] = {}
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        status = HTTPStatus.UNAUTHORIZED
        headers["WWW-Authenticate"] = 'Bearer realm="foregate"'
    if wait_s := getattr(error, "wait", None):  # of Throttled
        headers["Retry-After"] = str(max(1, round(wait_s)))
    data: dict[str, Any] = {}
    detail = str(error.detail)
    if isinstance(error, exceptions.ValidationError):
        problems = list(_flatten_details(error.detail))[:MAX_LISTED_PROBLEMS]
        data["problems"] = problems
        detail = "invalid request: " + "; ".join(
            f"{problem['path'] or '/'}: {problem['message']}" for problem in problems
        )
    code = _CODE_BY_STATUS.get(status, "invalid_arguments")
    return ApiError(status, code, detail, data=data, headers=headers)


def _flatten_details(detail: Any, path: str = "") -> Any:
    """Yield the problems of nested serializers, each with its path as a JSON Pointer."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            step = "" if name == "non_field_errors" else f"/{name}"
            yield from _flatten_details(inner, path + step)
    elif isinstance(detail, list | tuple):
        for position, inner in enumerate(detail):
            is_text = not isinstance(inner, Mapping | list | tuple)
            yield from _flatten_details(inner, path if is_text else f"{path}/{position}")
    else:
        yield {"path": path, "message": str(detail)}


def answer_too_many_open(count: int) -> ApiError:
    """Return the answer to a caller who has that many requests open already."""
    return ApiError(
        429,
        "throttled",
        f"{count} requests of yours are open; wait for one to end",
        headers={"Retry-After": "1"},
    )
