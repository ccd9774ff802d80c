"""Writes what runs teach: each run once, all that it teaches in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connection, transaction
from pgvector import Vector

from gateway_project.foundation.sealing import Sealer
from graph.models import PatternEmbedding, PatternRun, WorkflowPattern
from graph.store import learned, writing
from graph.store.learned import Use
from tools.definition import storable
from tools.models import Team

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded

Pair = tuple[str, str]
"""Digests of an intent and of a workflow: what tells a team's patterns apart."""

_RUNS = """
INSERT INTO graph_patternrun (team_id, key, pattern_id, succeeded, at, samples)
SELECT %(team)s, given.*
FROM unnest(%(keys)s::text[], %(patterns)s::bigint[], %(succeeded)s::bool[],
            %(ats)s::timestamptz[], %(samples)s::bytea[])
     AS given (key, pattern, succeeded, at, samples)
ORDER BY given.key
ON CONFLICT (team_id, key) DO NOTHING
RETURNING key
"""

_COUNT = """
UPDATE graph_workflowpattern AS known
SET successes = known.successes + given.successes,
    failures = known.failures + given.failures,
    first_seen_at = least(known.first_seen_at, given.first),
    last_seen_at = greatest(known.last_seen_at, given.last)
FROM unnest(%(pks)s::bigint[], %(successes)s::int[], %(failures)s::int[],
            %(firsts)s::timestamptz[], %(lasts)s::timestamptz[])
     AS given (id, successes, failures, first, last)
WHERE known.id = given.id
RETURNING known.successes + known.failures = given.successes + given.failures
"""

_UNUSED = """
DELETE FROM graph_workflowpattern WHERE id = ANY(%s) AND successes = 0 AND failures = 0
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """A run, ready to be stored.

    Attributes:
        key: Unique in its team.
        pair: Digests of its intent and its workflow.
        tasks: The workflow as it is kept.
        tools: Primary keys in the order they ran.
        intent: Sealed.
        is_masked: Whether anything is left of the intent without the values it states.
        encoded: The intent as numbers; None where it is not embedded.
        succeeded: Whether the run did.
        at: When it ended.
        samples: What the model of bindings is fitted with; may be empty.
        uses: Where its arguments came from.
    """

    key: str
    pair: Pair
    tasks: Sequence[Mapping[str, Any]]
    tools: tuple[int, ...]
    intent: str
    is_masked: bool
    encoded: Encoded | None
    succeeded: bool
    at: datetime
    samples: bytes = b""
    uses: tuple[Use, ...] = ()


class Stored(NamedTuple):
    """What was written.

    Attributes:
        runs: That are new.
        patterns: That are new.
        unembedded: Patterns of new runs that have no vectors by the model.
    """

    runs: int = 0
    patterns: int = 0
    unembedded: int = 0


class TeamGone(LookupError):
    """The team whose runs are to be recorded was deleted."""


def known_keys(team: int | None, keys: Collection[str]) -> set[str]:
    """Return those of some keys that a run of the team has already."""
    rows = PatternRun.objects.filter(team=team, key__in=list(keys))
    return set(rows.values_list("key", flat=True))


def embedded(team: int | None, model: str, pairs: Iterable[Pair]) -> set[Pair]:
    """Return those of some patterns of a team that have vectors by a model."""
    wanted = set(pairs)
    rows = PatternEmbedding.objects.filter(
        model=model, pattern__team=team, pattern__intent_hash__in={intent for intent, _ in wanted}
    )
    found = rows.values_list("pattern__intent_hash", "pattern__workflow_hash")
    return wanted.intersection(found)


def record(rows: Sequence[Row], *, team: int | None, model: str, sealer: Sealer) -> Stored:
    """Store runs of a team: all, or none where anything fails.

    A run whose key the team has already changes nothing, whoever stored it and however short a
    time ago.

    Args:
        rows: At most some hundreds.
        team: Primary key; None: they are everybody's.
        model: Of the vectors.
        sealer: Seals intents as numbers, and literals that enough runs gave.

    Raises:
        TeamGone: If there is no such team.
    """

    def write() -> Stored:
        with transaction.atomic():
            if team is not None and not Team.objects.filter(pk=team).exists():
                raise TeamGone("the team was deleted meanwhile")
            return _record(rows, team=team, model=model, sealer=sealer)

    return writing.retried(write)


def _record(rows: Sequence[Row], *, team: int | None, model: str, sealer: Sealer) -> Stored:
    by_pair = {row.pair: row for row in sorted(rows, key=lambda row: row.pair)}
    patterns = _created(by_pair, team=team)
    new = _insert_runs(rows, patterns, team=team)
    # A pattern without a new run may be unused: it goes below, and can hold nothing yet.
    _embed({row.pair: row for row in new}, patterns, model=model, sealer=sealer)
    first_seen = _count(new, patterns)
    learned.count([(row.uses, row.at) for row in new], team=team, seal=sealer.seal)
    with connection.cursor() as cursor:  # of runs that another process recorded just now
        cursor.execute(_UNUSED, [list(patterns.values())])
    shown = {row.pair for row in new}
    return Stored(
        runs=len(new),
        patterns=first_seen,
        unembedded=len(shown - embedded(team, model, shown)),
    )


def _patterns(team: int | None, pairs: Collection[Pair]) -> dict[Pair, int]:
    """Return the team's patterns of these digests; nobody else changes them until the end."""
    rows = WorkflowPattern.objects.filter(
        team=team, intent_hash__in={intent for intent, _ in pairs}
    )
    locked = rows.order_by("pk").select_for_update(no_key=True)
    found = locked.values_list("intent_hash", "workflow_hash", "pk")
    return {(intent, done): pk for intent, done, pk in found if (intent, done) in pairs}


def _created(rows: Mapping[Pair, Row], *, team: int | None) -> dict[Pair, int]:
    """Return all of these patterns, those that were not there made with nothing counted yet."""
    while True:
        WorkflowPattern.objects.bulk_create(
            [
                WorkflowPattern(
                    team=None if team is None else Team(pk=team),
                    intent_hash=row.pair[0],
                    workflow_hash=row.pair[1],
                    tasks=storable(list(row.tasks)),
                    tools=list(row.tools),
                    intent=row.intent,
                    first_seen_at=row.at,
                    last_seen_at=row.at,
                )
                for row in rows.values()
            ],
            ignore_conflicts=True,
        )
        found = _patterns(team, rows)
        if len(found) == len(rows):  # else one was deleted in between
            return found


def _insert_runs(
    rows: Sequence[Row], patterns: Mapping[Pair, int], *, team: int | None
) -> list[Row]:
    """Insert the runs whose keys are new, and return them."""
    by_key = {row.key: row for row in reversed(rows)}
    with connection.cursor() as cursor:
        cursor.execute(
            _RUNS,
            {
                "team": team,
                "keys": list(by_key),
                "patterns": [patterns[row.pair] for row in by_key.values()],
                "succeeded": [row.succeeded for row in by_key.values()],
                "ats": [row.at for row in by_key.values()],
                "samples": [row.samples for row in by_key.values()],
            },
        )
        return [by_key[key] for (key,) in cursor.fetchall()]


def _embed(
    rows: Mapping[Pair, Row], patterns: Mapping[Pair, int], *, model: str, sealer: Sealer
) -> None:
    PatternEmbedding.objects.bulk_create(
        [
            PatternEmbedding(
                pattern_id=patterns[pair],
                model=model,
                vector=Vector(row.encoded.masked) if row.is_masked else None,
                encoded=sealer.seal_bytes(row.encoded.to_bytes()),
            )
            for pair, row in rows.items()
            if row.encoded is not None
        ],
        ignore_conflicts=True,
    )


def _count(new: Iterable[Row], patterns: Mapping[Pair, int]) -> int:
    """Count runs, and return how many patterns had none before."""
    by_pattern: dict[int, list[Row]] = defaultdict(list)
    for row in new:
        by_pattern[patterns[row.pair]].append(row)
    successes = [sum(row.succeeded for row in runs) for runs in by_pattern.values()]
    with connection.cursor() as cursor:
        cursor.execute(
            _COUNT,
            {
                "pks": list(by_pattern),
                "successes": successes,
                "failures": [
                    len(runs) - good
                    for runs, good in zip(by_pattern.values(), successes, strict=True)
                ],
                "firsts": [min(row.at for row in runs) for runs in by_pattern.values()],
                "lasts": [max(row.at for row in runs) for runs in by_pattern.values()],
            },
        )
        return sum(is_first for (is_first,) in cursor.fetchall())
