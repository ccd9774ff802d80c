"""Keeps what suggestions are ranked and bound by in memory, as it was last fitted."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import django.db
import structlog

from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from gateway_project.foundation.sealing import SealBroken, Sealer

if TYPE_CHECKING:
    from graph.binding.learned import Knowledge
    from graph.binding.model import BindingModel
    from graph.ranking.ranker import Ranker

MAX_TEAMS: Final = 16
"""Teams whose models stay in memory; with 10,000 runs each takes some hundred megabytes."""
RETRY_S: Final = 5.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class Kept:
    """What suggestions for callers of a team go by.

    Attributes:
        ranker: Fitted to what the team sees of the history, or as shipped.
        binding: Likewise.
        knowledge: Where the arguments of its past runs came from.
        digest: Of the history that it was fitted to; empty: none.
    """

    ranker: Ranker
    binding: BindingModel
    knowledge: Knowledge
    digest: str = ""


class KeptRankers:
    """The models in force, one for each team that was asked for; the rest share everybody's.

    All methods are for one event loop.

    Args:
        model: The embedding model in use; None: there is none, and nothing to rank by.
        sealer: Opens the literals that past runs share.
    """

    def __init__(self, model: str | None, *, sealer: Sealer) -> None:
        self._model = model
        self._sealer = sealer
        self._kept: OrderedDict[int | None, Kept] = OrderedDict()
        self._loading = asyncio.Lock()
        self._outdated = asyncio.Event()

    async def get(self, team: int | None) -> Kept | None:
        """Return what a team's suggestions go by: at once, but for its first time.

        Returns:
            None where there is nothing to go by: no model, or the database is away.
        """
        if self._model is None:
            return None
        if team not in self._kept:
            async with self._loading:
                if team not in self._kept:
                    await self._load(team)
        kept = self._kept.get(team)
        if kept is not None:
            self._kept.move_to_end(team)
        return kept

    def outdate(self) -> None:
        """Take note that other models may have been fitted."""
        self._outdated.set()

    async def run(self) -> None:
        """Load anew what was fitted anew, until cancelled; the old serves meanwhile.

        Where it fails, the old serves on and it begins again.
        """
        while True:
            try:
                await self._renew()
            except Exception:
                log.exception("rankers.task_failed")
                self._outdated.set()
                await asyncio.sleep(RETRY_S)

    async def _renew(self) -> None:
        while True:
            await self._outdated.wait()
            self._outdated.clear()
            for team in list(self._kept):
                async with self._loading:
                    if team in self._kept and not await self._load(team):
                        self._outdated.set()
            if self._outdated.is_set():
                await asyncio.sleep(RETRY_S)

    async def _load(self, team: int | None) -> bool:
        """Load what serves a team now; what cannot be read leaves the old in force."""
        assert self._model is not None  # noqa: S101 - `get` has seen to it
        known = self._kept.get(team)
        try:
            self._kept[team] = await in_database(
                _load, team, self._model, sealer=self._sealer, known=known, others=self._shared()
            )
        except django.db.Error as error:
            log.warning("rankers.not_read", team=team, reason=first_line(error))
            return False
        while len(self._kept) > MAX_TEAMS:
            self._kept.popitem(last=False)
        return True

    def _shared(self) -> dict[str, Kept]:
        return {kept.digest: kept for kept in self._kept.values()}


def _load(
    team: int | None,
    model: str,
    *,
    sealer: Sealer,
    known: Kept | None,
    others: dict[str, Kept],
) -> Kept:
    """Read what serves a team now; what is in memory already is not read again."""
    from graph.store import fitted, learned  # noqa: PLC0415 - not before it is asked for

    digest = fitted.digest(team, model)
    knowledge = learned.knowledge(team, sealer)
    same = known if known is not None and known.digest == digest else others.get(digest)
    if same is not None:
        ranker, binding = same.ranker, same.binding
    else:
        ranker, binding, digest = _read(team, model, sealer)
    return Kept(ranker=ranker, binding=binding, knowledge=knowledge, digest=digest)


def _read(team: int | None, model: str, sealer: Sealer) -> tuple[Ranker, BindingModel, str]:
    """Read the stored models of a team; without any that can be read, take what is shipped."""
    from graph.binding.model import BindingModel, shipped  # noqa: PLC0415 - heavy
    from graph.ranking import fit  # noqa: PLC0415 - heavy
    from graph.ranking.ranker import Ranker  # noqa: PLC0415 - heavy
    from graph.store import fitted  # noqa: PLC0415 - with them

    stored = fitted.load(team, model)
    if stored is None:
        return fit.of_prior(model), shipped(), ""
    try:
        ranker = Ranker.from_bytes(sealer.open_bytes(stored.content))
    except (SealBroken, ValueError) as error:  # of another key or version, until fitted anew
        log.warning("rankers.not_usable", team=team, reason=str(error))
        ranker = fit.of_prior(model)
    try:
        binding = BindingModel.from_bytes(stored.bindings)
    except ValueError as error:
        log.warning("rankers.not_usable", team=team, reason=str(error))
        binding = shipped()
    return ranker, binding, stored.digest
