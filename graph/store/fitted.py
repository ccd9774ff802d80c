"""Stored models, what they were fitted to, and what they would be fitted to now."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Q

from graph.models import FittedModel
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

_TOOLS = """
SELECT count(*) || '.' || coalesce(max(t.id), 0), count(*)
FROM tools_tool t
WHERE t.state <> 'removed'
  AND EXISTS (SELECT FROM tools_toolembedding WHERE tool_id = t.id AND model = %(model)s)
"""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A stored model.

    Attributes:
        team: Whom it serves; None: all without runs of their own.
        digest: Of the history it was fitted to.
        content: The ranker.
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
        tools, count = cursor.fetchone()
    if not count:
        return digests(model)
    shared = history.get(None, "")
    return {
        team: _digest(version, model, tools, shared, "" if team is None else own)
        for team, own in history.items()
    }


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def digests(model: str) -> dict[int | None, str]:
    """Return the digest of the history that each stored model was fitted to, by team."""
    return dict(FittedModel.objects.filter(embedding_model=model).values_list("team_id", "digest"))


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
        "fitted_at": at,
        "seconds": fitted.seconds,
        "peak_memory_mb": fitted.peak_memory_mb,
        "figures": dict(fitted.figures),
    }
    with transaction.atomic():
        team = None
        if fitted.team is not None:
            team = Team.objects.select_for_update(no_key=True).filter(pk=fitted.team).first()
            if team is None:
                return False
        FittedModel.objects.update_or_create(team=team, embedding_model=model, defaults=values)
    return True


def drop(model: str, teams: Collection[int | None]) -> int:
    """Delete the models of scopes that have no history any more; return how many."""
    of_teams = Q(team__in=[team for team in teams if team is not None])
    shared = Q(team=None) if None in teams else Q(pk__in=[])
    rows = FittedModel.objects.filter(of_teams | shared, embedding_model=model)
    return rows.delete()[0]


def _serving(team: int | None, model: str) -> Any:
    rows = FittedModel.objects.filter(Q(team=team) | Q(team=None), embedding_model=model)
    return rows.order_by("team_id")  # none comes last
