"""Loads what requests are served with in the background, so that the handshake never waits."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp.server import ServerRequestContext
from pydantic import BaseModel

from gateway_project.readiness import NotReady, Readiness

if TYPE_CHECKING:
    from gateway_project.access.bearers import LookUpTokens, RecordUse
    from gateway_project.foundation.caller import Caller
    from gateway_project.mcp.results import ServerReply

FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 60.0
"""Upper bound of the doubling pause before failed wiring is set up again."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class RequestHandler(Protocol):
    """Serves a request of a client."""

    async def __call__(
        self,
        readiness: Readiness,
        ctx: ServerRequestContext[Any],
    ) -> ServerReply | BaseModel:
        """Return the result; raises an `MCPError` if there is none."""


class RenderMetrics(Protocol):
    """Renders the metrics of the installation."""

    async def __call__(self, *, is_database_away: bool) -> bytes:
        """Return the metrics; if the database is away, those that are known without it."""


@dataclass(frozen=True, kw_only=True)
class PreparedRuntime:
    """The parts of a gateway that take time to load; unused ones are None.

    Attributes:
        handle: Serves requests.
        run_wiring: Builds the effects and keeps them current until cancelled; updates `Readiness`.
        look_up_tokens: Looks up bearer tokens.
        record_token_use: Records the use of bearer tokens.
        clean_up: Deletes old rows of access; done once an hour.
        render_metrics: Returns the metrics of the installation.
        find_caller: Returns the caller for the names of a local user and of the tool group that
            they are limited to, None for none; raises `LookupError`.
    """

    handle: RequestHandler
    run_wiring: Callable[[Readiness], Awaitable[None]]
    look_up_tokens: LookUpTokens | None = None
    record_token_use: RecordUse | None = None
    clean_up: Callable[[], Awaitable[None]] | None = None
    render_metrics: RenderMetrics | None = None
    find_caller: Callable[[str, str | None], Awaitable[Caller]] | None = None


class Runtime:
    """Loads and runs what requests are served with, in the background.

    Args:
        prepare: Loads it; called in a thread of its own.
        load_instructions: Returns what servers say about their use, by name, as far as a client
            may know of it before that is loaded.
    """

    def __init__(
        self,
        prepare: Callable[[], PreparedRuntime],
        load_instructions: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.readiness = Readiness()
        self.load_instructions = load_instructions
        self._prepare = prepare
        self._prepared: PreparedRuntime | None = None
        self._settled = asyncio.Event()

    async def run(self) -> None:
        """Set up and run until cancelled; failures are reported to requests and end nothing."""
        try:
            prepared = await _run_in_daemon_thread(self._prepare)
            self._prepared = prepared
            self._settled.set()
            await self._keep_wired(prepared)
        except NotReady as error:
            log.error("%s", error)  # noqa: TRY400 - one line; the user can fix the cause
            self.readiness.refuse(error)
        except Exception:
            log.exception("gateway setup failed")
            self.readiness.refuse(
                NotReady("internal_error", "the gateway failed to set itself up; see its log")
            )
        finally:
            self._settled.set()

    async def _keep_wired(self, prepared: PreparedRuntime) -> None:
        """Run the wiring, and restart it with backoff when it fails."""
        clock = asyncio.get_running_loop().time
        pause_s = FIRST_PAUSE_S
        while True:
            started_at = clock()
            try:
                return await prepared.run_wiring(self.readiness)
            except NotReady as error:
                if error.code != "database_newer":
                    raise
                log.warning("%s", error)
                self.readiness.refuse(error)
            except Exception:
                log.exception("a background task of the gateway failed")
                message = "the gateway failed and is setting itself up again; see its log"
                self.readiness.refuse(NotReady("internal_error", message))
            if clock() - started_at > MAX_PAUSE_S:
                pause_s = FIRST_PAUSE_S
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)

    async def get_prepared(self) -> PreparedRuntime:
        """Wait until the runtime is loaded and return it.

        Raises:
            NotReady: If it cannot be loaded.
        """
        if self._prepared is None:
            await self._settled.wait()
        if self._prepared is None:
            raise self.readiness.trouble or NotReady("stopping", "the gateway is shutting down")
        return self._prepared


async def _run_in_daemon_thread(function: Callable[[], T]) -> T:
    """Run a function in a daemon thread, which the end of the process does not wait for."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # from now on, cancelling what waits does not change it

    def run() -> None:
        try:
            done.set_result(function())
        except Exception as error:  # noqa: BLE001 - raised again by the awaiting task
            done.set_exception(error)

    threading.Thread(target=run, name="set-up", daemon=True).start()
    return await asyncio.wrap_future(done)
