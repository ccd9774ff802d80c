"""Stored patterns: intents, the workflows that carried them out, and how often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from django.db import connection, transaction
from django.db.models import Exists, OuterRef
from pgvector import Vector

from gateway_project.foundation.sealing import SealBroken, Sealer
from graph.models import PatternEmbedding, PatternRun, WorkflowPattern
from graph.patterns import normal_intent
from graph.store import fitted, learned, merging, writing
from tools import ids
from tools.models import Tool

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded
    from graph.ranking.past import PastIntent

NOTICE: Final = "patterns"
"""What every process is told on the channel of the graph when any have changed."""

MAX_HISTORY: Final = 20_000
"""Patterns that are learned from, the newest: each takes some 20 kB of memory."""
CHUNK: Final = 1_000
"""Patterns whose vectors are read and opened at once."""

_HISTORY = """
SELECT p.id, p.tools, p.successes, p.failures, p.last_seen_at, p.intent_hash, p.intent, e.id
FROM graph_workflowpattern p
JOIN graph_patternembedding e ON e.pattern_id = p.id AND e.model = %(model)s
WHERE p.successes > 0 AND (p.team_id IS NULL OR p.team_id = %(team)s)
ORDER BY p.last_seen_at DESC, p.id DESC
LIMIT %(limit)s
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


log = structlog.get_logger(__name__)


class Unembedded(NamedTuple):
    """A pattern without vectors by a model: its primary key, and its intent as it is sealed."""

    pk: int
    intent: str


class _Row(NamedTuple):
    """A stored pattern, without its vectors."""

    pk: int
    tools: Sequence[int]
    successes: int
    failures: int
    last_seen: datetime
    intent_hash: str
    intent: str
    embedding: int


def history(
    team: int | None, model: str, *, sealer: Sealer, dimensions: int | None = None
) -> list[PastIntent]:
    """Return what callers of a team learn from, the oldest first: of the newest `MAX_HISTORY`.

    Patterns that never succeeded, have no vectors by this model, or name a tool that was deleted
    and is not back are left out; so are those that cannot be read, with one warning. Patterns of
    one intent without its values, and of one set of tools, are one past intent.

    Args:
        team: Primary key; sees its own patterns beside everybody's. None: only everybody's.
        model: The model of the vectors.
        sealer: Opens what intents were, and their vectors.
        dimensions: Length of a vector; others are not read. None: of any.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HISTORY, {"team": team, "model": model, "limit": MAX_HISTORY})
        rows = [_Row(*row) for row in cursor.fetchall()]
    tools = _present({tool for row in rows for tool in row.tools})
    there = [row for row in rows if all(tool in tools for tool in row.tools)]
    lost: list[Exception] = []
    found = list(_read(there, tools, sealer, dimensions, lost))
    if lost:
        log.warning("patterns.not_read", team=team, count=len(lost), reason=str(lost[0]))
    return merging.merged(found)


def _read(
    rows: Sequence[_Row],
    tools: Mapping[int, int],
    sealer: Sealer,
    dimensions: int | None,
    lost: list[Exception],
) -> Iterator[tuple[str, PastIntent]]:
    """Yield past intents, each with its text without values; note why others are lost."""
    from graph.intent.encoded import Encoded  # noqa: PLC0415 - heavy
    from graph.ranking.past import PastIntent  # noqa: PLC0415 - heavy

    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        stored = PatternEmbedding.objects.filter(pk__in=[row.embedding for row in chunk])
        sealed = dict(stored.values_list("pk", "encoded"))
        for row in chunk:
            try:
                encoded = Encoded.from_bytes(sealer.open_bytes(bytes(sealed[row.embedding])))
                text = _text(row, sealer)
            except KeyError:  # it was deleted meanwhile
                continue
            except (SealBroken, ValueError) as error:
                lost.append(error)
                continue
            if dimensions is not None and len(encoded.whole) != dimensions:
                lost.append(ValueError(f"its vectors are not of {dimensions} values"))
                continue
            past = PastIntent(
                pattern=row.pk,
                tools=tuple(tools[tool] for tool in row.tools),
                encoded=encoded,
                successes=row.successes,
                failures=row.failures,
                last_seen=row.last_seen,
            )
            yield text, past


def _text(row: _Row, sealer: Sealer) -> str:
    """Return what tells a pattern's intent from others: its text, or its digest without one."""
    from graph.intent.reading import MIN_MASKED_CHARS  # noqa: PLC0415 - with what is heavy

    masked = sealer.open(row.intent)
    return normal_intent(masked) if len(masked) >= MIN_MASKED_CHARS else row.intent_hash


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


def embed(model: str, encoded: Mapping[int, Encoded], *, sealer: Sealer) -> int:
    """Store vectors of patterns; return of how many, since some may be gone meanwhile.

    Args:
        model: That made them.
        encoded: By primary key of the pattern, from its intent without values.
        sealer: Seals them.
    """

    def write() -> int:
        there = WorkflowPattern.objects.filter(pk__in=list(encoded)).values_list("pk", flat=True)
        rows = PatternEmbedding.objects.bulk_create(
            [
                PatternEmbedding(
                    pattern_id=pk,
                    model=model,
                    vector=Vector(encoded[pk].whole),
                    encoded=sealer.seal_bytes(encoded[pk].to_bytes()),
                )
                for pk in sorted(there)
            ],
            ignore_conflicts=True,
        )
        return len(rows)

    return writing.retried(write)


def forget(pks: Collection[int]) -> list[str]:
    """Delete patterns with their runs, and all that may have been learned from them.

    Which run gave an argument is not kept: what the team's runs show of the arguments of these
    tools goes as a whole, and is learned anew from runs to come. So do the models that were
    fitted to it, until the next fit.

    Returns:
        The patterns that were deleted, named.
    """
    with transaction.atomic():
        chosen = WorkflowPattern.objects.filter(pk__in=list(pks)).order_by("pk")
        found = list(chosen.select_for_update(no_key=True).defer("intent"))
        for team, tools in _called(found).items():
            learned.of(team, tools).delete()
            fitted.learned_from(team).delete()
        named = [str(pattern) for pattern in found]
        chosen.filter(pk__in=[pattern.pk for pattern in found]).delete()
    return named


class Forgotten(NamedTuple):
    """What goes along with patterns: rows of runs, of learned bindings, of fitted models."""

    runs: int
    bindings: int
    models: int


def forgotten_with(pks: Collection[int]) -> Forgotten:
    """Count what `forget` would delete beside the patterns."""
    called = _called(WorkflowPattern.objects.filter(pk__in=list(pks)).defer("intent"))
    scopes = [None] if None in called else list(called)  # everybody's are in all
    return Forgotten(
        runs=PatternRun.objects.filter(pattern__in=list(pks)).count(),
        bindings=sum(learned.of(team, tools).count() for team, tools in called.items()),
        models=sum(fitted.learned_from(team).count() for team in scopes),
    )


def _called(chosen: Iterable[WorkflowPattern]) -> dict[int | None, set[int]]:
    """Return the tools that patterns called and that are there, by team."""
    tools: dict[int | None, set[int]] = defaultdict(set)
    for pattern in chosen:
        tools[pattern.team_id].update(pattern.tools)
    return {team: set(_present(named).values()) for team, named in tools.items()}


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
