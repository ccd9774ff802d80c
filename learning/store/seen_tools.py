"""The tools that runs of a team called, as they are now."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from django.db.models import Q

from tools import ids
from tools.models import Tool


class SeenTool(NamedTuple):
    """A tool that a team sees.

    Attributes:
        pk: Primary key.
        definition_hash: Of its definition as it is pinned now; empty: none is.
    """

    pk: int
    definition_hash: str


def find(tools: Collection[str], *, team: int | None) -> dict[str, SeenTool]:
    """Return tools by canonical id that are there still and that a team sees; one query.

    Those are shared ones and its own, removed ones too. What bears another name now, or stands on
    a server of another team, is left out.
    """
    wanted = Q()
    for tool in tools:
        with suppress(ids.MalformedToolId):
            server, name = ids.split(tool)
            wanted |= Q(server__name=server, name=name)
    if not wanted:
        return {}
    rows = Tool.objects.filter(wanted, Q(server__team=None) | Q(server__team=team)).values_list(
        "pk", "server__name", "name", "definition__hash"
    )
    return {ids.join(server, name): SeenTool(pk, known or "") for pk, server, name, known in rows}
