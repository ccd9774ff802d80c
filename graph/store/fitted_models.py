"""Stored fitted models, with digests of the history they were or would be fitted to."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from graph.models import FittedModel, PatternEmbedding, WorkflowPattern
from tools.models import Team

CHANGE_NOTICE: Final = "fitted"
"""Notification on the graph channel when a model has changed."""

ModelRow = FittedModel
"""A stored model, or one to be stored."""

# A sum of hashes is independent of order, so rows need no sorting.
_PATTERN_DIGESTS = """
SELECT p.team_id,
       count(*) || '.' || sum(hashtextextended(
           concat_ws(' ', p.id, p.successes, p.failures, e.id), 0))
FROM graph_workflowpattern p
JOIN graph_patternembedding e ON e.pattern_id = p.id AND e.model = %(model)s
WHERE p.successes > 0
GROUP BY p.team_id
"""

# Covers everything that ranking reads about the tools visible to a team.
_TOOL_DIGESTS = """
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


def load_wanted_digests(model: str, *, version: str) -> dict[int | None, str]:
    """Return the digest of the current history of each scope; two queries.

    Scopes are all teams together (None), if there is shared history, and each team with history
    of its own.

    Returns:
        Digests by team; the stored ones if no tool has vectors by the model, since then nothing
        can be fitted.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PATTERN_DIGESTS, {"model": model})
        history: dict[int | None, str] = dict(cursor.fetchall())
        cursor.execute(_TOOL_DIGESTS, {"model": model})
        found = cursor.fetchall()
    if not any(embedded for _, _, embedded in found):
        return load_digests(model)
    tools = {team: digest for team, digest, _ in found}
    shared = (tools.get(None, ""), history.get(None, ""))
    return {
        team: _hash_parts(version, model, *shared, *own)
        for team, own in _pair_digests(tools, history)
    }


def _pair_digests(
    tools: Mapping[int | None, str], history: Mapping[int | None, str]
) -> Iterator[tuple[int | None, tuple[str, str]]]:
    for team, runs in history.items():
        yield team, ("", "") if team is None else (tools.get(team, ""), runs)


def _hash_parts(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def load_digests(model: str) -> dict[int | None, str]:
    """Return the digest of the last history that each scope was, or could not be, fitted to."""
    rows = FittedModel.objects.filter(embedding_model=model)
    found = rows.values_list("team_id", "digest", "refused")
    return {team: refused or digest for team, digest, refused in found}


def load_fit_times(model: str) -> dict[int | None, datetime]:
    """Return when fitting each scope was last tried, by team."""
    rows = FittedModel.objects.filter(embedding_model=model)
    return dict(rows.values_list("team_id", "fitted_at"))


def explain_lacking(model: str) -> str:
    """Return what is missing before anything can be fitted; empty: nothing."""
    if not WorkflowPattern.objects.filter(successes__gt=0).exists():
        return "no successful run is recorded"
    if not PatternEmbedding.objects.filter(model=model, pattern__successes__gt=0).exists():
        return f"no past intent has vectors by {model}: run `manage.py embed`"
    with connection.cursor() as cursor:
        cursor.execute(_TOOL_DIGESTS, {"model": model})
        if not any(embedded for _, _, embedded in cursor.fetchall()):
            return f"no tool has vectors by {model}: run `manage.py embed`"
    return ""


def load_digest(team: int | None, model: str) -> str:
    """Return the digest of the model that serves a team; empty if there is none."""
    rows = _models_serving(team, model).values_list("digest", flat=True)
    return rows.first() or ""


def load_model(team: int | None, model: str) -> ModelRow | None:
    """Return the model that serves a team: its own, or else the shared one."""
    found: ModelRow | None = _models_serving(team, model).first()
    return found


def store_model(fitted: ModelRow, *, at: datetime) -> bool:
    """Replace the model of a scope; return whether it was stored: not if the team was deleted.

    Every process is notified.

    Args:
        fitted: The new one; not stored yet.
        at: When it was fitted.
    """
    values = {
        name: getattr(fitted, name)
        for name in ("content", "digest", "seconds", "peak_memory_mb", "figures")
    }
    reset = {"refused": "", "failure": ""}
    return _store_values(fitted.team_id, fitted.embedding_model, values | reset, at=at)


def record_unfittable(
    team: int | None, *, model: str, digest: str, failure: str, at: datetime
) -> bool:
    """Record that a scope cannot be fitted to its current history; its old model stays in force.

    Returns:
        Whether it was recorded: not if the team was deleted.
    """
    return _store_values(team, model, {"refused": digest, "failure": failure}, at=at)


def _store_values(
    team_pk: int | None, model: str, values: Mapping[str, Any], *, at: datetime
) -> bool:
    created = {"content": b"", "seconds": 0.0, "peak_memory_mb": 0}
    with transaction.atomic():
        team = None
        if team_pk is not None:
            team = Team.with_private.select_for_update(no_key=True).filter(pk=team_pk).first()
            if team is None:
                return False
        updated = {**values, "fitted_at": at}
        FittedModel.objects.update_or_create(
            team=team,
            embedding_model=model,
            defaults=updated,
            create_defaults=created | updated,
        )
    return True


def drop_unused_models(model: str, teams: Collection[int | None]) -> int:
    """Delete the models of scopes that have no history left; return how many."""
    of_teams = Q(team__in=[team for team in teams if team is not None])
    shared = Q(team=None) if None in teams else Q(pk__in=[])
    rows = FittedModel.objects.filter(of_teams | shared, embedding_model=model)
    return rows.delete()[0]


def filter_models_of_team(team: int | None) -> QuerySet[FittedModel]:
    """Return the models fitted to a team's history; None: shared history, so all models."""
    return FittedModel.objects.all() if team is None else FittedModel.objects.filter(team=team)


def _models_serving(team: int | None, model: str) -> Any:
    of_scope = FittedModel.objects.filter(Q(team=team) | Q(team=None), embedding_model=model)
    rows = of_scope.exclude(digest="")  # never fitted
    return rows.order_by("team_id")  # NULL sorts last
