"""What stands behind the protocol, set up beside it: the handshake waits for none of this."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp.server import ServerRequestContext

from gateway_project.readiness import NotReady, Readiness

if TYPE_CHECKING:
    from gateway_project.access.bearers import LookUp, NoteUse
    from gateway_project.foundation.caller import Caller

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""What broke down is set up anew after a pause that doubles up to this."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class Handler(Protocol):
    """Serves a request of a client."""

    async def __call__(
        self,
        readiness: Readiness,
        ctx: ServerRequestContext[Any],
        params: Any,
    ) -> Any:
        """Return the result, or raise what the protocol calls an error."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What takes time to load.

    Attributes:
        handle: Serves calls.
        wire: Builds the effects and keeps them current until cancelled; tells `Readiness`.
        look_up: Looks up bearer tokens; None where nobody sends any.
        note_use: Keeps that bearer tokens were used; None where nobody cares.
        exposition: Returns the metrics of the installation; None where nobody asks.
        caller_of: Returns the caller of a user of this machine; raises `LookupError`. None where
            nobody asks.
    """

    handle: Handler
    wire: Callable[[Readiness], Awaitable[None]]
    look_up: LookUp | None = None
    note_use: NoteUse | None = None
    exposition: Callable[[], Awaitable[bytes]] | None = None
    caller_of: Callable[[str], Awaitable[Caller]] | None = None


class Runtime:
    """Loads and runs what calls are served with, in the background.

    Args:
        prepare: Loads it, in a thread of its own.
    """

    def __init__(self, prepare: Callable[[], Prepared]) -> None:
        self.readiness = Readiness()
        self._prepare = prepare
        self._prepared: Prepared | None = None
        self._settled = asyncio.Event()

    async def run(self) -> None:
        """Set up and run until cancelled; what goes wrong is told to calls, and ends nothing."""
        try:
            prepared = await _in_daemon_thread(self._prepare)
            self._prepared = prepared
            self._settled.set()
            await self._keep_wired(prepared)
        except NotReady as trouble:
            log.error("%s", trouble)  # noqa: TRY400 - one line; the cause is the user's to mend
            self.readiness.refuse(trouble)
        except Exception:
            log.exception("the gateway's set-up ended")
            self.readiness.refuse(
                NotReady("internal_error", "the gateway could not set itself up; its log says why")
            )
        finally:
            self._settled.set()

    async def _keep_wired(self, prepared: Prepared) -> None:
        """Run what was loaded, anew when it breaks down: nobody else would start it again."""
        clock = asyncio.get_running_loop().time
        pause_s = FIRST_PAUSE_S
        while True:
            began = clock()
            try:
                return await prepared.wire(self.readiness)
            except NotReady:
                raise
            except Exception:
                log.exception("what stands behind the gateway broke down")
                trouble = "the gateway broke down and is set up anew; its log says why"
                self.readiness.refuse(NotReady("internal_error", trouble))
            if clock() - began > LONGEST_PAUSE_S:
                pause_s = FIRST_PAUSE_S
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def handler(self) -> Handler:
        """Return what serves calls, once it is loaded.

        Raises:
            NotReady: If it cannot be loaded.
        """
        return (await self.prepared()).handle

    async def prepared(self) -> Prepared:
        """Return what was loaded, once it is.

        Raises:
            NotReady: If it cannot be loaded.
        """
        if self._prepared is None:
            await self._settled.wait()
        if self._prepared is None:
            raise self.readiness.trouble or NotReady("stopping", "the gateway is shutting down")
        return self._prepared


async def _in_daemon_thread(function: Callable[[], T]) -> T:
    """Run a function in a thread that the end of the process does not wait for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not done.done():
            outcome()

    def run() -> None:
        try:
            value = function()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            outcome = _raising(done, error)
        else:
            outcome = _returning(done, value)
        try:
            loop.call_soon_threadsafe(settle, outcome)
        except RuntimeError:  # the loop is closed: nobody waits any more
            log.debug("set-up finished after the end")

    threading.Thread(target=run, name="set-up", daemon=True).start()
    return await done


def _raising(future: asyncio.Future[T], error: Exception) -> Callable[[], None]:
    return lambda: future.set_exception(error)


def _returning(future: asyncio.Future[T], value: T) -> Callable[[], None]:
    return lambda: future.set_result(value)
