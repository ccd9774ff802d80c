"""Sign-in with an OpenID Connect provider: authorization code, PKCE, nonce, signed ID token.

The requests and the verification are ours; the sign-in that follows, with second factors, is
that of django-allauth.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Final

from allauth.account.utils import get_next_redirect_url
from allauth.core.internal import ratelimit
from allauth.socialaccount.internal.statekit import STATE_TTL
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base import ProviderException
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.utils import generate_code_challenge
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from gateway_project.console.accounts import id_token, provider_requests
from gateway_project.console.accounts.id_token import InvalidIdToken, UnknownSigningKey
from gateway_project.console.accounts.provider_requests import ProviderFailed, ProviderMetadata
from gateway_project.foundation.config import Config

PROVIDER_ID: Final = "oidc"
MAX_GROUPS: Final = 5_000
MAX_CODE_CHARS: Final = 4_000
RATE_LIMIT: Final = "provider"
"""Name of the limit in `ACCOUNT_RATE_LIMITS`: beginning a sign-in stores a session."""
_NONCE_PURPOSE: Final = b"foregate nonce"


class SignInProvider(OpenIDConnectProvider):  # type: ignore[misc]
    """The configured provider."""

    def get_pkce_params(self) -> dict[str, str]:
        """Return a code challenge, its verifier, and the nonce that belongs to it."""
        made: dict[str, str] = generate_code_challenge()
        return {**made, "nonce": make_nonce(made["code_verifier"])}

    def get_oauth2_adapter(self, request: HttpRequest) -> SignInAdapter:
        """Return what sends the requests of this provider."""
        return SignInAdapter(request, PROVIDER_ID)

    def extract_uid(self, data: Mapping[str, Any]) -> str:
        """Return the identity of an account: issuer and subject, whatever its address is."""
        return hash_identity(data["iss"], data["sub"])

    def extract_extra_data(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is kept of the claims."""
        return {
            "issuer": data["iss"],
            "subject": data["sub"],
            "name": str(data.get("preferred_username") or data.get("email") or ""),
            "groups": read_groups(data, settings.FOREGATE.oidc_groups_claim),
            "has_second_factor": settings.FOREGATE.oidc_second_factor or _used_mfa(data),
        }

    def extract_common_fields(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the names of a new user; no address, which identifies nobody."""
        names = {"first_name": "given_name", "last_name": "family_name"}
        return {field: str(data.get(claim) or "")[:150] for field, claim in names.items()}

    def extract_email_addresses(self, data: Mapping[str, Any]) -> list[Any]:  # noqa: ARG002
        """Return none: addresses are not used to find or prove accounts."""
        return []


class SignInAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """Sends the requests of a sign-in and verifies the answers."""

    _verifier = ""

    @property
    def authorize_url(self) -> str:
        """Where people sign in.

        Raises:
            ProviderException: If the provider cannot be reached.
        """
        return self._load_metadata().authorization_endpoint

    @property
    def access_token_url(self) -> str:
        """Where codes are exchanged."""
        return self._load_metadata().token_endpoint

    @property
    def basic_auth(self) -> bool:
        """Whether the library would identify the client by HTTP Basic; it sends nothing here."""
        return False

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:  # noqa: ARG002
        """Return where the provider sends people back to."""
        path = reverse("oidc-callback")
        public = settings.FOREGATE.public_url
        return public.rstrip("/") + path if public else request.build_absolute_uri(path)

    def get_access_token_data(
        self,
        request: HttpRequest,
        app: SocialApp,
        client: Any,
        pkce_code_verifier: str | None = None,
    ) -> dict[str, Any]:
        """Exchange the code.

        Raises:
            ProviderException: If the provider refuses it.
        """
        self._verifier = pkce_code_verifier or ""
        form = {
            "code": str(request.GET.get("code", ""))[:MAX_CODE_CHARS],
            "redirect_uri": client.callback_url,
            "code_verifier": self._verifier,
        }
        try:
            answer = provider_requests.exchange_code(
                settings.FOREGATE, self._load_metadata(), form, secret=app.secret
            )
        except ProviderFailed as error:
            raise ProviderException(str(error)) from None
        for name in ("access_token", "id_token"):
            if not isinstance(answer.get(name), str):
                raise ProviderException(f"the provider sends no {name}")
        return {"access_token": answer["access_token"], "id_token": answer["id_token"]}

    def complete_login(
        self,
        request: HttpRequest,
        app: SocialApp,
        token: SocialToken,
        **kwargs: Any,
    ) -> SocialLogin:
        """Return the login that the verified claims stand for.

        Raises:
            ProviderException: If they prove nothing.
        """
        metadata = self._load_metadata()
        try:
            claims = self._verify(kwargs["response"]["id_token"], metadata, app.client_id)
            claims = _add_groups(settings.FOREGATE, metadata, claims, token.token)
        except (InvalidIdToken, ProviderFailed) as error:
            raise ProviderException(str(error)) from None
        return self.get_provider().sociallogin_from_response(request, claims)

    def _verify(self, token: str, metadata: ProviderMetadata, client_id: str) -> dict[str, Any]:
        config = settings.FOREGATE
        expected = {
            "issuer": metadata.issuer,
            "client_id": client_id,
            "nonce": make_nonce(self._verifier),
        }
        keys = provider_requests.load_keys(config, metadata)
        try:
            return id_token.verify_id_token(token, keys, **expected)
        except UnknownSigningKey:  # it may have changed its keys
            keys = provider_requests.load_keys(config, metadata, anew=True)
            return id_token.verify_id_token(token, keys, **expected)

    def _load_metadata(self) -> ProviderMetadata:
        try:
            return provider_requests.load_metadata(settings.FOREGATE)
        except ProviderFailed as error:
            raise ProviderException(str(error)) from None


@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider."""
    provider = _find_provider(request)
    refusal: HttpResponse | None = ratelimit.consume_or_429(
        request, app="allauth.account", action=RATE_LIMIT
    )
    if refusal is not None:
        return refusal
    if not request.user.is_authenticated:
        request.session.set_expiry(STATE_TTL)
    try:
        response: HttpResponse = provider.redirect(
            request, process=AuthProcess.LOGIN, next_url=get_next_redirect_url(request)
        )
    except ProviderException as error:
        return render_refusal(request, str(error))
    return response


@require_GET
def finish(request: HttpRequest) -> HttpResponse:
    """Sign in whom the provider sends back."""
    _find_provider(request)
    view = OAuth2CallbackView.adapter_view(SignInAdapter(request, PROVIDER_ID))
    response: HttpResponse = view(request)
    return response


def _find_provider(request: HttpRequest) -> SignInProvider:
    """Return the configured provider.

    Raises:
        Http404: If there is none.
    """
    try:
        provider: SignInProvider = SignInAdapter(request, PROVIDER_ID).get_provider()
    except SocialApp.DoesNotExist:
        raise Http404 from None
    return provider


def render_refusal(request: HttpRequest, reason: str) -> HttpResponse:
    """Return the page that says why somebody is not signed in."""
    return render(request, "console/not_signed_in.html", {"reason": reason}, status=403)


def make_nonce(verifier: str) -> str:
    """Return the nonce of a sign-in, which its code verifier decides; both are used once."""
    return hmac.digest(verifier.encode(), _NONCE_PURPOSE, hashlib.sha256).hex()


def hash_identity(issuer: str, subject: str) -> str:
    """Return the key of a person at a provider."""
    return hashlib.sha256(json.dumps([issuer, subject]).encode()).hexdigest()


def find_account(user: Any) -> SocialAccount | None:
    """Return the account at a provider that a user comes from; None: a local user."""
    return SocialAccount.objects.filter(user=user).first()


def read_groups(claims: Mapping[str, Any], name: str) -> list[str]:
    """Return the groups of a claim, which may be inside of objects.

    Example:
        >>> read_groups({"realm_access": {"roles": ["a", 3]}}, "realm_access.roles")
        ['a']
        >>> read_groups({"groups": "a b"}, "groups"), read_groups({}, "groups")
        (['a', 'b'], [])
    """
    value: Any = claims.get(name)
    if value is None:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list):
        return []
    return [one for one in value[:MAX_GROUPS] if isinstance(one, str)]


def _add_groups(
    config: Config, metadata: ProviderMetadata, claims: dict[str, Any], access_token: str
) -> dict[str, Any]:
    """Return the claims, with those of the userinfo endpoint if they name no groups.

    Raises:
        InvalidIdToken: If the endpoint speaks of somebody else.
        ProviderFailed: If it does not answer.
    """
    if not metadata.userinfo_endpoint or read_groups(claims, config.oidc_groups_claim):
        return claims
    more = provider_requests.load_userinfo(config, metadata, access_token=access_token)
    if more.get("sub") != claims["sub"]:
        raise InvalidIdToken("the provider's userinfo are of somebody else")
    return {**more, **claims}


def _used_mfa(claims: Mapping[str, Any]) -> bool:
    """Whether the provider asked for several factors (RFC 8176)."""
    methods = claims.get("amr")
    return isinstance(methods, list) and "mfa" in methods
