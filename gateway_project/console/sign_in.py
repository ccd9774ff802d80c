"""Pages for signing in to remote servers: list, connect, callback, forget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_GET, require_POST, require_safe

from gateway_project.console.middleware import allow_form_redirects
from gateway_project.console.site import caller_of
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.use_cases import sign_in
from gateway_project.use_cases.sign_in import CompletedSignIn, SignInDependencies, StartedSignIn
from tools.store import sign_ins
from tools.store.sign_ins import NoSuchSignIn, RemoteServer
from tools.upstream.oauth import addresses
from tools.upstream.oauth.failures import SignInFailed

DOCUMENT_MAX_AGE_S = 3_600
R = TypeVar("R")


@require_safe
def list_sign_in_servers(request: HttpRequest) -> HttpResponse:
    """List the servers with sign-in that are visible to the user."""
    caller = caller_of(request)
    rows = [
        {"pk": pk, "name": name}
        for pk, name, team in sign_ins.load_sign_in_servers()
        if caller.has_scope(SCOPE_ALL) or caller.can_see_team(team)
    ]
    return _render_page(request, "console/sign_ins.html", title="Sign-ins", servers=rows)


@require_safe
def show_sign_ins(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the sign-ins of a server: all to a superuser, to others the shared and their own."""
    caller = caller_of(request)
    server = _find_server(caller, pk)
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    rows = [
        row
        for row in sign_ins.load_overview(server.name, sealer=sealer)
        if caller.has_scope(SCOPE_ALL) or row.user in ("", caller.user)
    ]
    try:
        own, hindrance = sign_in.require_sign_in_key(caller, server), ""
    except (sign_in.SignInNotApplicable, sign_in.SignInNotPermitted) as error:
        own, hindrance = None, str(error)
    return _render_page(
        request,
        "console/sign_in.html",
        title=f"Sign-in to {server.name}",
        server=server,
        rows=rows,
        signed_in=own is not None and any(row.user == own.user for row in rows),
        hindrance=hindrance,
    )


@require_POST
def begin_sign_in(request: HttpRequest, pk: int) -> HttpResponse:
    """Send the browser to the authorization server."""
    caller = caller_of(request)
    server = _find_server(caller, pk)

    async def use(means: SignInDependencies) -> StartedSignIn:
        return await sign_in.begin_sign_in(
            caller, server, redirect_uri=_build_redirect_uri(request), dependencies=means
        )

    try:
        started = _run_with_dependencies(use)
    except sign_in.EXPECTED_ERRORS as error:
        messages.error(request, f"Could not connect: {error}.")
        return redirect("sign-in", pk=pk)
    return HttpResponseRedirect(started.browser_url)


@require_GET
def handle_callback(request: HttpRequest) -> HttpResponse:
    """Complete a sign-in with the parameters of the authorization server's redirect."""
    caller = caller_of(request)
    answer = {name: str(value) for name, value in request.GET.items()}

    async def use(means: SignInDependencies) -> CompletedSignIn:
        return await sign_in.finish_sign_in(caller, answer, dependencies=means)

    try:
        completed = _run_with_dependencies(use)
    except sign_in.EXPECTED_ERRORS as error:
        messages.error(request, f"Not signed in: {error}.")
    else:
        messages.success(request, f"Signed in to {completed.key.server}.")
    return redirect("sign-ins")  # a page whose URL holds no code


@require_POST
def forget_sign_in(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete the sign-in and revoke its tokens."""
    caller = caller_of(request)
    server = _find_server(caller, pk)

    async def use(means: SignInDependencies) -> bool | None:
        return await sign_in.forget_sign_in(caller, server, dependencies=means)

    try:
        revoked = _run_with_dependencies(use)
    except sign_in.EXPECTED_ERRORS as error:
        messages.error(request, f"Not forgotten: {error}.")
    else:
        messages.success(request, sign_in.describe_forgotten(revoked))
    return redirect("sign-in", pk=pk)


@require_safe
def serve_client_document(_: HttpRequest) -> HttpResponse:
    """Serve the client metadata document that identifies this installation."""
    document = sign_in.build_client_document(settings.FOREGATE)
    if document is None:
        raise Http404("only available if FOREGATE_PUBLIC_URL is an https address")
    response = JsonResponse(document)
    response["Cache-Control"] = f"public, max-age={DOCUMENT_MAX_AGE_S}"
    return response


def _find_server(caller: Caller, pk: int) -> RemoteServer:
    try:
        return sign_in.find_server(
            caller, sealer=sealing.load_or_create_sealer(settings.FOREGATE.home), pk=pk
        )
    except NoSuchSignIn:
        raise Http404("no such server") from None


def _build_redirect_uri(request: HttpRequest) -> str:
    """Return the redirect URI: the callback of this console, at its public address.

    Raises:
        SignInFailed: If the authorization code would be sent unencrypted.
    """
    public = (settings.FOREGATE.public_url or "").rstrip("/")
    address = public or request.build_absolute_uri("/").rstrip("/")
    scheme, host, _ = addresses.url_origin(address)
    if scheme != "https" and not addresses.is_local_host(host):
        raise SignInFailed(
            "the console is not reached over https; set FOREGATE_PUBLIC_URL to its https address, "
            "or use `manage.py sign_in`"
        )
    return address + sign_in.CALLBACK_PATH


def _run_with_dependencies(use: Callable[[SignInDependencies], Awaitable[R]]) -> R:
    async def run() -> R:
        async with sign_in.load_dependencies(settings.FOREGATE) as means:
            return await use(means)

    return async_to_sync(run)()


def _render_page(request: HttpRequest, template: str, **context: object) -> HttpResponse:
    return render(request, template, {**admin.site.each_context(request), **context})


urlpatterns = [
    path("", admin.site.admin_view(list_sign_in_servers), name="sign-ins"),
    path("client.json", serve_client_document, name="sign-in-document"),
    path("callback", admin.site.admin_view(handle_callback), name="sign-in-callback"),
    path("<int:pk>", allow_form_redirects(admin.site.admin_view(show_sign_ins)), name="sign-in"),
    path("<int:pk>/begin", admin.site.admin_view(begin_sign_in), name="sign-in-begin"),
    path("<int:pk>/forget", admin.site.admin_view(forget_sign_in), name="sign-in-forget"),
]
