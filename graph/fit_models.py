"""Fit the models of ranking for scopes with new history."""

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
from gateway_project.foundation.embedding_models import UnknownModel
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.time_limit import TimeLimitExceeded
from graph.store import fitted_models, patterns
from graph.store.fitted_models import ModelRow
from tools.embed import load as embedding

if TYPE_CHECKING:
    from tools.search_index import SearchIndex

LOCK_NAME: Final = "fit models"
FIT_VERSION: Final = 5
"""Version of what is fitted and how it is stored; a change refits everything."""
FEATURES_DIGEST: Final = "5cc1d1701e70d2ed"
"""Beginning of the SHA-256 of the ranker's format and all feature names; a change refits
everything. A constant, checked by a test, because computing it would load numpy into the
gateway."""
PRIOR_PACKAGE: Final = "graph.suggestion.ranking"
"""Packages with the `prior.json` that models shrink towards; a change refits everything."""
SCOPE_TIMEOUT_S: Final = 240.0
"""Time limit for fitting one scope, so that it cannot block the others."""
BACKGROUND_TIMEOUT_S: Final = 600.0
"""Time after which the background starts no further scope; the rest come first next time."""
RSS_UNITS_PER_KB: Final = 1_024 if sys.platform == "darwin" else 1
"""Units of `ru_maxrss` per kB: macOS reports bytes, Linux kilobytes."""

TOO_LARGE_MESSAGE: Final = (
    "the catalogue takes more memory than FOREGATE_SEARCH_MEMORY_MB allows; set it higher"
)

ProgressCallback = Callable[[int, int], None]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class FailedFit:
    """A scope that could not be fitted; its old model stays in force.

    Attributes:
        team: Primary key of the team; None: all teams without runs of their own.
        reason: Why.
    """

    team: int | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class FitOutcome:
    """The outcome of fitting.

    Attributes:
        fitted: Scopes that were fitted.
        failed: Scopes that could not be; they are not retried until their history changes.
        missing_reason: What is missing before anything can be fitted; empty: nothing.
    """

    fitted: Sequence[ModelRow] = ()
    failed: Sequence[FailedFit] = ()
    missing_reason: str = ""


FitScope = Callable[[int | None, "SearchIndex"], tuple[bytes, Mapping[str, Any]]]
"""Returns the serialised ranker of a team, and the sizes of the history it was fitted to."""


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings for fitting models."""

    embedding_model: str
    max_bytes: int
    sealer: Sealer


def load_settings(config: Config) -> FitSettings | None:
    """Return the configured settings; None: the embedding model is unknown."""
    try:
        model = embedding.make_embedder(config).model
    except UnknownModel:
        return None
    return FitSettings(
        embedding_model=model,
        max_bytes=config.search_memory_mb * 1_000_000,
        sealer=sealing.load_or_create_sealer(config.home),
    )


def is_due(settings: FitSettings) -> bool:
    """Return whether any history has changed since the last fit; three cheap queries."""
    wanted = fitted_models.load_wanted_digests(
        settings.embedding_model, version=models_version(settings.sealer)
    )
    return wanted != fitted_models.load_digests(settings.embedding_model)


def models_version(sealer: Sealer) -> str:
    """Return the version of everything else that fits depend on: rules, priors, sealing key."""
    file = resources.files(PRIOR_PACKAGE) / "prior.json"
    prior = hashlib.sha256(file.read_bytes() if file.is_file() else b"").hexdigest()
    return f"{FIT_VERSION}.{FEATURES_DIGEST}.{prior}.{sealer.digest('fitted models')}"


def fit_due_scopes(
    settings: FitSettings,
    *,
    now: datetime,
    wait_s: float = 0.0,
    stop_s: float | None = None,
    fit_scope: FitScope | None = None,
    on_progress: ProgressCallback = lambda _done, _all: None,
) -> FitOutcome | None:
    """Fit and store the models of the shared scope and of each team with runs, where due.

    Each is stored by one statement, so a killed process leaves the old one. The scope fitted
    longest ago comes first; scopes that cannot be fitted are skipped.

    Args:
        settings: Settings for fitting.
        now: Recorded as the time of each fit.
        wait_s: How long to wait for another process to finish fitting.
        stop_s: Start no further scope after this time; None: fit all.
        fit_scope: Fits one scope; None: `fit_team`.
        on_progress: Called with the number of scopes done and their total.

    Returns:
        The outcome; None: another process is fitting.
    """
    with advisory.try_lock(LOCK_NAME, wait_s=wait_s) as is_ours:
        if not is_ours:
            return None
        wanted = fitted_models.load_wanted_digests(
            settings.embedding_model, version=models_version(settings.sealer)
        )
        stored = fitted_models.load_digests(settings.embedding_model)
        fitted_models.drop_unused_models(settings.embedding_model, stored.keys() - wanted.keys())
        due = dict(wanted.items() - stored.items())
        missing_reason = fitted_models.explain_lacking(settings.embedding_model)
        if missing_reason or not due:
            return FitOutcome(missing_reason=missing_reason)
        if (index := _load_index(settings)) is None:
            return FitOutcome(missing_reason=TOO_LARGE_MESSAGE)
        fit = fit_scope or partial(fit_team, sealer=settings.sealer)
        last_fits = fitted_models.load_fit_times(index.model)
        never = datetime.min.replace(tzinfo=UTC)
        fitted: list[ModelRow] = []
        failed: list[FailedFit] = []
        started = time.monotonic()
        on_progress(0, len(due))
        oldest_first = sorted(due, key=lambda team: (last_fits.get(team, never), team or 0))
        for number, team in enumerate(oldest_first, start=1):
            if stop_s is not None and time.monotonic() - started > stop_s:
                break
            model = _fit_scope(team, index, fit, digest=due[team], sealer=settings.sealer)
            if isinstance(model, FailedFit):
                fitted_models.record_unfittable(
                    team, model=index.model, digest=due[team], failure=model.reason, at=now
                )
                failed.append(model)
            elif fitted_models.store_model(model, at=now):  # its team is there
                fitted.append(model)
            on_progress(number, len(due))
    return FitOutcome(fitted=fitted, failed=failed)


def fit_team(
    team: int | None, index: SearchIndex, *, sealer: Sealer
) -> tuple[bytes, Mapping[str, Any]]:
    """Fit the models of a team to all history that it sees; see `FitScope`.

    Raises:
        ValueError: If they cannot be fitted, or their parameters are not finite; numpy's
            `LinAlgError` is one.
    """
    from graph.suggestion.ranking import fit as ranking
    from graph.suggestion.ranking.tool_view import ToolView

    history = patterns.load_history(
        team, index.model, sealer=sealer, dimensions=index.vectors.shape[1]
    )
    ranker = ranking.fit_ranker(history, ToolView.for_team(index, team=team))
    _require_finite(ranker.tool_model, ranker.set_model, ranker.order_model, ranker.calibrator)
    runs = sum(past.successes + past.failures for past in history)
    return ranker.to_bytes(), {"patterns": len(history), "runs": runs}


def _require_finite(*models: Any) -> None:
    import numpy as np

    for model in models:
        for field in fields(model):
            value = getattr(model, field.name)
            if isinstance(value, float | np.ndarray) and not np.isfinite(value).all():
                raise ValueError(f"the {field.name} of its {type(model).__name__} are not finite")


def _fit_scope(
    team: int | None, index: SearchIndex, fit: FitScope, *, digest: str, sealer: Sealer
) -> ModelRow | FailedFit:
    started = time.perf_counter()
    try:
        with time_limit.limit_time(SCOPE_TIMEOUT_S):
            ranker, figures = fit(team, index)
    except (ValueError, ArithmeticError, TimeLimitExceeded) as error:
        reason = summarize_error(error)
        log.warning("models.scope_fit_failed", team=team, reason=reason)
        return FailedFit(team=team, reason=reason)
    seconds = time.perf_counter() - started
    log.info("models.fitted", team=team, seconds=round(seconds, 3), **figures)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return ModelRow(
        team_id=team,
        embedding_model=index.model,
        digest=digest,
        content=sealer.seal_bytes(ranker),
        seconds=seconds,
        peak_memory_mb=peak // RSS_UNITS_PER_KB // 1_000,
        figures=figures,
    )


def _load_index(settings: FitSettings) -> SearchIndex | None:
    from tools.store import search_index

    index = search_index.refresh_index(
        None, model=settings.embedding_model, max_bytes=settings.max_bytes
    )
    if index is None:
        log.warning("models.fit_skipped", reason=TOO_LARGE_MESSAGE)
    return index
