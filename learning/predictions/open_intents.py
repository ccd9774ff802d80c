"""Suggestions that wait for their outcome, and what the calls of their session show of them."""

from __future__ import annotations

import json
import re
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from execution.speculation.calls import SpeculativeRun
from execution.speculation.outcome import (
    RESOLVE_AFTER_S,
    Evidence,
    combine_evidence,
    read_calls,
)
from execution.speculation.predicted_workflow import is_call_of
from execution.workflow import WorkflowTask
from gateway_project.foundation.caller import SessionKey
from learning.episodes import Episode
from learning.memory.context import ContextKey

MAX_PER_SESSION: Final = 8
"""Open suggestions of a session that are followed; older ones are left to a verdict."""
MAX_SESSIONS: Final = 1_000
"""Sessions that are followed; the one whose suggestion is oldest makes room."""
MIN_PHRASE: Final = 12
MAX_PHRASE: Final = 200
"""Characters of a text of several words that is compared as a whole."""
MAX_RESULT_CHARACTERS: Final = 256 * 1024
"""Characters of a prediction's results, as JSON, that are stored for who judges it."""
MAX_READ: Final = 20_000
"""Characters of a text in which words are looked for."""
_WORD: Final = re.compile(r"[\w@][\w@./:+-]{2,}[\w/]")
_TELLING: Final = re.compile(r"\d|\w[@./:_]\w")
_COMMON: Final = re.compile(
    r"(?:19|20)\d\d(?:-\d\d){0,2}(?:T[\d:.+Z-]*)?|\d{1,2}:\d\d(?::\d\d)?|\d+\.0"
)
"""Years, dates and times, and whole numbers written as floats."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AheadRecord:
    """What became of running a suggestion ahead.

    Attributes:
        run: Its calls and their results, also of a failed attempt; None: nothing was called, or it
            is no longer in memory.
        fallback: Code of the reason for which it was not run ahead, or failed; empty: none.
        values: Values of its results that the caller can have from nowhere else.
        episode: What it teaches if it was right; None: it was not run ahead.
    """

    run: SpeculativeRun | None = None
    fallback: str = ""
    values: frozenset[str] = frozenset()
    episode: Episode | None = None


NOT_RUN: Final = AheadRecord()


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictedIntent:
    """An answered intent, as a prediction of the workflow that its caller will run.

    Attributes:
        id: Id of the answer.
        confidence: Probability that the tools are the right ones, in [0, 1].
        ranked_confidence: The same before it was corrected by earlier outcomes.
        threshold: Confidence from which it would be run ahead, as the answer used it.
        is_admitted: Whether the answer reached it.
        is_runnable: Whether all required arguments were known.
        at: When it was answered, Unix time in seconds.
        ran: Whether it was run ahead.
    """

    id: UUID
    caller: SessionKey
    intent: str
    tasks: tuple[WorkflowTask, ...]
    confidence: float
    ranked_confidence: float
    threshold: float
    is_admitted: bool
    is_runnable: bool
    context: ContextKey
    at: float
    ran: AheadRecord = NOT_RUN

    def describe(self) -> dict[str, Any]:
        """Return as JSON what a person needs to see to judge it.

        These are the intent, and the calls with their arguments: as sent, else as suggested. Of
        results that are too large only the size is left.
        """
        run = self.ran.run
        sent = (
            {}
            if run is None
            else {call.task: call.arguments for call in run.tasks if not call.trouble}
        )
        results = {} if run is None else run.raw_results
        calls = []
        left = MAX_RESULT_CHARACTERS
        for task in self.tasks:
            kept = []
            for raw in results.get(task.id, ()):
                size = len(json.dumps(raw))
                kept.append({"size": size, "raw": raw if size <= left else None})
                left -= size if size <= left else 0
            calls.append(
                {
                    "task": task.id,
                    "tool": task.pk,
                    "arguments": sent.get(task.id, task.arguments),
                    "results": kept,
                }
            )
        return {"intent": self.intent, "calls": calls}


@dataclass(kw_only=True, eq=False, slots=True)
class _OpenIntent:
    """A suggestion, with the tasks that calls have carried out."""

    predicted: PredictedIntent
    matched: list[bool]
    shares_tools: bool = False
    evidence: Evidence = Evidence.NONE


@dataclass(kw_only=True, eq=False, slots=True)
class OpenIntents:
    """The open suggestions of a process by session; bounded, for one thread at a time."""

    _by_session: OrderedDict[SessionKey, deque[_OpenIntent]] = field(default_factory=OrderedDict)

    def add(self, predicted: PredictedIntent) -> None:
        """Follow a suggestion from now on, without the results in memory."""
        predicted = replace(predicted, ran=replace(predicted.ran, run=None))
        opened = self._by_session.setdefault(predicted.caller, deque(maxlen=MAX_PER_SESSION))
        opened.append(_OpenIntent(predicted=predicted, matched=[False] * len(predicted.tasks)))
        self._by_session.move_to_end(predicted.caller)
        if len(self._by_session) > MAX_SESSIONS:
            self._by_session.popitem(last=False)

    def note_call(
        self, caller: SessionKey, tool: int, arguments: Mapping[str, Any], *, at: float
    ) -> list[tuple[PredictedIntent, Evidence]]:
        """Follow a successful direct call; return the suggestions of which it shows more now.

        Each call carries out one task of a suggestion at most. One that has nothing to do with any
        contradicts the newest: it is for that intent, as far as can be told.

        Args:
            caller: Whose call it was.
            tool: Primary key of the tool.
            arguments: As called.
            at: When it ended, Unix time in seconds.
        """
        changed = []
        opened = self._list_open(caller, at)
        values = find_telling_values(arguments) if opened else frozenset()
        for one in opened:
            evidence = _match_call(one, tool, arguments, values)
            if evidence is Evidence.OTHER_CALLS and one is not opened[-1]:
                continue
            if evidence is not one.evidence:
                one.evidence = evidence
                changed.append((one.predicted, evidence))
        return changed

    def list_open(self, caller: SessionKey, *, at: float) -> list[PredictedIntent]:
        """Return the open suggestions of a session, newest first."""
        return [one.predicted for one in reversed(self._list_open(caller, at))]

    def find(self, caller: SessionKey, speculation: UUID) -> PredictedIntent | None:
        """Return a suggestion of a session; None: it is not followed."""
        opened = self._by_session.get(caller, ())
        return next((one.predicted for one in opened if one.predicted.id == speculation), None)

    def close(self, caller: SessionKey, speculation: UUID) -> None:
        """Stop following a suggestion whose outcome is known."""
        opened = self._by_session.get(caller)
        if opened is not None:
            left = [one for one in opened if one.predicted.id != speculation]
            opened.clear()
            opened.extend(left)

    def _list_open(self, caller: SessionKey, at: float) -> deque[_OpenIntent]:
        opened = self._by_session.get(caller)
        if opened is None:
            return deque()
        while opened and opened[0].predicted.at <= at - RESOLVE_AFTER_S:
            opened.popleft()
        if not opened:
            del self._by_session[caller]
        return opened


def find_telling_values(value: Any) -> frozenset[str]:
    """Return the texts and numbers in a value that two places hardly share by chance.

    Those are words with a digit or a mark in them, of four characters at least, that are no year,
    date or time; and short texts of several words.

    Example:
        >>> sorted(find_telling_values({"id": 48213, "state": "open", "due": "2026-11-28"}))
        ['48213']
    """
    found: set[str] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Mapping):
            pending.extend(one.values())
        elif isinstance(one, list | tuple):
            pending.extend(one)
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            text = str(one)
            if " " in text.strip() and MIN_PHRASE <= len(text) <= MAX_PHRASE:
                found.add(text)
            found.update(
                word
                for word in _WORD.findall(text[:MAX_READ])
                if _TELLING.search(word) and not _COMMON.fullmatch(word)
            )
    return frozenset(found)


def _match_call(
    one: _OpenIntent, tool: int, arguments: Mapping[str, Any], values: frozenset[str]
) -> Evidence:
    for number, task in enumerate(one.predicted.tasks):
        if task.pk != tool:
            continue
        one.shares_tools = True
        if not one.matched[number] and is_call_of(task, tool, arguments):
            one.matched[number] = True
            break
    shown = read_calls(one.matched, shares_tools=one.shares_tools, made_calls=True)
    ran = one.predicted.ran
    if ran.episode is not None and (any(one.matched) or not ran.values.isdisjoint(values)):
        shown = combine_evidence(Evidence.USED, shown)
    return combine_evidence(one.evidence, shown)
