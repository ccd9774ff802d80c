"""What django-allauth asks about local sign-in: where it leads, and how secrets are kept."""

from __future__ import annotations

from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import get_authentication_records
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from gateway_project.access import audit, second_factor
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer

SESSION_BACKEND: Final = "django.contrib.auth.backends.ModelBackend"
PROVIDER_SESSION_S: Final = 12 * 3_600
"""After which people sign in at their provider again, so that lost groups take effect."""
ISSUER_NAME: Final = "Foregate"
"""Name of the entry in authenticator apps."""


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-in of local users."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": "The user name or the password is wrong.",
        "incorrect_code": "The code is wrong, or was used already.",
        "too_many_login_attempts": "Too many wrong codes: wait five minutes.",
        "rate_limited": "Too many wrong codes: wait five minutes.",
        "incorrect_password": "The password is wrong.",
        "enter_current_password": "The current password is wrong.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - the library's
        """Return False: admins and the provider make users."""
        return False

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Do nothing: wrong passwords are counted by django-axes, in the database."""

    def is_safe_url(self, url: str) -> bool:
        """Whether an address leads to a page of this console."""
        return url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def get_login_redirect_url(self, request: HttpRequest) -> str:  # noqa: ARG002
        """Return the page that somebody is led to who asked for none."""
        return reverse("home")

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """Return the same for somebody who comes for the first time."""
        return self.get_login_redirect_url(request)

    def login(self, request: HttpRequest, user: Any) -> None:
        """Begin a session, with an audit entry that says which factors were given."""
        if not hasattr(user, "backend"):
            user.backend = SESSION_BACKEND
        super().login(request, user)
        methods = [str(one["method"]) for one in get_authentication_records(request, user)]
        caller = Caller(
            user=user.get_username(), team=None, person=None, scopes=frozenset(), kind="console"
        )
        detail = {"methods": sorted(set(methods))}
        audit.record_audit(caller, "user.signed_in", user.get_username(), detail=detail)

    def post_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse:
        """Record a second factor; sessions of people from a provider last a working day."""
        records = get_authentication_records(request, user)
        has_second_factor = any(one["method"] == "mfa" for one in records)
        login = (kwargs.get("signal_kwargs") or {}).get("sociallogin")
        if login is not None:
            request.session.set_expiry(PROVIDER_SESSION_S)
            has_second_factor |= bool(login.account.extra_data.get("has_second_factor"))
        if has_second_factor:
            second_factor.record_given(request.session, user)
        response: HttpResponse = super().post_login(request, user, **kwargs)
        return response

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return how a signed-in user proves anew who they are: by the second factor if any."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if is_mfa_enabled(user):
            return [method for method in methods if method["id"].startswith("mfa_")]
        return methods


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Second factors."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "The code is wrong, or was used already.",
        "cannot_delete_authenticator": "Your role needs a second factor, so it cannot be removed.",
    }

    def encrypt(self, text: str) -> str:
        """Seal a secret."""
        return _load_sealer().seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Unseal a secret."""
        return str(_load_sealer().unseal(encrypted_text))

    def get_totp_issuer(self) -> str:
        """Return the name of the entry in authenticator apps."""
        return ISSUER_NAME

    def get_totp_label(self, user: Any) -> str:
        """Return the name of the account in authenticator apps."""
        return str(user.get_username())

    def build_totp_svg(self, url: str) -> str:
        """Return a QR code as an element of a page, which needs no image from elsewhere."""
        document: str = super().build_totp_svg(url)
        return document.partition("?>")[2].strip()

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Whether a user may do without it."""
        return not second_factor.is_required(authenticator.user)


def _load_sealer() -> Sealer:
    return sealing.load_or_create_sealer(settings.FOREGATE.home)
