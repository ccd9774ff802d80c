"""Base of all views of the API: who asks, what they may, how often, and what they get."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from io import BytesIO
from typing import Any, ClassVar, Final, cast
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.db.models import QuerySet
from django.utils.cache import get_conditional_response, set_response_etag
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated, ParseError
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gateway_project.access import idempotent_requests
from gateway_project.access.idempotent_requests import IdempotencyError, StoredResponse
from gateway_project.access.roles import require_scope
from gateway_project.api import runtime
from gateway_project.api.authentication import BearerAuthentication, ConsoleSession
from gateway_project.api.pages import paginate_rows, paginate_sorted
from gateway_project.api.problems import (
    ApiError,
    InvalidInput,
    answer_too_many_open,
    find_status,
)
from gateway_project.api.throttling import (
    DAY_S,
    MINUTE_S,
    Allowance,
    RateLimiter,
    open_requests,
)
from gateway_project.effects import Effects
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.computing import compute_in_message_thread
from gateway_project.foundation.json_pieces import LARGE_BYTES, TooManyValues, parse_in_pieces
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.surrogates import find_lone_surrogate
from gateway_project.mcp.http.names import AllowedNames, load_allowed_names
from tools.visibility import Visibility

READING: Final = frozenset({"GET", "HEAD"})
MAX_LISTED_FIELDS: Final = 10
_PER_MINUTE: Final = RateLimiter(settings.FOREGATE.api_per_minute, MINUTE_S)
_PER_DAY: Final = RateLimiter(settings.FOREGATE.api_per_day, DAY_S)


class _AnsweredBefore(Exception):
    """A request with an idempotency key was answered before."""

    def __init__(self, stored: StoredResponse) -> None:
        super().__init__()
        self.stored = stored


class StrictJsonParser(JSONParser):
    """Reads JSON; what is nested too deeply, or holds NaN, is an error like any other.

    A large body is parsed as one for MCP is: with a limit on its values, which is checked before
    any is built, and on one of few threads.
    """

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """Return the value of a body.

        Raises:
            ParseError: If it is not JSON.
            ApiError: If it holds too many values.
        """
        content: bytes = stream.read()
        try:
            if len(content) > LARGE_BYTES:
                return compute_in_message_thread(parse_in_pieces, content, allow_inf_nan=False)
            return super().parse(BytesIO(content), media_type, parser_context)
        except RecursionError:
            raise ParseError("the JSON is nested too deeply; send less") from None
        except TooManyValues as error:
            raise ApiError(413, "message_too_large", f"the JSON {error}; send less") from None
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from None


class ApiView(APIView):
    """A view of the API.

    Attributes:
        scopes: The scope that each method needs; a method without one is not served.
        serves_groups: Whether callers limited to a tool group may use it.
        given: The validated body, of an operation that says what it takes.
    """

    given: dict[str, Any]
    scopes: ClassVar[Mapping[str, str]] = {}
    serves_groups: ClassVar[bool] = False
    authentication_classes = (BearerAuthentication, ConsoleSession)
    permission_classes = ()
    renderer_classes = (JSONRenderer,)
    parser_classes = (StrictJsonParser,)
    http_method_names = ("get", "head", "post", "put", "patch", "delete")

    _is_open = False
    _pending: int | None = None
    _allowances: tuple[Allowance, ...] = ()

    @property
    def caller(self) -> Caller:
        """The caller of the request."""
        return cast("Caller", self.request.auth)

    @property
    def effects(self) -> Effects:
        """The dependencies of the flow.

        Raises:
            NotReady: If the gateway cannot serve requests now.
        """
        return runtime.load_effects(self.request._request)

    @cached_property
    def visibility(self) -> Visibility:
        """What the caller may know of."""
        return Visibility(catalogue=self.effects.catalogue(), caller=self.caller)

    @cached_property
    def payload_sealer(self) -> Sealer:
        """Opens inputs and results of runs."""
        return sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)

    @cached_property
    def secret_sealer(self) -> Sealer:
        """Opens credentials of servers."""
        return sealing.load_or_create_sealer(settings.FOREGATE.home)

    def read_object(self) -> dict[str, Any]:
        """Return the body of the request, a JSON object; empty if there is none.

        Raises:
            InvalidInput: If it is another value, or has a text that cannot be stored.
        """
        body = self.request.data
        if not isinstance(body, dict):
            raise InvalidInput("send a JSON object")
        if (pointer := find_lone_surrogate(body)) is not None:
            problem = {"path": pointer, "message": "holds half a surrogate pair; send characters"}
            raise InvalidInput(
                f"{pointer or 'the body'}: {problem['message']}", problems=[problem]
            )
        return dict(body)

    def read_body(
        self, serializer: type[serializers.Serializer[Any]], *, partial: bool = False
    ) -> dict[str, Any]:
        """Return the validated body of the request.

        Args:
            serializer: Describes the body.
            partial: Whether fields may be missing.

        Raises:
            InvalidInput: If it is no object, or has fields that are not known.
            ValidationError: If a field is invalid.
        """
        body = self.read_object()
        given = serializer(data=body, partial=partial)
        known = [name for name, field in given.fields.items() if not field.read_only]
        if unknown := [name for name in body if name not in known]:
            raise InvalidInput(
                f"unknown fields: {', '.join(map(repr, unknown[:MAX_LISTED_FIELDS]))}; known are "
                f"{', '.join(known)}",
                problems=[{"path": f"/{name}", "message": "unknown field"} for name in unknown],
            )
        for field in given.fields.values():
            chosen = getattr(field, "child", field)
            if choices := getattr(chosen, "choices", None):
                words = ", ".join(f'"{choice}"' for choice in choices)
                chosen.error_messages["invalid_choice"] = f"must be one of {words}"
        given.is_valid(raise_exception=True)
        return dict(given.validated_data)

    def answer_rows(
        self, rows: QuerySet[Any], make_item: Callable[[Any], Any], **order: Any
    ) -> Response:
        """Return a page of rows.

        Args:
            rows: Filtered rows.
            make_item: Makes JSON of one.
            order: Of `paginate_rows`.
        """
        page = paginate_rows(self.request, rows, **order)
        return Response(page.as_json(self.request, make_item))

    def answer_sorted(
        self,
        items: Iterable[Any],
        make_item: Callable[[Any], Any],
        *,
        key: Callable[[Any], tuple[str, ...]],
    ) -> Response:
        """Return a page of items in memory, which are sorted by their unique keys."""
        page = paginate_sorted(self.request, items, key=key)
        return Response(page.as_json(self.request, make_item))

    def check_unchanged(self, current: Any) -> None:
        """Check `If-Match` against what a GET of the same address returns now.

        Raises:
            ApiError: If the object has changed since the client read it.
        """
        wanted = self.request.headers.get("If-Match")
        if wanted is None or wanted.strip() == "*":
            return
        response = Response(current)
        self._render(response)
        if response["ETag"] not in [tag.strip() for tag in wanted.split(",")]:
            raise ApiError(
                412, "precondition_failed", "it has changed since you read it; read it again"
            )

    def initial(self, request: Request, *_args: Any, **kwargs: Any) -> None:
        """Check the request before it is served: origin, texts, caller, scope and limits."""
        _check_origin(request)
        _check_texts(request, kwargs)
        self.format_kwarg = None
        request.accepted_renderer, request.accepted_media_type = JSONRenderer(), "application/json"
        if not isinstance(request.auth, Caller):
            raise NotAuthenticated("send a bearer token: `manage.py create_token` creates one")
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method.lower() in self.http_method_names and hasattr(self, method.lower()):
            require_scope(self.caller, self.scopes[method])
            if self.caller.group is not None and not self.serves_groups:
                raise ApiError(
                    403,
                    "not_permitted",
                    f"the token is limited to the tool group {self.caller.group!r}, and this is "
                    "about all tools; use a token without a group",
                )
        self._limit_rate()
        self._limit_open()
        self._begin_idempotent(request)

    def handle_exception(self, exc: Exception) -> Any:
        """Return the response to a request that failed, or that was answered before."""
        if isinstance(exc, _AnsweredBefore):
            stored = exc.stored
            return Response(
                json.loads(stored.content) if stored.content else None,
                status=stored.status,
                headers={**stored.headers, "Idempotency-Replayed": "true"},
                content_type=stored.headers.get("Content-Type"),
            )
        return super().handle_exception(exc)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Complete a response: limits, ETag, and what repeats it."""
        final: Any = super().finalize_response(request, response, *args, **kwargs)
        if self._is_open:
            open_requests.give_back(self.caller.user)
        for allowance in self._allowances[:1]:
            final["RateLimit-Limit"] = str(allowance.limit)
            final["RateLimit-Remaining"] = str(max(0, allowance.remaining))
            final["RateLimit-Reset"] = str(max(1, round(allowance.reset_s)))
        final.headers.setdefault("Cache-Control", "private, no-cache")
        if not isinstance(final, Response):
            return final
        self._render(final)
        if self._pending is not None:
            stored = _make_stored(final)
            idempotent_requests.finish_request(self._pending, stored, sealer=self.payload_sealer)
        if request.method in READING and final.status_code == 200:
            return get_conditional_response(request, etag=final["ETag"], response=final)
        return final

    def _render(self, response: Response) -> None:
        if not hasattr(response, "accepted_renderer"):
            response.accepted_renderer = JSONRenderer()
            response.accepted_media_type = "application/json"
            response.renderer_context = {}  # type: ignore[attr-defined]
        response.render()
        set_response_etag(response)

    def _limit_rate(self) -> None:
        counted = [limiter.count(self.caller) for limiter in (_PER_MINUTE, _PER_DAY)]
        self._allowances = tuple(
            sorted((one for one in counted if one), key=lambda one: one.remaining)
        )
        for allowance in self._allowances[:1]:
            if allowance.remaining < 0:
                wait_s = max(1, round(allowance.reset_s))
                raise ApiError(
                    429,
                    "throttled",
                    f"more than {allowance.limit:,} requests; try again in {wait_s:,} s",
                    headers={"Retry-After": str(wait_s)},
                )

    def _limit_open(self) -> None:
        user, is_superuser = self.caller.user, self.caller.has_scope(SCOPE_ALL)
        self._is_open = open_requests.take(user, is_privileged=is_superuser)
        if not self._is_open:
            raise answer_too_many_open(open_requests.count_of(user))

    def _begin_idempotent(self, request: Request) -> None:
        key = request.headers.get(idempotent_requests.HEADER)
        if key is None or request.method != "POST":
            return
        try:
            begun = idempotent_requests.begin_request(
                self.caller, request.path, key, request.body, sealer=self.payload_sealer
            )
        except IdempotencyError as error:
            raise ApiError(find_status(error.code), error.code, str(error)) from None
        if isinstance(begun, StoredResponse):
            raise _AnsweredBefore(begun)
        self._pending = begun


def _make_stored(response: Response) -> StoredResponse:
    """Return what is kept of a response in order to repeat it."""
    if response["Cache-Control"] == "no-store":
        return StoredResponse(status=response.status_code)
    names = (name for name in idempotent_requests.KEPT_HEADERS if name in response)
    return StoredResponse(
        status=response.status_code,
        content=response.content,
        headers={name: response[name] for name in names},
    )


def _load_names() -> AllowedNames:
    config = settings.FOREGATE
    return load_allowed_names(
        hosts=config.allowed_hosts, origins=config.allowed_origins, public_url=config.public_url
    )


def _check_origin(request: Request) -> None:
    """Refuse requests of web pages that may not call."""
    origin = request.headers.get("Origin")
    if origin is None:
        return
    if not _load_names().is_allowed_origin(origin, host=request.get_host()):
        raise ApiError(
            403,
            "origin_not_allowed",
            f"pages of {origin[:100]!r} may not call this gateway; an admin can add it to "
            "FOREGATE_ALLOWED_ORIGINS",
        )


def _check_texts(request: Request, path: Mapping[str, Any]) -> None:
    """Refuse what no row of the database can hold, and bytes that are no text, in the address."""
    try:
        unquote_to_bytes(request.META.get("QUERY_STRING", "")).decode()
    except UnicodeDecodeError:
        raise InvalidInput("the address holds bytes that are no UTF-8") from None
    values = [*map(str, path.values()), *request.query_params]
    values += [value for _, listed in request.query_params.lists() for value in listed]
    for value in values:
        if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise InvalidInput("the address holds a character that no text can have")
