"""Authorization server for MCP clients: they register, a person consents, they get tokens.

References:
    OAuth 2.1 (draft-ietf-oauth-v2-1), RFC 7591 (registration), RFC 8414 and RFC 9728 (metadata),
    RFC 8707 (resource indicators), RFC 9700 (security best current practice).
"""

from __future__ import annotations

import json
import time
from functools import wraps
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.mixins import AccessMixin
from django.core.exceptions import PermissionDenied
from django.db import DataError, transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import include, path
from django.views.decorators.cache import never_cache
from oauth2_provider import views
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.models import get_application_model
from oauth2_provider.settings import oauth2_settings
from oauthlib.oauth2.rfc6749.errors import (
    CustomOAuth2Error,
    InvalidClientIdError,
    MismatchingRedirectURIError,
)

from gateway_project.access import audit, oauth_tokens, roles
from gateway_project.access.callers import caller_for_user
from gateway_project.access.throttle import Throttle, client_network
from gateway_project.console.middleware import allow_form_redirect, allow_form_redirects
from gateway_project.foundation import endpoint
from gateway_project.foundation.caller import CLIENT_SCOPES, Caller
from gateway_project.foundation.redirect_schemes import WEB_SCHEMES
from gateway_project.foundation.text import strip_invisible

MAX_REGISTRATION_BYTES: Final = 20_000
REGISTRATIONS_PER_HOUR: Final = 30
"""Of one address."""
MAX_SHOWN_NAME: Final = 80
SERVED_GRANTS: Final = ("authorization_code", "refresh_token")
_REGISTRATIONS: Final = Throttle(limit=REGISTRATIONS_PER_HOUR, window_s=3_600.0)
_PREFLIGHT_HEADERS: Final = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
    "Access-Control-Allow-Headers": "authorization, content-type, mcp-protocol-version",
    "Access-Control-Max-Age": "86400",
}
CONSENTED: Final = "oauth_consented"
"""Key of a session under which it keeps the addresses that its person let a client answer at."""
MAX_CONSENTED: Final = 50
_UNSTORABLE: Final = (DataError, RecursionError, UnicodeEncodeError)
_NOBODY: Final = Caller(user="", team=None, person=None, scopes=frozenset(), kind="http")


class ConsentView(views.AuthorizationView):  # type: ignore[misc]
    """Asks a signed-in person whether a client may act for them."""

    template_name = "console/oauth_consent.html"

    def validate_authorization_request(self, request: HttpRequest) -> Any:
        """Return scopes and credentials of a request for a token of this gateway.

        Raises:
            OAuthToolkitError: If the request is invalid, or is for another resource.
        """
        scopes, credentials = super().validate_authorization_request(request)
        if credentials.get("code_challenge_method") != "S256":
            raise _make_error(credentials, "invalid_request", "use PKCE with the method S256")
        resources = request.GET.getlist("resource")
        is_own = all(map(oauth_tokens.is_own_resource, resources))
        if not is_own or not oauth_tokens.is_for_us(resources):
            reason = "name one MCP endpoint of this gateway as the resource"
            raise _make_error(credentials, "invalid_target", reason)
        return scopes, credentials

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show who asks for what; consent is asked for each time.

        Raises:
            PermissionDenied: If the person may do nothing that a client could do for them.
        """
        if request.user.is_authenticated and not _grantable_scopes(request.user):
            raise PermissionDenied
        query = request.GET.copy()
        query.pop("approval_prompt", None)
        query.setlist("resource", _name_endpoint(query.getlist("resource"), request))
        request.GET = query  # type: ignore[assignment]
        answer: HttpResponse = super().get(request, *args, **kwargs)
        scheme = urlsplit(self.oauth2_data.get("redirect_uri") or "").scheme
        if scheme and scheme not in WEB_SCHEMES:
            allow_form_redirect(answer, scheme)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return what the page shows."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        if "application" in context:
            wanted = _grantable_scopes(self.request.user) & set(context["scopes"])
            context |= {
                "client_name": strip_invisible(context["application"].name)[:MAX_SHOWN_NAME],
                **_describe_return(context["redirect_uri"]),
                "permissions": [settings.OAUTH_SCOPES[name] for name in sorted(wanted)],
            }
        return context

    def form_valid(self, form: Any) -> HttpResponse:
        """Answer the person's decision, at an address that the client has registered."""
        given = form.cleaned_data
        client = get_application_model().objects.filter(client_id=given["client_id"]).first()
        if client is None:
            return self.error_response(FatalClientError(InvalidClientIdError()), None)
        if not client.redirect_uri_allowed(given["redirect_uri"]):
            return self.error_response(FatalClientError(MismatchingRedirectURIError()), client)
        answer: HttpResponse = super().form_valid(form)
        return answer

    def handle_no_permission(self) -> HttpResponseBase:
        """Ask whoever is not signed in to do so, whatever the client asks for by `prompt`."""
        return AccessMixin.handle_no_permission(self)

    def error_response(self, error: Any, application: Any, **kwargs: Any) -> HttpResponse:
        """Tell the client of an error; on a page with a link unless the person consented before.

        Anybody can register a client, so a redirect that nobody decided would lead signed-in
        people from this address to any other.

        References:
            RFC 9700, section 4.11.2.
        """
        if self.request.method == "POST" or isinstance(error, FatalClientError):
            answer: HttpResponse = super().error_response(error, application, **kwargs)
            return answer
        problem = error.oauthlib_error
        address = problem.in_uri(problem.redirect_uri)
        client_id = self.request.GET.get("client_id")
        if [client_id, problem.redirect_uri] in self._list_consented():
            client = get_application_model().objects.get(client_id=client_id)
            return self.redirect(address, client)
        address = _add_issuer(address, self.request)
        context = {"error": problem, "return_address": address, **_describe_return(address)}
        page: HttpResponse = self.render_to_response(context, status=HTTPStatus.BAD_REQUEST)
        return page

    def redirect(self, redirect_to: str, application: Any) -> HttpResponse:
        """Redirect to the client, with the issuer."""
        answer: HttpResponse = super().redirect(
            _add_issuer(redirect_to, self.request), application
        )
        return answer

    def create_authorization_response(
        self, request: HttpRequest, scopes: Any, credentials: Any, allow: Any
    ) -> Any:
        """Issue a code if the person consents, with an audit entry.

        Raises:
            PermissionDenied: If the person may do nothing that a client could do for them.
        """
        if allow and not _grantable_scopes(request.user):
            raise PermissionDenied
        with transaction.atomic():
            made = super().create_authorization_response(
                request=request, scopes=scopes, credentials=credentials, allow=allow
            )
            if allow:
                caller = caller_for_user(request.user.get_username(), kind="console")
                client = get_application_model().objects.get(client_id=credentials["client_id"])
                subject = strip_invisible(client.name)[:MAX_SHOWN_NAME] or client.client_id
                audit.record_audit(caller, "oauth.authorized", subject, detail={"scopes": scopes})
        if allow:
            consented = [client.client_id, credentials["redirect_uri"]]
            others = [one for one in self._list_consented() if one != consented]
            request.session[CONSENTED] = [*others, consented][-MAX_CONSENTED:]
        return made

    def _list_consented(self) -> list[list[str]]:
        """Return the clients and addresses that the person consented to in this session."""
        found: list[list[str]] = self.request.session.get(CONSENTED, [])
        return found


class TokenView(views.TokenView):  # type: ignore[misc]
    """Exchanges codes and refresh tokens; see `gateway_project.access.oauth_grants`."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Exchange a code or a refresh token, in one transaction."""
        if request.POST.get("grant_type") not in SERVED_GRANTS:
            reason = f"only {' and '.join(SERVED_GRANTS)} are served"
            return _refuse(HTTPStatus.BAD_REQUEST, reason, code="unsupported_grant_type")
        if named := request.POST.getlist("resource"):
            form = request.POST.copy()
            form.setlist("resource", _name_endpoint(named, request))
            request.POST = form  # type: ignore[assignment]
        with transaction.atomic():
            answer: HttpResponse = super().post(request, *args, **kwargs)
        answer["Content-Type"] = "application/json"  # the library says so of some errors only
        return answer


class RegistrationView(views.DynamicClientRegistrationView):  # type: ignore[misc]
    """Registers a client that nobody knows yet; it can do nothing until a person consents."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Register a client; if there are too many, another one gives way."""
        if refusal := _check_registration(request):
            return refusal
        network = client_network(request.META.get("REMOTE_ADDR", ""))
        try:
            with transaction.atomic():
                made: HttpResponse = super().post(request, *args, **kwargs)
                if made.status_code == HTTPStatus.CREATED:
                    client = _complete_registration(made)
                    oauth_tokens.admit_client(client["client_id"], network=network)
                    audit.record_audit(_NOBODY, "oauth.registered", client["client_id"])
        except _UNSTORABLE:
            return _refuse(HTTPStatus.BAD_REQUEST, "the metadata cannot be stored; correct them")
        return made


class RegistrationManagementView(views.DynamicClientRegistrationManagementView):  # type: ignore[misc]
    """Lets a client read, change and delete its own registration."""

    def put(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Change a registration, within the limits of registering."""
        if refusal := _check_registration(request):
            return refusal
        try:
            with transaction.atomic():
                made: HttpResponse = super().put(request, *args, **kwargs)
                if made.status_code == HTTPStatus.OK:
                    audit.record_audit(_NOBODY, "oauth.changed", str(kwargs["client_id"]))
        except _UNSTORABLE:
            return _refuse(HTTPStatus.BAD_REQUEST, "the metadata cannot be stored; correct them")
        return made


class ResourceMetadataView(views.OAuthProtectedResourceMetadataView):  # type: ignore[misc]
    """Describes the MCP endpoints: the whole one, and those of tool groups."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the metadata."""
        if not endpoint.is_endpoint(f"/{kwargs.get('resource_path', 'mcp')}"):
            raise Http404
        answer: HttpResponse = super().get(request, *args, **kwargs)
        return answer

    def get_resource(self, request: HttpRequest) -> str:
        """Return the address of the MCP endpoint."""
        path = str(self.kwargs.get("resource_path", "mcp")).rstrip("/")
        return f"{_find_base(request)}/{path}"

    def get_scopes_supported(self) -> list[str]:
        """Return the scopes of clients."""
        return list(CLIENT_SCOPES)


def _find_base(request: HttpRequest) -> str:
    """Return the address of this gateway, without a final slash."""
    return (settings.FOREGATE.public_url or request.build_absolute_uri("/")).rstrip("/")


def _name_endpoint(resources: list[str], request: HttpRequest) -> list[str]:
    """Return resources with the endpoint where a client names this gateway's origin, or nothing.

    Many clients know the origin alone, or send no `resource`, which RFC 8707 leaves to the server.
    """
    endpoint_address = f"{_find_base(request)}{endpoint.ENDPOINT_PATH}"
    return [endpoint_address if oauth_tokens.is_own_origin(one) else one for one in resources] or [
        endpoint_address
    ]


def _describe_return(address: str) -> dict[str, str]:
    """Return where an address leads, for the page: a site, or else the scheme of a program."""
    parts = urlsplit(address)
    if parts.scheme in WEB_SCHEMES:
        return {"redirect_host": parts.netloc}
    return {"redirect_scheme": parts.scheme}


def _grantable_scopes(user: Any) -> frozenset[str]:
    """Return the scopes that a client of a user could have."""
    return roles.limit_scopes(list(CLIENT_SCOPES), roles.compute_scopes(user))


def _make_error(credentials: Any, code: str, reason: str) -> OAuthToolkitError:
    """Return an error that the client is told at its own address."""
    error = CustomOAuth2Error(error=code, description=reason, state=credentials.get("state"))
    return OAuthToolkitError(error=error, redirect_uri=credentials["redirect_uri"])


def _check_registration(request: HttpRequest) -> HttpResponse | None:
    """Count a registration or a change of one; return the refusal if it is too much."""
    address, now = request.META.get("REMOTE_ADDR", ""), time.monotonic()
    if wait_s := _REGISTRATIONS.compute_wait_s(address, now=now):
        return _refuse(HTTPStatus.TOO_MANY_REQUESTS, "too many registrations", wait_s)
    _REGISTRATIONS.record_failure(address, now=now)
    if len(request.body) > MAX_REGISTRATION_BYTES:
        return _refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the metadata is too large")
    _tidy_metadata(request)
    return None


def _tidy_metadata(request: HttpRequest) -> None:
    """Leave out empty metadata, and grants beside those that are served.

    References:
        RFC 7591, section 2: omitted metadata have defaults, and the server may replace values.
    """
    try:
        given = json.loads(request.body)
    except (ValueError, RecursionError):  # reported by the library
        return
    if not isinstance(given, dict):
        return
    tidy = {name: value for name, value in given.items() if value not in (None, "", [])}
    grants = tidy.get("grant_types")
    if isinstance(grants, list) and SERVED_GRANTS[0] in grants:
        tidy["grant_types"] = [grant for grant in SERVED_GRANTS if grant in grants]
    request._body = json.dumps(tidy).encode()


def _complete_registration(answer: HttpResponse) -> dict[str, Any]:
    """Add what strict clients look for in the answer to a registration, and return its content.

    References:
        RFC 7591, section 3.2.1.
    """
    client: dict[str, Any] = json.loads(answer.content)
    client |= {"response_types": ["code"], "client_id_issued_at": int(time.time())}
    if "client_secret" in client:
        client["client_secret_expires_at"] = 0  # never
    answer.content = json.dumps(client).encode()
    return client


def _refuse(
    status: int, reason: str, wait_s: float = 0.0, *, code: str = "invalid_request"
) -> HttpResponse:
    headers = {"Retry-After": str(max(1, round(wait_s)))} if wait_s else {}
    content = {"error": code, "error_description": reason}
    return JsonResponse(content, status=status, headers=headers)


def _add_issuer(address: str, request: HttpRequest) -> str:
    """Return the address of an answer to a client with this server as its only issuer.

    References:
        RFC 9207, section 2: errors name it too.
    """
    parts = urlsplit(address)
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "iss"]
    query.append(("iss", oauth2_settings.oauth2_authorization_server_issuer(request)))
    return parts._replace(query=urlencode(query)).geturl()


def _refuse_null_characters(view: Any) -> Any:
    """Refuse parameters that the database cannot compare with anything."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        given = (*request.GET.lists(), *request.POST.lists())
        if any("\0" in value for _, values in given for value in values):
            return _refuse(HTTPStatus.BAD_REQUEST, "a parameter contains a null character")
        return view(request, *args, **kwargs)

    return answer


def _open_to_pages(view: Any) -> Any:
    """Let pages of every site use a view: it takes no cookie, so they can do what a program can.

    References:
        WHATWG Fetch, CORS protocol.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        is_preflight = "Access-Control-Request-Method" in request.headers
        if request.method == "OPTIONS" and is_preflight:
            made = HttpResponse(status=HTTPStatus.NO_CONTENT, headers=_PREFLIGHT_HEADERS)
        else:
            made = view(request, *args, **kwargs)
        made["Access-Control-Allow-Origin"] = "*"
        return made

    answer.csrf_exempt = True  # type: ignore[attr-defined]
    return answer


_METADATA = "oauth-protected-resource"
_read_resource = _open_to_pages(ResourceMetadataView.as_view())
_routes = [
    path(
        ".well-known/oauth-authorization-server",
        _open_to_pages(views.OAuthServerMetadataView.as_view()),
        name="oauth-server-metadata",
    ),
    path(f".well-known/{_METADATA}", _read_resource, name="oauth-resource-metadata"),
    path(f".well-known/{_METADATA}/<path:resource_path>", _read_resource),
    path(
        "oauth/authorize/",
        never_cache(allow_form_redirects(_refuse_null_characters(ConsentView.as_view()))),
        name="authorize",
    ),
    path(
        "oauth/token/",
        _open_to_pages(_refuse_null_characters(TokenView.as_view())),
        name="token",
    ),
    path(
        "oauth/revoke/",
        _open_to_pages(_refuse_null_characters(views.RevokeTokenView.as_view())),
        name="revoke-token",
    ),
    path("oauth/register/", _open_to_pages(RegistrationView.as_view()), name="dcr-register"),
    path(
        "oauth/register/<str:client_id>/",
        _open_to_pages(RegistrationManagementView.as_view()),
        name="dcr-register-management",
    ),
]
urlpatterns = [path("", include((_routes, "oauth2_provider")))] if settings.FOREGATE.oauth else []
