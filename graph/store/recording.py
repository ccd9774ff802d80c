"""Record runs: each run once, with everything learned from it in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Q, Sum
from pgvector import Vector

from gateway_project.foundation.sealing import Sealer
from graph.models import PatternEmbedding, PatternRun, WorkflowPattern
from graph.patterns import PastRun
from graph.store import binding_uses, writing
from graph.store.binding_uses import BindingUse, TimedUses
from tools.definition import make_storable
from tools.models import Team

if TYPE_CHECKING:
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.intent.reading import IntentReading

PatternKey = tuple[str, str]
"""Digests of an intent and of a workflow; identify a pattern within its team."""

_INSERT_RUNS = """
INSERT INTO graph_patternrun (team_id, key, pattern_id, succeeded, at, samples)
SELECT %(team)s, given.*, ''::bytea
FROM unnest(%(keys)s::text[], %(patterns)s::bigint[], %(succeeded)s::bool[],
            %(ats)s::timestamptz[])
     AS given (key, pattern, succeeded, at)
ORDER BY given.key
ON CONFLICT (team_id, key) DO NOTHING
RETURNING key
"""

_ADD_COUNTS = """
UPDATE graph_workflowpattern AS known
SET successes = known.successes + given.successes,
    failures = known.failures + given.failures,
    success_weight = known.success_weight + given.success_weight,
    first_seen_at = least(known.first_seen_at, given.first),
    last_seen_at = greatest(known.last_seen_at, given.last)
FROM unnest(%(pks)s::bigint[], %(successes)s::int[], %(failures)s::int[],
            %(weights)s::float8[], %(firsts)s::timestamptz[], %(lasts)s::timestamptz[])
     AS given (id, successes, failures, success_weight, first, last)
WHERE known.id = given.id
RETURNING known.successes + known.failures = given.successes + given.failures
"""

_DELETE_UNUSED = """
DELETE FROM graph_workflowpattern WHERE id = ANY(%s) AND successes = 0 AND failures = 0
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordableRun:
    """A run that can be recorded.

    Attributes:
        run: The run, with its tasks in an order that respects dependencies.
        reading: Its intent.
        pattern_key: Digests of its intent and its workflow.
        workflow: Its workflow as stored, without values.
        intent: The masked intent, sealed.
        encoded: The encoded intent; None if it is not embedded.
        uses: Sources of its arguments.
    """

    run: PastRun
    reading: IntentReading
    pattern_key: PatternKey
    workflow: Sequence[Mapping[str, Any]]
    intent: str
    encoded: EncodedIntent | None = None
    uses: tuple[BindingUse, ...] = ()

    @property
    def teaches_bindings(self) -> bool:
        """Whether bindings can be learned from its arguments."""
        return self.run.succeeded and any(task.arguments for task in self.run.tasks)

    @property
    def masked_vector(self) -> Vector | None:
        """What is stored in clear of its vectors: that of the masked intent, if nothing else."""
        is_masked = self.reading.embedded_masked_text == self.reading.masked
        return Vector(self.encoded.masked) if self.encoded is not None and is_masked else None


class RecordedRuns(NamedTuple):
    """Counts of recorded runs.

    Attributes:
        repeated_runs: Runs with a known key, which were skipped.
        patterns: Patterns new to the team.
        unembedded: Patterns of new runs without vectors because the model cannot be loaded; they
            are not learned from until `embed` has run.
    """

    new_runs: int = 0
    repeated_runs: int = 0
    patterns: int = 0
    unembedded: int = 0

    def __add__(self, other: RecordedRuns) -> RecordedRuns:  # type: ignore[override]
        """Add up the counts of two recordings."""
        return RecordedRuns(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class TeamDeleted(LookupError):
    """The team whose runs are to be recorded was deleted."""


def load_known_keys(team: int | None, keys: Collection[str]) -> set[str]:
    """Return the keys that already belong to a run of the team."""
    rows = PatternRun.objects.filter(team=team, key__in=list(keys))
    return set(rows.values_list("key", flat=True))


def load_workflow_weights(team: int | None, hashes: Collection[str]) -> dict[str, float]:
    """Return how often workflows have succeeded, by weight and over all intents, by digest."""
    rows = WorkflowPattern.objects.filter(
        Q(team=team) | Q(team=None), workflow_hash__in=list(hashes)
    )
    return dict(rows.values_list("workflow_hash").annotate(weight=Sum("success_weight")))


def load_embedded_patterns(
    team: int | None, model: str, keys: Iterable[PatternKey]
) -> set[PatternKey]:
    """Return the patterns of a team that have vectors by a model, out of some."""
    wanted = set(keys)
    rows = PatternEmbedding.objects.filter(
        model=model, pattern__team=team, pattern__intent_hash__in={intent for intent, _ in wanted}
    )
    found = rows.values_list("pattern__intent_hash", "pattern__workflow_hash")
    return wanted.intersection(found)


def record_complete_runs(
    rows: Sequence[RecordableRun], *, team: int | None, model: str, sealer: Sealer
) -> RecordedRuns:
    """Store runs of a team, all or none.

    A run whose key the team already has changes nothing, even if it was stored concurrently.

    Raises:
        TeamDeleted: If the team does not exist.
    """

    def write() -> RecordedRuns:
        with transaction.atomic():
            if team is not None and not Team.with_private.filter(pk=team).exists():
                raise TeamDeleted("the team was deleted meanwhile")
            return _record_in_transaction(rows, team=team, model=model, sealer=sealer)

    return writing.retry_on_conflict(write)


def _record_in_transaction(
    rows: Sequence[RecordableRun], *, team: int | None, model: str, sealer: Sealer
) -> RecordedRuns:
    by_key = {row.pattern_key: row for row in sorted(rows, key=lambda row: row.pattern_key)}
    patterns = _get_or_create_patterns(by_key, team=team)
    new = _insert_runs(rows, patterns, team=team)
    # A pattern without a new run may be unused: it is deleted below, so store nothing for it.
    _store_embeddings({row.pattern_key: row for row in new}, patterns, model=model, sealer=sealer)
    new_patterns = _add_counts(new, patterns)
    binding_uses.add_binding_uses(
        [TimedUses(row.uses, row.run.at, row.run.person) for row in new],
        team=team,
        seal=sealer.seal,
    )
    with connection.cursor() as cursor:  # of runs that another process has just recorded
        cursor.execute(_DELETE_UNUSED, [list(patterns.values())])
    new_keys = {row.pattern_key for row in new}
    return RecordedRuns(
        new_runs=len(new),
        repeated_runs=len(rows) - len(new),
        patterns=new_patterns,
        unembedded=len(new_keys - load_embedded_patterns(team, model, new_keys)),
    )


def _lock_patterns(team: int | None, keys: Collection[PatternKey]) -> dict[PatternKey, int]:
    rows = WorkflowPattern.objects.filter(
        team=team, intent_hash__in={intent for intent, _ in keys}
    )
    locked = rows.order_by("pk").select_for_update(no_key=True)
    found = locked.values_list("intent_hash", "workflow_hash", "pk")
    return {(intent, workflow): pk for intent, workflow, pk in found if (intent, workflow) in keys}


def _get_or_create_patterns(
    rows: Mapping[PatternKey, RecordableRun], *, team: int | None
) -> dict[PatternKey, int]:
    while True:
        WorkflowPattern.objects.bulk_create(
            [
                WorkflowPattern(
                    team=None if team is None else Team(pk=team),
                    intent_hash=row.pattern_key[0],
                    workflow_hash=row.pattern_key[1],
                    tasks=make_storable(list(row.workflow)),
                    tools=[task.tool for task in row.run.tasks],
                    intent=row.intent,
                    first_seen_at=row.run.at,
                    last_seen_at=row.run.at,
                )
                for row in rows.values()
            ],
            ignore_conflicts=True,
        )
        found = _lock_patterns(team, rows)
        if len(found) == len(rows):  # otherwise one was deleted in between
            return found


def _insert_runs(
    rows: Sequence[RecordableRun], patterns: Mapping[PatternKey, int], *, team: int | None
) -> list[RecordableRun]:
    by_key = {row.run.key: row for row in reversed(rows)}
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT_RUNS,
            {
                "team": team,
                "keys": list(by_key),
                "patterns": [patterns[row.pattern_key] for row in by_key.values()],
                "succeeded": [row.run.succeeded for row in by_key.values()],
                "ats": [row.run.at for row in by_key.values()],
            },
        )
        return [by_key[key] for (key,) in cursor.fetchall()]


def _store_embeddings(
    rows: Mapping[PatternKey, RecordableRun],
    patterns: Mapping[PatternKey, int],
    *,
    model: str,
    sealer: Sealer,
) -> None:
    PatternEmbedding.objects.bulk_create(
        [
            PatternEmbedding(
                pattern_id=patterns[key],
                model=model,
                vector=row.masked_vector,
                encoded=sealer.seal_bytes(row.encoded.to_bytes()),
            )
            for key, row in rows.items()
            if row.encoded is not None
        ],
        ignore_conflicts=True,
    )


def _add_counts(new: Iterable[RecordableRun], patterns: Mapping[PatternKey, int]) -> int:
    """Add the counts of runs; return how many patterns had no run before."""
    by_pattern: dict[int, list[PastRun]] = defaultdict(list)
    for row in new:
        by_pattern[patterns[row.pattern_key]].append(row.run)
    successes = [sum(run.succeeded for run in runs) for runs in by_pattern.values()]
    with connection.cursor() as cursor:
        cursor.execute(
            _ADD_COUNTS,
            {
                "pks": list(by_pattern),
                "successes": successes,
                "failures": [
                    len(runs) - succeeded
                    for runs, succeeded in zip(by_pattern.values(), successes, strict=True)
                ],
                "weights": [
                    sum((run.weight for run in runs if run.succeeded), start=0.0)
                    for runs in by_pattern.values()
                ],
                "firsts": [min(run.at for run in runs) for runs in by_pattern.values()],
                "lasts": [max(run.at for run in runs) for runs in by_pattern.values()],
            },
        )
        return sum(is_first for (is_first,) in cursor.fetchall())
