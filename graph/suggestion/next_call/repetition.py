"""Estimate how likely a session goes on as it went on before.

What past sessions taught says little about a client that does the same thing over and over: the
plainest evidence is the session itself. After a call, the earlier calls of the same tool are
looked up, and what followed each of them before anything was invalidated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from graph.suggestion.next_call.observation import CallObservation
from graph.suggestion.next_call.occurrence import Candidate, Choice, Source
from graph.suggestion.next_call.session import STATEMENT, SessionState

MAX_POINTS = 8
"""Earlier calls of the same tool that are looked at, the newest."""
MAX_WINDOW = 12
"""Calls after each of them that are looked at."""
MAX_PLACES = 16
"""Places of a value that are compared, the newest."""
PRIOR_WEIGHT = 2.0
"""Earlier times that the chance estimated from other sessions counts for."""

Place = tuple[Source, tuple[int, ...], int]
"""Source of a value, its position in lists, and the steps since it was seen."""


class EarlierPoint(NamedTuple):
    """A call of the session after which it stood as it stands now.

    Attributes:
        position: Of the call among the session's calls.
        end: Position after the last call that followed before something was invalidated.
    """

    position: int
    end: int


def find_earlier_points(state: SessionState) -> list[EarlierPoint]:
    """Return the earlier calls of the last called tool, with the same arguments if any had them.

    Empty if the client has stated something since the last call.
    """
    if state.order[-1] == STATEMENT or not state.calls:
        return []
    last = state.calls[-1]
    *earlier, current = state.calls_of[last.tool]
    alike = [index for index in earlier if _is_same_call(state.calls[index], last)]
    chosen = alike or earlier
    ends = [*chosen, current][1:]
    return [
        EarlierPoint(index, _find_end(state, index, end))
        for index, end in zip(chosen[-MAX_POINTS:], ends[-MAX_POINTS:], strict=True)
    ]


def list_followers(state: SessionState) -> Iterator[CallObservation]:
    """Yield the calls that followed the earlier points, from the newest one on."""
    for index, end in reversed(find_earlier_points(state)):
        yield from state.calls[index + 1 : end]


def list_sources(
    state: SessionState, followers: Sequence[CallObservation], tool: int, name: str
) -> list[Source]:
    """Return where an argument of calls that followed earlier came from, at most `MAX_PLACES`."""
    found: dict[Source, None] = {}
    for call in followers:
        if call.tool == tool and (number := call.arguments.get(name)) is not None:
            seen = state.by_number.get(number, ())
            found.update(dict.fromkeys(place.source for place in seen[:MAX_PLACES]))
    return list(found)[:MAX_PLACES]


def _find_end(state: SessionState, index: int, next_point: int) -> int:
    end = min(next_point, index + MAX_WINDOW) + 1
    for at in range(index + 1, end):
        if not state.calls[at].is_read_only:
            return at + 1
    return end


def weigh_repetition(
    state: SessionState,
    points: Sequence[EarlierPoint],
    candidate: Candidate,
    chance: float,
    next_chance: float,
) -> tuple[float, float]:
    """Return the chances of a candidate, raised by how often the session went on like that.

    Args:
        state: The session.
        points: As `find_earlier_points` returns them.
        candidate: A call that may come next.
        chance: That it comes before anything invalidates it, without that evidence, in [0, 1].
        next_chance: That it is the very next call, likewise.
    """
    followed, followed_next = 0, 0
    for position, end in points:
        found = [at for at in range(position + 1, end) if _repeats(state, candidate, at, position)]
        followed += bool(found)
        followed_next += position + 1 in found
    trials = len(points) + PRIOR_WEIGHT
    return (
        max(chance, (followed + PRIOR_WEIGHT * chance) / trials),
        max(next_chance, (followed_next + PRIOR_WEIGHT * next_chance) / trials),
    )


def _repeats(state: SessionState, candidate: Candidate, at: int, after: int) -> bool:
    """Return whether a candidate is to the last call what an earlier call was to another."""
    call = state.calls[at]
    if call.tool != candidate.tool or not call.is_complete:
        return False
    if len(candidate.choices) != len({*call.arguments, *call.schema_arguments}):
        return False
    return all(_is_alike(state, choice, call, after) for choice in candidate.choices)


def _is_alike(state: SessionState, choice: Choice, call: CallObservation, after: int) -> bool:
    """Return whether an argument has a value from the same place.

    After the same call it may also have the same value: else a search for one date after a search
    for another would be evidence for itself.
    """
    if choice.position is not None:
        return call.schema_arguments.get(choice.name) == choice.position
    number, past = choice.number, call.arguments.get(choice.name)
    if number is None or past is None:
        return False
    if number == past and _is_same_call(state.calls[after], state.calls[-1]):
        return True
    now, then = state.steps[-1], state.steps[after]
    return not _list_places(state, number, now).isdisjoint(_list_places(state, past, then))


def _list_places(state: SessionState, number: int, until: int) -> set[Place]:
    """Return where a value was seen up to a step of the session."""
    seen = state.by_number[number]  # in the order of steps; a common value may be in thousands
    end = bisect_right(seen, until, key=attrgetter("step"))
    newest = seen[max(0, end - MAX_PLACES) : end]
    return {(one.source, one.items, until - one.step) for one in newest}


def _is_same_call(call: CallObservation, other: CallObservation) -> bool:
    return (
        call.arguments == other.arguments
        and call.schema_arguments == other.schema_arguments
        and call.is_complete
        and other.is_complete
    )
