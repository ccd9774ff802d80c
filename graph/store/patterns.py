"""Stored patterns: intents, the workflows that carried them out, and how often."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from django.db import connection
from django.db.models import Exists, OuterRef
from pgvector import Vector

from graph.models import PatternEmbedding, PatternRun, WorkflowPattern
from graph.store import writing
from tools import ids
from tools.models import Tool

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded
    from graph.ranking.past import PastIntent

NOTICE: Final = "patterns"
"""What every process is told on the channel of the graph when any have changed."""

_HISTORY = """
SELECT p.id, p.tools, e.encoded, p.successes, p.failures, p.last_seen_at
FROM graph_workflowpattern p
JOIN graph_patternembedding e ON e.pattern_id = p.id AND e.model = %(model)s
WHERE p.successes > 0 AND (p.team_id IS NULL OR p.team_id = %(team)s)
ORDER BY p.last_seen_at, p.id
"""

_DROP_SAMPLES = """
UPDATE graph_patternrun SET samples = ''
WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY team_id ORDER BY at DESC, id DESC) AS place
        FROM graph_patternrun WHERE samples <> ''
    ) AS placed
    WHERE place > %s
)
"""


class Unembedded(NamedTuple):
    """A pattern without vectors by a model: its primary key, and its intent as it is sealed."""

    pk: int
    intent: str


def history(team: int | None, model: str) -> list[PastIntent]:
    """Return what callers of a team learn from, the oldest first.

    Patterns that never succeeded, have no vectors by this model, or name a tool that was deleted
    and is not back are left out.

    Args:
        team: Primary key; sees its own patterns beside everybody's. None: only everybody's.
        model: The model of the vectors.
    """
    from graph.intent.encoded import Encoded  # noqa: PLC0415 - heavy
    from graph.ranking.past import PastIntent  # noqa: PLC0415 - heavy

    with connection.cursor() as cursor:
        cursor.execute(_HISTORY, {"team": team, "model": model})
        rows = cursor.fetchall()
    tools = _present({tool for row in rows for tool in row[1]})
    return [
        PastIntent(
            pattern=pk,
            tools=tuple(tools[tool] for tool in ran),
            encoded=Encoded.from_bytes(encoded),
            successes=successes,
            failures=failures,
            last_seen=last_seen,
        )
        for pk, ran, encoded, successes, failures, last_seen in rows
        if all(tool in tools for tool in ran)
    ]


def samples(team: int | None, *, limit: int) -> list[bytes]:
    """Return what the newest runs that a team learns from show of stated values."""
    seen = [None] if team is None else [None, team]
    rows: list[tuple[datetime, bytes]] = []
    for one in seen:
        newest = PatternRun.objects.filter(team=one).exclude(samples=b"").order_by("-at", "-pk")
        found = newest.values_list("at", "samples")[:limit]
        rows += [(at, bytes(sample)) for at, sample in found]
    rows.sort(key=itemgetter(0), reverse=True)
    return [sample for _, sample in rows[:limit]]


def drop_old_samples(*, keep: int) -> int:
    """Drop what all but the newest runs of each team show of stated values; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(_DROP_SAMPLES, [keep])
        return int(cursor.rowcount)


def unembedded(model: str) -> list[Unembedded]:
    """Return the patterns that have no vectors by a model, the newest first."""
    present = PatternEmbedding.objects.filter(pattern=OuterRef("pk"), model=model)
    rows = WorkflowPattern.objects.filter(~Exists(present)).order_by("-last_seen_at", "-pk")
    return [Unembedded(pk, intent) for pk, intent in rows.values_list("pk", "intent")]


def embed(model: str, encoded: Mapping[int, Encoded]) -> int:
    """Store vectors of patterns; return of how many, since some may be gone meanwhile.

    Args:
        model: That made them.
        encoded: By primary key of the pattern.
    """

    def write() -> int:
        there = WorkflowPattern.objects.filter(pk__in=list(encoded)).values_list("pk", flat=True)
        rows = PatternEmbedding.objects.bulk_create(
            [
                PatternEmbedding(
                    pattern_id=pk,
                    model=model,
                    vector=Vector(encoded[pk].whole),
                    encoded=encoded[pk].to_bytes(),
                )
                for pk in sorted(there)
            ],
            ignore_conflicts=True,
        )
        return len(rows)

    return writing.retried(write)


def drop_model(model: str) -> int:
    """Delete the vectors that a model made; return of how many patterns."""
    return PatternEmbedding.objects.filter(model=model).delete()[0]


def _present(tools: Collection[int]) -> dict[int, int]:
    """Map the tools that patterns name to those there are: one that is back has another key."""
    there = {pk: pk for pk in set(tools) - writing.missing(tools)}
    gone = set(tools) - there.keys()
    return there | _back(gone) if gone else there


def _back(gone: Collection[int]) -> dict[int, int]:
    """Find tools by the ids that patterns keep of them."""
    names: dict[int, str] = {}
    rows = WorkflowPattern.objects.filter(tools__overlap=list(gone)).values_list("tools", "tasks")
    for ran, tasks in rows.iterator():
        names |= {tool: task["tool"] for tool, task in zip(ran, tasks, strict=True)}
    found = dict(_by_name(set(names.values())))
    return {tool: found[names[tool]] for tool in names.keys() & set(gone) if names[tool] in found}


def _by_name(names: Iterable[str]) -> Iterable[tuple[str, int]]:
    halves = {ids.split(name): name for name in names}
    rows = Tool.objects.filter(
        server__name__in={server for server, _ in halves},
        name__in={tool for _, tool in halves},
    ).values_list("server__name", "name", "pk")
    return [(halves[server, name], pk) for server, name, pk in rows if (server, name) in halves]
