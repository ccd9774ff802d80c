"""Pages under `/account/`: sign in and out, password, second factor."""

from __future__ import annotations

from typing import Any

from allauth.account import views as account_views
from allauth.mfa.base import views as factor_views
from allauth.mfa.base.internal.flows import post_authentication
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import views as recovery_views
from allauth.mfa.totp import views as totp_views
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import include, path, reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from gateway_project.access import audit, roles, second_factor
from gateway_project.access.callers import caller_for_user
from gateway_project.console.accounts import codes, provider
from gateway_project.console.middleware import allow_form_redirects


class SignInView(account_views.LoginView):  # type: ignore[misc]
    """The sign-in page."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the name of the provider; empty if there is none."""
        config = settings.FOREGATE
        name = config.oidc_name if config.oidc_issuer else ""
        return {**super().get_context_data(**kwargs), "provider_name": name}


class ChangePasswordView(account_views.PasswordChangeView):  # type: ignore[misc]
    """Changes the password, which ends all other sessions of the user."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Change it, with an audit entry."""
        response: HttpResponse = super().form_valid(form)
        _record(self.request, "user.changed", {"changed": ["password"]})
        return response


class SetPasswordView(account_views.PasswordSetView):  # type: ignore[misc]
    """Sets a password for a local user who has none, such as after a one-time password."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Refuse people who come from a provider: it alone decides whether they get in.

        Raises:
            PermissionDenied: To them.
        """
        if provider.find_account(request.user) is not None:
            raise PermissionDenied
        response: HttpResponse = super().dispatch(request, *args, **kwargs)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        """Set it, with an audit entry."""
        response: HttpResponse = super().form_valid(form)
        _record(self.request, "user.changed", {"changed": ["password"]})
        return response


class ActivateView(totp_views.ActivateTOTPView):  # type: ignore[misc]
    """Sets up an authenticator app; its first code counts as the session's second factor."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Set it up, with an audit entry."""
        response: HttpResponse = super().form_valid(form)
        added = Authenticator.objects.get(user=self.request.user, type=Authenticator.Type.TOTP)
        codes.claim_code(added, form.cleaned_data["code"])
        post_authentication(self.request, added, reauthenticated=True)  # shows recovery codes
        second_factor.record_given(self.request.session, self.request.user)
        _record(self.request, "user.second_factor_added")
        return response


class DeactivateView(totp_views.DeactivateTOTPView):  # type: ignore[misc]
    """Removes the authenticator app."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Remove it, with an audit entry."""
        response: HttpResponse = super().form_valid(form)
        _record(self.request, "user.second_factor_removed")
        return response


class ProveAgainView(factor_views.ReauthenticateView):  # type: ignore[misc]
    """Asks a signed-in user for a code; it counts as the session's second factor."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Go on with what needed the code."""
        second_factor.record_given(self.request.session, self.request.user)
        response: HttpResponse = super().form_valid(form)
        return response


def show_sign_in(request: HttpRequest) -> HttpResponse:
    """Show the sign-in page, from which a browser may be sent to the provider."""
    view: Any = SignInView.as_view()
    if settings.FOREGATE.oidc_issuer:
        view = allow_form_redirects(view)
    response: HttpResponse = view(request)
    return response


@require_safe
@login_required
def show_account(request: HttpRequest) -> HttpResponse:
    """Show a user who they are here, and what they can change."""
    user = request.user
    assert isinstance(user, User)  # noqa: S101 - signed in
    context = {
        "roles": ["superuser"] if user.is_superuser else roles.load_roles(user.get_username()),
        "teams": [one.team.name for one in user.memberships.select_related("team")],
        "has_second_factor": is_mfa_enabled(user),
        "is_second_factor_required": second_factor.is_required(user),
        "is_from_provider": provider.find_account(user) is not None,
    }
    return render(request, "console/account.html", context)


@require_safe
@login_required
def ask_second_factor(request: HttpRequest) -> HttpResponse:
    """Lead to where the missing second factor is given or set up, and back."""
    if not second_factor.is_missing(request.session, request.user):
        return HttpResponseRedirect(reverse("mfa_index"))
    name = "mfa_reauthenticate" if is_mfa_enabled(request.user) else "mfa_activate_totp"
    query = urlencode({"next": request.GET["next"]}) if request.GET.get("next") else ""
    return HttpResponseRedirect(f"{reverse(name)}?{query}" if query else reverse(name))


def _record(request: HttpRequest, action: str, detail: dict[str, Any] | None = None) -> None:
    name = request.user.get_username()
    audit.record_audit(caller_for_user(name, kind="console"), action, name, detail=detail)


_second_factor = [
    path("", login_required(factor_views.index), name="mfa_index"),
    path("needed/", ask_second_factor, name="second-factor"),
    path("code/", factor_views.authenticate, name="mfa_authenticate"),
    path("confirm/", ProveAgainView.as_view(), name="mfa_reauthenticate"),
    path("app/", login_required(ActivateView.as_view()), name="mfa_activate_totp"),
    path("app/remove/", DeactivateView.as_view(), name="mfa_deactivate_totp"),
    path("recovery-codes/", recovery_views.view_recovery_codes, name="mfa_view_recovery_codes"),
    path(
        "recovery-codes/new/",
        recovery_views.generate_recovery_codes,
        name="mfa_generate_recovery_codes",
    ),
]
urlpatterns = [
    path("", show_account, name="account"),
    path("sign-in/", show_sign_in, name="account_login"),
    path("sign-out/", account_views.logout, name="account_logout"),
    path("inactive/", account_views.account_inactive, name="account_inactive"),
    path("confirm/", account_views.reauthenticate, name="account_reauthenticate"),
    path(
        "password/", login_required(ChangePasswordView.as_view()), name="account_change_password"
    ),
    path("password/set/", login_required(SetPasswordView.as_view()), name="account_set_password"),
    path("second-factor/", include(_second_factor)),
    path("provider/", provider.begin, name="oidc-begin"),
    path("provider/callback/", provider.finish, name="oidc-callback"),
]
for _pattern in (*_second_factor, *urlpatterns):
    if _pattern.callback:
        _pattern.callback = never_cache(_pattern.callback)
