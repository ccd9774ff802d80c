"""Label past candidates: which of them came before anything invalidated them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph.suggestion.next_call.candidates import Candidate, generate_candidates
from graph.suggestion.next_call.counts import Horizon
from graph.suggestion.next_call.features import compute_features, matches_call
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.observation import CallObservation
from graph.suggestion.next_call.profiles import ToolProfiles
from graph.suggestion.next_call.session import SessionState


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A candidate of a past session.

    Attributes:
        features: Its features when it was a candidate.
        came: Whether it came before anything invalidated it.
    """

    features: list[float]
    came: bool


def label_session(
    session: Sequence[CallObservation], model: NextCallModel, tools: ToolProfiles
) -> Iterator[LabelledRow]:
    """Replay a session; yield every candidate at every point with its outcome."""
    horizon = Horizon(session)
    state = SessionState(tools)
    for call in session:
        for statement in call.statements:
            state.add_observed_statement(statement)
            yield from _label_point(state, model, horizon)
        state.add_observed_call(call)
        yield from _label_point(state, model, horizon)


def _label_point(
    state: SessionState, model: NextCallModel, horizon: Horizon
) -> Iterator[LabelledRow]:
    candidates = generate_candidates(state, model)
    rows = compute_features(state, model, candidates)
    for candidate, row in zip(candidates, rows, strict=True):
        yield LabelledRow(row, has_come(candidate, horizon, len(state.calls)))


def has_come(candidate: Candidate, horizon: Horizon, done: int) -> bool:
    """Return whether exactly this call came after `done` calls, before an invalidation."""
    return any(
        matches_call(
            candidate, horizon.calls[index].arguments, horizon.calls[index].schema_arguments
        )
        for index in horizon.calls_from(candidate.tool, done)
    )
