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
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse

from gateway_project.foundation.reasons import summarize_error

BAD_REQUEST: Final = 400
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_EXTREME_NUMBER: Final = re.compile(r"\d{10,}|\b(?:0001|9999)\b")
"""Numbers and years at or beyond the range of the database and of Python's dates."""

log = structlog.get_logger(__name__)


class UnstorableValue(Exception):
    """An address holds a value that no row can have."""


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
            return response

        return super().admin_view(answer, cacheable)

    def _render_refusal(self, request: HttpRequest, error: Exception) -> HttpResponse:
        context = self.each_context(request) | {
            "title": "This address cannot be looked up",
            "reason": summarize_error(error),
            "path": request.path,
        }
        return render(request, "console/unusable_address.html", context, status=BAD_REQUEST)


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
