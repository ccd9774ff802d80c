"""One running server process: its pipes, its end, and ending it with all that stems from it."""

from __future__ import annotations

import asyncio
import signal
from typing import Protocol, cast

import structlog

from tools.upstream import reap
from tools.upstream.errors import SpawnFailed
from tools.upstream.spawn import spawn
from tools.upstream.spec import Launch, ServerSpec
from tools.upstream.watch import Watcher

STDIN_GRACE_S = 2.0  # the protocol's first step of shutdown: close stdin and wait
TERM_GRACE_S = 2.0
KILL_GRACE_S = 0.5
# SIGKILL goes out again for what was forked meanwhile.
_STEPS = ((signal.SIGTERM, TERM_GRACE_S), *[(signal.SIGKILL, KILL_GRACE_S)] * 3)
POLL_S = 0.02
EXIT_NEWS_S = 1.0  # a killed process is reported by a thread that may have to wait its turn
DRAIN_S = 0.5  # what a process wrote before it ended may arrive after the news of its end

log = structlog.get_logger(__name__)


class Receiver(Protocol):
    """What a server's process reports to."""

    def stdout_received(self, chunk: bytes) -> None:
        """Take what the server wrote to stdout."""

    def stderr_received(self, chunk: bytes) -> None:
        """Take what the server wrote to stderr."""

    def ended_now(self) -> None:
        """Learn that nothing more will come; called once."""


class ServerProcess(asyncio.SubprocessProtocol):
    """A spawned server.

    Args:
        receiver: Gets its output and the news of its end.
        watcher: Ends it should the gateway die.
    """

    def __init__(self, receiver: Receiver, watcher: Watcher) -> None:
        self._receiver = receiver
        self._watcher = watcher
        self._marker = watcher.new_marker()
        self._open_pipes = {0, 1, 2}
        self._exited = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._ended = False

    @classmethod
    async def start(
        cls, spec: ServerSpec, launch: Launch, receiver: Receiver, *, watcher: Watcher
    ) -> ServerProcess:
        """Start a server under the watcher's eyes.

        Raises:
            SpawnFailed: If it cannot be started as configured.
        """
        process = cls(receiver, watcher)
        _watched(spec, watcher)
        await spawn(spec, launch, process, marker=process._marker)
        watcher.add(process.pid)
        return process

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the running process (asyncio's callback, before `spawn` returns)."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        self._stdout = cast(asyncio.ReadTransport, self._transport.get_pipe_transport(1))
        self.pid: int = self._transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative for a signal, None while it runs."""
        return self._transport.get_returncode()

    @property
    def unsent_bytes(self) -> int:
        """Bytes written but not yet taken by the server."""
        return self._stdin.get_write_buffer_size()

    async def room(self) -> None:
        """Wait until little of what was written is not yet taken, or nothing ever will be."""
        await self._has_room.wait()

    def pause_writing(self) -> None:
        """Note that much is waiting (asyncio's callback)."""
        self._has_room.clear()

    def resume_writing(self) -> None:
        """Note that little is waiting (asyncio's callback)."""
        self._has_room.set()

    def write(self, data: bytes) -> None:
        """Queue bytes for the server's stdin; one that has closed it gets nothing."""
        if not self._stdin.is_closing():
            self._stdin.write(data)

    def pause_stdout(self) -> None:
        """Stop reading stdout for now; the server feels the back pressure."""
        if not self._stdout.is_closing():
            self._stdout.pause_reading()

    def resume_stdout(self) -> None:
        """Read stdout again."""
        if not self._stdout.is_closing():
            self._stdout.resume_reading()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Hand on what the process wrote (asyncio's callback)."""
        if fd == 1:
            self._receiver.stdout_received(data)
        else:
            self._receiver.stderr_received(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        """Note that one of the three streams is closed (asyncio's callback)."""
        self._open_pipes.discard(fd)
        self._perhaps_end()

    def process_exited(self) -> None:
        """Note the exit; the last output may still be on its way (asyncio's callback)."""
        self._exited.set()
        self._perhaps_end()

    def _perhaps_end(self) -> None:
        """Without process, stdin or stdout a server is over, but for what is on its way."""
        if self._exited.is_set() and not self._open_pipes & {1, 2}:
            self._end()
        elif self._exited.is_set() or not self._open_pipes >= {0, 1}:
            asyncio.get_running_loop().call_later(DRAIN_S, self._drained)

    def _drained(self) -> None:
        """End, unless the process is gone too and that news is still on its way.

        It comes from a thread, which a gateway that itself stood still gives no turn before this.
        """
        if self._exited.is_set() or self._runs():
            self._end()
        else:
            asyncio.get_running_loop().call_later(EXIT_NEWS_S, self._end)

    def _runs(self) -> bool:
        started = reap.start_time(self.pid)
        return started is not None and reap.is_alive((self.pid, started))

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._has_room.set()
            self._receiver.ended_now()

    async def stop(self) -> None:
        """End the server and everything that stems from it, in at most about six seconds.

        Stdin is closed first; what is left after a grace gets SIGTERM, then SIGKILL.
        """
        if self.unsent_bytes:
            self._stdin.abort()
        else:
            self._stdin.close()
        await _within(STDIN_GRACE_S, self._exited)
        await self._end_all()
        await _within(EXIT_NEWS_S, self._exited)
        if not self._exited.is_set():
            log.warning("server process cannot be killed; abandoning it", pid=self.pid)
        self._transport.close()
        self._watcher.remove(self.pid)
        self._end()

    async def _end_all(self) -> None:
        leaders = {self.pid: None if self._exited.is_set() else reap.start_time(self.pid)}
        for number, grace_s in _STEPS:
            targets = await asyncio.to_thread(reap.find, self._marker, leaders)
            if not targets:
                return
            for target in targets:
                reap.send(target, number)
            await _gone(targets, within_s=grace_s)


def _watched(spec: ServerSpec, watcher: Watcher) -> None:
    """Have the watcher run, without which no server may start."""
    try:
        watcher.ensure()
    except OSError as error:
        raise SpawnFailed(
            f"the watcher of server processes cannot be started: {error.strerror}; "
            "check `ulimit -u`, `ulimit -n` and the gateway's own Python",
            server=spec.name,
        ) from None


async def _within(seconds: float, event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


async def _gone(targets: list[reap.Target], *, within_s: float) -> None:
    """Wait until the processes have ended, but not longer than that."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while loop.time() < deadline and any(map(reap.is_alive, targets)):  # noqa: ASYNC110
        # Most of them are not our children, so that nothing tells of their end.
        await asyncio.sleep(POLL_S)
