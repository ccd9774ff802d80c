"""Warn about quarantined tools that match a query, so that no worse one is used unnoticed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from gateway_project.find.request import FindRequest
from gateway_project.foundation.caller import Caller
from tools.catalogue import Catalogue, CatalogueTool
from tools.search import SearchHit

TOP_RANKS: Final = 3
"""A quarantined tool is named if it ranks among this many by words."""
MAX_RANKED_TOOLS: Final = 200
"""Quarantined tools ranked, in order of id; each takes some 0.25 ms of a search."""


def warn_waiting_matches(
    catalogue: Catalogue, caller: Caller, request: FindRequest, hits: Iterable[SearchHit]
) -> tuple[str, ...]:
    """Return a warning for each quarantined tool that matches as well as the hits.

    Only tools that were approved once are named: nobody has reviewed the texts of others.
    CPU-bound.

    Args:
        catalogue: All servers and tools.
        caller: Who searches.
        request: The search.
        hits: Results of the search.
    """
    eligible = (
        tool
        for tool in catalogue.list_quarantined(caller)
        if request.server in (None, tool.server) and request.category in (None, tool.category)
    )
    quarantined = list(islice(eligible, MAX_RANKED_TOOLS))
    if not quarantined:
        return ()
    from tools.catalogue_index import index_words, rank_by_words

    found = [catalogue.tools[hit.tool] for hit in hits if hit.tool in catalogue.tools]
    ranked = rank_by_words(request.query, index_words([*found, *quarantined]), limit=TOP_RANKS)
    best = {hit.tool_pk for hit in ranked}
    return tuple(_phrase_warning(tool) for tool in quarantined if tool.pk in best)


def _phrase_warning(tool: CatalogueTool) -> str:
    return (
        f"{tool.tool} also matches, but changed since it was approved and waits for an admin to "
        f"approve it (manage.py approve_tools {tool.tool})"
    )
