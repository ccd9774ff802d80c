"""Stored patterns: intents and the workflows that carried them out, counted over runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from pgvector import Vector

from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from graph.models import PatternEmbedding, PatternRun, WorkflowPattern
from graph.patterns import MIN_SUPPORT, MIN_TOOL_SUPPORT, normalize_intent
from graph.store import binding_uses, fitted_models, writing
from tools import ids
from tools.models import Tool

if TYPE_CHECKING:
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.ranking.past_intents import PastIntent

CHANGE_NOTICE: Final = "patterns"
"""Notification on the graph channel when patterns have changed."""

MAX_HISTORY: Final = 20_000
"""Newest patterns that models are fitted to; each takes some 20 kB of memory."""
CHUNK_SIZE: Final = 1_000
"""Patterns whose vectors are read and unsealed per query."""

# A pattern of calls made one by one is used once its intent, or at least its workflow of several
# tools, has been seen again; one of a single call, once several searches led to this tool. A run
# of a workflow weighs 1, so its counts stay as they are.
_SELECT_HISTORY = f"""
WITH seen AS (
    SELECT *, sum(success_weight) OVER (PARTITION BY workflow_hash) AS support,
           sum(success_weight) OVER (PARTITION BY tools) AS tool_support
    FROM graph_workflowpattern
    WHERE successes > 0 AND (team_id IS NULL OR team_id = %(team)s)
)
SELECT p.id, p.tools, greatest(1, round(p.success_weight))::int,
       round(p.failures * p.success_weight / p.successes)::int,
       p.last_seen_at, p.intent_hash, p.intent, e.id
FROM seen p
JOIN graph_patternembedding e ON e.pattern_id = p.id AND e.model = %(model)s
WHERE p.success_weight >= {MIN_SUPPORT}
   OR (p.support >= {MIN_SUPPORT} AND cardinality(p.tools) > 1)
   OR (p.tool_support >= {MIN_TOOL_SUPPORT} AND cardinality(p.tools) = 1)
ORDER BY p.last_seen_at DESC, p.id DESC
LIMIT %(limit)s
"""


log = structlog.get_logger(__name__)


class UnembeddedPattern(NamedTuple):
    """A pattern without vectors by a model: primary key and sealed intent."""

    pk: int
    intent: str


class _PatternRow(NamedTuple):
    """A stored pattern, without its vectors."""

    pk: int
    tools: Sequence[int]
    successes: int
    failures: int
    last_seen: datetime
    intent_hash: str
    intent: str
    embedding: int


def load_history(
    team: int | None, model: str, *, sealer: Sealer, dimensions: int | None = None
) -> list[PastIntent]:
    """Return the past intents a team's models are fitted to, oldest first; at most `MAX_HISTORY`.

    Skipped are patterns that never succeeded, were seen too seldom (`MIN_SUPPORT`,
    `MIN_TOOL_SUPPORT`), have no vectors by this model, or name a deleted tool that has not
    returned; also those that cannot be unsealed, with one warning. Patterns with the same masked
    intent and the same set of tools become one past intent.

    Args:
        team: Primary key; sees its own patterns and shared ones. None: only shared ones.
        model: Model of the vectors.
        sealer: Unseals intents and their vectors.
        dimensions: Required length of a vector; None: any.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_HISTORY, {"team": team, "model": model, "limit": MAX_HISTORY})
        rows = [_PatternRow(*row) for row in cursor.fetchall()]
    tools = _map_to_present({tool for row in rows for tool in row.tools})
    readable = [row for row in rows if all(tool in tools for tool in row.tools)]
    errors: list[Exception] = []
    intents = list(_read_intents(readable, tools, sealer, dimensions, errors))
    if errors:
        log.warning("patterns.unseal_failed", team=team, count=len(errors), reason=str(errors[0]))
    return _merge_intents(intents)


def _merge_intents(intents: Iterable[tuple[str, PastIntent]]) -> list[PastIntent]:
    """Merge past intents with the same text and set of tools; return them oldest first.

    Patterns that differ only in references, dependencies or team would otherwise be their own
    neighbours when an intent is judged by the others.
    """
    groups: dict[tuple[str, frozenset[int]], list[PastIntent]] = defaultdict(list)
    for text, past in intents:
        groups[text, frozenset(past.tools)].append(past)
    merged = (group[0] if len(group) == 1 else _merge_equal(group) for group in groups.values())
    return sorted(merged, key=attrgetter("last_seen", "pattern"))


def _merge_equal(intents: Sequence[PastIntent]) -> PastIntent:
    """Merge several intents into one with the most frequent order of tools."""
    orders: dict[tuple[int, ...], list[PastIntent]] = defaultdict(list)
    for past in intents:
        orders[past.tools].append(past)
    most = max(
        orders.values(),
        key=lambda group: (
            sum(past.successes for past in group),
            max(past.last_seen for past in group),
        ),
    )
    return replace(
        max(most, key=attrgetter("last_seen", "pattern")),
        successes=sum(past.successes for past in intents),
        failures=sum(past.failures for past in intents),
        last_seen=max(past.last_seen for past in intents),
    )


def _read_intents(
    rows: Sequence[_PatternRow],
    tools: Mapping[int, int],
    sealer: Sealer,
    dimensions: int | None,
    errors: list[Exception],
) -> Iterator[tuple[str, PastIntent]]:
    """Yield past intents with their masked texts; append the errors of unreadable ones."""
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.ranking.past_intents import PastIntent

    for start in range(0, len(rows), CHUNK_SIZE):
        chunk = rows[start : start + CHUNK_SIZE]
        stored = PatternEmbedding.objects.filter(pk__in=[row.embedding for row in chunk])
        sealed = dict(stored.values_list("pk", "encoded"))
        for row in chunk:
            try:
                encoded = EncodedIntent.from_bytes(
                    sealer.unseal_bytes(bytes(sealed[row.embedding]))
                )
                text = _identifying_text(row, sealer)
            except KeyError:  # deleted meanwhile
                continue
            except (UnsealingFailed, ValueError) as error:
                errors.append(error)
                continue
            if dimensions is not None and len(encoded.whole) != dimensions:
                errors.append(ValueError(f"its vectors are not of {dimensions} values"))
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


def _identifying_text(row: _PatternRow, sealer: Sealer) -> str:
    """Return what identifies a pattern's intent: its masked text, or else its digest."""
    from graph.suggestion.intent.masks import MIN_MASKED_CHARS

    masked = sealer.unseal(row.intent)
    return normalize_intent(masked) if len(masked) >= MIN_MASKED_CHARS else row.intent_hash


def load_unembedded(model: str) -> list[UnembeddedPattern]:
    """Return the patterns that have no vectors by a model, the newest first."""
    present = PatternEmbedding.objects.filter(pattern=OuterRef("pk"), model=model)
    rows = WorkflowPattern.objects.filter(~Exists(present)).order_by("-last_seen_at", "-pk")
    return [UnembeddedPattern(pk, intent) for pk, intent in rows.values_list("pk", "intent")]


def store_embeddings(model: str, encoded: Mapping[int, EncodedIntent], *, sealer: Sealer) -> int:
    """Store vectors of patterns; return for how many, as some may have been deleted."""

    def write() -> int:
        present = WorkflowPattern.objects.filter(pk__in=list(encoded)).values_list("pk", flat=True)
        rows = PatternEmbedding.objects.bulk_create(
            [
                PatternEmbedding(
                    pattern_id=pk,
                    model=model,
                    vector=Vector(encoded[pk].whole),
                    encoded=sealer.seal_bytes(encoded[pk].to_bytes()),
                )
                for pk in sorted(present)
            ],
            ignore_conflicts=True,
        )
        return len(rows)

    return writing.retry_on_conflict(write)


def select_visible(team: int | None, *, every_team: bool = False) -> QuerySet[WorkflowPattern]:
    """Return the patterns that a team sees, without their intents, which are sealed.

    Args:
        team: Primary key; sees its own patterns and shared ones. None: only shared ones.
        every_team: Whether those of all teams are wanted.
    """
    rows = WorkflowPattern.objects.defer("intent")
    return rows if every_team else rows.filter(Q(team=None) | Q(team=team))


def delete_patterns(pks: Collection[int]) -> list[str]:
    """Delete patterns with their runs, and everything learned from them.

    Learned bindings are not tied to runs, so all bindings of the team for the tools of these
    patterns are deleted, to be relearned from later runs. So are the models fitted to them, until
    the next fit.

    Returns:
        Names of the deleted patterns.
    """
    with transaction.atomic():
        chosen = WorkflowPattern.objects.filter(pk__in=list(pks)).order_by("pk")
        locked = list(chosen.select_for_update(no_key=True).defer("intent"))
        for team, tools in _called_tools_by_team(locked).items():
            binding_uses.load_binding_rows(team, tools).delete()
            fitted_models.filter_models_of_team(team).delete()
        names = [str(pattern) for pattern in locked]
        chosen.filter(pk__in=[pattern.pk for pattern in locked]).delete()
    return names


class ForgottenCounts(NamedTuple):
    """Rows deleted along with patterns: runs, learned bindings, fitted models."""

    runs: int
    bindings: int
    models: int


def count_forgotten(pks: Collection[int]) -> ForgottenCounts:
    """Count the rows that `delete_patterns` would delete along with the patterns."""
    called = _called_tools_by_team(
        WorkflowPattern.objects.filter(pk__in=list(pks)).defer("intent")
    )
    scopes = [None] if None in called else list(called)  # shared runs are in every model
    return ForgottenCounts(
        runs=PatternRun.objects.filter(pattern__in=list(pks)).count(),
        bindings=sum(
            binding_uses.load_binding_rows(team, tools).count() for team, tools in called.items()
        ),
        models=sum(fitted_models.filter_models_of_team(team).count() for team in scopes),
    )


def _called_tools_by_team(chosen: Iterable[WorkflowPattern]) -> dict[int | None, set[int]]:
    """Return the existing tools that patterns called, by team."""
    tools: dict[int | None, set[int]] = defaultdict(set)
    for pattern in chosen:
        tools[pattern.team_id].update(pattern.tools)
    return {
        team: set(_map_to_present(called_tools).values()) for team, called_tools in tools.items()
    }


def _map_to_present(tools: Collection[int]) -> dict[int, int]:
    """Map the tools of patterns to existing ones: a tool that returned has a new key."""
    present = {pk: pk for pk in set(tools) - writing.find_missing(tools)}
    missing = set(tools) - present.keys()
    return present | _find_returned_tools(missing) if missing else present


def _find_returned_tools(missing: Collection[int]) -> dict[int, int]:
    """Find returned tools by the canonical ids stored in patterns."""
    names: dict[int, str] = {}
    rows = WorkflowPattern.objects.filter(tools__overlap=list(missing)).values_list(
        "tools", "tasks"
    )
    for tool_pks, tasks in rows.iterator():
        names |= {tool: task["tool"] for tool, task in zip(tool_pks, tasks, strict=True)}
    found = dict(_find_tools_by_name(set(names.values())))
    return {
        tool: found[names[tool]] for tool in names.keys() & set(missing) if names[tool] in found
    }


def _find_tools_by_name(names: Iterable[str]) -> Iterable[tuple[str, int]]:
    id_by_parts = {ids.split_id(name): name for name in names}
    rows = Tool.objects.filter(
        server__name__in={server for server, _ in id_by_parts},
        name__in={tool for _, tool in id_by_parts},
    ).values_list("server__name", "name", "pk")
    return [
        (id_by_parts[server, name], pk)
        for server, name, pk in rows
        if (server, name) in id_by_parts
    ]
