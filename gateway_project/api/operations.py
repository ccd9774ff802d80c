"""An operation of the API: who may use it, what it takes and answers, said once.

`serve` makes the views of their addresses; the OpenAPI description, permission, validation,
`If-Match`, pages and status all follow from what an operation says of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.api.description import PAGE_PARAMETERS, page_of
from gateway_project.api.pages import make_page_schema
from gateway_project.api.views import ApiView

Handler = Callable[..., Any]
"""Does an operation: takes the view and what the address names, and returns what is answered."""
NO_STORE: Final = {"Cache-Control": "no-store"}


def _refuse_handler(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


@dataclass(frozen=True)
class Operation:
    """An operation, and the decorator that makes one of a function.

    The function's name is that of the operation, and its docstring the description. It takes the
    view, whose `given` is the validated body, and what the address names. What it returns is
    serialized; a response is passed on.

    Attributes:
        route: Its method of HTTP and its address below that of the API.
        scope: Scope that its callers need.
        name: Name in the description, if it is not the function's.
        takes: Serializer of the body, whose fields may be missing in a PATCH, or the request as
            the description says it if the function reads the body itself; None: it has none.
        answers: Serializer or JSON Schema of the answer, or such by status; None: nothing, or what
            `current` answers after a change.
        status: Status of the answer; None: 200, or 204 without an answer.
        plural: What the items of a list are called; empty: it is no list.
        order: Unique attribute by which a list is sorted; empty: the newest row comes first.
        parameters: Of its address: names of texts, or descriptions.
        examples: Bodies by name.
        current: Operation whose answer `If-Match` is compared with, before anything is changed.
        in_groups: Whether callers limited to a tool group may use it: everything in its answers
            is then of tools of the group alone.
        is_secret: Whether the answer holds what is shown only once.
        run: The function.
    """

    route: str
    scope: str
    _: KW_ONLY
    name: str = ""
    takes: Any = None
    answers: Any = None
    status: int | None = None
    plural: str = ""
    order: str = ""
    parameters: Sequence[OpenApiParameter | str] = ()
    examples: Mapping[str, Any] = field(default_factory=dict)
    current: Operation | None = None
    in_groups: bool = False
    is_secret: bool = False
    run: Handler = _refuse_handler

    def __call__(self, run: Handler) -> Operation:
        """Return the operation that a function does."""
        answers = self.answers
        if self.current is not None and self.method != "DELETE":
            answers = answers or self.current.answers
        status = self.status or (204 if answers is None else 200)
        name = self.name or run.__name__
        return replace(self, run=run, name=name, answers=answers, status=status)

    @property
    def method(self) -> str:
        """Method of HTTP."""
        return self.route.partition(" ")[0]

    @property
    def address(self) -> str:
        """Address below that of the API, as in Django's URL patterns."""
        return self.route.partition(" ")[2]

    def make_method(self) -> Callable[..., HttpResponseBase]:
        """Return the method of a view, with the description."""

        def answer(view: ApiView, _request: Request, **address: Any) -> HttpResponseBase:
            return self.answer(view, address)

        answer.__doc__ = self.run.__doc__
        described = extend_schema(
            operation_id=self.name,
            parameters=[*map(_describe_parameter, self.parameters), *self._page_parameters],
            request=self.takes(partial=True) if self._is_partial else self.takes,
            responses=self._responses,
            examples=[
                OpenApiExample(name, value=value, request_only=True)
                for name, value in self.examples.items()
            ],
        )
        return described(answer)

    def answer(self, view: ApiView, address: Mapping[str, Any]) -> HttpResponseBase:
        """Do the operation and return the response."""
        before = self.current and self.current.serialize(view, self.current.run(view, **address))
        if isinstance(self.takes, type):
            view.given = view.read_body(self.takes, partial=self._is_partial)
        if before is not None:
            view.check_unchanged(before)
        made = self.run(view, **address)
        if isinstance(made, HttpResponseBase):
            return made
        if self.plural:
            return self._answer_page(view, made)
        headers = NO_STORE if self.is_secret else None
        return Response(self.serialize(view, made), self.status, headers=headers)

    def serialize(self, view: ApiView, value: Any) -> Any:
        """Return a value as the answer, or an item of it."""
        if isinstance(self.answers, type):
            return self.answers(value, context={"view": view}).data
        return value

    def _answer_page(self, view: ApiView, found: Iterable[Any]) -> Response:
        def serialize(item: Any) -> Any:
            return self.serialize(view, item)

        if isinstance(found, QuerySet):
            order = {"field": self.order, "descending": False} if self.order else {}
            return view.answer_rows(found, serialize, **order)
        find_key = attrgetter(self.order)
        ordered = sorted(found, key=find_key)
        return view.answer_sorted(ordered, serialize, key=lambda item: (find_key(item),))

    @property
    def _is_partial(self) -> bool:
        return self.method == "PATCH"

    @property
    def _page_parameters(self) -> Sequence[OpenApiParameter]:
        return PAGE_PARAMETERS if self.plural else ()

    @property
    def _responses(self) -> dict[Any, Any]:
        """The answers by status."""
        answers = self.answers
        if self.plural:
            is_schema = isinstance(answers, dict)
            page = make_page_schema(answers) if is_schema else page_of(answers, self.plural)
            return {self.status: page}
        if isinstance(answers, dict) and not any(isinstance(one, str) for one in answers):
            return answers
        return {self.status: answers}


def serve(operations: Iterable[Operation]) -> list[URLPattern]:
    """Return the addresses of operations, each with its view; the longest come first.

    A name that may hold slashes would take in what follows it otherwise.
    """
    views: dict[str, dict[str, Operation]] = {}
    for one in operations:
        views.setdefault(one.address, {})[one.method] = one
    ordered = sorted(views, key=lambda address: -address.count("/"))
    return [path(address, _make_view(views[address]).as_view()) for address in ordered]


def _make_view(operations: Mapping[str, Operation]) -> type[ApiView]:
    """Return the view of an address with operations by method of HTTP."""
    members: dict[str, Any] = {
        "__module__": __name__,
        "scopes": {method: one.scope for method, one in operations.items()},
        "serves_groups": all(one.in_groups for one in operations.values()),
    }
    members |= {method.lower(): one.make_method() for method, one in operations.items()}
    return type("View", (ApiView,), members)


def _describe_parameter(parameter: OpenApiParameter | str) -> OpenApiParameter:
    if isinstance(parameter, OpenApiParameter):
        return parameter
    return OpenApiParameter(parameter, OpenApiTypes.STR)
