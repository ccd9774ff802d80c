"""How much may be called ahead at each server, and what was spent of it today."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from execution.speculation.limits import FREE, PRICED
from execution.store import agreements
from execution.store import budgets as budget_store
from gateway_project.access.roles import ADMINISTER
from gateway_project.api.problems import NotFound
from gateway_project.console.rooms.addresses import server_address
from gateway_project.console.rooms.catalogue import load_catalogue
from gateway_project.console.rooms.page import MIN_SEARCHED, RoomRequest, render_room, room
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.use_cases import curate_speculation
from tools.store import overview


@room("speculation/budgets/", "speculation-budgets", ADMINISTER, "GET", "POST")
def show_budgets(request: RoomRequest) -> HttpResponse:
    """Show and set how much may be called ahead at each server."""
    visible = {
        one.name: one.team_pk
        for one in overview.load_server_summaries()
        if request.caller.has_scope(SCOPE_ALL) or request.caller.can_see_team(one.team_pk)
    }
    problem = ""
    if request.method == "POST":
        server = request.POST.get("server", "")
        if server not in visible:
            raise NotFound("such server")
        problem = _save_budget(request, server)
        if not problem:
            return redirect("speculation-budgets")
    query = request.GET.get("q", "").strip()
    limits = agreements.load_limits()
    servers = load_catalogue(request).servers
    prices = {name: one.price_per_call for name, one in servers.items()}
    spent = budget_store.sum_spent(at=timezone.now())
    shown: list[dict[str, Any]] = [
        {
            "server": name,
            "url": server_address(name),
            "limits": limits.get(name, PRICED if prices.get(name) else FREE),
            "price": _format_price(prices.get(name)),
            "spent": _format_price(spent.get(name, Decimal(0))),
            "is_set": name in limits,
            "may_set": request.caller.can_decide_for_team(team),
        }
        for name, team in visible.items()
        if query.casefold() in name.casefold()
    ]
    return render_room(
        request,
        "console/speculation/budgets.html",
        title="Budgets of speculation",
        problem=problem,
        query=query,
        is_searchable=len(visible) > MIN_SEARCHED,
        budgets=shown,
        total_limit=_format_price(
            sum((one["limits"].dollars_per_day for one in shown), Decimal(0))
        ),
        total_spent=_format_price(
            sum((spent.get(one["server"], Decimal(0)) for one in shown), Decimal(0))
        ),
    )


def _format_price(price: Decimal | None) -> str:
    """Return a price without trailing zeros; empty: it is unknown."""
    return "" if price is None else f"{price.normalize():f}"


def _save_budget(request: RoomRequest, server: str) -> str:
    """Set the budget of a server or let the defaults apply; return what is wrong."""
    if "reset" in request.POST:
        curate_speculation.delete_budget(request.caller, server)
        messages.success(request, f"The defaults apply to {server} again.")
        return ""
    fields = ("waste", "calls_per_minute", "dollars_per_day")
    try:
        curate_speculation.save_budget(
            request.caller, server, {name: request.POST.get(name, "") for name in fields}
        )
    except ValidationError as error:
        return f"{server}: " + " ".join(
            f"{name.replace('_', ' ')}: {' '.join(found)}"
            for name, found in error.message_dict.items()
        )
    messages.success(request, f"The budget of {server} is set.")
    return ""
