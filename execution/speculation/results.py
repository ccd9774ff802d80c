"""Results of calls made ahead, kept for a minute: each for one session of one caller."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from execution.call_outcome import SpeculationForm
from gateway_project.foundation import json_size
from gateway_project.foundation.json_equality import equality_key

if TYPE_CHECKING:
    from execution.call import CallOutcome
    from execution.speculation.calls import SpeculativeCall
    from execution.speculation.rules import AdmissibilityReason
    from gateway_project.foundation.caller import Caller, SessionKey
    from tools.catalogue import CatalogueTool

COMPARED_KEYS: Final = ("content", "structuredContent", "isError")
"""Parts of a result that must be equal for two results to agree."""
VALID_S: Final = 60.0
"""Age at which a result is no longer served."""
MAX_RESULTS: Final = 2_000
"""Results and calls in flight, of all callers; the oldest results make room."""
MAX_RESULT_VALUES: Final = 5_000
MAX_RESULT_CHARACTERS: Final = 256 * 1024
"""Larger results are not kept."""
MAX_CHARACTERS: Final = 64 * 1024 * 1024
"""Characters of all results."""
MAX_KEY_VALUES: Final = 256
MAX_KEY_CHARACTERS: Final = 64 * 1024
"""Larger arguments are not compared, so such calls are never answered ahead."""


class ResultKey(NamedTuple):
    """What a request must equal to be answered with a result.

    Attributes:
        owner: `Caller.session_key` of whom results are private to.
        tool: Primary key of the tool.
        definition_hash: Of the definition that was called.
        arguments: Canonical JSON, which tells 1, 1.0, true and "1" apart.
    """

    owner: SessionKey
    tool: int
    definition_hash: str
    arguments: str


@dataclass(kw_only=True, eq=False)
class SpeculativeResult:
    """A call made ahead, and its result once it was answered.

    Attributes:
        key: What it answers.
        caller: Whom it was made for.
        call: The call.
        tool: As it was called.
        started_at: When it was sent, in seconds of a monotonic clock.
        task: Makes the call; None before it starts.
        outcome: The answer; None: there is none yet.
        answered_at: When it was answered.
        size: Characters of the answer, roughly.
        refusal: Why it was not made, or its answer not kept.
        error: Why there is no answer.
        joiners: Requests that wait for it.
        is_sent: Whether it was sent to the server.
        is_discarded: Whether it may no longer answer a request.
        is_reported: Whether its end was reported.
        is_given: Whether it came with the answer to an intent.
        replaced: An older result, whose end is told with this one's.
    """

    key: ResultKey
    caller: Caller
    call: SpeculativeCall
    tool: CatalogueTool
    started_at: float
    task: asyncio.Task[None] | None = None
    outcome: CallOutcome | None = None
    answered_at: float = 0.0
    size: int = 0
    refusal: tuple[AdmissibilityReason, ...] = ()
    error: Exception | None = None
    joiners: int = 0
    is_sent: bool = False
    is_discarded: bool = False
    is_reported: bool = False
    is_given: bool = False
    replaced: SpeculativeResult | None = None

    @property
    def duration_s(self) -> float:
        """Seconds that the server took; 0: it has not answered."""
        return self.answered_at - self.started_at if self.outcome is not None else 0.0


@dataclass
class SpeculativeResults:
    """The results in memory; for one event loop.

    Args:
        on_removed: Called with each one that leaves, used or not.
    """

    on_removed: Callable[[SpeculativeResult], None]
    characters: int = 0
    """Characters of all results, roughly."""
    _by_key: OrderedDict[ResultKey, SpeculativeResult] = field(default_factory=OrderedDict)
    _count_by_call: dict[tuple[SessionKey, int], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[SpeculativeResult]:
        return iter(tuple(self._by_key.values()))

    def find(
        self, owner: SessionKey, tool: CatalogueTool, arguments: Mapping[str, Any]
    ) -> SpeculativeResult | None:
        """Return what may answer a request, in flight or answered; None: nothing does."""
        if (owner, tool.pk) not in self._count_by_call:
            return None
        key = make_key(owner, tool, arguments)
        return None if key is None else self._by_key.get(key)

    def add(self, result: SpeculativeResult, *, replaces: SpeculativeResult | None = None) -> None:
        """Add a call in flight, and remove the older same call that it replaces.

        Unless that came with the answer to an intent, the end of the new one is its end too.
        """
        if replaces is not None:
            if replaces.call.form is not SpeculationForm.INTENT:
                result.replaced = replaces
            self.remove(replaces, is_replaced=result.replaced is replaces)
        self._by_key[result.key] = result
        call = (result.key.owner, result.key.tool)
        self._count_by_call[call] = self._count_by_call.get(call, 0) + 1

    def keep_answer(self, result: SpeculativeResult, outcome: CallOutcome, *, at: float) -> None:
        """Keep the answer to a call; the oldest answers make room."""
        result.outcome, result.answered_at = outcome, at
        result.size = estimate_size(outcome.result.raw)
        self.characters += result.size
        while self.characters > MAX_CHARACTERS and (oldest := self._find_oldest_answer()):
            self.remove(oldest)

    def make_room(self) -> bool:
        """Whether one more has room; the oldest answer is removed for it."""
        if len(self._by_key) < MAX_RESULTS:
            return True
        oldest = self._find_oldest_answer()
        if oldest is None:
            return False
        self.remove(oldest)
        return True

    def remove(self, result: SpeculativeResult, *, is_replaced: bool = False) -> None:
        """Remove a result, and cancel its call if it is in flight."""
        if result.is_discarded:
            return
        result.is_discarded = True
        del self._by_key[result.key]
        self.characters -= result.size
        call = (result.key.owner, result.key.tool)
        left = self._count_by_call[call] - 1
        if left:
            self._count_by_call[call] = left
        else:
            del self._count_by_call[call]
        if result.outcome is None and result.task is not None:
            result.task.cancel()
        if not is_replaced:
            self.on_removed(result)

    def remove_all(self) -> None:
        """Remove everything."""
        self.remove_where(lambda _result: True)

    def remove_where(self, is_meant: Callable[[SpeculativeResult], bool]) -> None:
        """Remove what a condition names."""
        if self._by_key:
            for result in self:
                if is_meant(result):
                    self.remove(result)

    def remove_prediction(self, prediction: UUID) -> None:
        """Remove what belongs to a prediction."""
        self.remove_where(lambda result: result.call.prediction == prediction)

    def remove_expired(self, now: float) -> None:
        """Remove answers that are too old to be served."""
        self.remove_where(
            lambda result: result.outcome is not None and now - result.answered_at >= VALID_S
        )

    def _find_oldest_answer(self) -> SpeculativeResult | None:
        return next((one for one in self._by_key.values() if one.outcome is not None), None)


def make_key(
    owner: SessionKey, tool: CatalogueTool, arguments: Mapping[str, Any]
) -> ResultKey | None:
    """Return the key of a call; None: its arguments are too large or are no JSON."""
    if json_size.is_larger_than(arguments, values=MAX_KEY_VALUES, characters=MAX_KEY_CHARACTERS):
        return None
    try:
        text = json.dumps(
            arguments, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_refuse
        )
    except (TypeError, ValueError, RecursionError):
        return None
    return ResultKey(owner, tool.pk, tool.definition_hash, text)


def is_keepable(raw: Mapping[str, Any]) -> bool:
    """Whether a raw result is small enough to be kept and compared."""
    return not json_size.is_larger_than(
        raw, values=MAX_RESULT_VALUES, characters=MAX_RESULT_CHARACTERS
    )


def do_agree(early: CallOutcome, real: CallOutcome) -> bool:
    """Whether two results are the same, but for what is about the message itself."""
    parts = [
        equality_key({key: one.result.raw.get(key) for key in COMPARED_KEYS})
        for one in (early, real)
    ]
    return parts[0] == parts[1]


def is_usable(outcome: CallOutcome) -> bool:
    """Whether a result made ahead may be kept."""
    result = outcome.result
    return not (result.is_error or result.is_interim) and is_keepable(result.raw)


def estimate_size(raw: Mapping[str, Any]) -> int:
    """Return the characters of a raw result, roughly; O(values)."""
    size, pending = 0, [raw]
    while pending:
        item: Any = pending.pop()
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            size += sum(map(len, item))
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        size += 16
    return size


def _refuse(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError("not JSON")
