"""The sessions of a process: each is captured as events and remembered for a while."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from execution.call_outcome import SpeculationForm
from execution.codes import TOOL_ERROR
from execution.running import results
from execution.snapshot import bind_run_session, compute_run_session, find_session_run
from execution.speculation.calls import SpeculationEnd
from gateway_project.foundation import json_size, telemetry
from gateway_project.foundation.canonical import NotCanonicalizable
from learning.episodes import Statement
from learning.memory.context import (
    ComputeDigest,
    Context,
    ContextKey,
    describe_context,
    hash_context,
    to_signed_64,
)
from learning.memory.event import Event, EventKind, EventOutcome
from learning.sessions.memory import SessionMemory
from learning.sessions.session import (
    MAX_WAITING,
    AnsweredCall,
    Session,
)
from tools.query_text import MAX_CHARS

if TYPE_CHECKING:
    from execution.call import EndedCall
    from execution.speculation.calls import EndedSpeculation
    from gateway_project.foundation.caller import Caller, SessionKey
    from learning.sessions.memory import AnsweredIntent
    from tools.catalogue import CatalogueTool

FORGET_AFTER_S: Final = 600.0
"""Silence after which a session is forgotten."""
MAX_SESSIONS: Final = 1_000
"""Sessions remembered; the one silent for longest makes room."""
MAX_SESSION_CALLS: Final = 150
"""Calls after which a session is taken for a new one: less than prediction remembers."""
MAX_CONTEXT_KEYS: Final = 1_000
"""Contexts whose keys are cached."""
MAX_HASHED_VALUES: Final = 64
MAX_HASHED_CHARACTERS: Final = 4_096
"""Arguments that are hashed within the call, in some 20 µs; larger ones have no hash."""
MAX_RESULT_CHARACTERS: Final = 64 * 1024
MAX_RESULT_VALUES: Final = 1_000
"""Arguments and results that are analysed; calls with larger ones are recorded without."""
MAX_KEPT_WORDS: Final = 2 * MAX_CHARS
"""Characters of a search or an intent that wait to be analysed; no more are ever read."""
MAX_LISTED_TOOLS: Final = 10
"""Tools that an event of a search or an intent names."""
MAX_CODE_CHARACTERS: Final = 40
_MS_PER_S: Final = 1_000
_NONCE_BYTES: Final = 16
_PROBABILITY_DIGITS: Final = 3
_CHANCE_DIGITS: Final = 4
_EARLY_OUTCOMES: Final[Mapping[SpeculationEnd, EventOutcome]] = {
    SpeculationEnd.SERVED: EventOutcome.HIT,
    SpeculationEnd.COMPARED: EventOutcome.HIT,
    SpeculationEnd.UNUSED: EventOutcome.EXPIRED,
    SpeculationEnd.FAILED: EventOutcome.MISS,
}


class SessionRegistry(SessionMemory):
    """Records what callers do as events, and remembers their sessions.

    For one event loop. A call costs some tens of microseconds; what it
    teaches is left to be analysed while its session is idle.
    """

    def __init__(
        self,
        *,
        record: Callable[[Event], None],
        digest: ComputeDigest,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._record = record
        self._digest = digest
        self._clock = clock
        self._wall = wall
        self._numbers = itertools.count()
        self._nonce = secrets.token_hex(_NONCE_BYTES)
        self.changed = asyncio.Event()
        """Set when a session may have something to analyse."""
        self._sessions: OrderedDict[SessionKey, Session] = OrderedDict()
        self._context_keys: OrderedDict[Context, ContextKey] = OrderedDict()
        self._category_keys: dict[str, ContextKey] = {}
        self._busy: OrderedDict[Session, None] = OrderedDict()
        self._forgotten: list[Session] = []
        self._runs: dict[UUID, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def compute_context_key(self, context: Context) -> ContextKey:
        """See `SessionMemory`."""
        key = self._context_keys.get(context)
        if key is None:
            key = self._context_keys[context] = hash_context(context, self._digest)
            if len(self._context_keys) > MAX_CONTEXT_KEYS:
                self._context_keys.popitem(last=False)
        return key

    def record_call(self, ended: EndedCall) -> None:
        """See `SessionMemory`."""
        self._record_call(ended, is_task=False)

    def record_task_call(self, ended: EndedCall) -> None:
        """See `SessionMemory`."""
        self._record_call(ended, is_task=True)

    def _record_call(self, ended: EndedCall, *, is_task: bool) -> None:
        session, tool = self._touch(ended.caller), ended.tool
        arguments_hash = None if tool is None else self.hash_arguments(tool, ended.arguments)
        outcome, at = _classify_code(ended.code), self._wall()
        self.emit(
            session,
            EventKind.TASK_COMPLETE,
            at,
            context=self._find_call_context(session, tool),
            tool=tool.pk if tool else None,
            arguments_hash=arguments_hash,
            outcome=outcome,
            duration_ms=ended.duration_s * _MS_PER_S,
            data=_describe_call(session, ended.code),
        )
        if tool is None or outcome is EventOutcome.UNANSWERED:
            return
        session.call_count += 1
        raw = ended.result.raw if ended.result is not None else None
        is_kept = arguments_hash is not None or not _is_large(ended.arguments)
        self._let_wait(
            session,
            AnsweredCall(
                tool=tool,
                arguments=ended.arguments if is_kept else None,
                result=keep_root(raw) if raw is not None and is_small_result(raw) else None,
                is_error=outcome is not EventOutcome.SUCCEEDED,
                arguments_hash=arguments_hash,
                is_task=is_task,
                at=at,
                ended_at=session.active_at,
                duration_s=ended.duration_s,
                saved_s=ended.served.saved_s if ended.served is not None else 0.0,
            ),
        )

    def record_search(
        self, caller: Caller, query: str, *, context: Context, hits: Mapping[int, float]
    ) -> None:
        """See `SessionMemory`."""
        session, at = self._touch(caller), self._wall()
        session.context = self.compute_context_key(context)
        self.emit(
            session,
            EventKind.SEARCH,
            at,
            context=session.context,
            intent_hash=(words_hash := self._hash_words(query)),
            data={"tools": list(itertools.islice(hits, MAX_LISTED_TOOLS))},
        )
        self._let_wait(
            session,
            Statement(text=query[:MAX_KEPT_WORDS], words_hash=words_hash, found=hits, at=at),
        )

    def record_intent(self, caller: Caller, answered: AnsweredIntent) -> None:
        """See `SessionMemory`."""
        session, at = self._touch(caller), self._wall()
        session.context = answered.context
        self.emit(
            session,
            EventKind.INTENT,
            at,
            context=answered.context,
            intent_hash=(words_hash := self._hash_words(answered.text)),
            prediction=answered.prediction,
            data={
                "mode": answered.mode,
                "confidence": round(answered.confidence, _PROBABILITY_DIGITS),
                "tools": list(answered.tools[:MAX_LISTED_TOOLS]),
            },
        )
        self._let_wait(
            session,
            Statement(
                text=answered.text[:MAX_KEPT_WORDS],
                words_hash=words_hash,
                found=answered.found,
                is_intent=True,
                at=at,
                planned=answered.planned,
            ),
        )

    def record_run(self, caller: Caller, run: UUID) -> None:
        """See `SessionMemory`.

        The session of the run has the context of the session that started it.
        """
        context = self._touch(caller).context
        session = self._touch_run(caller, run)
        session.context, session.starter = context, caller

    def record_run_end(self, run: UUID) -> None:
        """See `SessionMemory`.

        What its calls have shown is analysed once more, to predict how its starter goes on.
        """
        session = self._runs.get(run)
        if session is None or session.starter is None:
            return
        session.has_ended, session.active_at = True, self._clock()
        self._sessions.move_to_end(session.key)
        self._let_analyse(session)

    def record_session_end(self, caller: Caller) -> None:
        """See `SessionMemory`."""
        session = self.find_session(caller)
        if session is None or session.has_ended:
            return
        session.has_ended = True
        if session in self._busy:  # what waits is analysed first
            self.changed.set()
        else:
            self.end_session(session)

    def end_session(self, session: Session) -> None:
        """Forget a session that has ended, so that what it taught is counted."""
        if self._sessions.get(session.key) is session:
            self._forget(session)
        self.changed.set()

    def record_agent_decision(self, caller: Caller, run: UUID, action: str) -> None:
        """See `SessionMemory`."""
        session = self._touch_run(caller, run)
        self.emit(
            session,
            EventKind.AIL_DECISION,
            context=session.context,
            data={"run": str(run), "action": action},
        )

    def record_speculation_end(self, ended: EndedSpeculation) -> None:
        """Record what became of a predicted next call that was made ahead.

        It is a hit if the same call was requested, also if that was made again to be compared,
        which saves nothing.
        """
        if ended.call.form is not SpeculationForm.NEXT_CALL:
            return
        session = self.find_session(ended.caller)
        outcome = _EARLY_OUTCOMES[ended.end]
        takes_s = ended.saved_s if outcome is EventOutcome.HIT else ended.duration_s
        self._record(
            Event(
                kind=EventKind.SPECULATION_END,
                at=self._wall(),
                team=ended.caller.owner,
                session=self._hash_ended(ended.caller) if session is None else session.hash,
                tool=ended.tool.pk,
                arguments_hash=self.hash_arguments(ended.tool, ended.call.arguments),
                context_hash=session.context.context if session and session.context else None,
                context_check=session.context.check if session and session.context else None,
                prediction=ended.call.prediction,
                outcome=outcome,
                data={
                    "form": ended.call.form.value,
                    "chance": round(ended.call.chance, _CHANCE_DIGITS),
                    "saves_ms": round(takes_s * _MS_PER_S, 1),
                    "shadow": False,
                    "end": ended.end.value,
                    **({} if ended.agreed is None else {"agreed": ended.agreed}),
                },
            )
        )

    def _hash_ended(self, caller: Caller) -> int:
        """Return the hash of a session that is not remembered any more."""
        return to_signed_64(self._digest("ended session", self._nonce, *caller.session_key))

    def find_session(self, caller: Caller) -> Session | None:
        """Return the session of a caller; None: it is not remembered."""
        return self._sessions.get(caller.session_key)

    def take_idle(self, *, idle_s: float) -> list[tuple[Session, deque[Statement | AnsweredCall]]]:
        """Return the sessions with something to analyse that were silent for a while, with it."""
        idle_since = self._clock() - idle_s
        taken = []
        while self._busy and (session := next(iter(self._busy))).active_at <= idle_since:
            del self._busy[session]
            taken.append((session, session.waiting))
            session.waiting = deque()
        return taken

    @property
    def has_waiting(self) -> bool:
        """Whether any session has something to analyse."""
        return bool(self._busy)

    def take_forgotten(self) -> list[Session]:
        """Forget silent sessions; return all that were forgotten since the last call."""
        self._forget_silent()
        taken, self._forgotten = self._forgotten, []
        return taken

    def forget_oldest(self) -> None:
        """Forget the session that was silent for longest."""
        if self._sessions:
            self._forget(next(iter(self._sessions.values())))

    def _forget(self, session: Session) -> None:
        del self._sessions[session.key]
        if session.run is not None and self._runs.get(session.run) is session:
            del self._runs[session.run]
        self._busy.pop(session, None)
        self._forgotten.append(session)

    def _forget_silent(self) -> None:
        silent_since = self._clock() - FORGET_AFTER_S
        while self._sessions and next(iter(self._sessions.values())).active_at < silent_since:
            self.forget_oldest()

    def _touch(self, caller: Caller) -> Session:
        """Return the session of a caller, which is active now."""
        key = caller.session_key
        session = self._sessions.get(key)
        now = self._clock()
        if session is not None and _is_continued(session, now):
            session.caller, session.active_at = caller, now
            self._sessions.move_to_end(key)
            return session
        if session is not None:
            self._forget(session)
        self._forget_silent()
        if len(self._sessions) >= MAX_SESSIONS:
            self.forget_oldest()
        run = find_session_run(caller)
        session = self._sessions[key] = Session(
            key=key,
            hash=to_signed_64(self._digest("session", self._nonce, next(self._numbers), *key))
            if run is None
            else compute_run_session(run),
            caller=caller,
            active_at=now,
            run=run,
        )
        if run is not None:
            self._runs[run] = session
        return session

    def _touch_run(self, caller: Caller, run: UUID) -> Session:
        return self._touch(bind_run_session(caller, run))

    def hash_arguments(self, tool: CatalogueTool, arguments: Mapping[str, Any]) -> int | None:
        """Return the keyed hash of a definition and arguments; None: they are too large."""
        if json_size.is_larger_than(
            arguments, values=MAX_HASHED_VALUES, characters=MAX_HASHED_CHARACTERS
        ):
            return None
        try:
            return to_signed_64(self._digest("call", tool.definition_hash, dict(arguments)))
        except NotCanonicalizable:
            return None

    def emit(
        self,
        session: Session,
        kind: EventKind,
        at: float | None = None,
        *,
        context: ContextKey | None = None,
        **values: Any,
    ) -> None:
        """Record an event of a session, by default one of now; thread-safe."""
        if context is not None:
            values |= {"context_hash": context.context, "context_check": context.check}
        at = self._wall() if at is None else at
        self._record(Event(kind=kind, at=at, team=session.owner, session=session.hash, **values))

    def _hash_words(self, text: str) -> int:
        """Return the keyed hash of an intent or a search, the same for equal words."""
        return to_signed_64(self._digest("intent", " ".join(text[:MAX_CHARS].split()).casefold()))

    def _find_call_context(
        self, session: Session, tool: CatalogueTool | None
    ) -> ContextKey | None:
        """Return the context of a call: of the session, or else of the tool's own category."""
        if session.context is not None or tool is None:
            return session.context
        category = tool.category or tool.server
        key = self._category_keys.get(category)
        if key is None:
            if len(self._category_keys) >= MAX_CONTEXT_KEYS:
                self._category_keys.clear()
            key = self.compute_context_key(describe_context(categories=[category]))
            self._category_keys[category] = key
        return key

    def _let_wait(self, session: Session, item: Statement | AnsweredCall) -> None:
        if len(session.waiting) >= MAX_WAITING:
            session.waiting.popleft()
            session.has_gap = True
            telemetry.unanalysed_calls.inc()
        session.waiting.append(item)
        self._let_analyse(session)

    def _let_analyse(self, session: Session) -> None:
        self._busy[session] = None
        self._busy.move_to_end(session)
        self.changed.set()


def _is_continued(session: Session, now: float) -> bool:
    is_over = session.has_ended or now - session.active_at > FORGET_AFTER_S
    return not is_over and session.call_count < MAX_SESSION_CALLS


def is_small_result(raw: Mapping[str, Any]) -> bool:
    """Whether a raw result is small enough to be analysed."""
    structured = raw.get("structuredContent")
    if structured is not None:
        return not _is_large(structured)
    return len(results.find_first_text(raw) or "") <= MAX_RESULT_CHARACTERS


def keep_root(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a raw result that is analysed, so that no image waits beside it."""
    structured = raw.get("structuredContent")
    if structured is not None:
        return {"structuredContent": structured}
    text = results.find_first_text(raw)
    return {} if text is None else {"content": [{"type": "text", "text": text}]}


def _is_large(value: Any) -> bool:
    return json_size.is_larger_than(
        value, values=MAX_RESULT_VALUES, characters=MAX_RESULT_CHARACTERS
    )


def _classify_code(code: str) -> EventOutcome:
    if not code:
        return EventOutcome.SUCCEEDED
    return EventOutcome.FAILED if code == TOOL_ERROR else EventOutcome.UNANSWERED


def _describe_call(session: Session, code: str) -> dict[str, str]:
    data = {"code": code[:MAX_CODE_CHARACTERS]} if code else {}
    return data if session.run is None else data | {"run": str(session.run)}
