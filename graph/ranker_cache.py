"""Keeps the fitted models of ranking in memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import django.db
import structlog

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer, UnsealingFailed

if TYPE_CHECKING:
    from graph.suggestion.binding.knowledge import BindingKnowledge
    from graph.suggestion.ranking.ranker import Ranker

MAX_TEAMS: Final = 16
"""Teams whose models stay in memory; each takes some 100 MB with 10,000 runs."""
RETRY_S: Final = 5.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class TeamModels:
    """The models in force for the callers of a team.

    Attributes:
        ranker: Fitted to the history that the team sees, or the shipped one.
        knowledge: Where the arguments of its past runs came from.
        digest: Digest of the history that the models were fitted to; empty: none.
    """

    ranker: Ranker
    knowledge: BindingKnowledge
    digest: str = ""


class RankerCache:
    """An LRU cache of the models in force, by team; equal models are shared.

    All methods are for one event loop.

    Args:
        model: The embedding model in use; None: there is none, so nothing can be ranked.
        sealer: Unseals the models and the literals of past runs.
    """

    def __init__(self, model: str | None, *, sealer: Sealer) -> None:
        self._model = model
        self._sealer = sealer
        self._models_by_team: OrderedDict[int | None, TeamModels] = OrderedDict()
        self._loading = asyncio.Lock()
        self._due: set[int | None] = set()
        self._is_any_due = asyncio.Event()

    def find(self, team: int | None) -> TeamModels | None:
        """Return the models in force for a team, if they are in memory."""
        models = self._models_by_team.get(team)
        if models is not None:
            self._models_by_team.move_to_end(team)
        return models

    def find_or_request(self, team: int | None) -> TeamModels | None:
        """Return the models in force for a team; if they are not in memory, `run` loads them."""
        models = self.find(team)
        if models is None and self._model is not None:
            self._mark_due({team})
        return models

    async def load(self, team: int | None) -> TeamModels | None:
        """Return the models in force for a team; reads the database only the first time.

        Returns:
            None if there is no embedding model or the database cannot be reached.
        """
        if self._model is None:
            return None
        async with self._loading:
            if team not in self._models_by_team:
                await self._load_team(team)
        return self.find(team)

    def invalidate(self) -> None:
        """Mark the models as stale: others may have been fitted."""
        self._mark_due(self._models_by_team.keys())

    def _mark_due(self, teams: Collection[int | None]) -> None:
        self._due.update(teams)
        self._is_any_due.set()

    async def run(self) -> None:
        """Load models that were requested or refitted, until cancelled.

        The old ones stay in force meanwhile; after a failure it tries again.
        """
        while True:
            try:
                await self._load_due()
            except Exception:
                log.exception("rankers.task_failed")
                self.invalidate()
                await asyncio.sleep(RETRY_S)

    async def _load_due(self) -> None:
        while True:
            await self._is_any_due.wait()
            self._is_any_due.clear()
            due, self._due = self._due, set()
            for team in due:
                async with self._loading:
                    if not await self._load_team(team):
                        self._mark_due({team})
            if self._is_any_due.is_set():
                await asyncio.sleep(RETRY_S)

    async def _load_team(self, team: int | None) -> bool:
        assert self._model is not None  # noqa: S101 - checked by `load`
        previous = self._models_by_team.get(team)
        try:
            self._models_by_team[team] = await run_in_database_thread(
                _load_team_models,
                team,
                self._model,
                sealer=self._sealer,
                previous=previous,
                by_digest=self._models_by_digest(),
            )
        except django.db.Error as error:
            log.warning("rankers.load_failed", team=team, reason=summarize_error(error))
            return False
        while len(self._models_by_team) > MAX_TEAMS:
            self._models_by_team.popitem(last=False)
        return True

    def _models_by_digest(self) -> dict[str, TeamModels]:
        return {models.digest: models for models in self._models_by_team.values()}


def _load_team_models(
    team: int | None,
    model: str,
    *,
    sealer: Sealer,
    previous: TeamModels | None,
    by_digest: dict[str, TeamModels],
) -> TeamModels:
    """Load the models of a team; models in memory with the same digest are reused."""
    from graph.store import binding_uses, fitted_models  # noqa: PLC0415 - not before first use

    digest = fitted_models.load_digest(team, model)
    knowledge = binding_uses.load_knowledge(team, sealer)
    reusable = (
        previous if previous is not None and previous.digest == digest else by_digest.get(digest)
    )
    if reusable is not None:
        ranker = reusable.ranker
    else:
        ranker, digest = _read_ranker(team, model, sealer)
    return TeamModels(ranker=ranker, knowledge=knowledge, digest=digest)


def _read_ranker(team: int | None, model: str, sealer: Sealer) -> tuple[Ranker, str]:
    from graph.store import fitted_models  # noqa: PLC0415 - with them
    from graph.suggestion.ranking import fit
    from graph.suggestion.ranking.ranker import Ranker

    stored = fitted_models.load_model(team, model)
    if stored is None:
        return fit.prior_ranker(model), ""
    try:
        ranker = Ranker.from_bytes(sealer.unseal_bytes(bytes(stored.content)))
    except (UnsealingFailed, ValueError) as error:  # of another key or version, until refitted
        log.warning("rankers.model_unusable", team=team, reason=str(error))
        ranker = fit.prior_ranker(model)
    return ranker, stored.digest
