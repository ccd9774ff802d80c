"""Pages of sign-ins to remote servers: what there is, connect, come back, forget."""

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

from gateway_project.console.audited import caller_of
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.use_cases import sign_in
from gateway_project.use_cases.sign_in import Begun, Done, Means
from tools.store import sign_ins
from tools.store.sign_ins import NoSuchSignIn, RemoteServer
from tools.upstream.oauth import addresses
from tools.upstream.oauth.failures import SignInFailed

DOCUMENT_AGE_S = 3_600
R = TypeVar("R")


@require_safe
def servers(request: HttpRequest) -> HttpResponse:
    """List the servers that are signed in to, as far as the user sees them."""
    caller = caller_of(request)
    rows = [
        {"pk": pk, "name": name}
        for pk, name, team in sign_ins.with_sign_in()
        if caller.may(SCOPE_ALL) or caller.sees(team)
    ]
    return _page(request, "console/sign_ins.html", title="Sign-ins", servers=rows)


@require_safe
def server(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the sign-ins of a server: all to a superuser, to others what concerns them."""
    caller = caller_of(request)
    found = _find(caller, pk)
    sealer = sealing.load_or_create(settings.FOREGATE.home)
    rows = [
        row
        for row in sign_ins.overview(found.name, sealer=sealer)
        if caller.may(SCOPE_ALL) or row.user in ("", caller.user)
    ]
    try:
        own, hindrance = sign_in.key_for(caller, found), ""
    except (sign_in.NotSignedInTo, sign_in.SignInNotPermitted) as error:
        own, hindrance = None, str(error)
    return _page(
        request,
        "console/sign_in.html",
        title=f"Sign-in to {found.name}",
        server=found,
        rows=rows,
        signed_in=own is not None and any(row.user == own.user for row in rows),
        hindrance=hindrance,
    )


@require_POST
def begin(request: HttpRequest, pk: int) -> HttpResponse:
    """Send the browser to the authorization server."""
    caller = caller_of(request)
    found = _find(caller, pk)

    async def use(means: Means) -> Begun:
        return await sign_in.begin(caller, found, redirect_uri=_redirect_uri(request), means=means)

    try:
        begun = _with_means(use)
    except sign_in.EXPECTED as error:
        messages.error(request, f"Could not connect: {error}.")
        return redirect("sign-in", pk=pk)
    return HttpResponseRedirect(begun.address)


@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Take what the authorization server sent the browser back with."""
    caller = caller_of(request)
    answer = {name: str(value) for name, value in request.GET.items()}

    async def use(means: Means) -> Done:
        return await sign_in.finish(caller, answer, means=means)

    try:
        done = _with_means(use)
    except sign_in.EXPECTED as error:
        messages.error(request, f"Not signed in: {error}.")
    else:
        messages.success(request, f"Signed in to {done.key.server}.")
    return redirect("sign-ins")  # a page whose address holds no code


@require_POST
def forget(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete the sign-in and give its tokens back."""
    caller = caller_of(request)
    found = _find(caller, pk)

    async def use(means: Means) -> bool | None:
        return await sign_in.forget(caller, found, means=means)

    try:
        given_back = _with_means(use)
    except sign_in.EXPECTED as error:
        messages.error(request, f"Not forgotten: {error}.")
    else:
        messages.success(request, sign_in.forgotten(given_back))
    return redirect("sign-in", pk=pk)


@require_safe
def client_document(_: HttpRequest) -> HttpResponse:
    """Serve the document by which authorization servers know this installation."""
    document = sign_in.client_document(settings.FOREGATE)
    if document is None:
        raise Http404("there is one where FOREGATE_PUBLIC_URL is an https address")
    response = JsonResponse(document)
    response["Cache-Control"] = f"public, max-age={DOCUMENT_AGE_S}"
    return response


def _find(caller: Caller, pk: int) -> RemoteServer:
    try:
        return sign_in.find(caller, sealer=sealing.load_or_create(settings.FOREGATE.home), pk=pk)
    except NoSuchSignIn:
        raise Http404("no such server") from None


def _redirect_uri(request: HttpRequest) -> str:
    """Return where the browser comes back to: this console, as others reach it.

    Raises:
        SignInFailed: If codes would come back unencrypted.
    """
    public = (settings.FOREGATE.public_url or "").rstrip("/")
    address = public or request.build_absolute_uri("/").rstrip("/")
    scheme, host, _ = addresses.origin(address)
    if scheme != "https" and not addresses.on_this_machine(host):
        raise SignInFailed(
            "the console is not reached over https; set FOREGATE_PUBLIC_URL to its https address, "
            "or use `manage.py sign_in`"
        )
    return address + sign_in.CALLBACK_PATH


def _with_means(use: Callable[[Means], Awaitable[R]]) -> R:
    async def run() -> R:
        async with sign_in.means(settings.FOREGATE) as means:
            return await use(means)

    return async_to_sync(run)()


def _page(request: HttpRequest, template: str, **context: object) -> HttpResponse:
    return render(request, template, {**admin.site.each_context(request), **context})


urlpatterns = [
    path("", admin.site.admin_view(servers), name="sign-ins"),
    path("client.json", client_document, name="sign-in-document"),
    path("callback", admin.site.admin_view(callback), name="sign-in-callback"),
    path("<int:pk>", admin.site.admin_view(server), name="sign-in"),
    path("<int:pk>/begin", admin.site.admin_view(begin), name="sign-in-begin"),
    path("<int:pk>/forget", admin.site.admin_view(forget), name="sign-in-forget"),
]
