"""How much each person has taught those with whom they share what is learned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection

from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.fair_share import OF_EVERYTHING, OF_ONE_THING, WINDOW_DAYS, Share
from learning.models import Contribution
from tools.store import teams

_ADD = f"""
INSERT INTO learning_contribution AS known (team_id, person, tools, day, today, since, in_all)
VALUES (%(owner)s, %(person)s, %(tools)s, %(day)s, 1, %(day)s, 1)
ON CONFLICT (team_id, person, tools) DO UPDATE SET
    today = CASE WHEN known.day = excluded.day THEN known.today + 1 ELSE 1 END,
    in_all = CASE WHEN excluded.day - known.since < {WINDOW_DAYS} THEN known.in_all + 1 ELSE 1 END,
    since = CASE WHEN excluded.day - known.since < {WINDOW_DAYS} THEN known.since
                 ELSE excluded.day END,
    day = greatest(known.day, excluded.day)
"""


class _Contributed(NamedTuple):
    """Runs of one set of tools: those of the day, and all that count."""

    tools: frozenset[int]
    today: int
    in_all: int


@dataclass(frozen=True, kw_only=True)
class ContributedRuns:
    """What a person has contributed to their team, and may still.

    Attributes:
        is_limited: Whether others share what is learned; alone, nobody is limited.
        known: Runs by their sets of tools; none if nothing is limited.
    """

    is_limited: bool
    known: tuple[_Contributed, ...] = ()

    def has_room_for(self, tools: frozenset[int]) -> bool:
        """Whether another run of these tools counts."""
        same = [one for one in self.known if one.tools == tools]
        return self._has_room(OF_EVERYTHING, self.known) and self._has_room(OF_ONE_THING, same)

    def has_room_between(self, source: int, target: int, tools: frozenset[int]) -> bool:
        """Whether another run of these tools counts for a relation of two of them."""
        wanted = {source, target} & tools
        alike = [one for one in self.known if {source, target} & one.tools == wanted]
        return self._has_room(OF_ONE_THING, alike)

    def _has_room(self, share: Share, runs: Iterable[_Contributed]) -> bool:
        if not self.is_limited:
            return True
        counts = [(one.today, one.in_all) for one in runs]
        return share.has_room(
            today=sum(today for today, _ in counts), in_all=sum(in_all for _, in_all in counts)
        )


def load_contributed(contributor: Contributor, *, at: datetime) -> ContributedRuns:
    """Return what a person has contributed until the day of a run."""
    owner, person = contributor
    if owner is None or person is None or owner == person or teams.count_members(owner) < 2:
        return ContributedRuns(is_limited=False)
    day = at.date()
    rows = Contribution.objects.filter(
        team=owner, person=person, since__gt=day - timedelta(days=WINDOW_DAYS)
    ).values_list("tools", "day", "today", "in_all")
    known = [
        _Contributed(frozenset(tools), today if newest == day else 0, in_all)
        for tools, newest, today, in_all in rows
    ]
    return ContributedRuns(is_limited=True, known=tuple(known))


def add_contribution(contributor: Contributor, tools: frozenset[int], *, at: datetime) -> None:
    """Count a run of a person for a team, in the current transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            _ADD,
            {
                "owner": contributor.owner,
                "person": contributor.person,
                "tools": sorted(tools),
                "day": at.date(),
            },
        )
