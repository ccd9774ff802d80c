"""Fit the chances of a team on its own past sessions, towards the shipped prior."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.next_call.candidates import Candidate, generate_candidates
from graph.suggestion.next_call.chance import MAX_SCALED, ChanceModel, LogisticChance
from graph.suggestion.next_call.counts import Horizon, count_session, list_sources
from graph.suggestion.next_call.features import compute_features, matches_call
from graph.suggestion.next_call.model import NextCallModel, Session
from graph.suggestion.next_call.profiles import ToolProfiles
from graph.suggestion.next_call.session import SessionState
from graph.suggestion.ranking.logistic import fit_logistic

Floats = NDArray[np.float64]

FOLDS = 5
"""Blocks of sessions; the candidates of each are described by what the others taught."""
MIN_SESSIONS = 5
"""Below this the shipped prior is used as it is."""
PRECISION = 10.0
"""Of the prior of each coefficient; 3, 10 and 30 were within 0.01 hit rate of each other."""
MAX_SESSIONS = 600
"""Newest sessions that coefficients are fitted on; all of them are counted."""


@dataclass(frozen=True, slots=True)
class LabelledCandidates:
    """Candidates of past sessions with their outcomes.

    Attributes:
        rows: Features, shape (n, f).
        came: Whether each came before anything invalidated it, shape (n,), 0 or 1.
        came_next: Whether each was the very next thing that happened, shape (n,), 0 or 1.
    """

    rows: Floats
    came: Floats
    came_next: Floats


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
    used = [session for session in sessions if session]
    model = NextCallModel.from_observations(used)
    if len(used) < MIN_SESSIONS:
        return model.with_chances(priors["learned" if used else "cold"])
    labelled = label_sessions(used[-MAX_SESSIONS:], tools)
    return model.with_chances(fit_chances(labelled, priors["learned"]))


def fit_chances(labelled: LabelledCandidates, prior: ChanceModel) -> ChanceModel:
    """Fit both chances towards a prior."""
    return ChanceModel(
        ever=_fit(labelled.rows, labelled.came, prior.ever),
        soon=_fit(labelled.rows, labelled.came_next, prior.soon),
    )


def _fit(rows: Floats, targets: Floats, prior: LogisticChance) -> LogisticChance:
    if not len(rows):
        return prior
    fitted = fit_logistic(
        scale_rows(rows, prior),
        targets,
        prior=np.array([*prior.coefficients, prior.intercept]),
        l2=PRECISION,
    )
    return LogisticChance(
        means=prior.means,
        scales=prior.scales,
        coefficients=tuple(map(float, fitted[:-1])),
        intercept=float(fitted[-1]),
    )


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
    known = frozenset(chain.from_iterable(map(list_sources, sessions)))
    counted = [count_session(session, known) for session in sessions]
    blocks = np.array_split(np.arange(len(sessions)), min(FOLDS, len(sessions)))
    found: list[tuple[list[float], bool, bool]] = []
    for block in blocks:
        held_out = set(block.tolist())
        total: Counter[tuple[object, ...]] = Counter()
        others = [index for index in range(len(sessions)) if index not in held_out]
        step = max(1, len(others) // history) if history else 1
        for index in others[::step][:history]:
            total.update(counted[index])
        model = NextCallModel(total, known=known)
        for index in block:
            found.extend(label_session(sessions[index], model, tools))
    return stack_labels(found)


def stack_labels(found: Sequence[tuple[list[float], bool, bool]]) -> LabelledCandidates:
    """Return labelled rows as arrays."""
    return LabelledCandidates(
        rows=np.array([row for row, _, _ in found], dtype=np.float64),
        came=np.array([came for _, came, _ in found], dtype=np.float64),
        came_next=np.array([soon for _, _, soon in found], dtype=np.float64),
    )


def label_session(
    session: Session, model: NextCallModel, tools: ToolProfiles
) -> Iterator[tuple[list[float], bool, bool]]:
    """Replay a session; yield the features of all candidates, whether and how soon they came."""
    horizon = Horizon(session)
    state = SessionState(tools)
    for done, call in enumerate(session):
        for index, statement in enumerate(call.statements, start=1):
            state.add_observed_statement(statement)
            is_last = index == len(call.statements)
            yield from _label_point(state, model, horizon, is_before_call=is_last)
        state.add_observed_call(call)
        upcoming = session[done + 1 : done + 2]
        yield from _label_point(
            state,
            model,
            horizon,
            is_before_call=bool(upcoming) and not upcoming[0].statements,
        )


def _label_point(
    state: SessionState, model: NextCallModel, horizon: Horizon, *, is_before_call: bool
) -> Iterator[tuple[list[float], bool, bool]]:
    candidates = generate_candidates(state, model)
    rows = compute_features(state, model, candidates)
    done = len(state.calls)
    for candidate, row in zip(candidates, rows, strict=True):
        hits = find_hits(candidate, horizon, done)
        yield row, bool(hits), is_before_call and done in hits


def find_hits(candidate: Candidate, horizon: Horizon, done: int) -> list[int]:
    """Return which calls from `done` to the next invalidation are this candidate."""
    return [
        index
        for index in horizon.calls_from(candidate.tool, done)
        if matches_call(
            candidate, horizon.calls[index].arguments, horizon.calls[index].schema_arguments
        )
    ]
