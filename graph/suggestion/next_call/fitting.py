"""Fit the chances of a team on its own past sessions, towards the shipped prior."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from graph.suggestion.next_call.predict import LEAST_CHANCE
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


REHEARSED = 48
"""Predictions that are rehearsed after each call."""

CandidateKey = tuple[int, tuple[tuple[str, int | None, int | None], ...]]


@dataclass(frozen=True, slots=True)
class RehearsedPrediction:
    """What would have been predicted, and what became of it.

    Attributes:
        key: Equal for equal calls of the session.
        chance: That it comes before anything invalidates it.
        next_chance: That it is the very next call.
        comes_at: Index of the call that it came true as; -1: none.
    """

    key: CandidateKey
    chance: float
    next_chance: float
    comes_at: int


@dataclass(frozen=True, slots=True)
class RehearsedPoint:
    """What would have been predicted after one call or statement, best first.

    Attributes:
        done: Calls before.
        end: Index of the next call that invalidates; the length of the session without one.
        predictions: Best first.
    """

    done: int
    end: int
    predictions: tuple[RehearsedPrediction, ...]


RehearsedSession = tuple[RehearsedPoint, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledPoint:
    """The candidates after one call or statement of a past session.

    Attributes:
        session: Index of the session.
        done: Calls before.
        end: Index of the next call that invalidates; the length of the session without one.
        is_before_call: Whether nothing is stated before the next call.
        keys: Equal for equal candidates of the session.
        rows: Features of each candidate, shape (n, f).
        comes_at: Index of the call that each candidate came true as, before anything
            invalidated it; -1: none.
    """

    session: int
    done: int
    end: int
    is_before_call: bool
    keys: list[CandidateKey]
    rows: Floats
    comes_at: list[int]


LabelledBlock = list[list[LabelledPoint]]


@dataclass(frozen=True, slots=True)
class FittedHistory:
    """A model fitted on past sessions, with what it was fitted on.

    Attributes:
        model: The model.
        blocks: The labelled sessions of each block; empty: there were too few to fit.
        chances: For each block, coefficients fitted on the others.
    """

    model: NextCallModel
    blocks: tuple[LabelledBlock, ...]
    chances: tuple[ChanceModel, ...]


def fit_model(
    sessions: Sequence[Session], tools: ToolProfiles, priors: Mapping[str, ChanceModel]
) -> NextCallModel:
    """Count past sessions, and fit the chances on them.

    The candidates of each block of sessions are described by counts of the other blocks: rows
    described by a count of themselves would promise more than new sessions keep.

    Args:
        sessions: Past sessions, each its calls, oldest first.
        tools: The catalogue.
        priors: Coefficients to start from, `cold` and `learned`.

    Complexity:
        Linear in the calls of all sessions; some ten milliseconds a call. Deterministic.
    """
    return fit_history(sessions, tools, priors).model


def fit_history(
    sessions: Sequence[Session], tools: ToolProfiles, priors: Mapping[str, ChanceModel]
) -> FittedHistory:
    """Fit a model, and keep what is needed to rehearse it; see `fit_model`."""
    used = [session for session in sessions if session]
    model = NextCallModel.from_observations(used)
    prior = priors["learned" if used else "cold"]
    if len(used) < MIN_SESSIONS:
        return FittedHistory(model.with_chances(prior, priors["planned"]), (), ())
    blocks = _label_blocks(used[-MAX_SESSIONS:], tools)
    labelled = [stack_labels(chain.from_iterable(block)) for block in blocks]
    of_blocks = [
        fit_chances(join_labels(labelled[:index] + labelled[index + 1 :]), prior)
        for index in range(len(blocks))
    ]
    every = join_labels(labelled)
    chances = calibrate_chances(fit_chances(every, prior), labelled, of_blocks)
    calibrated = tuple(calibrate_chances(one, labelled, of_blocks) for one in of_blocks)
    return FittedHistory(model.with_chances(chances), tuple(blocks), calibrated)


def rehearse_history(fitted: FittedHistory) -> tuple[RehearsedSession, ...]:
    """Return what would have been predicted in the past sessions; empty without enough of them.

    Each block of sessions is predicted by counts and chances of the other blocks, so that the
    rehearsal promises no more than new sessions keep.
    """
    rehearsed: list[RehearsedSession] = []
    for chances, block in zip(fitted.chances, fitted.blocks, strict=True):
        rehearsed.extend(_rehearse(session, chances) for session in block)
    return tuple(rehearsed)


def join_labels(parts: Sequence[LabelledCandidates]) -> LabelledCandidates:
    """Return the candidates of several parts as one; sessions keep their indexes."""
    return LabelledCandidates(
        rows=np.concatenate([part.rows for part in parts]),
        came=np.concatenate([part.came for part in parts]),
        came_next=np.concatenate([part.came_next for part in parts]),
        sessions=np.concatenate([part.sessions for part in parts]),
    )


def _rehearse(points: Sequence[LabelledPoint], chances: ChanceModel) -> RehearsedSession:
    rehearsed = []
    for point in points:
        ever, soon = chances.ever.estimate(point.rows), chances.soon.estimate(point.rows)
        found = [
            RehearsedPrediction(key, chance, min(next_chance, chance), comes_at)
            for key, chance, next_chance, comes_at in zip(
                point.keys, ever, soon, point.comes_at, strict=True
            )
            if chance >= LEAST_CHANCE
        ]
        found.sort(key=lambda prediction: -prediction.chance)
        rehearsed.append(RehearsedPoint(point.done, point.end, tuple(found[:REHEARSED])))
    return tuple(rehearsed)


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
    blocks = _label_blocks(sessions, tools, history=history)
    return stack_labels([p for block in blocks for session in block for p in session])


def _label_blocks(
    sessions: Sequence[Session], tools: ToolProfiles, *, history: int | None = None
) -> list[LabelledBlock]:
    """Return the labelled points of each session of each block."""
    known = select_known(Counter(chain.from_iterable(map(list_sources, sessions))))
    counted = [count_session(session, known) for session in sessions]
    found: list[LabelledBlock] = []
    for block in np.array_split(np.arange(len(sessions)), min(FOLDS, len(sessions))):
        held_out = set(block.tolist())
        total: Counter[tuple[object, ...]] = Counter()
        others = [index for index in range(len(sessions)) if index not in held_out]
        step = max(1, len(others) // history) if history else 1
        for index in others[::step][:history]:
            total.update(counted[index])
        model = NextCallModel(total)
        labelled: LabelledBlock = []
        for index in block:
            points = label_session(sessions[index], model, tools, number=int(index))
            labelled.append(list(points))
        found.append(labelled)
    return found


def stack_labels(points: Iterable[LabelledPoint]) -> LabelledCandidates:
    """Return labelled candidates as arrays."""
    rows = [np.zeros((0, len(FEATURES)))]
    came: list[bool] = []
    came_next: list[bool] = []
    sessions: list[int] = []
    for point in points:
        rows.append(point.rows)
        came.extend(at >= 0 for at in point.comes_at)
        came_next.extend(point.is_before_call and at == point.done for at in point.comes_at)
        sessions.extend([point.session] * len(point.rows))
    return LabelledCandidates(
        rows=np.concatenate(rows),
        came=np.array(came, dtype=np.float64),
        came_next=np.array(came_next, dtype=np.float64),
        sessions=np.array(sessions, dtype=np.int64),
    )


def label_session(
    session: Session, model: NextCallModel, tools: ToolProfiles, *, number: int = 0
) -> Iterator[LabelledPoint]:
    """Replay a session; yield its candidates after each call and statement, with what came."""
    horizon = Horizon(session)
    state = SessionState(tools)
    for done, call in enumerate(session):
        for index, statement in enumerate(call.statements, start=1):
            state.add_observed_statement(statement)
            is_last = index == len(call.statements)
            yield _label_point(state, model, horizon, number, is_before_call=is_last)
        state.add_observed_call(call)
        upcoming = session[done + 1 : done + 2]
        is_before_call = bool(upcoming) and not upcoming[0].statements
        yield _label_point(state, model, horizon, number, is_before_call=is_before_call)


def _label_point(
    state: SessionState,
    model: NextCallModel,
    horizon: Horizon,
    session: int,
    *,
    is_before_call: bool,
) -> LabelledPoint:
    candidates = generate_candidates(state, model)
    done = len(state.calls)
    hits = [find_hits(candidate, horizon, done) for candidate in candidates]
    return LabelledPoint(
        session=session,
        done=done,
        end=horizon.end_after(done),
        is_before_call=is_before_call,
        keys=[make_candidate_key(candidate) for candidate in candidates],
        rows=np.array(compute_features(state, model, candidates)).reshape(-1, len(FEATURES)),
        comes_at=[found[0] if found else -1 for found in hits],
    )


def find_hits(candidate: Candidate, horizon: Horizon, done: int) -> list[int]:
    """Return which calls from `done` to the next invalidation are this candidate."""
    return [
        index
        for index in horizon.calls_from(candidate.tool, done)
        if matches_call(
            candidate, horizon.calls[index].arguments, horizon.calls[index].schema_arguments
        )
    ]


def make_candidate_key(candidate: Candidate) -> CandidateKey:
    """Return what equal candidates of one session have in common."""
    return candidate.tool, tuple(
        (choice.name, choice.number, choice.position) for choice in candidate.choices
    )
