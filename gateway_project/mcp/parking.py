"""Parks calls that wait, between two requests of a client, for answers to a server's questions.

A server of the handshake era asks in the middle of a call and waits. A stateless client cannot be
asked in the middle: it receives `input_required` and repeats the request with the answers. In
between, the call is parked here. It belongs to its caller and is aborted if nobody resumes it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.foundation.shares import Bound
from gateway_project.foundation.task_group import TaskGroup

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from tools.upstream.request import ProgressListener

ANSWER_TIMEOUT_S: Final = 600.0
"""Time limit for a person's answer."""
PARKED: Final = Bound(total=512, each=32)
"""Calls that are parked in the process, and those of one user."""
CALL_ID_BYTES: Final = 16

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ServerQuestions:
    """Questions that a server needs answered before it continues.

    Attributes:
        parked_call: Name of the parked call; empty if there is none.
        requests: Method and parameters by key.
    """

    parked_call: str
    requests: Mapping[str, Mapping[str, Any]]


class NoParkedCall(LookupError):
    """No call of that name waits for this caller in this process."""


@dataclass(frozen=True)
class _RaisedError:
    error: Exception


@dataclass(kw_only=True, eq=False)
class _ParkedQuestion:
    request: Mapping[str, Any]
    answer: asyncio.Future[dict[str, Any]]
    was_sent: bool = False


@dataclass(kw_only=True, eq=False)
class ParkedCall(Generic[T]):
    """A call that can be parked; created by `ParkedCalls.run`.

    Attributes:
        caller: Owner of the call.
        progress: Progress listener of the request that waits for it now.
    """

    caller: Caller
    progress: ProgressListener | None
    task: asyncio.Task[T | _RaisedError] | None = None
    parked_name: str = ""
    questions: dict[str, _ParkedQuestion] = field(default_factory=dict)
    question_count: int = 0
    state_changed: asyncio.Event = field(default_factory=asyncio.Event)
    expiry: asyncio.TimerHandle | None = None

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress to the request that waits now, if it has a listener."""
        if self.progress is not None:
            await self.progress(progress, total, message)

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Put a question to the client and wait for its answer.

        Raises:
            MCPError: If the call is aborted, or its client has its answer: it goes on as a run.
        """
        if self.task is not None and self.task.done():
            raise MCPError(INTERNAL_ERROR, "the client no longer waits for this call")
        self.question_count += 1
        key = f"ask-{self.question_count}"
        question = _ParkedQuestion(
            request={"method": method, "params": dict(params)},
            answer=asyncio.get_running_loop().create_future(),
        )
        self.questions[key] = question
        self.state_changed.set()
        try:
            return await question.answer
        finally:
            self.questions.pop(key, None)

    def deliver_answers(self, answers: Mapping[str, Any]) -> None:
        """Deliver answers to the waiting questions; unanswered ones are asked again."""
        for key, question in self.questions.items():
            answer = answers.get(key)
            question.was_sent = False
            if isinstance(answer, dict) and not question.answer.done():
                # `resultType` belongs to the hop.
                question.answer.set_result(
                    {name: value for name, value in answer.items() if name != "resultType"}
                )

    def abort(self, reason: str) -> None:
        """Cancel the call, also at its server, and fail its open questions."""
        for question in self.questions.values():
            if not question.answer.done():
                question.answer.set_exception(MCPError(INTERNAL_ERROR, reason))
        if self.task is not None:
            self.task.cancel()

    def take_open_questions(self) -> dict[str, Mapping[str, Any]]:
        """Return the unsent, unanswered questions and mark them as sent."""
        unsent = {}
        for key, question in self.questions.items():
            if not question.was_sent and not question.answer.done():
                question.was_sent = True
                unsent[key] = question.request
        return unsent


class ParkedCalls:
    """Runs calls that can be parked; created by `open_parking`."""

    def __init__(self, group: TaskGroup, *, abandoned_s: float = ANSWER_TIMEOUT_S) -> None:
        self._group = group
        self._abandoned_s = abandoned_s
        self._calls: set[ParkedCall[Any]] = set()
        self._parked: dict[str, ParkedCall[Any]] = {}

    async def run(
        self,
        operation: Callable[[ParkedCall[T]], Awaitable[T]],
        *,
        caller: Caller,
        progress: ProgressListener | None,
    ) -> T | ServerQuestions:
        """Run a call until it ends or needs answers; cancelling this cancels the call.

        Args:
            operation: Receives the call, through which it asks and reports progress.
            caller: Owner of the call.
            progress: Receives the server's progress reports.
        """
        call: ParkedCall[T] = ParkedCall(caller=caller, progress=progress)
        call.task = self._group.create_task(_capture_error(operation(call)))
        call.task.add_done_callback(lambda _: call.state_changed.set())
        self._calls.add(call)
        return await self._wait_for_call(call)

    async def resume(
        self,
        name: str,
        answers: Mapping[str, Any],
        *,
        caller: Caller,
        progress: ProgressListener | None,
    ) -> Any:
        """Resume a parked call and return what `run` would have returned.

        Raises:
            NoParkedCall: If no call of that name waits for this caller in this process.
        """
        call = self._parked.get(name)
        if call is None or not _can_resume(caller, call.caller):
            raise NoParkedCall
        del self._parked[name]
        if call.expiry is not None:
            call.expiry.cancel()
        call.progress = progress
        call.deliver_answers(answers)
        return await self._wait_for_call(call)

    def __len__(self) -> int:
        return len(self._parked)

    async def _wait_for_call(self, call: ParkedCall[T]) -> T | ServerQuestions:
        assert call.task is not None  # noqa: S101 - `run` sets it
        try:
            while not call.task.done():
                # Let the operation receive the answers first; it may ask further questions.
                await asyncio.sleep(0)
                if requests := call.take_open_questions():
                    return self._park_call(call, requests)
                call.state_changed.clear()
                if not call.task.done():
                    await call.state_changed.wait()
        except asyncio.CancelledError:
            self._drop_call(call, "the client cancelled its request")
            raise
        self._calls.discard(call)
        outcome = call.task.result()
        if isinstance(outcome, _RaisedError):
            raise outcome.error
        return outcome

    def _park_call(
        self, call: ParkedCall[Any], requests: Mapping[str, Mapping[str, Any]]
    ) -> ServerQuestions:
        held = sum(parked.caller.user == call.caller.user for parked in self._parked.values())
        is_superuser = call.caller.has_scope(SCOPE_ALL)
        if not PARKED.admits(held=held, in_all=len(self._parked), is_privileged=is_superuser):
            reason = "too many calls are already waiting for answers"
            self._drop_call(call, reason)
            raise MCPError(INTERNAL_ERROR, f"{reason}; answer or cancel some of them first")
        call.parked_name = secrets.token_urlsafe(CALL_ID_BYTES)
        call.progress = None
        self._parked[call.parked_name] = call
        loop = asyncio.get_running_loop()
        call.expiry = loop.call_later(
            self._abandoned_s, self._drop_call, call, "the client did not answer in time"
        )
        return ServerQuestions(parked_call=call.parked_name, requests=requests)

    def _drop_call(self, call: ParkedCall[Any], reason: str) -> None:
        self._parked.pop(call.parked_name, None)
        self._calls.discard(call)
        call.abort(reason)

    def close(self) -> None:
        """Abort all calls."""
        for call in list(self._calls):
            if call.expiry is not None:
                call.expiry.cancel()
            self._drop_call(call, "the gateway is shutting down")


@asynccontextmanager
async def open_parking(*, abandoned_s: float = ANSWER_TIMEOUT_S) -> AsyncIterator[ParkedCalls]:
    """Yield a parking for calls; leaving the context aborts the remaining ones."""
    group = TaskGroup()
    await group.__aenter__()
    parking = ParkedCalls(group, abandoned_s=abandoned_s)
    try:
        yield parking
    finally:
        parking.close()
        # The calls have ended; given an exception, the group would wrap it.
        await group.__aexit__(None, None, None)


def _can_resume(caller: Caller, owner: Caller) -> bool:
    """Whether a caller is a call's owner and holds at least the scopes of the original token."""
    if (caller.user, caller.team, caller.group) != (owner.user, owner.team, owner.group):
        return False
    return all(map(caller.has_scope, owner.scopes))


async def _capture_error(operation: Awaitable[T]) -> T | _RaisedError:
    """Return an error instead of raising it, which would cancel the other calls of the group."""
    try:
        return await operation
    except Exception as error:  # noqa: BLE001 - top level of a task; raised again by the waiter
        return _RaisedError(error)
