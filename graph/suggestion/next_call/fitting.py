"""Fit the chances of a team on its own past sessions, towards the shipped prior."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.next_call.argument_features import matches_call
from graph.suggestion.next_call.candidates import generate_candidates
from graph.suggestion.next_call.chance import FEATURES, MAX_SCALED, ChanceModel, LogisticChance
from graph.suggestion.next_call.counts import (
    Horizon,
    count_session,
    list_sources,
    select_known,
)
from graph.suggestion.next_call.features import compute_features
from graph.suggestion.next_call.model import NextCallModel, Session
from graph.suggestion.next_call.occurrence import Candidate
from graph.suggestion.next_call.profiles import ToolProfiles
from graph.suggestion.next_call.session import SessionState
from graph.suggestion.ranking.logistic import compute_sigmoid, fit_logistic

Floats = NDArray[np.float64]

FOLDS = 5
"""Blocks of sessions; the candidates of each are described by what the others taught."""
MIN_SESSIONS = 5
"""Below this the shipped prior is used as it is."""
PRECISION = 10.0
"""Of the prior of each coefficient, in independent candidates."""
REFERENCE_SESSIONS = 20
"""Sessions at which a prior weighs twice as much as among very many: few of them say little about
others, however many candidates they hold."""
CALIBRATION_PRECISION = 1.0
"""Of the scale and the shift of log-odds, in independent candidates."""
MAX_SESSIONS = 600
"""Newest sessions that coefficients are fitted on; all of them are counted."""


@dataclass(frozen=True, slots=True)
class LabelledCandidates:
    """Candidates of past sessions with their outcomes.

    Attributes:
        rows: Features, shape (n, f).
        came: Whether each came before anything invalidated it, shape (n,), 0 or 1.
        came_next: Whether each was the very next thing that happened, shape (n,), 0 or 1.
        sessions: Index of the session of each, shape (n,).
    """

    rows: Floats
    came: Floats
    came_next: Floats
    sessions: NDArray[np.int64]


def fit_model(
    sessions: Sequence[Session], tools: ToolProfiles, priors: Mapping[str, ChanceModel]
) -> NextCallModel:
    """Count past sessions, and fit the chances on them.

    The candidates of each block of sessions are described by counts of the other blocks: rows
    described by a count of themselves would promise more than new sessions keep.

    Args:
        sessions: Past sessions, each its calls, oldest first.
        tools: The catalogue.
        priors: Coefficients to start from, as of `chance.load_priors`.

    Complexity:
        Linear in the calls of all sessions; some ten milliseconds a call. Deterministic.
    """
    used = [session for session in sessions if session]
    model = NextCallModel.from_observations(used)
    prior = priors["learned" if used else "cold"]
    if len(used) < MIN_SESSIONS:
        return model.with_chances(prior, priors["planned"])
    blocks = _label_blocks(used[-MAX_SESSIONS:], tools)
    of_blocks = [
        fit_chances(join_labels(blocks[:index] + blocks[index + 1 :]), prior)
        for index in range(len(blocks))
    ]
    fitted = fit_chances(join_labels(blocks), prior)
    return model.with_chances(calibrate_chances(fitted, blocks, of_blocks))


NO_CANDIDATES = LabelledCandidates(
    rows=np.zeros((0, len(FEATURES))),
    came=np.zeros(0),
    came_next=np.zeros(0),
    sessions=np.zeros(0, dtype=np.int64),
)


def join_labels(parts: Sequence[LabelledCandidates]) -> LabelledCandidates:
    """Return the candidates of several parts as one; sessions keep their indexes."""
    parts = [NO_CANDIDATES, *parts]
    return LabelledCandidates(
        rows=np.concatenate([part.rows for part in parts]),
        came=np.concatenate([part.came for part in parts]),
        came_next=np.concatenate([part.came_next for part in parts]),
        sessions=np.concatenate([part.sessions for part in parts]),
    )


def fit_chances(labelled: LabelledCandidates, prior: ChanceModel) -> ChanceModel:
    """Fit both chances towards a prior."""
    return ChanceModel(
        ever=_fit(labelled.rows, labelled.came, labelled.sessions, prior.ever),
        soon=_fit(labelled.rows, labelled.came_next, labelled.sessions, prior.soon),
    )


def calibrate_chances(
    chances: ChanceModel, parts: Sequence[LabelledCandidates], of_parts: Sequence[ChanceModel]
) -> ChanceModel:
    """Scale and shift log-odds so that they keep what they promise on candidates never fitted on.

    Args:
        chances: What is calibrated.
        parts: Labelled candidates.
        of_parts: For each part, coefficients fitted on the others.

    References:
        Platt, Probabilistic outputs for support vector machines, Advances in Large Margin
        Classifiers (1999).
    """
    ever = [one.ever.compute_logits(part.rows) for one, part in zip(of_parts, parts, strict=True)]
    soon = [one.soon.compute_logits(part.rows) for one, part in zip(of_parts, parts, strict=True)]
    every = join_labels(parts)
    return ChanceModel(
        ever=_calibrate(chances.ever, np.concatenate(ever), every.came, every.sessions),
        soon=_calibrate(chances.soon, np.concatenate(soon), every.came_next, every.sessions),
    )


def _calibrate(
    chances: LogisticChance, logits: Floats, targets: Floats, sessions: NDArray[np.int64]
) -> LogisticChance:
    if not len(logits):
        return chances
    effect = estimate_design_effect(logits, targets, sessions)
    effect *= 1 + REFERENCE_SESSIONS / len(np.unique(sessions))
    columns = np.column_stack([logits, np.ones(len(logits))])
    scale, shift = fit_logistic(
        columns, targets, prior=np.array([1.0, 0.0]), l2=CALIBRATION_PRECISION * effect
    )
    return LogisticChance(
        means=chances.means,
        scales=chances.scales,
        coefficients=tuple(scale * one for one in chances.coefficients),
        intercept=float(scale * chances.intercept + shift),
    )


def _fit(
    rows: Floats, targets: Floats, sessions: NDArray[np.int64], prior: LogisticChance
) -> LogisticChance:
    """Fit the coefficients of one chance.

    Candidates of one session share what its task is: where outcomes vary between sessions by more
    than chance, a candidate counts for less than an independent one, by the design effect.
    """
    if not len(rows):
        return prior
    scaled = scale_rows(rows, prior)
    start = np.array([*prior.coefficients, prior.intercept])
    effect = estimate_design_effect(scaled @ start, targets, sessions)
    effect *= 1 + REFERENCE_SESSIONS / len(np.unique(sessions))
    fitted = fit_logistic(scaled, targets, prior=start, l2=PRECISION * effect)
    return LogisticChance(
        means=prior.means,
        scales=prior.scales,
        coefficients=tuple(map(float, fitted[:-1])),
        intercept=float(fitted[-1]),
    )


def estimate_design_effect(logits: Floats, targets: Floats, sessions: NDArray[np.int64]) -> float:
    """Return how many candidates count for one independent candidate, at least 1.

    The variance of what predictions leave open, summed by session, over the same without
    sessions. Predictions are scaled and shifted to the outcomes before.

    Args:
        logits: Predicted log-odds, shape (n,).
        targets: 0 or 1, shape (n,).
        sessions: Index of the session of each, shape (n,).

    References:
        Kish, Survey Sampling, Wiley (1965).

    Complexity:
        O(n) per step of `fit_logistic`.
    """
    columns = np.column_stack([logits, np.ones(len(logits))])
    scaled = columns @ fit_logistic(columns, targets, prior=np.array([1.0, 0.0]), l2=1.0)
    left = targets - compute_sigmoid(scaled)
    by_session = np.bincount(sessions, weights=left)
    independent = float(left @ left)
    return max(1.0, float(by_session @ by_session) / independent) if independent else 1.0


def scale_rows(rows: Floats, chances: LogisticChance) -> Floats:
    """Return scaled features and a column of ones, shape (n, f + 1)."""
    scaled = (rows - np.array(chances.means)) / np.array(chances.scales)
    return np.column_stack([np.clip(scaled, -MAX_SCALED, MAX_SCALED), np.ones(len(rows))])


def label_sessions(
    sessions: Sequence[Session], tools: ToolProfiles, *, history: int | None = None
) -> LabelledCandidates:
    """Describe all candidates of sessions by what the other blocks of sessions taught.

    Args:
        sessions: Past sessions; related ones next to one another.
        tools: The catalogue.
        history: Sessions of the other blocks that are learned from; None: all.
    """
    return join_labels(_label_blocks(sessions, tools, history=history))


def _label_blocks(
    sessions: Sequence[Session], tools: ToolProfiles, *, history: int | None = None
) -> list[LabelledCandidates]:
    """Return the labelled candidates of each block."""
    known = select_known(Counter(chain.from_iterable(map(list_sources, sessions))))
    counted = [count_session(session, known) for session in sessions]
    found: list[LabelledCandidates] = []
    for block in np.array_split(np.arange(len(sessions)), min(FOLDS, len(sessions))):
        held_out = set(block.tolist())
        total: Counter[tuple[object, ...]] = Counter()
        others = [index for index in range(len(sessions)) if index not in held_out]
        step = max(1, len(others) // history) if history else 1
        for index in others[::step][:history]:
            total.update(counted[index])
        model = NextCallModel(total)
        labelled = [label_session(sessions[at], model, tools, number=int(at)) for at in block]
        found.append(join_labels(labelled))
    return found


def label_session(
    session: Session, model: NextCallModel, tools: ToolProfiles, *, number: int = 0
) -> LabelledCandidates:
    """Replay a session; label its candidates after each call and statement with what came."""
    horizon = Horizon(session)
    state = SessionState(tools)
    points: list[LabelledCandidates] = []
    for done, call in enumerate(session):
        for index, statement in enumerate(call.statements, start=1):
            state.add_observed_statement(statement)
            is_last = index == len(call.statements)
            points.append(_label_point(state, model, horizon, number, is_before_call=is_last))
        state.add_observed_call(call)
        upcoming = session[done + 1 : done + 2]
        is_before_call = bool(upcoming) and not upcoming[0].statements
        points.append(_label_point(state, model, horizon, number, is_before_call=is_before_call))
    return join_labels(points)


def _label_point(
    state: SessionState,
    model: NextCallModel,
    horizon: Horizon,
    session: int,
    *,
    is_before_call: bool,
) -> LabelledCandidates:
    candidates = generate_candidates(state, model)
    done = len(state.calls)
    comes_at = np.array([_find_hit(one, horizon, done) for one in candidates], dtype=np.int64)
    return LabelledCandidates(
        rows=np.array(compute_features(state, model, candidates)).reshape(-1, len(FEATURES)),
        came=(comes_at >= 0).astype(np.float64),
        came_next=(is_before_call & (comes_at == done)).astype(np.float64),
        sessions=np.full(len(candidates), session),
    )


def _find_hit(candidate: Candidate, horizon: Horizon, done: int) -> int:
    """Return which call from `done` to the next invalidation is first this candidate; -1: none."""
    for index in horizon.calls_from(candidate.tool, done):
        call = horizon.calls[index]
        if matches_call(candidate, call.arguments, call.schema_arguments):
            return index
    return -1
