"""MCP over the stdin and stdout of an untrusted process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping

from mcp_types import JSONRPCMessage, JSONRPCRequest, RequestId

from gateway_project.foundation.redaction import Redactor
from gateway_project.foundation.task_group import run_uninterrupted
from tools.upstream.errors import ServerExited, UpstreamError
from tools.upstream.failure_reason import summarize_failure
from tools.upstream.limits import UpstreamLimits
from tools.upstream.output import ConnectionOrigin, StderrLog
from tools.upstream.process import ServerProcess
from tools.upstream.reader import MessageReader
from tools.upstream.spec import LaunchSpec, ServerSpec
from tools.upstream.transport import UpstreamTransport
from tools.upstream.watch import GatewayWatcher
from tools.upstream.wire import TransportClosed

# A flooding server is read at about 0.4 MB/s, which leaves CPU time for the others; the rest waits
# in the pipe as backpressure. One long line costs less than the same bytes in short lines.
WASTE_BYTES, WASTE_BYTES_PER_S, LONGEST_REST_S = 16 * 1024, 400_000, 1.0


class StdioTransport(UpstreamTransport):
    """One run of one server process.

    Entering starts the process; leaving ends it with all its descendants.

    Args:
        spec: The entry, for names in errors.
        launch: What to execute.
        limits: Caps on what it may send.
        watcher: Ends the process if the gateway dies.
        monotonic: Clock in seconds.
    """

    def __init__(
        self,
        spec: ServerSpec,
        launch: LaunchSpec,
        *,
        limits: UpstreamLimits,
        watcher: GatewayWatcher,
        monotonic: Callable[[], float],
    ) -> None:
        redactor = Redactor(launch.secrets)
        super().__init__(
            ConnectionOrigin(
                server=spec.name, redactor=redactor, limits=limits, monotonic=monotonic
            )
        )
        self._spec = spec
        self._launch = launch
        self._watcher = watcher
        self._process: ServerProcess | None = None
        self._exit_code: int | None = None
        self._turn = asyncio.Lock()
        self._being_written = 0
        self._written = asyncio.Event()
        self._written.set()
        self._pauses: set[str] = set()
        self._stderr = StderrLog(self.origin)
        self._reader = MessageReader(
            self.wire,
            on_fatal=self._fail_connection,
            on_busy=lambda: self._pause("reading"),
            on_read=self._read_lines,
        )

    async def wait_for_room(self) -> None:
        """Wait, first come first served, until the server has read nearly all earlier input."""
        if self._process is not None:
            async with self._turn:
                await self._written.wait()
                await self._process.wait_for_room()

    @property
    def unsent_bytes(self) -> int:
        """Bytes written that the server has not read yet."""
        return 0 if self._process is None else self._process.unsent_bytes

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return None if self._process is None or self.ended.is_set() else self._process.pid

    @property
    def failure_summary(self) -> str:
        """The part of its output that explains a failure, in one line."""
        return summarize_failure(self.origin.last_lines)

    @property
    def has_ended_cleanly(self) -> bool:
        """Whether the process exited with code 0."""
        return self.fault is None and self._exit_code == 0

    def make_end_error(self, *, while_doing: str) -> UpstreamError:
        """Return the error for work interrupted by the server's end."""
        if self.fault is not None:
            return self.fault
        error = ServerExited(
            server=self._spec.name,
            how=f"{_explain_exit(self._exit_code)} {while_doing}",
            last_stderr=self.failure_summary,
            exit_code=self._exit_code,
        )
        error.output = self.origin.last_lines
        return error

    async def __aenter__(self) -> None:
        """Start the process.

        Raises:
            SpawnFailed: If it cannot be started as configured.
        """
        self._process = await ServerProcess.start(
            self._spec, self._launch, self, watcher=self._watcher
        )

    async def __aexit__(self, *_: object) -> None:
        """End the process and its descendants, even if this task is being cancelled."""
        if self._process is not None:
            await run_uninterrupted(self._process.stop())

    def stdout_received(self, chunk: bytes) -> None:
        """Process bytes from stdout."""
        if not self.ended.is_set():
            self._reader.feed(chunk)
            self._pause_for_waste()

    def stderr_received(self, chunk: bytes) -> None:
        """Process bytes from stderr."""
        self._stderr.feed(chunk)

    def handle_end(self) -> None:
        """Handle the end of the process and its output."""
        if not self.ended.is_set():
            self._reader.close()
            self._stderr.close()
            # Read now: later the exit code may be that of the gateway's own kill.
            self._exit_code = self._process.exit_code if self._process else None
            self._reader.call_when_drained(self._end)

    def _end(self) -> None:
        self.ended.set()
        self.wire.end()

    def _read_lines(self) -> None:
        self._resume("reading")
        self._pause_for_waste()

    def _fail_connection(self, fault: UpstreamError) -> None:
        if self.fault is None:
            self.fault = fault
            self._pause("failed")
            self._end()

    def _pause_for_waste(self) -> None:
        """Pause reading in proportion to the useless bytes received."""
        if self._reader.wasted_bytes >= WASTE_BYTES:
            rest_s = min(self._reader.wasted_bytes / WASTE_BYTES_PER_S, LONGEST_REST_S)
            self._reader.wasted_bytes = 0
            self._pause("waste")
            asyncio.get_running_loop().call_later(rest_s, self._resume, "waste")

    def _pause(self, reason: str) -> None:
        """Read no more until this and every other reason have passed."""
        if not self._pauses and self._process is not None:
            self._process.pause_stdout()
        self._pauses.add(reason)

    def _resume(self, reason: str) -> None:
        was_paused = bool(self._pauses)
        self._pauses.discard(reason)
        if was_paused and not self._pauses and self._process is not None:
            self._process.resume_stdout()

    async def send(
        self,
        message: JSONRPCMessage,
        *,
        headers: Mapping[str, str],  # noqa: ARG002 - the base's
        related: RequestId | None = None,  # noqa: ARG002
    ) -> None:
        """Queue a message for the server's stdin."""
        if self.ended.is_set():
            raise TransportClosed
        self._being_written += 1
        self._written.clear()
        try:
            text = await self.encode(message)
        finally:
            self._being_written -= 1
            if not self._being_written:
                self._written.set()
        process = self._process
        if process is None or self.ended.is_set():
            raise TransportClosed
        is_request = isinstance(message, JSONRPCRequest)
        if not is_request and process.unsent_bytes > self.origin.limits.max_unsent_bytes:
            raise TransportClosed
        process.write(text + b"\n")


def _explain_exit(code: int | None) -> str:
    if code is None:
        return "closed its input or output"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
