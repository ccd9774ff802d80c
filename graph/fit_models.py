"""Fit what suggestions are ranked and bound by, wherever there are new runs to learn from."""

from __future__ import annotations

import hashlib
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import structlog

from gateway_project.foundation import advisory, sealing, time_limit
from gateway_project.foundation.config import Config
from gateway_project.foundation.reasons import first_line
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.time_limit import OutOfTime
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
FEATURES: Final = "f28fb3864f623c14"
"""SHA-256, its beginning, of the ranker's format and the names of all features: with others all is
fitted anew. It stands here as a constant since what reads the names takes numpy into the gateway;
a test compares it."""
PRIORS: Final = ("graph.ranking", "graph.binding")
"""Packages whose `prior.json` models are drawn to; with another one all are fitted anew."""
SCOPE_S: Final = 240.0
"""A scope that takes longer is left as it is, so that it holds up no other."""
IN_BACKGROUND_S: Final = 600.0
"""After that no other scope is begun in the background; the rest comes first the next time."""
KILOBYTES: Final = 1_024 if sys.platform == "darwin" else 1
"""What macOS counts in bytes, Linux counts in kilobytes."""

TOO_LARGE: Final = (
    "the catalogue takes more memory than FOREGATE_SEARCH_MEMORY_MB allows; set it higher"
)

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
class Failed:
    """A scope that could not be fitted; what served it goes on.

    Attributes:
        team: As above.
        reason: Why.
    """

    team: int | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was done.

    Attributes:
        fitted: Scopes that were fitted.
        failed: Scopes that could not be; not tried again until their history changes.
        lacking: What is missing for anything to be fitted; empty: nothing is.
    """

    fitted: Sequence[Fitted] = ()
    failed: Sequence[Failed] = ()
    lacking: str = ""


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
        sealer: Opens the history, and seals what is fitted to it.
    """

    model: str
    max_bytes: int
    sealer: Sealer


def terms(config: Config) -> Terms | None:
    """Return what the configuration has models fitted with; None: its model is unknown."""
    try:
        model = embedding.embedder_for(config).model
    except UnknownModel:
        return None
    return Terms(
        model=model,
        max_bytes=config.search_memory_mb * 1_000_000,
        sealer=sealing.load_or_create(config.home),
    )


def is_due(given: Terms) -> bool:
    """Say whether any history has changed since models were fitted to it; three cheap queries."""
    wanted = fitted.wanted(given.model, version=version(given.sealer))
    return wanted != fitted.digests(given.model)


def version(sealer: Sealer) -> str:
    """Return the version of what models are fitted by: rules, priors, and the key of history."""
    files = (resources.files(package) / "prior.json" for package in PRIORS)
    told = [file.read_bytes() if file.is_file() else b"" for file in files]
    priors = hashlib.sha256(bytes(1).join(told)).hexdigest()
    return f"{FITTED_BY}.{FEATURES}.{priors}.{sealer.digest('fitted models')}"


def fit_due(  # noqa: PLR0913 - each is a choice of the caller
    given: Terms,
    *,
    now: datetime,
    force: bool = False,
    wait_s: float = 0.0,
    stop_s: float | None = None,
    make: Make | None = None,
    on_progress: Progress = lambda _done, _all: None,
) -> Outcome | None:
    """Fit and store a model for everybody, and for each team with runs of its own, where due.

    Each is stored by one statement, so that a process that is killed leaves the old one. What was
    fitted longest ago comes first; what cannot be fitted is passed over.

    Args:
        given: What they are fitted with.
        now: Noted with each.
        force: Fit also where nothing has changed.
        wait_s: How long to wait for another process that is at it.
        stop_s: No other scope is begun after so long; None: all are done.
        make: Fits one scope; None: as the product does.
        on_progress: Told how many scopes are done, and of how many.

    Returns:
        What was done; None: another process is at it.
    """
    with advisory.claimed(LOCK, wait_s=wait_s) as is_ours:
        if not is_ours:
            return None
        wanted = fitted.wanted(given.model, version=version(given.sealer))
        known = fitted.digests(given.model)
        fitted.drop(given.model, known.keys() - wanted.keys())
        due = {team: told for team, told in wanted.items() if force or known.get(team) != told}
        if lacking := fitted.lacking(given.model):
            return Outcome(lacking=lacking)
        if not due:
            return Outcome()
        if (index := _index(given)) is None:
            return Outcome(lacking=TOO_LARGE)
        work = _Work(
            index=index,
            make=make or partial(made, sealer=given.sealer),
            sealer=given.sealer,
            now=now,
        )
        done = _fit_all(due, work, stop_s=stop_s, on_progress=on_progress)
        patterns.drop_old_samples(keep=MAX_SAMPLED)
    return done


@dataclass(frozen=True, kw_only=True, eq=False)
class _Work:
    """What all scopes are fitted with."""

    index: SearchIndex
    make: Make
    sealer: Sealer
    now: datetime


def _fit_all(
    due: Mapping[int | None, str], work: _Work, *, stop_s: float | None, on_progress: Progress
) -> Outcome:
    """Fit scopes, given with their digests, the one that was fitted longest ago first."""
    last = fitted.fitted_at(work.index.model)
    first = datetime.min.replace(tzinfo=UTC)
    order = sorted(due, key=lambda team: (last.get(team, first), team or 0))
    done: list[Fitted] = []
    failed: list[Failed] = []
    started = time.monotonic()
    on_progress(0, len(order))
    for place, team in enumerate(order, start=1):
        if stop_s is not None and time.monotonic() - started > stop_s:
            break
        try:
            one = _fit(team, work, digest=due[team])
        except (ValueError, ArithmeticError, OutOfTime) as error:
            failed.append(_refused(team, work, digest=due[team], error=error))
        else:
            done += [one] if one is not None else []
        on_progress(place, len(order))
    return Outcome(fitted=done, failed=failed)


def _refused(team: int | None, work: _Work, *, digest: str, error: Exception) -> Failed:
    """Note that a scope cannot be fitted; numpy's errors of linear algebra are ValueErrors."""
    reason = first_line(error)
    log.warning("graph.scope_not_fitted", team=team, reason=reason)
    fitted.refuse(team, model=work.index.model, digest=digest, failure=reason, at=work.now)
    return Failed(team=team, reason=reason)


def made(team: int | None, index: SearchIndex, *, sealer: Sealer) -> Made:
    """Fit what suggestions for a team go by to all that its callers learn from.

    Raises:
        ValueError: If it cannot be fitted, or what comes out are no finite numbers.
    """
    from graph.binding import model as binding  # noqa: PLC0415 - heavy
    from graph.ranking import fit as ranking  # noqa: PLC0415 - heavy
    from graph.ranking.tool_view import ToolView  # noqa: PLC0415 - heavy

    history = patterns.history(team, index.model, sealer=sealer, dimensions=index.vectors.shape[1])
    ranker = ranking.fit(history, ToolView.of(index, team=team))
    samples = patterns.samples(team, limit=MAX_SAMPLED)
    bindings = binding.fit_binding(samples, prior=binding.shipped())
    _check_finite(
        ranker.tool_model, ranker.set_model, ranker.order_model, ranker.calibrator, bindings
    )
    return Made(
        ranker=ranker.to_bytes(),
        bindings=bindings.to_bytes(),
        figures={
            "patterns": len(history),
            "runs": sum(one.successes + one.failures for one in history),
            "samples": len(samples),
        },
    )


def _check_finite(*models: Any) -> None:
    import numpy as np  # noqa: PLC0415 - heavy

    for one in models:
        for part in fields(one):
            value = getattr(one, part.name)
            if isinstance(value, float | np.ndarray) and not np.isfinite(value).all():
                raise ValueError(f"the {part.name} of its {type(one).__name__} are not finite")


def _fit(team: int | None, work: _Work, *, digest: str) -> Fitted | None:
    started = time.perf_counter()
    with time_limit.limited(SCOPE_S):
        one = work.make(team, work.index)
    seconds = time.perf_counter() - started
    row = Model(
        team=team,
        digest=digest,
        content=work.sealer.seal_bytes(one.ranker),
        bindings=one.bindings,
        seconds=seconds,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // KILOBYTES // 1_000,
        figures=one.figures,
    )
    if not fitted.store(row, model=work.index.model, at=work.now):
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
        log.warning("graph.not_fitted", reason=TOO_LARGE)
    return index
