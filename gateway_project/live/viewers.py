"""Who looks on: the user of a session of the console, with the rights that they have now."""

from __future__ import annotations

from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

from gateway_project.access import callers, second_factor
from gateway_project.foundation.caller import Caller
from gateway_project.use_cases.decide_approval import Approver, load_approver
from tools.store import overview


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """A signed-in user with what they may see. Equal if nothing of that has changed.

    Attributes:
        caller: Whom they act as.
        approver: The runs and approvals of others that they may see.
        are_teams_used: As of the caller, where it does not count when two are compared.
    """

    caller: Caller
    approver: Approver
    are_teams_used: bool = True


def read_session_key(headers: dict[bytes, bytes]) -> str:
    """Return the key of the console session that a request names; empty: none."""
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return ""
    morsel = cookies.get(settings.SESSION_COOKIE_NAME)
    return morsel.value if morsel is not None else ""


def load_viewer(session_key: str) -> Viewer | None:
    """Return the viewer of a session as of now; None: it is signed out or expired.

    So it is if the password of its user changed, or if they have yet to give a second factor.
    """
    request: Any = HttpRequest()
    request.session = _open_session(session_key)
    user = get_user(request)
    if not user.is_active or not user.is_authenticated:
        return None
    if second_factor.is_missing(request.session, user):
        return None
    caller = callers.make_caller(
        user,
        overview.load_teams(user.get_username()),
        kind="console",
        chosen=request.session.get(callers.TEAM_KEY),
    )
    return Viewer(
        caller=caller,
        approver=load_approver(caller),
        are_teams_used=caller.are_teams_used,
    )


def _open_session(session_key: str) -> SessionBase:
    engine = import_module(settings.SESSION_ENGINE)
    session: SessionBase = engine.SessionStore(session_key)
    return session
