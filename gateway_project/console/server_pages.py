"""Pages on which a superuser tests servers, starts discovery and watches its progress."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from gateway_project.console.audited_admin import caller_of
from gateway_project.console.embedding_progress import load_embedding_progress
from gateway_project.foundation.sealing import UnsealingFailed
from gateway_project.runs import approval_text
from gateway_project.use_cases import discover_servers
from gateway_project.use_cases.discover_servers import ServerTest
from gateway_project.use_cases.register_servers import RegistrationNotPermitted
from tools.store import overview

MAX_TESTED_SERVERS: Final = 20
"""Servers tested at once; each may start a process."""
REFRESH_S: Final = 2
"""Reload interval of the progress page while servers are contacted and tools embedded."""


@require_POST
def try_server(request: HttpRequest, pk: int) -> HttpResponse:
    """Test one server."""
    return show_test_results(request, [_find_server_name(pk)])


@require_POST
def discover_server(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the discovery of one server."""
    return start_discovery(request, [_find_server_name(pk)])


@require_safe
def show_progress(request: HttpRequest) -> HttpResponse:
    """Show the discovery status of the requested servers; reloads until all are embedded."""
    if not request.user.is_superuser:
        raise PermissionDenied
    summaries = overview.load_server_summaries(names=request.GET.getlist("server"))
    embedding = load_embedding_progress(summaries, now=timezone.now())
    is_starting = any(server.state == "starting" for server in summaries)
    return _render_page(
        request,
        "console/server_progress.html",
        title="Discovery",
        rows=[
            {
                "server": server,
                "error": approval_text.single_line(server.last_error),
                "page": reverse("admin:tools_server_change", args=[server.pk]),
            }
            for server in summaries
        ],
        is_starting=is_starting,
        embedding=embedding,
        refresh_s=REFRESH_S if is_starting or embedding else None,
    )


def show_test_results(request: HttpRequest, names: Iterable[str]) -> HttpResponse:
    """Test servers within a bounded time and show the results."""
    selected = list(names)
    if len(selected) > MAX_TESTED_SERVERS:
        messages.error(request, f"Choose at most {MAX_TESTED_SERVERS} servers to test at once.")
        return redirect("admin:tools_server_changelist")
    try:
        tests = async_to_sync(discover_servers.try_servers)(
            caller_of(request), selected, config=settings.FOREGATE
        )
    except RegistrationNotPermitted as error:
        raise PermissionDenied(str(error)) from None
    except UnsealingFailed as error:
        messages.error(request, f"Nothing was tested: {error}.")
        return redirect("admin:tools_server_changelist")
    return _render_page(
        request,
        "console/server_tests.html",
        title="Test of "
        + (f"{selected[0]}" if len(selected) == 1 else f"{len(selected)} servers"),
        tests=[_test_row(test) for test in tests],
    )


def start_discovery(request: HttpRequest, names: Iterable[str]) -> HttpResponse:
    """Start the discovery of servers and redirect to the progress page."""
    selected = list(names)
    try:
        requested = discover_servers.request_discovery(caller_of(request), selected)
    except RegistrationNotPermitted as error:
        raise PermissionDenied(str(error)) from None
    for name in sorted({*selected} - {*requested}):
        messages.warning(request, f"Server {name} is disabled: enable it to have it discovered.")
    if not requested:
        return redirect("admin:tools_server_changelist")
    return redirect(reverse("server-progress", query={"server": requested}))


def _find_server_name(pk: int) -> str:
    name = overview.load_server_name(pk)
    if name is None:
        raise Http404("no such server")
    return name


def _test_row(test: ServerTest) -> dict[str, object]:
    """Return the template row of a test; foreign texts with invisible characters escaped."""
    listing = test.listing
    return {
        "server": test.server,
        "error": approval_text.single_line(test.error),
        "output": [approval_text.single_line(line) for line in test.output],
        "duration_s": test.duration_s,
        "tools": _escape_lines(tool.name for tool in listing.tools) if listing else [],
        "new": _escape_lines(test.new_tools),
        "gone": _escape_lines(test.missing_tools),
        "problems": _escape_lines(listing.problems) if listing else [],
        "protocol_version": listing.protocol_version if listing else "",
        "implementation": approval_text.single_line(_describe_implementation(test)),
    }


def _describe_implementation(test: ServerTest) -> str:
    info = test.listing.server_info if test.listing else None
    return f"{info.title or info.name} {info.version}".strip() if info else ""


def _escape_lines(texts: Iterable[str]) -> Sequence[str]:
    return [approval_text.single_line(text) for text in texts]


def _render_page(request: HttpRequest, template: str, **context: object) -> HttpResponse:
    return render(request, template, {**admin.site.each_context(request), **context})


urlpatterns = [
    path("progress", admin.site.admin_view(show_progress), name="server-progress"),
    path("<int:pk>/test", admin.site.admin_view(try_server), name="server-test"),
    path("<int:pk>/discover", admin.site.admin_view(discover_server), name="server-discover"),
]
