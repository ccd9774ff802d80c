"""Reaches the gateway that runs in the same process from the API's views."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import async_to_sync
from django.http import HttpRequest

from gateway_project.effects import Effects
from gateway_project.mcp.http.service import SERVICE_SCOPE_KEY, HttpService
from gateway_project.readiness import NotReady, Readiness

P = ParamSpec("P")
R = TypeVar("R")


def find_service(request: HttpRequest) -> HttpService | None:
    """Return the service that runs in this process; None under a server without one."""
    found: HttpService | None = getattr(request, "scope", {}).get(SERVICE_SCOPE_KEY)
    return found


def load_effects(request: HttpRequest) -> Effects:
    """Return the dependencies of the flow, waiting a bounded time for a gateway that starts.

    Raises:
        NotReady: If the gateway cannot serve requests now.
    """
    service = find_service(request)
    if service is None:
        raise NotReady(
            "starting",
            "no gateway runs in this process, which was started for approvals only; start the "
            "whole console by `manage.py run_console`",
        )
    return async_to_sync(_wait_for_effects)(service.runtime.readiness)


async def _wait_for_effects(readiness: Readiness) -> Effects:
    """Return the dependencies of the flow; graph and models load from now on."""
    gateway = await readiness.wait_for_gateway()
    readiness.in_use.set()
    return gateway.effects


def run_coroutine(
    function: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a function of the flow in the event loop of the gateway and return its result."""
    return async_to_sync(function)(*args, **kwargs)
