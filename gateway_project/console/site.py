"""The console's admin site, which answers unusable addresses with 400 instead of failing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import wraps
from typing import Any, Final

import structlog
from django.contrib.admin import AdminSite
from django.contrib.admin.exceptions import (
    DisallowedModelAdminLookup,
    DisallowedModelAdminToField,
)
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.db import DataError, IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from gateway_project.access import callers
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.reasons import summarize_error
from tools.store import overview

BAD_REQUEST: Final = 400
CONFLICT: Final = 409
FORBIDDEN: Final = 403
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_EXTREME_NUMBER: Final = re.compile(r"\d{10,}|\b(?:0001|9999)\b")
"""Numbers and years at or beyond the range of the database and of Python's dates."""

log = structlog.get_logger(__name__)


class UnstorableValue(Exception):
    """An address holds a value that no row can have."""


class SavedAtOnce(Exception):
    """Somebody else saved what contradicts a form that was valid a moment before."""

    def __init__(self) -> None:
        super().__init__("somebody saved the same at this moment; nothing of yours was stored")


_REFUSED_ERRORS: Final = (
    UnstorableValue,
    DisallowedModelAdminLookup,
    DisallowedModelAdminToField,
)
_OUT_OF_RANGE_ERRORS: Final = (DataError, OverflowError)
"""Errors of the database and of Python's dates for a value out of range."""


class ConsoleSite(AdminSite):
    """Site of all console pages: its own and those wrapped in its `admin_view`."""

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Restrict a page to staff; answers requests with impossible values with 400."""

        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                reject_nul(request, *args, *kwargs.values())
                response: HttpResponse = view(request, *args, **kwargs)
                if isinstance(response, SimpleTemplateResponse):
                    response.render()  # runs the queries of lists
            except _REFUSED_ERRORS as error:
                return self._render_refusal(request, error)
            except _OUT_OF_RANGE_ERRORS as error:
                if not has_extreme_value(request, *args, *kwargs.values()):
                    raise  # a defect
                log.warning("console.value_out_of_range", path=request.path, exc_info=error)
                return self._render_refusal(request, error)
            except IntegrityError as error:
                if request.method in SAFE_METHODS:
                    raise  # a defect
                log.warning("console.saved_at_once", path=request.path, exc_info=error)
                return self._render_refusal(request, SavedAtOnce(), status=CONFLICT)
            return response

        return super().admin_view(answer, cacheable)

    def login(
        self,
        request: HttpRequest,
        extra_context: Any = None,  # noqa: ARG002 - Django's
    ) -> HttpResponse:
        """Lead to the sign-in page of everybody; people who are signed in may not enter here."""
        if request.user.is_authenticated and not self.has_permission(request):
            return render(request, "console/not_staff.html", status=FORBIDDEN)
        address = request.GET.get(REDIRECT_FIELD_NAME, "")
        if not url_has_allowed_host_and_scheme(address, allowed_hosts=None):
            address = reverse("admin:index")
        if request.user.is_authenticated:
            return HttpResponseRedirect(address)
        return redirect_to_login(address, reverse("account_login"))

    def password_change(  # type: ignore[override]  # Django's redirects too
        self,
        request: HttpRequest,  # noqa: ARG002 - Django's
        extra_context: Any = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Lead to the page on which everybody changes their password."""
        return HttpResponseRedirect(reverse("account_change_password"))

    def _render_refusal(
        self, request: HttpRequest, error: Exception, *, status: int = BAD_REQUEST
    ) -> HttpResponse:
        is_conflict = status == CONFLICT
        context = self.each_context(request) | {
            "title": "Saved at once" if is_conflict else "This address cannot be looked up",
            "is_conflict": is_conflict,
            "reason": summarize_error(error),
            "path": request.path,
        }
        return render(request, "console/unusable_address.html", context, status=status)


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller of a request, for the team chosen in the console or their only one."""
    return callers.make_caller(
        request.user,
        overview.load_teams(request.user.get_username()),
        kind="console",
        chosen=request.session.get(callers.TEAM_KEY),
    )


def reject_nul(request: HttpRequest, *path: Any) -> None:
    """Reject NUL characters, which PostgreSQL cannot store in texts.

    Raises:
        UnstorableValue: If there is one in the query or the path.
    """
    if any("\x00" in str(value) for value in (*_iterate_request_values(request), *path)):
        raise UnstorableValue("it holds a NUL character, which no text in the database has")


def has_extreme_value(request: HttpRequest, *path: Any) -> bool:
    """Whether the address or the selected rows can be the cause of a value out of range.

    Saved values are validated by forms: if one is out of range, that is a defect.
    """
    address = [*path, *(value for _, values in request.GET.lists() for value in values)]
    if request.method in SAFE_METHODS:
        return bool(address)
    selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
    return any(_EXTREME_NUMBER.search(str(value)) for value in (*address, *selected))


def _iterate_request_values(request: HttpRequest) -> Iterator[str]:
    for data in (request.GET, request.POST):
        for name, values in data.lists():
            yield name
            yield from map(str, values)
