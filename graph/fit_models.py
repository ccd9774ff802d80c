"""Fit what suggestions are ranked and bound by, wherever there are new runs to learn from."""

from __future__ import annotations

import hashlib
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import structlog

from gateway_project.foundation import advisory
from gateway_project.foundation.config import Config
from graph.record_runs import MAX_SAMPLED
from graph.store import fitted, patterns
from graph.store.fitted import Model
from tools.embed import load as embedding
from tools.embed.recipes import UnknownModel

if TYPE_CHECKING:
    from tools.search_index import SearchIndex

LOCK: Final = "fit models"
FITTED_BY: Final = 1
"""Version of what is fitted and how it is stored; another one has all fitted anew."""
PRIORS: Final = ("graph.ranking", "graph.binding")
"""Packages whose `prior.json` models are drawn to; with another one all are fitted anew."""
KILOBYTES: Final = 1_024 if sys.platform == "darwin" else 1
"""What macOS counts in bytes, Linux counts in kilobytes."""

Progress = Callable[[int, int], None]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A model that was fitted and stored.

    Attributes:
        team: Primary key of the team it serves; None: all that have no runs of their own.
        patterns: How many it was fitted to.
        runs: How many runs these stand for.
        seconds: Time it took.
    """

    team: int | None
    patterns: int
    runs: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Made:
    """What came out of a fit.

    Attributes:
        ranker: As it is stored.
        bindings: The model of bindings, likewise.
        figures: How much history it was fitted to: `patterns`, `runs`, `samples`.
    """

    ranker: bytes
    bindings: bytes
    figures: Mapping[str, Any]


Make = Callable[[int | None, "SearchIndex"], Made]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What models are fitted with.

    Attributes:
        model: The embedding model in use.
        max_bytes: Memory that the search index may take.
    """

    model: str
    max_bytes: int


def terms(config: Config) -> Terms | None:
    """Return what the configuration has models fitted with; None: its model is unknown."""
    try:
        model = embedding.embedder_for(config).model
    except UnknownModel:
        return None
    return Terms(model=model, max_bytes=config.search_memory_mb * 1_000_000)


def is_due(given: Terms) -> bool:
    """Say whether any history has changed since models were fitted to it; three cheap queries."""
    return fitted.wanted(given.model, version=version()) != fitted.digests(given.model)


def version() -> str:
    """Return the version of what models are fitted by: rules and priors."""
    files = (resources.files(package) / "prior.json" for package in PRIORS)
    told = [file.read_bytes() if file.is_file() else b"" for file in files]
    return f"{FITTED_BY}.{hashlib.sha256(bytes(1).join(told)).hexdigest()}"


def fit_due(
    given: Terms,
    *,
    now: datetime,
    force: bool = False,
    wait_s: float = 0.0,
    make: Make | None = None,
    on_progress: Progress = lambda _done, _all: None,
) -> list[Fitted] | None:
    """Fit and store a model for everybody, and for each team with runs of its own, where due.

    Each is stored by one statement, so that a process that is killed leaves the old one.

    Args:
        given: What they are fitted with.
        now: Noted with each.
        force: Fit also where nothing has changed.
        wait_s: How long to wait for another process that is at it.
        make: Fits one scope; None: as the product does.
        on_progress: Told how many scopes are done, and of how many.

    Returns:
        What was fitted; None: another process is at it.
    """
    with advisory.claimed(LOCK, wait_s=wait_s) as is_ours:
        if not is_ours:
            return None
        wanted = fitted.wanted(given.model, version=version())
        known = fitted.digests(given.model)
        fitted.drop(given.model, known.keys() - wanted.keys())
        due = [team for team in wanted if force or known.get(team) != wanted[team]]
        if not due or (index := _index(given)) is None:
            return []
        done = []
        on_progress(0, len(due))
        for place, team in enumerate(sorted(due, key=lambda team: team or 0), start=1):
            one = _fit(team, index, make=make or made, digest=wanted[team], now=now)
            done += [one] if one is not None else []
            on_progress(place, len(due))
        patterns.drop_old_samples(keep=MAX_SAMPLED)
    return done


def made(team: int | None, index: SearchIndex) -> Made:
    """Fit what suggestions for a team go by to all that its callers learn from."""
    from graph.binding import model as binding  # noqa: PLC0415 - heavy
    from graph.ranking import fit as ranking  # noqa: PLC0415 - heavy
    from graph.ranking.tool_view import ToolView  # noqa: PLC0415 - heavy

    history = patterns.history(team, index.model)
    ranker = ranking.fit(history, ToolView.of(index, team=team))
    samples = patterns.samples(team, limit=MAX_SAMPLED)
    bindings = binding.fit_binding(samples, prior=binding.shipped())
    return Made(
        ranker=ranker.to_bytes(),
        bindings=bindings.to_bytes(),
        figures={
            "patterns": len(history),
            "runs": sum(one.successes + one.failures for one in history),
            "samples": len(samples),
        },
    )


def _fit(
    team: int | None, index: SearchIndex, *, make: Make, digest: str, now: datetime
) -> Fitted | None:
    started = time.perf_counter()
    one = make(team, index)
    seconds = time.perf_counter() - started
    row = Model(
        team=team,
        digest=digest,
        content=one.ranker,
        bindings=one.bindings,
        seconds=seconds,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // KILOBYTES // 1_000,
        figures=one.figures,
    )
    if not fitted.store(row, model=index.model, at=now):
        return None  # the team was deleted meanwhile
    log.info("graph.fitted", team=team, seconds=round(seconds, 3), **one.figures)
    return Fitted(
        team=team,
        patterns=one.figures["patterns"],
        runs=one.figures["runs"],
        seconds=seconds,
    )


def _index(given: Terms) -> SearchIndex | None:
    from tools.store import search_index  # noqa: PLC0415 - heavy

    index = search_index.refresh(None, model=given.model, max_bytes=given.max_bytes)
    if index is None:
        log.warning("graph.not_fitted", reason="the catalogue does not fit the search memory")
    return index
