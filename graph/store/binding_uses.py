"""Stored counts of the sources of arguments in past runs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import structlog
from django.db import connection
from django.db.models import Q, QuerySet, Sum

from gateway_project.foundation import canonical
from gateway_project.foundation.fair_share import MIN_WITNESSES
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from graph.models import LearnedBinding
from graph.steering_names import is_steering
from graph.store import writing
from graph.suggestion.binding.knowledge import (
    BindingKnowledge,
    FrequentConstant,
    ObservedArgument,
    ReferenceSource,
)
from tools.store import teams

CALL: Final = "call"
"""Kind of the rows that count calls of a tool, whatever its arguments."""
OTHER: Final = "other"
"""Kind of the rows that count uses not told apart, so that shares stay correct."""
MAX_USES_PER_PARAMETER: Final = 200
"""Distinct sources of a parameter's values that are kept, per team."""
MIN_RUNS: Final = 3
"""Runs that must have passed a literal before it is kept, sealed."""

SealValue = Callable[[Any], str]
ParameterKey = tuple[int, str]
"""A tool's primary key, and the name of one of its parameters."""


def _format_union(column: str) -> str:
    """Return the SQL of the distinct members of an array, old and new, as far as they matter."""
    both = f"SELECT DISTINCT unnest(known.{column} || excluded.{column}) ORDER BY 1"
    return f"ARRAY({both} LIMIT {MIN_WITNESSES})"


# Returns the literals that are due to be kept.
_INSERT_USES = f"""
WITH counted AS (
INSERT INTO graph_learnedbinding AS known (
    team_id, tool_id, parameter, kind, key, giver_id, pointer, nth, value, sealed, uses, runs,
    people, days, stated, last_seen_at
)
SELECT %(team)s, given.tool, given.parameter, given.kind, given.key, given.giver, given.pointer,
       given.nth, given.value, '', given.uses, given.runs,
       ARRAY(SELECT value::bigint FROM json_array_elements_text(given.people) AS value),
       ARRAY(SELECT value::date FROM json_array_elements_text(given.days) AS value),
       given.stated, given.at
FROM json_to_recordset(%(rows)s) AS given (
    tool bigint, parameter text, kind text, key text, giver bigint, pointer text, nth int,
    value jsonb, uses int, runs int, people json, days json, stated int, at timestamptz
)
ORDER BY given.tool, given.parameter, given.kind, given.key
ON CONFLICT (team_id, tool_id, parameter, kind, key) DO UPDATE SET
    uses = known.uses + excluded.uses, runs = known.runs + excluded.runs,
    people = {_format_union("people")}, days = {_format_union("days")},
    stated = known.stated + excluded.stated,
    last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)
RETURNING id, tool_id, parameter, kind, key, runs, sealed
)
SELECT id, tool_id, parameter, kind, key FROM counted
WHERE kind = '{ObservedArgument.LITERAL.value}' AND runs >= {MIN_RUNS} AND sealed = ''
"""


# Merges the rows past the most used ones of each parameter into one row per parameter.
_MERGE_RARE_USES = f"""
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
    team_id, tool_id, parameter, kind, key, pointer, nth, sealed, uses, runs, people, days,
    stated, last_seen_at
)
SELECT %(team)s, tool_id, parameter, '{OTHER}', '', '', 0, '', sum(uses), sum(runs),
       '{{}}', '{{}}', sum(stated), max(last_seen_at)
FROM gone
GROUP BY tool_id, parameter
ON CONFLICT (team_id, tool_id, parameter, kind, key) DO UPDATE SET
    uses = known.uses + excluded.uses, runs = known.runs + excluded.runs,
    stated = known.stated + excluded.stated,
    last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)
"""

log = structlog.get_logger(__name__)


class BindingUse(NamedTuple):
    """A source of a parameter's value in a run, or a call of a tool; storable in PostgreSQL.

    Attributes:
        parameter: Its name; empty: the call itself.
        kind: A kind of `LearnedBinding`.
        key: Distinguishes values.
        source_tool: For a reference: primary key of the tool whose result it came from.
        pointer: For a reference: JSON pointer into that result.
        occurrence: For a reference: which of the earlier tasks of that tool.
        value: A JSON value that may be stored in clear.
        literal: A value that may only be stored sealed, once enough runs passed it.
        stated: Whether the intent stated the value.
    """

    tool: int
    parameter: str
    kind: str
    key: str = ""
    source_tool: int | None = None
    pointer: str = ""
    occurrence: int = 0
    value: Any = None
    literal: Any = None
    stated: bool = False

    @property
    def use_key(self) -> tuple[int, str, str, str]:
        """The identifying key, within a team."""
        return (self.tool, self.parameter, self.kind, self.key)


class TimedUses(NamedTuple):
    """The uses of one run.

    Attributes:
        person: Who ran it; None: it was imported.
    """

    uses: Sequence[BindingUse]
    at: datetime
    person: int | None = None


def add_binding_uses(new: Iterable[TimedUses], *, team: int | None, seal: SealValue) -> None:
    """Count the sources of the arguments of some runs; uses of deleted tools are skipped.

    Past `MAX_USES_PER_PARAMETER` sources of a parameter, those with the fewest runs (of these the
    oldest first) are merged into one row.
    """
    tallies = _tally_uses(new)
    missing = writing.find_missing(
        tool
        for tally in tallies.values()
        for tool in (tally.use.tool, tally.use.source_tool)
        if tool
    )
    present = [
        tally
        for tally in tallies.values()
        if not missing & {tally.use.tool, tally.use.source_tool}
    ]
    due_literals: dict[int, Any] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(present), writing.CHUNK_ROWS):
            rows = [tally.to_row() for tally in present[start : start + writing.CHUNK_ROWS]]
            cursor.execute(_INSERT_USES, {"team": team, "rows": json.dumps(rows)})
            for pk, tool, parameter, kind, key in cursor.fetchall():
                due_literals[pk] = tallies[tool, parameter, kind, key].use.literal
    LearnedBinding.objects.bulk_update(
        [
            LearnedBinding(pk=pk, sealed=seal(literal))
            for pk, literal in sorted(due_literals.items())
            if literal is not None
        ],
        ["sealed"],
    )
    with connection.cursor() as cursor:
        tools = sorted({tally.use.tool for tally in present})
        cursor.execute(
            _MERGE_RARE_USES, {"team": team, "tools": tools, "keep": MAX_USES_PER_PARAMETER}
        )


def load_binding_rows(team: int | None, tools: Iterable[int]) -> QuerySet[LearnedBinding]:
    """Return the rows of some tools that a team's runs, or shared ones, produced."""
    return LearnedBinding.objects.filter(team=team, tool__in=list(tools))


def load_knowledge(team: int | None, sealer: Sealer) -> BindingKnowledge:
    """Return what a team's runs and shared ones show about arguments.

    Literals that cannot be unsealed are skipped, with one warning. Where several people share
    what is learned, so are literals that fewer than `MIN_WITNESSES` of them used, and those that
    steer where a call goes; in a team of one, those that were used on fewer days.
    """
    rows = LearnedBinding.objects.filter(
        Q(team=None) if team is None else Q(team__in=[team]) | Q(team=None)
    )
    members = 0 if team is None else teams.count_members(team)
    totals = rows.values_list("tool_id", "parameter").annotate(count=Sum("uses"))
    uses = {(tool, parameter): count for tool, parameter, count in totals}
    stated = rows.values_list("tool_id", "parameter").annotate(count=Sum("stated"))
    return BindingKnowledge(
        references=_load_references(rows),
        constants=_load_constants(rows, sealer, members=members),
        totals={place: count for place, count in uses.items() if place[1]},
        run_counts={tool: count for (tool, parameter), count in uses.items() if not parameter},
        stated_counts={(tool, name): count for tool, name, count in stated if name},
    )


def _load_references(
    rows: QuerySet[LearnedBinding],
) -> dict[ParameterKey, dict[ReferenceSource, int]]:
    references = rows.filter(kind=ObservedArgument.REFERENCE.value).values_list(
        "tool_id", "parameter", "giver_id", "pointer", "nth", "uses"
    )
    found: dict[ParameterKey, dict[ReferenceSource, int]] = defaultdict(lambda: defaultdict(int))
    for tool, parameter, source_tool, pointer, occurrence, uses in references:
        if source_tool is not None:
            found[tool, parameter][ReferenceSource(source_tool, pointer, occurrence)] += uses
    return {parameter_key: dict(counts) for parameter_key, counts in found.items()}


def _load_constants(
    rows: QuerySet[LearnedBinding], sealer: Sealer, *, members: int
) -> dict[ParameterKey, list[FrequentConstant]]:
    constants = rows.exclude(kind__in=(ObservedArgument.REFERENCE.value, CALL, OTHER)).exclude(
        kind=ObservedArgument.LITERAL.value, sealed=""
    )
    failures: list[UnsealingFailed] = []
    found: dict[ParameterKey, dict[tuple[str, str], FrequentConstant]] = defaultdict(dict)
    for row in constants.order_by("pk"):
        # Keys of literals differ between a team and shared runs, so values are compared.
        try:
            value = sealer.unseal(row.sealed) if row.sealed else row.value
        except UnsealingFailed as error:
            failures.append(error)
            continue
        if not _is_believed(row, value, members=members):
            continue
        key = (row.kind, canonical.hash_json(value))
        merged = found[row.tool_id, row.parameter].get(key)
        found[row.tool_id, row.parameter][key] = FrequentConstant(
            value=value,
            count=row.uses + (merged.count if merged else 0),
            stated_count=row.stated + (merged.stated_count if merged else 0),
        )
    if failures:
        log.warning("bindings.unseal_failed", count=len(failures), reason=str(failures[0]))
    return {
        parameter_key: sorted(values.values(), key=lambda constant: -constant.count)
        for parameter_key, values in found.items()
    }


def _is_believed(row: LearnedBinding, value: Any, *, members: int) -> bool:
    """Whether a constant may be suggested to the members of a team; 0: its owner is one person.

    What an admin imported, and what schemas list, is always believed.
    """
    if row.kind != ObservedArgument.LITERAL.value or members == 0 or not row.people:
        return True
    if members == 1:
        return len(row.days) >= MIN_WITNESSES
    return len(row.people) >= MIN_WITNESSES and not is_steering([row.parameter], value)


@dataclass(kw_only=True, slots=True)
class _UseTally:
    """The counts of one use over several runs."""

    use: BindingUse
    uses: int = 0
    runs: int = 0
    people: set[int] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    stated: int = 0
    at: datetime

    def to_row(self) -> dict[str, Any]:
        use = self.use
        return {
            "tool": use.tool,
            "parameter": use.parameter,
            "kind": use.kind,
            "key": use.key,
            "giver": use.source_tool,
            "pointer": use.pointer,
            "nth": use.occurrence,
            "value": use.value,
            "uses": self.uses,
            "runs": self.runs,
            "people": sorted(self.people)[:MIN_WITNESSES],
            "days": sorted(self.days)[:MIN_WITNESSES],
            "stated": self.stated,
            "at": self.at.isoformat(),
        }


def _tally_uses(new: Iterable[TimedUses]) -> dict[tuple[int, str, str, str], _UseTally]:
    tallies: dict[tuple[int, str, str, str], _UseTally] = {}
    for uses, at, person in new:
        for use in uses:
            tally = tallies.setdefault(use.use_key, _UseTally(use=use, at=at))
            tally.uses += 1
            tally.stated += use.stated
            tally.at = max(tally.at, at)
        for use_key in {use.use_key for use in uses}:
            tally = tallies[use_key]
            tally.runs += 1
            tally.days.add(at.date().isoformat())
            if person is not None:
                tally.people.add(person)
    return tallies
