"""Calls that wait, between two requests of a client, for the answers to what a server asks.

A server of the handshake era asks in the middle of a call and waits. A client of 2026-07-28 cannot
be asked in the middle: it is answered that input is required, and comes again with the answers. In
between, the call is parked here. It belongs to its caller, and ends when nobody comes for it.
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

if TYPE_CHECKING:
    from execution.call import Progress
    from gateway_project.foundation.caller import Caller

ABANDONED_S: Final = 600.0
"""A person may take so long to answer."""
MAX_PARKED: Final = 512
MAX_PER_CALLER: Final = 32
ID_BYTES: Final = 16

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Questions:
    """What a server asks before it goes on.

    Attributes:
        parked: Names the call that waits.
        requests: Method and parameters by key.
    """

    parked: str
    requests: Mapping[str, Mapping[str, Any]]


class NotParked(LookupError):
    """No such call waits for this caller, here."""


@dataclass(frozen=True)
class _Raised:
    error: Exception


@dataclass(kw_only=True, eq=False)
class _Question:
    request: Mapping[str, Any]
    answer: asyncio.Future[dict[str, Any]]
    put: bool = False


@dataclass(kw_only=True, eq=False)
class Call(Generic[T]):
    """A call that may come to wait; made by `Parking.run`.

    Attributes:
        caller: Whose it is.
        progress: Of the request that waits for it now.
    """

    caller: Caller
    progress: Progress | None
    task: asyncio.Task[T | _Raised] | None = None
    name: str = ""
    questions: dict[str, _Question] = field(default_factory=dict)
    asked: int = 0
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    expiry: asyncio.TimerHandle | None = None

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress to the request that waits now, if it wants that."""
        if self.progress is not None:
            await self.progress(progress, total, message)

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Put a question to the client and wait for its answer.

        Raises:
            MCPError: If none will come.
        """
        self.asked += 1
        key = f"ask-{self.asked}"
        question = _Question(
            request={"method": method, "params": dict(params)},
            answer=asyncio.get_running_loop().create_future(),
        )
        self.questions[key] = question
        self.stirred.set()
        try:
            return await question.answer
        finally:
            self.questions.pop(key, None)

    def give(self, answers: Mapping[str, Any]) -> None:
        """Hand answers to those who asked; what is left unanswered is put again."""
        for key, question in self.questions.items():
            answer = answers.get(key)
            question.put = False
            if isinstance(answer, dict) and not question.answer.done():
                # What says that it is a whole result belongs to the hop.
                question.answer.set_result(
                    {name: value for name, value in answer.items() if name != "resultType"}
                )

    def end(self, reason: str) -> None:
        """End the call at its server, too."""
        for question in self.questions.values():
            if not question.answer.done():
                question.answer.set_exception(MCPError(INTERNAL_ERROR, reason))
        if self.task is not None:
            self.task.cancel()

    def open_questions(self) -> dict[str, Mapping[str, Any]]:
        """Return what is not answered and not with the client."""
        waiting = {}
        for key, question in self.questions.items():
            if not question.put and not question.answer.done():
                question.put = True
                waiting[key] = question.request
        return waiting


class Parking:
    """Runs calls that may have to wait; `parking()` opens one."""

    def __init__(self, group: asyncio.TaskGroup, *, abandoned_s: float = ABANDONED_S) -> None:
        self._group = group
        self._abandoned_s = abandoned_s
        self._calls: set[Call[Any]] = set()
        self._parked: dict[str, Call[Any]] = {}

    async def run(
        self,
        operation: Callable[[Call[T]], Awaitable[T]],
        *,
        caller: Caller,
        progress: Progress | None,
    ) -> T | Questions:
        """Run a call until it ends or has to wait for answers; cancelling this cancels it.

        Args:
            operation: Given the call, by which it asks and reports progress.
            caller: Whose it is.
            progress: Told what the server reports.
        """
        call: Call[T] = Call(caller=caller, progress=progress)
        call.task = self._group.create_task(_quietly(operation(call)))
        call.task.add_done_callback(lambda _: call.stirred.set())
        self._calls.add(call)
        return await self._attend(call)

    async def resume(
        self,
        name: str,
        answers: Mapping[str, Any],
        *,
        caller: Caller,
        progress: Progress | None,
    ) -> Any:
        """Go on with a parked call; what `run` would have returned.

        Raises:
            NotParked: If none of that name waits for this caller here.
        """
        call = self._parked.get(name)
        if call is None or (call.caller.user, call.caller.team) != (caller.user, caller.team):
            raise NotParked
        del self._parked[name]
        if call.expiry is not None:
            call.expiry.cancel()
        call.progress = progress
        call.give(answers)
        return await self._attend(call)

    def __len__(self) -> int:
        return len(self._parked)

    async def _attend(self, call: Call[T]) -> T | Questions:
        assert call.task is not None  # noqa: S101 - `run` sets it
        try:
            while not call.task.done():
                # An answer wakes the asker first; only then is it known what is still open.
                await asyncio.sleep(0)
                if requests := call.open_questions():
                    return self._park(call, requests)
                call.stirred.clear()
                if not call.task.done():
                    await call.stirred.wait()
        except asyncio.CancelledError:
            self._drop(call, "the client cancelled its request")
            raise
        self._calls.discard(call)
        outcome = call.task.result()
        if isinstance(outcome, _Raised):
            raise outcome.error
        return outcome

    def _park(self, call: Call[Any], requests: Mapping[str, Mapping[str, Any]]) -> Questions:
        mine = sum(other.caller == call.caller for other in self._parked.values())
        if len(self._parked) >= MAX_PARKED or mine >= MAX_PER_CALLER:
            reason = "too many calls wait for answers already"
            self._drop(call, reason)
            raise MCPError(INTERNAL_ERROR, f"{reason}; answer or cancel some of them first")
        call.name = secrets.token_urlsafe(ID_BYTES)
        call.progress = None
        self._parked[call.name] = call
        loop = asyncio.get_running_loop()
        call.expiry = loop.call_later(
            self._abandoned_s, self._drop, call, "the client did not answer in time"
        )
        return Questions(parked=call.name, requests=requests)

    def _drop(self, call: Call[Any], reason: str) -> None:
        self._parked.pop(call.name, None)
        self._calls.discard(call)
        call.end(reason)

    def close(self) -> None:
        """End all calls."""
        for call in list(self._calls):
            if call.expiry is not None:
                call.expiry.cancel()
            self._drop(call, "the gateway is shutting down")


@asynccontextmanager
async def parking(*, abandoned_s: float = ABANDONED_S) -> AsyncIterator[Parking]:
    """Run calls while inside; leaving ends those that are left."""
    group = asyncio.TaskGroup()
    await group.__aenter__()
    lot = Parking(group, abandoned_s=abandoned_s)
    try:
        yield lot
    finally:
        lot.close()
        # The calls have ended; told of an exception, the group would wrap it.
        await group.__aexit__(None, None, None)


async def _quietly(attended: Awaitable[T]) -> T | _Raised:
    """Return an error instead of raising it: one call may not end the others."""
    try:
        return await attended
    except Exception as error:  # noqa: BLE001 - the top of a task; raised again by who waits
        return _Raised(error)
