"""Fit the models of ranking and binding for scopes with new history."""

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
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.time_limit import TimeLimitExceeded
from graph.record_runs import MAX_SAMPLED
from graph.store import fitted_models, patterns
from graph.store.fitted_models import ModelRow
from tools.embed import load as embedding
from tools.embed.recipes import UnknownModel

if TYPE_CHECKING:
    from tools.search_index import SearchIndex

LOCK_NAME: Final = "fit models"
FIT_VERSION: Final = 5
"""Version of what is fitted and how it is stored; a change refits everything."""
FEATURES_DIGEST: Final = "5cc1d1701e70d2ed"
"""Beginning of the SHA-256 of the ranker's format and all feature names; a change refits
everything. A constant, checked by a test, because computing it would load numpy into the
gateway."""
PRIOR_PACKAGES: Final = ("graph.suggestion.ranking", "graph.suggestion.binding")
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
class StoredModel:
    """A model that was fitted and stored.

    Attributes:
        team: Primary key of the team it serves; None: all teams without runs of their own.
        patterns: Number of patterns it was fitted to.
        runs: Number of runs of these patterns.
        seconds: Duration of the fit.
    """

    team: int | None
    patterns: int
    runs: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class FailedFit:
    """A scope that could not be fitted; its old model stays in force.

    Attributes:
        team: As in `StoredModel`.
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

    fitted: Sequence[StoredModel] = ()
    failed: Sequence[FailedFit] = ()
    missing_reason: str = ""


@dataclass(frozen=True, kw_only=True)
class FittedScope:
    """The fitted models of one scope.

    Attributes:
        ranker: The serialised ranker.
        bindings: The serialised model of bindings.
        figures: Sizes of the history it was fitted to: `patterns`, `runs`, `samples`.
    """

    ranker: bytes
    bindings: bytes
    figures: Mapping[str, Any]


FitScope = Callable[[int | None, "SearchIndex"], FittedScope]


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings for fitting models.

    Attributes:
        embedding_model: The embedding model in use.
        max_bytes: Memory limit of the search index.
        sealer: Unseals the history, and seals the fitted models.
    """

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
    files = (resources.files(package) / "prior.json" for package in PRIOR_PACKAGES)
    contents = [file.read_bytes() if file.is_file() else b"" for file in files]
    priors = hashlib.sha256(bytes(1).join(contents)).hexdigest()
    return f"{FIT_VERSION}.{FEATURES_DIGEST}.{priors}.{sealer.digest('fitted models')}"


def fit_due_scopes(  # noqa: PLR0913 - each is a choice of the caller
    settings: FitSettings,
    *,
    now: datetime,
    force: bool = False,
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
        force: Fit even if nothing has changed.
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
        due = {
            team: digest for team, digest in wanted.items() if force or stored.get(team) != digest
        }
        if missing_reason := fitted_models.explain_lacking(settings.embedding_model):
            return FitOutcome(missing_reason=missing_reason)
        if not due:
            return FitOutcome()
        if (index := _load_index(settings)) is None:
            return FitOutcome(missing_reason=TOO_LARGE_MESSAGE)
        context = _FitContext(
            index=index,
            fit_scope=fit_scope or partial(fit_team, sealer=settings.sealer),
            sealer=settings.sealer,
            now=now,
        )
        outcome = _fit_scopes(due, context, stop_s=stop_s, on_progress=on_progress)
        patterns.drop_old_samples(keep=MAX_SAMPLED)
    return outcome


@dataclass(frozen=True, kw_only=True, eq=False)
class _FitContext:
    """What the fits of all scopes share."""

    index: SearchIndex
    fit_scope: FitScope
    sealer: Sealer
    now: datetime


def _fit_scopes(
    due: Mapping[int | None, str],
    context: _FitContext,
    *,
    stop_s: float | None,
    on_progress: ProgressCallback,
) -> FitOutcome:
    """Fit scopes, the one fitted longest ago first; `due` holds their digests."""
    fitted_at = fitted_models.load_fit_times(context.index.model)
    never = datetime.min.replace(tzinfo=UTC)
    order = sorted(due, key=lambda team: (fitted_at.get(team, never), team or 0))
    fitted: list[StoredModel] = []
    failed: list[FailedFit] = []
    started = time.monotonic()
    on_progress(0, len(order))
    for number, team in enumerate(order, start=1):
        if stop_s is not None and time.monotonic() - started > stop_s:
            break
        try:
            model = _fit_scope(team, context, digest=due[team])
        except (ValueError, ArithmeticError, TimeLimitExceeded) as error:
            failed.append(_record_failure(team, context, digest=due[team], error=error))
        else:
            fitted += [model] if model is not None else []
        on_progress(number, len(order))
    return FitOutcome(fitted=fitted, failed=failed)


def _record_failure(
    team: int | None, context: _FitContext, *, digest: str, error: Exception
) -> FailedFit:
    """Record that a scope cannot be fitted."""
    reason = summarize_error(error)
    log.warning("models.scope_fit_failed", team=team, reason=reason)
    fitted_models.record_unfittable(
        team, model=context.index.model, digest=digest, failure=reason, at=context.now
    )
    return FailedFit(team=team, reason=reason)


def fit_team(team: int | None, index: SearchIndex, *, sealer: Sealer) -> FittedScope:
    """Fit the models of a team to all history that it sees.

    Raises:
        ValueError: If they cannot be fitted, or their parameters are not finite; numpy's
            `LinAlgError` is one.
    """
    from graph.suggestion.binding import model as binding
    from graph.suggestion.ranking import fit as ranking
    from graph.suggestion.ranking.tool_view import ToolView

    history = patterns.load_history(
        team, index.model, sealer=sealer, dimensions=index.vectors.shape[1]
    )
    ranker = ranking.fit_ranker(history, ToolView.for_team(index, team=team))
    samples = patterns.load_samples(team, limit=MAX_SAMPLED)
    bindings = binding.fit_binding(samples, prior=binding.load_shipped_model())
    _require_finite(
        ranker.tool_model, ranker.set_model, ranker.order_model, ranker.calibrator, bindings
    )
    return FittedScope(
        ranker=ranker.to_bytes(),
        bindings=bindings.to_bytes(),
        figures={
            "patterns": len(history),
            "runs": sum(past.successes + past.failures for past in history),
            "samples": len(samples),
        },
    )


def _require_finite(*models: Any) -> None:
    import numpy as np

    for model in models:
        for field in fields(model):
            value = getattr(model, field.name)
            if isinstance(value, float | np.ndarray) and not np.isfinite(value).all():
                raise ValueError(f"the {field.name} of its {type(model).__name__} are not finite")


def _fit_scope(team: int | None, context: _FitContext, *, digest: str) -> StoredModel | None:
    started = time.perf_counter()
    with time_limit.limit_time(SCOPE_TIMEOUT_S):
        fitted = context.fit_scope(team, context.index)
    seconds = time.perf_counter() - started
    row = ModelRow(
        team=team,
        digest=digest,
        content=context.sealer.seal_bytes(fitted.ranker),
        bindings=fitted.bindings,
        seconds=seconds,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        // RSS_UNITS_PER_KB
        // 1_000,
        figures=fitted.figures,
    )
    if not fitted_models.store_model(row, model=context.index.model, at=context.now):
        return None  # the team was deleted meanwhile
    log.info("models.fitted", team=team, seconds=round(seconds, 3), **fitted.figures)
    return StoredModel(
        team=team,
        patterns=fitted.figures["patterns"],
        runs=fitted.figures["runs"],
        seconds=seconds,
    )


def _load_index(settings: FitSettings) -> SearchIndex | None:
    from tools.store import search_index

    index = search_index.refresh_index(
        None, model=settings.embedding_model, max_bytes=settings.max_bytes
    )
    if index is None:
        log.warning("models.fit_skipped", reason=TOO_LARGE_MESSAGE)
    return index
