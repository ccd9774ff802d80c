"""Second factors: who needs one, and whether a session gave one, or proved lately whose it is."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Final

from allauth.account.internal.flows import reauthentication
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from gateway_project.access import audit, callers
from gateway_project.access.roles import ROLES
from gateway_project.foundation.access_rules import EVERYBODY, SUPERUSER, parse_required
from gateway_project.foundation.caller import Caller

SESSION_KEY: Final = "second_factor_user"
"""Holds the primary key of the user who gave a second factor in this session."""
FREE_PATHS: Final = ("/account/", "/static/", "/health", "/favicon.ico", "/api/")
"""Starts of the paths that need none: where it is given or set up, what shows nothing, and the
API, which asks itself."""
REQUIRED_MESSAGE: Final = (
    "your role needs a second factor: sign in to the console and give or set up one"
)


class ConfirmationRequired(Exception):
    """Somebody has to prove who they are before they change how they sign in themselves.

    Attributes:
        is_possible: Whether they can: they have a password or an app.
    """

    code = "confirmation_required"

    def __init__(self, username: str, *, is_possible: bool) -> None:
        remedy = (
            "do it on your page in the console, which asks for your password or a code first"
            if is_possible
            else "you have neither a password nor an app to confirm with, so ask another admin, "
            f"or use `manage.py changepassword {username}` on the gateway's machine"
        )
        super().__init__(f"this changes how you sign in yourself: {remedy}")
        self.is_possible = is_possible


def is_required(user: Any) -> bool:
    """Whether a user has to give a second factor; uses prefetched groups."""
    named = parse_required(settings.FOREGATE.require_mfa)
    if not named or EVERYBODY in named:
        return bool(named)
    held = {group.name for group in user.groups.all() if group.name in ROLES}
    if user.is_superuser:
        held.add(SUPERUSER)
    return not named.isdisjoint(held)


def record_given(session: MutableMapping[str, Any], user: Any) -> None:
    """Record that a user gave a second factor in a session."""
    session[SESSION_KEY] = user.pk


def is_missing(session: MutableMapping[str, Any], user: Any) -> bool:
    """Whether a signed-in user still has to give a second factor in a session.

    Whatever accepts a session (pages, the API, sockets) has to ask this.
    """
    return session.get(SESSION_KEY) != user.pk and is_required(user)


def has_confirmed(request: HttpRequest, caller: Caller) -> bool:
    """Whether a session gave a password or a code again within the last five minutes.

    A token proves nothing: somebody else may have it. Neither does a session of somebody without
    a password or an app, whom the library would not ask.
    """
    return (
        caller.kind == "console"
        and bool(reauthentication.get_reauthentication_flows(request.user))
        and reauthentication.did_recently_reauthenticate(request)
    )


def require_confirmation(caller: Caller, username: str, *, has_confirmed: bool) -> None:
    """Check that a change of how somebody signs in is of another person, or confirmed.

    Args:
        caller: The actor.
        username: Whose sign-in changes.
        has_confirmed: Whether the actor has proved lately who they are.

    Raises:
        ConfirmationRequired: If not.
    """
    if username == caller.user and not has_confirmed:
        user = get_user_model().objects.get(username=username)
        flows = reauthentication.get_reauthentication_flows(user)
        raise ConfirmationRequired(username, is_possible=bool(flows))


def reset_second_factor(username: str, *, by: Caller | None = None) -> bool:
    """Remove the second factor of a user, with an audit entry; return whether there was one.

    Args:
        username: The user.
        by: Who removes it; None: the user, on this machine.

    Raises:
        UnknownUser: If nobody is given, and there is no active user of that name.
    """
    caller = by or callers.caller_for_user(username, kind="command")
    with transaction.atomic():
        count, _ = Authenticator.objects.filter(user__username=username).delete()
        if count:
            audit.record_audit(caller, "user.second_factor_reset", username)
    return bool(count)


class SecondFactorMiddleware:
    """Lets a session see no page but those that ask for a second factor while that is missing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request, or say that a second factor is missing."""
        if (
            not settings.FOREGATE.require_mfa
            or request.path.startswith(FREE_PATHS)
            or not request.user.is_authenticated
            or not is_missing(request.session, request.user)
        ):
            return self._get_response(request)
        query = urlencode({"next": request.get_full_path()}) if request.method == "GET" else ""
        address = reverse("second-factor")
        return HttpResponseRedirect(f"{address}?{query}" if query else address)
