"""Stored episodes that wait to be learned from; each is deleted in the transaction that does."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.sealing import Sealer
from graph.store import writing
from learning.episodes import Episode, OwnedEpisode
from learning.models import UnlearnedEpisode
from tools.models import Team

_SELECT_WAITING = """
SELECT id FROM learning_unlearnedepisode
WHERE stored_at <= statement_timestamp() - make_interval(secs => %s) AND weight IS NOT NULL
ORDER BY stored_at, id
LIMIT %s
"""


def insert_episodes(
    found: Mapping[UUID, OwnedEpisode], *, sealer: Sealer, weight: float | None = 1.0
) -> None:
    """Store episodes by id, all or none; known ids, and those of deleted teams, are dropped.

    So are episodes with numbers that are too long for JSON.

    Args:
        found: The episodes.
        sealer: Seals them.
        weight: How much they teach, in (0, 1]; None: not before `release_episode`.
    """
    rows = {
        pk: UnlearnedEpisode(
            id=pk,
            team_id=owned.contributor.owner,
            person=owned.contributor.person,
            content=sealer.seal_bytes(content),
            weight=weight,
        )
        for pk, owned in found.items()
        if (content := _encode(owned.episode)) is not None
    }

    def write() -> None:
        with transaction.atomic():
            wanted = {row.team_id for row in rows.values() if row.team_id is not None}
            teams = set(Team.with_private.filter(pk__in=wanted).values_list("pk", flat=True))
            present = [row for row in rows.values() if row.team_id in {None, *teams}]
            UnlearnedEpisode.objects.bulk_create(present, ignore_conflicts=True)

    writing.retry_on_conflict(write)


def _encode(episode: Episode) -> bytes | None:
    try:
        return json.dumps(episode.to_json()).encode()
    except ValueError:  # an integer of more digits than Python converts
        return None


def load_waiting(*, settled_s: float, limit: int) -> Sequence[UUID]:
    """Return the ids of stored episodes, oldest first.

    Args:
        settled_s: Minimum seconds since they were stored; the process that did comes first.
        limit: Maximum count.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_WAITING, [settled_s, limit])
        return [pk for (pk,) in cursor.fetchall()]


def release_episode(pk: UUID, *, weight: float, at: datetime) -> None:
    """Let an episode that waits for an outcome teach from a time on."""
    UnlearnedEpisode.objects.filter(pk=pk, weight=None).update(weight=weight, stored_at=at)


def drop_held(pks: Collection[UUID]) -> None:
    """Delete those of these episodes that wait for an outcome."""
    if pks:
        UnlearnedEpisode.objects.filter(pk__in=pks, weight=None).delete()


def load_episode(pk: UUID, *, sealer: Sealer) -> OwnedEpisode | None:
    """Return a stored episode, its certainty weighted; None if it is gone, or waits.

    Raises:
        UnsealingFailed: If no key opens it.
    """
    rows = UnlearnedEpisode.objects.filter(pk=pk)
    row = rows.values_list("content", "team_id", "person", "weight").first()
    if row is None:
        return None
    content, owner, person, weight = row
    if weight is None:
        return None
    episode = Episode.from_json(json.loads(sealer.unseal_bytes(bytes(content))))
    weighted = replace(episode, certainty=weight * episode.certainty)
    return OwnedEpisode(weighted, Contributor(owner, person))


def delete_episode(pk: UUID) -> bool:
    """Delete a stored episode; return whether it existed.

    Concurrent calls wait for the end of this transaction.
    """
    return bool(UnlearnedEpisode.objects.filter(pk=pk).delete()[0])
