"""Stored counts of where the arguments of past runs came from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import structlog
from django.db import connection
from django.db.models import Q, QuerySet, Sum

from gateway_project.foundation import canonical
from gateway_project.foundation.sealing import SealBroken, Sealer
from graph.binding.learned import Constant, Knowledge, Observed, Reference
from graph.models import LearnedBinding
from graph.store import writing

CALL: Final = "call"
"""Kind of the rows that count calls of a tool, whatever it was given."""
OTHER: Final = "other"
"""Kind of the rows that count uses which are not told apart, so that shares stay true."""
MAX_WAYS: Final = 200
"""Ways to give a parameter that are told apart, for each team."""
LEAST_RUNS: Final = 3
"""A literal is kept, sealed, once so many runs gave it."""

Seal = Callable[[Any], str]
Seen = tuple[Sequence["Use"], datetime]
Place = tuple[int, str]
"""A tool's primary key, and the name of one of its parameters."""

# Returned are the literals that are due to be kept.
_USES = f"""
WITH counted AS (
INSERT INTO graph_learnedbinding AS known (
    team_id, tool_id, parameter, kind, key, giver_id, pointer, nth, value, sealed, uses, runs,
    stated, last_seen_at
)
SELECT %(team)s, given.tool, given.parameter, given.kind, given.key, given.giver, given.pointer,
       given.nth, given.value, '', given.uses, given.runs, given.stated, given.at
FROM json_to_recordset(%(rows)s) AS given (
    tool bigint, parameter text, kind text, key text, giver bigint, pointer text, nth int,
    value jsonb, uses int, runs int, stated int, at timestamptz
)
ORDER BY given.tool, given.parameter, given.kind, given.key
ON CONFLICT (team_id, tool_id, parameter, kind, key) DO UPDATE SET
    uses = known.uses + excluded.uses, runs = known.runs + excluded.runs,
    stated = known.stated + excluded.stated,
    last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)
RETURNING id, tool_id, parameter, kind, key, runs, sealed
)
SELECT id, tool_id, parameter, kind, key FROM counted
WHERE kind = '{Observed.LITERAL.value}' AND runs >= {LEAST_RUNS} AND sealed = ''
"""


# Rows of the tools given, past the most used of each parameter, become one row of it.
_CROWDED = f"""
WITH placed AS (
    SELECT id, row_number() OVER (
        PARTITION BY tool_id, parameter ORDER BY runs DESC, last_seen_at DESC, id DESC
    ) AS place
    FROM graph_learnedbinding
    WHERE team_id IS NOT DISTINCT FROM %(team)s AND tool_id = ANY(%(tools)s)
      AND kind NOT IN ('{CALL}', '{OTHER}')
), gone AS (
    DELETE FROM graph_learnedbinding
    WHERE id IN (SELECT id FROM placed WHERE place > %(keep)s)
    RETURNING tool_id, parameter, uses, runs, stated, last_seen_at
)
INSERT INTO graph_learnedbinding AS known (
    team_id, tool_id, parameter, kind, key, pointer, nth, sealed, uses, runs, stated, last_seen_at
)
SELECT %(team)s, tool_id, parameter, '{OTHER}', '', '', 0, '', sum(uses), sum(runs), sum(stated),
       max(last_seen_at)
FROM gone
GROUP BY tool_id, parameter
ON CONFLICT (team_id, tool_id, parameter, kind, key) DO UPDATE SET
    uses = known.uses + excluded.uses, runs = known.runs + excluded.runs,
    stated = known.stated + excluded.stated,
    last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)
"""

log = structlog.get_logger(__name__)


class Use(NamedTuple):
    """One way in which a run gave a parameter, or called a tool at all; as PostgreSQL holds it.

    Attributes:
        tool: Primary key.
        parameter: Its name; empty: the call itself.
        kind: As `LearnedBinding` has them.
        key: Tells values apart.
        giver: Of a reference, the primary key of the tool that gave it.
        pointer: Of a reference, where in that tool's result.
        nth: Of a reference, which of the earlier tasks of that tool.
        value: JSON of what may stand in clear.
        literal: What may be kept sealed only, once enough runs gave it.
        stated: Whether the intent stated it.
    """

    tool: int
    parameter: str
    kind: str
    key: str = ""
    giver: int | None = None
    pointer: str = ""
    nth: int = 0
    value: Any = None
    literal: Any = None
    stated: bool = False

    @property
    def place(self) -> tuple[int, str, str, str]:
        """What tells it from others."""
        return (self.tool, self.parameter, self.kind, self.key)


def count(new: Iterable[Seen], *, team: int | None, seal: Seal) -> None:
    """Add where the arguments of some runs came from; tools that are gone are left out.

    Of more than `MAX_WAYS` to give a parameter, those in the fewest runs are told apart no more,
    the longest ago first.

    Args:
        new: The uses of each run, and when it ended.
        team: Primary key; None: the runs are everybody's.
        seal: Seals the literals that enough runs gave.
    """
    tallies = _tallied(new)
    gone = writing.missing(
        tool for tally in tallies.values() for tool in (tally.use.tool, tally.use.giver) if tool
    )
    there = [one for one in tallies.values() if not gone & {one.use.tool, one.use.giver}]
    shared: dict[int, Any] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(there), writing.CHUNK_ROWS):
            rows = [one.row() for one in there[start : start + writing.CHUNK_ROWS]]
            cursor.execute(_USES, {"team": team, "rows": json.dumps(rows)})
            for pk, tool, parameter, kind, key in cursor.fetchall():
                shared[pk] = tallies[tool, parameter, kind, key].use.literal
    LearnedBinding.objects.bulk_update(
        [
            LearnedBinding(pk=pk, sealed=seal(literal))
            for pk, literal in sorted(shared.items())
            if literal is not None
        ],
        ["sealed"],
    )
    with connection.cursor() as cursor:
        tools = sorted({one.use.tool for one in there})
        cursor.execute(_CROWDED, {"team": team, "tools": tools, "keep": MAX_WAYS})


def of(team: int | None, tools: Iterable[int]) -> QuerySet[LearnedBinding]:
    """Return all rows that the runs of a team, or of everybody, show of some tools."""
    return LearnedBinding.objects.filter(team=team, tool__in=list(tools))


def knowledge(team: int | None, sealer: Sealer) -> Knowledge:
    """Return what the runs of a team, and those of everybody, show of arguments.

    Literals that no key opens are left out, with one warning.

    Args:
        team: Primary key; None: only everybody's runs.
        sealer: Opens the literals that may be told.
    """
    seen = LearnedBinding.objects.filter(
        Q(team=None) if team is None else Q(team__in=[team]) | Q(team=None)
    )
    totals = seen.values_list("tool_id", "parameter").annotate(count=Sum("uses"))
    given = {(tool, parameter): count for tool, parameter, count in totals}
    stated = seen.values_list("tool_id", "parameter").annotate(count=Sum("stated"))
    return Knowledge(
        references=_references(seen),
        constants=_constants(seen, sealer),
        totals={place: count for place, count in given.items() if place[1]},
        runs={tool: count for (tool, parameter), count in given.items() if not parameter},
        stated={(tool, name): count for tool, name, count in stated if name},
    )


def _references(seen: QuerySet[LearnedBinding]) -> dict[Place, dict[Reference, int]]:
    rows = seen.filter(kind=Observed.REFERENCE.value).values_list(
        "tool_id", "parameter", "giver_id", "pointer", "nth", "uses"
    )
    found: dict[Place, dict[Reference, int]] = defaultdict(lambda: defaultdict(int))
    for tool, parameter, giver, pointer, nth, uses in rows:
        if giver is not None:
            found[tool, parameter][Reference(giver, pointer, nth)] += uses
    return {place: dict(counts) for place, counts in found.items()}


def _constants(seen: QuerySet[LearnedBinding], sealer: Sealer) -> dict[Place, list[Constant]]:
    rows = seen.exclude(kind__in=(Observed.REFERENCE.value, CALL, OTHER)).exclude(
        kind=Observed.LITERAL.value, sealed=""
    )
    lost: list[SealBroken] = []
    found: dict[Place, dict[tuple[str, str], Constant]] = defaultdict(dict)
    for row in rows.order_by("pk"):
        # Alike for a team and for everybody but for literals, whose digests are their own.
        try:
            value = sealer.open(row.sealed) if row.sealed else row.value
        except SealBroken as error:
            lost.append(error)
            continue
        key = (row.kind, canonical.digest(value))
        known = found[row.tool_id, row.parameter].get(key)
        found[row.tool_id, row.parameter][key] = Constant(
            value=value,
            count=row.uses + (known.count if known else 0),
            stated=row.stated + (known.stated if known else 0),
        )
    if lost:
        log.warning("bindings.not_opened", count=len(lost), reason=str(lost[0]))
    return {
        place: sorted(values.values(), key=lambda one: -one.count)
        for place, values in found.items()
    }


@dataclass(kw_only=True, slots=True)
class _Tally:
    """What several runs say of one way to give a parameter."""

    use: Use
    uses: int = 0
    runs: int = 0
    stated: int = 0
    at: datetime

    def row(self) -> dict[str, Any]:
        use = self.use
        return {
            "tool": use.tool,
            "parameter": use.parameter,
            "kind": use.kind,
            "key": use.key,
            "giver": use.giver,
            "pointer": use.pointer,
            "nth": use.nth,
            "value": use.value,
            "uses": self.uses,
            "runs": self.runs,
            "stated": self.stated,
            "at": self.at.isoformat(),
        }


def _tallied(new: Iterable[Seen]) -> dict[tuple[int, str, str, str], _Tally]:
    tallies: dict[tuple[int, str, str, str], _Tally] = {}
    for uses, at in new:
        for use in uses:
            tally = tallies.setdefault(use.place, _Tally(use=use, at=at))
            tally.uses += 1
            tally.stated += use.stated
            tally.at = max(tally.at, at)
        for place in {use.place for use in uses}:
            tallies[place].runs += 1
    return tallies
