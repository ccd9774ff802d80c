"""Stored models, what they were fitted to, and what they would be fitted to now."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from graph.models import FittedModel, PatternEmbedding, WorkflowPattern
from tools.models import Team

NOTICE: Final = "fitted"
"""What every process is told on the channel of the graph when any model has changed."""

# Lines in any order: a sum of hashes needs no sorting.
_PATTERNS = """
SELECT p.team_id,
       count(*) || '.' || sum(hashtextextended(
           concat_ws(' ', p.id, p.successes, p.failures, e.id), 0))
FROM graph_workflowpattern p
JOIN graph_patternembedding e ON e.pattern_id = p.id AND e.model = %(model)s
WHERE p.successes > 0
GROUP BY p.team_id
"""

# Of all that ranking reads of the tools that callers of a team see.
_TOOLS = """
SELECT s.team_id,
       count(*) || '.' || sum(hashtextextended(
           concat(t.id, ' ', s.id, ' ', e.id, ' ', x.content_hash), 0)),
       count(e.id)
FROM tools_tool t
JOIN tools_server s ON s.id = t.server_id AND s.enabled
LEFT JOIN tools_tooltext x ON x.tool_id = t.id
LEFT JOIN tools_toolembedding e ON e.tool_id = t.id AND e.model = %(model)s
WHERE t.state = 'active' AND t.enabled
GROUP BY s.team_id
"""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A stored model.

    Attributes:
        team: Whom it serves; None: all without runs of their own.
        digest: Of the history it was fitted to.
        content: The ranker, sealed.
        bindings: The model of bindings; may be empty.
        seconds: Time it took to fit.
        peak_memory_mb: Of the process that fitted it.
        figures: How much history it was fitted to.
    """

    team: int | None
    digest: str
    content: bytes
    bindings: bytes
    seconds: float = 0.0
    peak_memory_mb: int = 0
    figures: Mapping[str, Any]


def wanted(model: str, *, version: str) -> dict[int | None, str]:
    """Return a digest of what each scope's model would be fitted to now; two queries.

    Scopes are everybody, where there is shared history, and each team with history of its own.

    Args:
        model: The embedding model.
        version: Of the rules and priors that models are fitted by.

    Returns:
        By team. Where no tool has vectors by the model, what is stored, as nothing can be fitted.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PATTERNS, {"model": model})
        history: dict[int | None, str] = dict(cursor.fetchall())
        cursor.execute(_TOOLS, {"model": model})
        found = cursor.fetchall()
    if not any(embedded for _, _, embedded in found):
        return digests(model)
    tools = {team: told for team, told, _ in found}
    everybodys = (tools.get(None, ""), history.get(None, ""))
    return {
        team: _digest(version, model, *everybodys, *own) for team, own in _owned(tools, history)
    }


def _owned(
    tools: Mapping[int | None, str], history: Mapping[int | None, str]
) -> Iterator[tuple[int | None, tuple[str, str]]]:
    for team, runs in history.items():
        yield team, ("", "") if team is None else (tools.get(team, ""), runs)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def digests(model: str) -> dict[int | None, str]:
    """Return the digest of what each model was fitted to, or could not be, last; by team."""
    rows = FittedModel.objects.filter(embedding_model=model)
    found = rows.values_list("team_id", "digest", "refused")
    return {team: refused or digest for team, digest, refused in found}


def fitted_at(model: str) -> dict[int | None, datetime]:
    """Return when each scope was last fitted, or could not be; by team."""
    rows = FittedModel.objects.filter(embedding_model=model)
    return dict(rows.values_list("team_id", "fitted_at"))


def lacking(model: str) -> str:
    """Say what is missing for anything to be fitted; empty: nothing is."""
    if not WorkflowPattern.objects.filter(successes__gt=0).exists():
        return "no run that succeeded is recorded"
    if not PatternEmbedding.objects.filter(model=model, pattern__successes__gt=0).exists():
        return f"no past intent has vectors by {model}: run `manage.py embed`"
    with connection.cursor() as cursor:
        cursor.execute(_TOOLS, {"model": model})
        if not any(embedded for _, _, embedded in cursor.fetchall()):
            return f"no tool has vectors by {model}: run `manage.py embed`"
    return ""


def digest(team: int | None, model: str) -> str:
    """Return the digest of the model that serves a team; empty if there is none."""
    rows = _serving(team, model).values_list("digest", flat=True)
    return rows.first() or ""


def load(team: int | None, model: str) -> Model | None:
    """Return the model that serves a team: its own, else everybody's."""
    row = _serving(team, model).first()
    if row is None:
        return None
    return Model(
        team=row.team_id,
        digest=row.digest,
        content=bytes(row.content),
        bindings=bytes(row.bindings),
        seconds=row.seconds,
        peak_memory_mb=row.peak_memory_mb,
        figures=row.figures,
    )


def store(fitted: Model, *, model: str, at: datetime) -> bool:
    """Put a model in the place of the one that served its scope; return whether it was.

    Every process is told. It is not stored where its team is gone.
    """
    values = {
        "content": fitted.content,
        "bindings": fitted.bindings,
        "digest": fitted.digest,
        "seconds": fitted.seconds,
        "peak_memory_mb": fitted.peak_memory_mb,
        "figures": dict(fitted.figures),
        "refused": "",
        "failure": "",
    }
    return _put(fitted.team, model, values, at=at)


def refuse(team: int | None, *, model: str, digest: str, failure: str, at: datetime) -> bool:
    """Note that a scope cannot be fitted to what it is now; what serves it goes on.

    Args:
        team: Primary key; None: everybody.
        model: The embedding model.
        digest: Of what it was to be fitted to.
        failure: Why it cannot be.
        at: When.

    Returns:
        Whether it was noted; not where the team is gone.
    """
    return _put(team, model, {"refused": digest, "failure": failure}, at=at)


def _put(of_team: int | None, model: str, values: Mapping[str, Any], *, at: datetime) -> bool:
    made = {"content": b"", "seconds": 0.0, "peak_memory_mb": 0}
    with transaction.atomic():
        team = None
        if of_team is not None:
            team = Team.objects.select_for_update(no_key=True).filter(pk=of_team).first()
            if team is None:
                return False
        changed = {**values, "fitted_at": at}
        FittedModel.objects.update_or_create(
            team=team,
            embedding_model=model,
            defaults=changed,
            create_defaults=made | changed,
        )
    return True


def drop(model: str, teams: Collection[int | None]) -> int:
    """Delete the models of scopes that have no history any more; return how many."""
    of_teams = Q(team__in=[team for team in teams if team is not None])
    shared = Q(team=None) if None in teams else Q(pk__in=[])
    rows = FittedModel.objects.filter(of_teams | shared, embedding_model=model)
    return rows.delete()[0]


def learned_from(team: int | None) -> QuerySet[FittedModel]:
    """Return the models that were fitted to a team's history; None: to everybody's, so all."""
    return FittedModel.objects.all() if team is None else FittedModel.objects.filter(team=team)


def _serving(team: int | None, model: str) -> Any:
    of_scope = FittedModel.objects.filter(Q(team=team) | Q(team=None), embedding_model=model)
    rows = of_scope.exclude(digest="")  # never fitted
    return rows.order_by("team_id")  # none comes last
