"""Group a session's direct calls into episodes: workflows that a client ran by hand.

Calls belong together if one takes a value from another's result, if one search or intent led to
both, if they followed closely. Each such sign is evidence of some weight; the certainty of an
episode is that of its weakest necessary link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gateway_project.foundation.caller import Contributor
from tools import ids

if TYPE_CHECKING:
    from graph.suggestion.next_call.call import PlannedCall

IDLE_S: Final = 600.0
"""Pause after which a session's next call belongs to another task; sessions over stateless HTTP
are forgotten after as long."""
MAX_CALLS: Final = 100
"""Calls that are grouped at once; patterns have at most as many tasks."""
MAX_STATEMENTS: Final = 100
"""Searches and intents kept for these calls; the oldest are dropped."""

# Weights of evidence that two calls of a session belong to one task, in log-odds (nats). Set so
# that a flow of data suffices, a search that found both tools nearly does, and closeness alone
# does not; docs/patterns.md states what they yield on sessions whose tasks are known.
PRIOR: Final = -1.0
DATA_FLOW: Final = 3.5
"""The later call took a value from the earlier one's result."""
SHARED_VALUE: Final = 1.5
"""The later call passed a value that the earlier one had passed, or took a common value from its
result."""
SAME_STATEMENT: Final = 1.0
"""No other search or intent led to the later one."""
FOUND_TOGETHER: Final = 1.0
"""That search or intent offered both tools."""
CLOSE: Final = 0.5
DISTANT: Final = -1.0
CLOSE_S: Final = 20.0
DISTANT_S: Final = 120.0
AFTER_FAILURE: Final = -0.5
"""The earlier call failed."""
OTHER_SERVER: Final = -1.0
"""The calls went to two servers, and no value passed between them."""

MIN_LINK: Final = 0.5
"""Certainty from which two calls are put into one episode."""
MAX_CERTAINTY: Final = 0.9
"""No grouping is as certain as a workflow that a client stated; less than
`graph.relations.MIN_OBSERVED_RUNS`, so that one episode shows nobody anything."""
STATED_CERTAINTY: Final = 0.8
"""Certainty that a single call was made for the search that found its tool."""
MIN_STATED_SHARE: Final = 0.5
"""Share of the calls that searches must have found, so that these say what the episode was for."""
REPEAT_SHARE: Final = 0.05
"""Weight of an episode relative to the one it repeats: the same mistake made twice in a session
is one mistake. All repetitions together stay below one run: 0.9 / (1 - 0.05)."""
INDEPENDENT_S: Final = 3_600.0
"""Time after which a repetition in one session is independent."""
MAX_REPETITIONS: Final = 8
"""Repetitions that are counted; what one more weighs does not matter."""
MAX_TAUGHT: Final = 2_000
"""Pairs of tools of a session that are remembered, those of some 60 tools. Beyond these, episodes
count as repetitions, so that a flood of others does not make one look new."""
STATEMENT_SEPARATOR: Final = "; "


class ValueSource(NamedTuple):
    """The origin of a value in a call's arguments.

    Attributes:
        argument: JSON pointer to the value in the arguments.
        call: Number of the earlier call in its session.
        is_result: Whether it was in that call's result, as opposed to its arguments.
        pointer: JSON pointer to it in the result; None: no reference can name its place, as for
            a word of a text.
        is_common: Whether it is of a sort that is often equal by chance: a date, a short number.
    """

    argument: str
    call: int
    is_result: bool = True
    pointer: str | None = None
    is_common: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A search or an intent.

    Attributes:
        text: As the client wrote it; never stored by itself.
        at: When it was answered, Unix time in seconds.
        found: Tools in the answer by primary key, best first, each with the probability that it
            is needed.
        is_intent: Whether it states a whole task, as opposed to a search for tools.
        words_hash: Keyed hash of the words, as in its event.
        planned: Calls suggested for an intent, in their order; never stored.
    """

    text: str
    at: float
    found: Mapping[int, float]
    is_intent: bool = False
    words_hash: int = 0
    planned: tuple[PlannedCall, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionCall:
    """A direct call that was answered.

    Attributes:
        number: Increasing in the session; assigned by `learning.direct_use`.
        at: When it was made, Unix time in seconds.
        duration_s: From dispatch to answer.
        succeeded: Whether the tool reported no error.
        is_read_only: Whether it is known to change nothing.
        arguments: As sent; may be left out if large.
        sources: Origins of values in the arguments.
    """

    number: int = 0
    tool: str
    pk: int
    at: float
    duration_s: float
    succeeded: bool = True
    is_read_only: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[ValueSource, ...] = ()

    @property
    def ended_at(self) -> float:
        """When it was answered, Unix time in seconds."""
        return self.at + self.duration_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """Direct calls that belong together.

    Attributes:
        calls: In the order they were made; at least one.
        intent: What they were for; empty: unknown.
        certainty: How sure it is that they belong together, and to the intent, in (0, 1).
        was_made: Whether the calls were made; else a client stated them, and they took no time.
    """

    calls: tuple[SessionCall, ...]
    intent: str
    certainty: float
    was_made: bool = True

    @property
    def ended_at(self) -> float:
        """When the last call was answered, Unix time in seconds."""
        return max(call.ended_at for call in self.calls)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; it contains what the client stated."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Episode:
        """Return an episode from what `to_json` returned.

        Example:
            >>> call = SessionCall(number=1, tool="s:a", pk=1, at=5.0, duration_s=1.0,
            ...     sources=(ValueSource("/id", 0, pointer="/items/0"),))
            >>> episode = Episode(calls=(call,), intent="look", certainty=0.8)
            >>> Episode.from_json(episode.to_json()) == episode
            True
        """
        calls = (
            SessionCall(
                **row | {"sources": tuple(ValueSource(*source) for source in row["sources"])}
            )
            for row in document["calls"]
        )
        return cls(
            calls=tuple(calls),
            intent=document["intent"],
            certainty=document["certainty"],
            was_made=document.get("was_made", True),
        )


class OwnedEpisode(NamedTuple):
    """An episode with its owner."""

    episode: Episode
    contributor: Contributor


class EpisodeBuilder:
    """Collects the statements and calls of one session, and groups them; bounded.

    For one thread at a time.
    """

    def __init__(self) -> None:
        self._statements: list[Statement] = []
        self._calls: list[SessionCall] = []
        self._active_at = -math.inf
        self._taught: dict[tuple[str, ...], list[float]] = {}

    def is_over(self, now: float) -> bool:
        """Whether its calls can be grouped: a long pause follows, or there are many of them.

        Args:
            now: Unix time in seconds.
        """
        return len(self._calls) >= MAX_CALLS or now - self._active_at > IDLE_S

    def is_forgettable(self, now: float) -> bool:
        """Whether nothing in it matters any more.

        Args:
            now: Unix time in seconds.
        """
        return not self._calls and now - self._active_at > INDEPENDENT_S

    def add_statement(self, statement: Statement) -> None:
        """Add a search or an intent."""
        self._statements = [*self._statements[1 - MAX_STATEMENTS :], statement]
        self._active_at = statement.at

    def add_call(self, call: SessionCall) -> None:
        """Add an answered call."""
        self._calls.append(call)
        self._active_at = call.ended_at

    def close(self) -> tuple[Episode, ...]:
        """Return the episodes of the calls since the last close, in order, and forget these."""
        found = _join_single_calls(group_calls(self._calls, self._statements))
        self._calls, self._statements = [], []
        return tuple(self._discount_repetition(episode) for episode in found)

    def _discount_repetition(self, episode: Episode) -> Episode:
        """Reduce the certainty of an episode that repeats tools, or pairs of them."""
        tools = sorted({call.tool for call in episode.calls})
        keys: list[tuple[str, ...]] = [*combinations(tools, 2)] or [tuple(tools)]
        now = episode.ended_at
        if len(self._taught) > MAX_TAUGHT:
            self._forget_taught(now)
        is_full = len(self._taught) > MAX_TAUGHT
        recent = {
            key: [at for at in self._taught.get(key, ()) if now - at < INDEPENDENT_S]
            for key in keys
        }
        self._taught |= {
            key: [*times, now][-MAX_REPETITIONS:]
            for key, times in recent.items()
            if not is_full or key in self._taught
        }
        repeats = max(map(len, recent.values())) + is_full
        return Episode(
            calls=episode.calls,
            intent=episode.intent,
            certainty=episode.certainty * REPEAT_SHARE**repeats,
        )

    def _forget_taught(self, now: float) -> None:
        """Forget what is too long ago to be repeated."""
        self._taught = {
            key: times for key, times in self._taught.items() if now - times[-1] < INDEPENDENT_S
        }


def group_calls(
    calls: Sequence[SessionCall], statements: Sequence[Statement]
) -> tuple[Episode, ...]:
    """Group the calls of a session; each belongs to exactly one episode.

    Calls are joined along the most certain links first, as a maximum spanning forest, so that the
    weakest link of an episode is as certain as possible.

    Complexity: O(n² log n) for n calls.
    """
    triggers = [_find_trigger(call, statements) for call in calls]
    links = sorted(_iterate_links(calls, triggers), reverse=True)
    groups = {place: _Group(places=(place,), certainty=1.0) for place in range(len(calls))}
    for certainty, first, second in links:
        one, other = groups[-first], groups[-second]
        if one is not other:
            joined = _Group(
                places=tuple(sorted(one.places + other.places)),
                certainty=min(one.certainty, other.certainty, certainty),
            )
            groups.update(dict.fromkeys(joined.places, joined))
    distinct = dict.fromkeys(groups.values())
    return tuple(
        _build_episode(
            [calls[place] for place in group.places],
            [triggers[place] for place in group.places],
            certainty=group.certainty,
        )
        for group in sorted(distinct, key=lambda group: group.places)
    )


def _join_single_calls(found: Iterable[Episode]) -> list[Episode]:
    """Make one episode of all single calls of a tool that nothing was stated for.

    Such a call teaches only how long it took. An episode of its own for each would take more
    processor time than the call: each is stored, and learned from in a transaction.
    """
    joined: dict[object, Episode] = {}
    for place, episode in enumerate(found):
        is_single = len(episode.calls) == 1 and not episode.intent
        key = episode.calls[0].tool if is_single else place
        same = joined.get(key)
        if same is not None:
            episode = replace(same, calls=same.calls + episode.calls)
        joined[key] = episode
    return list(joined.values())


class _Group(NamedTuple):
    """Places of calls that are joined, and the certainty of the weakest link among them."""

    places: tuple[int, ...]
    certainty: float


def _iterate_links(
    calls: Sequence[SessionCall], triggers: Sequence[Statement | None]
) -> Iterator[tuple[float, int, int]]:
    """Yield links with their certainty; places are negated, so that equal ones sort in order."""
    for later, call in enumerate(calls):
        for earlier in range(later):
            certainty = compute_link(
                calls[earlier], call, earlier_trigger=triggers[earlier], trigger=triggers[later]
            )
            if certainty >= MIN_LINK:
                yield certainty, -earlier, -later


def compute_link(
    earlier: SessionCall,
    later: SessionCall,
    *,
    earlier_trigger: Statement | None,
    trigger: Statement | None,
) -> float:
    """Return the certainty, in (0, `MAX_CERTAINTY`], that two calls belong to one task.

    Example:
        >>> first = SessionCall(number=0, tool="s:a", pk=1, at=0.0, duration_s=1.0)
        >>> then = SessionCall(number=1, tool="s:b", pk=2, at=5.0, duration_s=1.0,
        ...     sources=(ValueSource("/id", 0, pointer="/id"),))
        >>> compute_link(first, then, earlier_trigger=None, trigger=None)
        0.9
    """
    score = PRIOR
    taken = [source for source in later.sources if source.call == earlier.number]
    if any(source.is_result and not source.is_common for source in taken):
        score += DATA_FLOW
    elif taken:
        score += SHARED_VALUE
    elif ids.split_id(earlier.tool)[0] != ids.split_id(later.tool)[0]:
        score += OTHER_SERVER
    if trigger is not None and trigger is earlier_trigger:
        score += SAME_STATEMENT
        score += FOUND_TOGETHER * (trigger.found.keys() >= {earlier.pk, later.pk})
    gap_s = later.at - earlier.ended_at
    score += CLOSE if gap_s <= CLOSE_S else DISTANT if gap_s > DISTANT_S else 0.0
    score += 0.0 if earlier.succeeded else AFTER_FAILURE
    return min(1 / (1 + math.exp(-score)), MAX_CERTAINTY)


def _find_trigger(call: SessionCall, statements: Iterable[Statement]) -> Statement | None:
    """Return the statement that led to a call: the last that found its tool, or else the last."""
    before = [statement for statement in statements if statement.at <= call.at]
    found = [statement for statement in before if call.pk in statement.found]
    return next(reversed(found or before), None)


def _build_episode(
    calls: Sequence[SessionCall], triggers: Sequence[Statement | None], *, certainty: float
) -> Episode:
    """Return the episode of grouped calls.

    An intent states all of it; searches do if they found enough of its calls.
    """
    leading = [
        trigger
        for call, trigger in zip(calls, triggers, strict=True)
        if trigger is not None and call.pk in trigger.found
    ]
    whole = next((trigger for trigger in leading if trigger.is_intent), None)
    is_stated = whole is not None or len(leading) >= MIN_STATED_SHARE * len(calls)
    texts = [whole.text] if whole is not None else [trigger.text for trigger in leading]
    single = STATED_CERTAINTY if leading else MAX_CERTAINTY
    return Episode(
        calls=tuple(calls),
        intent=STATEMENT_SEPARATOR.join(dict.fromkeys(texts)) if is_stated else "",
        certainty=certainty if len(calls) > 1 else single,
    )
