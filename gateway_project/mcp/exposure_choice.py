"""Chooses which tools a client is shown, for the fewest tokens of a whole job.

The table of clients (`client_config/clients.toml`) says what each makes of listed tools.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from gateway_project.client_config.clients import UNKNOWN_LISTING, ListingForm, find_introduced
from gateway_project.foundation.caller import Caller, SessionKey
from gateway_project.foundation.exposure_setting import Exposure, read_setting
from tools.catalogue import Catalogue, CatalogueTool

MAX_SESSIONS: Final = 1_024
KEPT_S: Final = 3_600.0
"""How long a session that asks for no list keeps its exposure."""
GROWTH: Final = 2
"""By how much listed tools may outgrow what was chosen for, before a session is shown fewer."""
_FROM_MOST: Final[tuple[Exposure, ...]] = ("full", "hybrid", "meta")


@dataclass(frozen=True, kw_only=True)
class ClientView:
    """What a client is shown of servers' tools.

    Attributes:
        exposure: Which tools; `auto`: it may call each by its listed name.
        form: What the client makes of listed tools.
        searches: Whether it searches listed tools itself.
    """

    exposure: Exposure
    form: ListingForm = UNKNOWN_LISTING
    searches: bool = False


def find_view(setting: str, caller: Caller, *, name: str, version: str = "") -> ClientView:
    """Return what the installation's setting says of a client.

    Args:
        setting: As read by `exposure_setting`.
        caller: Who asks.
        name: By which the client introduces itself.
        version: Of the client.
    """
    client = find_introduced(name)
    names = [name, client.name] if client else [name]
    form = client.listing if client else UNKNOWN_LISTING
    return ClientView(
        exposure=read_setting(setting).find(names, group=caller.group),
        form=form,
        searches=form.searches(version),
    )


def choose_exposure(
    chosen: OrderedDict[SessionKey, tuple[Exposure, float]],
    view: ClientView,
    catalogue: Catalogue,
    caller: Caller,
) -> ClientView:
    """Return the view of a client that asks for a list, with an exposure chosen if it is `auto`.

    Within a session a list never gains by a new choice, and loses only once it has far outgrown
    the former one: servers that connect or leave change nothing else.

    Args:
        chosen: The exposures of sessions, with the time at which each last asked; updated.
        view: Of the client.
        catalogue: As it is now.
        caller: Who asks.
    """
    if view.exposure != "auto":
        return view
    usable = catalogue.list_usable(caller)
    if not usable:  # nothing to choose by yet
        return replace(view, exposure="meta")
    former, asked_at = chosen.pop(caller.client_key, (None, 0.0))
    now = time.monotonic()
    exposure = _choose(view, usable, former if now - asked_at <= KEPT_S else None)
    chosen[caller.client_key] = exposure, now
    if len(chosen) > MAX_SESSIONS:
        chosen.popitem(last=False)
    return replace(view, exposure=exposure)


def _choose(view: ClientView, tools: list[CatalogueTool], former: Exposure | None) -> Exposure:
    """Return the exposure with the most tools whose listing is not too costly."""
    allowed = _FROM_MOST[_FROM_MOST.index(former) :] if former else _FROM_MOST
    for exposure in allowed[:-1]:
        listed = tools if exposure == "full" else [tool for tool in tools if tool.pinned]
        limit = view.form.max_tokens * (GROWTH if exposure == former else 1)
        if listed and _count_tokens(view, listed) <= limit:
            return exposure
    return "meta"


def _count_tokens(view: ClientView, tools: list[CatalogueTool]) -> int:
    if view.searches:
        return view.form.name_tokens * len(tools)
    return sum(tool.token_count for tool in tools)
