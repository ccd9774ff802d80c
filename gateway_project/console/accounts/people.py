"""What django-allauth asks about people who come from the configured provider."""

from __future__ import annotations

from typing import Any, Final

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from django.conf import settings
from django.contrib.auth import logout
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from gateway_project.access import user_names
from gateway_project.console.accounts.provider import (
    PROVIDER_ID,
    SignInProvider,
    render_refusal,
)
from gateway_project.foundation.access_rules import parse_group_rules
from gateway_project.foundation.config import Config
from gateway_project.use_cases.admit_person import NotAdmitted, admit_person, require_role

SIGNED_IN_TWICE: Final = "two sign-ins came at the same moment; sign in once more"
OPENID_CONNECT: Final = "openid_connect"
"""The library's name for providers of this kind."""


class PeopleAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Sign-in of people who come from the configured provider."""

    def list_apps(
        self,
        request: HttpRequest,  # noqa: ARG002 - the library's
        provider: str | None = None,
        client_id: str | None = None,
    ) -> list[SocialApp]:
        """Return the configured provider, if there is one and it is the one asked for."""
        config: Config = settings.FOREGATE
        if not config.oidc_issuer or not config.oidc_client_id:
            return []
        if provider not in (None, PROVIDER_ID, OPENID_CONNECT):
            return []
        if client_id not in (None, config.oidc_client_id):
            return []
        return [
            SocialApp(
                provider=OPENID_CONNECT,
                provider_id=PROVIDER_ID,
                name=config.oidc_name,
                client_id=config.oidc_client_id,
                secret=load_client_secret(config),
                settings={"server_url": config.oidc_issuer, "scope": config.oidc_scopes.split()},
            )
        ]

    def get_provider(
        self, request: HttpRequest, provider: str, client_id: str | None = None
    ) -> Any:
        """Return the configured provider.

        Raises:
            SocialApp.DoesNotExist: If there is none.
        """
        app = self.get_app(request, provider=provider, client_id=client_id)
        return SignInProvider(request, app=app)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Give a known person what their groups give now.

        Raises:
            ImmediateHttpResponse: If they are not admitted.
        """
        groups = sociallogin.account.extra_data["groups"]
        try:
            if sociallogin.is_existing:
                admit_person(sociallogin.user, groups, **_read_rules())
            else:
                require_role(groups, **_read_rules())
        except NotAdmitted as error:
            logout(request)
            raise ImmediateHttpResponse(render_refusal(request, str(error))) from None

    def is_open_for_signup(
        self,
        request: HttpRequest,  # noqa: ARG002 - the library's
        sociallogin: SocialLogin,  # noqa: ARG002
    ) -> bool:
        """Return True: `pre_social_login` has decided."""
        return True

    def is_auto_signup_allowed(
        self,
        request: HttpRequest,  # noqa: ARG002 - the library's
        sociallogin: SocialLogin,  # noqa: ARG002
    ) -> bool:
        """Return True: people fill in no form."""
        return True

    def save_user(
        self,
        request: HttpRequest,
        sociallogin: SocialLogin,
        form: Any = None,  # noqa: ARG002 - there is none
    ) -> Any:
        """Store a person who comes for the first time, under a name that nobody has or had.

        Raises:
            ImmediateHttpResponse: If they, or somebody of the same name, come a second time at
                this moment; signing in again then finds them.
        """
        user = sociallogin.user
        user.set_unusable_password()
        try:
            with transaction.atomic():
                user.username = user_names.choose_name(sociallogin.account.extra_data["name"])
                user.save()
                sociallogin.account.user = user
                sociallogin.account.save()
                admit_person(user, sociallogin.account.extra_data["groups"], **_read_rules())
        except IntegrityError:
            raise ImmediateHttpResponse(render_refusal(request, SIGNED_IN_TWICE)) from None
        return user

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,  # noqa: ARG002 - the library's
        error: Any = None,
        exception: Exception | None = None,
        extra_context: Any = None,  # noqa: ARG002
    ) -> None:
        """Say why somebody is not signed in.

        Raises:
            ImmediateHttpResponse: Always.
        """
        reason = str(exception) if exception else _describe_error(str(error))
        raise ImmediateHttpResponse(render_refusal(request, reason))


def load_client_secret(config: Config) -> str:
    """Return the secret of this installation at the provider; empty: it has none."""
    secret = config.oidc_client_secret
    return "" if secret is None else secret.get_secret_value()


def _read_rules() -> dict[str, Any]:
    config: Config = settings.FOREGATE
    rules = parse_group_rules(config.oidc_groups)
    return {"rules": rules, "default_role": config.oidc_default_role}


def _describe_error(error: str) -> str:
    if error == "cancelled":
        return "you cancelled the sign-in at the provider"
    return "this sign-in was not begun in this browser, was used already, or took too long"
