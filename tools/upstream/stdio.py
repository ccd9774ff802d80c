"""MCP over the stdin and stdout of a process that may misbehave in every way."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from types import TracebackType

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

from tools.upstream.errors import ServerExited, UpstreamError
from tools.upstream.finish import to_the_end
from tools.upstream.limits import Limits
from tools.upstream.origin import Origin
from tools.upstream.outgoing import encoded
from tools.upstream.outstanding import Outstanding
from tools.upstream.process import ServerProcess
from tools.upstream.reader import MessageReader
from tools.upstream.spec import Launch, ServerSpec
from tools.upstream.stderr import StderrLog
from tools.upstream.streams import Inbox, Outbox
from tools.upstream.valve import Valve
from tools.upstream.watch import Watcher

# Whoever floods is read at some 0.4 MB/s, which leaves the processor to the others; the rest waits
# in the pipe, where the server feels it. A long line costs less than as many bytes in short ones.
WASTE_BYTES, WASTE_BYTES_PER_S, LONGEST_REST_S = 16 * 1024, 400_000, 1.0


class StdioTransport:
    """One life of one server process; an `UpstreamTransport`.

    Entering starts the process, leaving ends it with all that stems from it.

    Args:
        spec: The entry, for names in errors.
        launch: What to execute.
        limits: Caps on what it may send.
        watcher: Ends the process should the gateway die.
        monotonic: Clock in seconds.
    """

    def __init__(
        self,
        spec: ServerSpec,
        launch: Launch,
        *,
        limits: Limits,
        watcher: Watcher,
        monotonic: Callable[[], float],
    ) -> None:
        self._spec = spec
        self._launch = launch
        self._limits = limits
        self._watcher = watcher
        self._process: ServerProcess | None = None
        self._fault: UpstreamError | None = None
        self._exit_code: int | None = None
        self._ended = asyncio.Event()
        self._turn = asyncio.Lock()
        self._outstanding = Outstanding()
        self._valve = Valve(stop=self._pause, start=self._resume)
        self._inbox = Inbox(
            pause=lambda: self._valve.hold("full"), resume=lambda: self._valve.release("full")
        )
        origin = Origin(
            server=spec.name, secrets=launch.secrets, limits=limits, monotonic=monotonic
        )
        self._stderr = StderrLog(origin)
        self._reader = MessageReader(
            origin, inbox=self._inbox, outstanding=self._outstanding, condemn=self._condemn
        )

    @property
    def ended(self) -> asyncio.Event:
        """Set as soon as no answer can come any more."""
        return self._ended

    async def room(self) -> None:
        """Wait until the server has read nearly all that was sent before."""
        if self._process is not None:
            async with self._turn:
                await self._process.room()

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait for the server to read its input."""
        return 0 if self._process is None else self._process.unsent_bytes

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return None if self._process is None or self._ended.is_set() else self._process.pid

    @property
    def messages_dropped(self) -> int:
        """Lines that were no message, and messages beyond the limit."""
        return self._reader.dropped

    @property
    def last_words(self) -> str:
        """Last line on stderr."""
        return self._stderr.last_line

    @property
    def ended_well(self) -> bool:
        """Whether the process exited with code 0."""
        return self._fault is None and self._exit_code == 0

    def why_ended(self, *, while_doing: str) -> UpstreamError:
        """Return the error for what was under way when the server ended."""
        if self._fault is not None:
            return self._fault
        return ServerExited(
            server=self._spec.name,
            how=f"{_how(self._exit_code)} {while_doing}",
            last_stderr=self.last_words,
            exit_code=self._exit_code,
        )

    async def __aenter__(self) -> TransportStreams:
        """Start the process.

        Raises:
            SpawnFailed: If it cannot be started as configured.
        """
        self._process = await ServerProcess.start(
            self._spec, self._launch, self, watcher=self._watcher
        )
        return self._inbox, Outbox(self._send)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """End the process and what stems from it, even if this task is being cancelled."""
        if self._process is not None:
            await to_the_end(self._process.stop())

    def stdout_received(self, chunk: bytes) -> None:
        """Take what the server wrote to stdout."""
        if not self._ended.is_set():
            self._reader.feed(chunk)
            self._rest()

    def stderr_received(self, chunk: bytes) -> None:
        """Take what the server wrote to stderr."""
        self._stderr.feed(chunk)

    def ended_now(self) -> None:
        """Learn that nothing more will come."""
        if not self._ended.is_set():
            self._reader.close()
            self._stderr.close()
            # Later the gateway itself ends what is left of it.
            self._exit_code = self._process.exit_code if self._process else None
            self._ended.set()
            self._inbox.end()

    def _condemn(self, fault: UpstreamError) -> None:
        if self._fault is None:
            self._fault = fault
            self._valve.hold("condemned")
            self._ended.set()
            self._inbox.end()

    def _rest(self) -> None:
        """Read no more for as long as what was of no use deserves."""
        if self._reader.wasted_bytes >= WASTE_BYTES:
            rest_s = min(self._reader.wasted_bytes / WASTE_BYTES_PER_S, LONGEST_REST_S)
            self._reader.wasted_bytes = 0
            self._valve.hold("waste")
            asyncio.get_running_loop().call_later(rest_s, self._valve.release, "waste")

    def _pause(self) -> None:
        if self._process is not None:
            self._process.pause_stdout()

    def _resume(self) -> None:
        if self._process is not None:
            self._process.resume_stdout()

    def _send(self, item: SessionMessage) -> None:
        process, message = self._process, item.message
        if process is None or self._ended.is_set():
            raise anyio.BrokenResourceError
        limits, is_request = self._limits, isinstance(message, JSONRPCRequest)
        try:
            text = encoded(message, server=self._spec.name, max_bytes=limits.max_line_bytes)
        except UpstreamError:
            if is_request:
                raise
            raise anyio.BrokenResourceError from None  # which drops answers and notifications
        if not is_request and process.unsent_bytes > limits.max_unsent_bytes:
            raise anyio.BrokenResourceError
        self._note(message)
        process.write(text + b"\n")

    def _note(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._outstanding.sent(message.id, message.method)
        elif isinstance(message, JSONRPCNotification):
            self._outstanding.cancelled(message.params)


def _how(code: int | None) -> str:
    if code is None:
        return "closed its input or output"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
