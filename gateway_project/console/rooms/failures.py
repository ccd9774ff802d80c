"""Answers what a room cannot do, in words: what failed, that nothing was changed, what to try."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from gateway_project.api import problems
from gateway_project.api.problems import ApiError
from gateway_project.console.rooms import page
from gateway_project.effects import Effects
from gateway_project.mcp import errors
from gateway_project.user_errors import USER_ERRORS
from tools.catalogue import Catalogue

P = ParamSpec("P")

APPLY_TIMEOUT_S: Final = 2.0
"""Longest wait until a change is in the catalogue in memory; it usually takes 0.2 s."""
POLL_S: Final = 0.02
EXPECTED: Final = (*USER_ERRORS, ApiError)
"""Errors with a code and a line that says what to do."""


def explain_failures(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Render errors that a user can cause as a page; others are defects and pass through."""

    @wraps(view)
    def answer(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except EXPECTED as error:
            return render_failure(request, error)

    return answer


def render_failure(request: HttpRequest, error: Exception) -> HttpResponse:
    """Return the page of an expected error, with the status that the API answers."""
    code, message = describe_failure(error)
    response = page.render_room(
        request,
        "console/failure.html",
        title="This did not work",
        code=code,
        message=message,
        back=request.headers.get("Referer", ""),
    )
    response.status_code = error.status if isinstance(error, ApiError) else find_status(code)
    return response


def describe_failure(error: Exception) -> tuple[str, str]:
    """Return the code and the one line of an expected error."""
    if isinstance(error, ApiError):
        return error.code, str(error)
    return errors.explain_error(error)


def find_status(code: str) -> int:
    """Return the HTTP status of an error code, as the API answers it."""
    return problems.find_status(code)


def wait_for_catalogue(effects: Effects, is_applied: Callable[[Catalogue], bool]) -> bool:
    """Wait until the catalogue in memory shows a change, so that the next page does.

    Args:
        effects: Of the gateway in this process.
        is_applied: Whether a catalogue shows it.

    Returns:
        False if it takes longer than `APPLY_TIMEOUT_S`.
    """
    deadline = time.monotonic() + APPLY_TIMEOUT_S
    while not is_applied(effects.catalogue()):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
