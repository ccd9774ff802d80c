"""One server process: its start, its pipes, its exit, and ending it with all descendants."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Protocol

import structlog

from tools.upstream import reap, spawner
from tools.upstream.containers import follow_container, remove_folder, stop_container
from tools.upstream.errors import SpawnFailed
from tools.upstream.spawner import SpawnRequest
from tools.upstream.spec import LaunchSpec, ServerSpec
from tools.upstream.watch import GatewayWatcher

MAX_SHOWN_PATH = 200

STDIN_GRACE_S = 2.0  # the protocol's first step of shutdown: close stdin and wait
GUARD_END_S = 8.0  # longer than a guard needs to end all descendants
TERM_GRACE_S = 2.0
KILL_GRACE_S = 0.5
# SIGKILL is repeated for processes forked meanwhile.
_STEPS = ((signal.SIGTERM, TERM_GRACE_S), *[(signal.SIGKILL, KILL_GRACE_S)] * 3)
POLL_S = 0.02
EXIT_NOTICE_S = 1.0  # the guard's report of the exit may be delayed
DRAIN_S = 0.5  # output written before the exit may arrive after the report of it

log = structlog.get_logger(__name__)


def prepare_request(spec: ServerSpec, launch: LaunchSpec, *, marker: str) -> SpawnRequest:
    """Return the request that a guard executes.

    Args:
        spec: The entry; errors quote it because, unlike `launch`, it holds no secrets.
        launch: What to execute.
        marker: Value of the variable by which descendants are found.

    Raises:
        SpawnFailed: If the command or its folder does not exist or cannot be executed.
    """
    _check_folder(spec, launch)
    program = _find_program(spec, launch)
    environment = {**launch.env, reap.MARKER: marker}
    args, container = follow_container(program, launch.args, cwd=launch.cwd)
    words = [program, *args, *environment, *environment.values(), launch.cwd or ""]
    if any("\0" in word for word in words):
        raise SpawnFailed(
            f"command {spec.command!r} cannot be started: it, an argument or a variable "
            "contains a null character; correct its entry",
            server=spec.name,
        )
    return (
        os.fsencode(program),
        [os.fsencode(word) for word in (program, *args)],
        {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
        None if launch.cwd is None else os.fsencode(launch.cwd),
        marker,
        container,
    )


def _check_folder(spec: ServerSpec, launch: LaunchSpec) -> None:
    if launch.cwd is None or os.path.isdir(launch.cwd):
        return
    raise SpawnFailed(
        f"its working folder {spec.cwd!r} does not exist; create it or correct its `cwd`",
        server=spec.name,
    )


def _find_program(spec: ServerSpec, launch: LaunchSpec) -> str:
    """Resolve the command on the PATH that the server will have."""
    if os.sep in launch.command:
        path = os.path.abspath(os.path.join(launch.cwd or "", launch.command))
        if not os.path.exists(path):
            problem = "does not exist; correct the path or install it"
        elif os.path.isdir(path) or not os.access(path, os.X_OK):
            problem = "is not an executable file; use chmod +x or correct the path"
        else:
            return path
        raise SpawnFailed(f"command {spec.command!r} {problem}", server=spec.name)
    path_variable = launch.env.get("PATH", os.defpath)
    found = shutil.which(launch.command, path=path_variable)
    if found is None:
        raise SpawnFailed(_explain_not_on_path(spec, launch, path_variable), server=spec.name)
    return os.path.abspath(found)


def _explain_not_on_path(spec: ServerSpec, launch: LaunchSpec, path_variable: str) -> str:
    for folder in path_variable.split(os.pathsep):
        candidate = Path(folder) / launch.command
        if launch.command and candidate.is_file():
            return f"{candidate} is not executable; make it so (chmod +x)"
    shown = path_variable[:MAX_SHOWN_PATH] + ("…" if len(path_variable) > MAX_SHOWN_PATH else "")
    return (
        f"command {spec.command!r} was not found on PATH ({shown}); install it, give its full "
        "path, or set PATH in the server's env"
    )


def explain_spawn_error(spec: ServerSpec, error: OSError) -> str:
    """Return why a command could not be started, and what to do."""
    hint = {
        errno.ENOENT: "the interpreter named in its first line does not exist; install it",
        errno.ENOEXEC: "it is neither a program of this machine nor a script with a #! line",
        errno.E2BIG: "its arguments and variables are too long; shorten them",
        errno.EACCES: "permission denied; let the gateway's user execute it and enter its folder",
        errno.EMFILE: "the gateway has too many files open; raise `ulimit -n`",
        errno.EPIPE: "the process that starts the servers has ended; call again",
        errno.EAGAIN: "the user has too many processes; raise `ulimit -u`",
    }.get(error.errno or 0, f"{error.strerror}; correct its entry")
    return f"command {spec.command!r} cannot be started: {hint}"


class ProcessReceiver(Protocol):
    """Receives the output and the end of a server's process."""

    def stdout_received(self, chunk: bytes) -> None:
        """Process bytes from stdout."""

    def stderr_received(self, chunk: bytes) -> None:
        """Process bytes from stderr."""

    def handle_end(self) -> None:
        """Handle the end of the process and its output; called once."""


class _GuardChannel(asyncio.Protocol):
    """The channel to a server's guard: parses its messages, `word number` per line."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word, _, number = line.decode().partition(" ")
            self._process.handle_guard_message(word, int(number or 0))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._process.handle_guard_end()


class _Pipe(asyncio.Protocol):
    """One of the three streams of a server."""

    def __init__(self, process: ServerProcess, fd: int) -> None:
        self._process = process
        self._fd = fd

    def data_received(self, data: bytes) -> None:
        self._process.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._process.pipe_connection_lost(self._fd)

    def pause_writing(self) -> None:
        self._process.pause_writing()

    def resume_writing(self) -> None:
        self._process.resume_writing()


class ServerProcess:
    """A spawned server.

    Args:
        receiver: Receives its output and its end.
        watcher: Starts it through a guard, and ends it if the gateway dies.

    Attributes:
        pid: Process id of the server.
        exit_code: Negative for a signal; None while it runs or if unknown.
    """

    def __init__(self, receiver: ProcessReceiver, watcher: GatewayWatcher) -> None:
        self.pid = 0
        self.exit_code: int | None = None
        self._receiver = receiver
        self._watcher = watcher
        self._marker = watcher.new_marker()
        self._request: spawner.SpawnRequest
        self._transports: list[asyncio.BaseTransport] = []
        self._open_pipes = {0, 1, 2}
        self._exited = asyncio.Event()
        self._guard_ended = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_clean = False
        self._ended = False

    @classmethod
    async def start(
        cls,
        spec: ServerSpec,
        launch: LaunchSpec,
        receiver: ProcessReceiver,
        *,
        watcher: GatewayWatcher,
    ) -> ServerProcess:
        """Start a server through its own guard.

        Raises:
            SpawnFailed: If it cannot be started as configured.
        """
        process = cls(receiver, watcher)
        process._request = request = prepare_request(spec, launch, marker=process._marker)
        _ensure_watcher(spec, watcher)
        try:
            await process._open(request)
        except OSError as error:
            process._close()
            raise SpawnFailed(explain_spawn_error(spec, error), server=spec.name) from None
        except BaseException:
            process._close()
            raise
        return process

    async def _open(self, request: spawner.SpawnRequest) -> None:
        """Open channel and pipes, and wait until the server is executed.

        Raises:
            OSError: If it cannot be executed.
        """
        self._started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        with ExitStack() as theirs, ExitStack() as ours:
            streams = []
            for fd in range(spawner.STREAMS):
                mine, its = _make_pipe(is_stdin=fd == 0)
                theirs.callback(os.close, its)
                ours.callback(mine.close)
                streams.append((mine, its))
            channel = self._watcher.open_guard_channel([its for _, its in streams])
            ours.callback(channel.close)
            ours.pop_all()
        await self._connect(channel, [mine for mine, _ in streams])
        self._channel.write(spawner.pack_request(request))
        self.pid = await self._started

    async def _connect(self, channel: socket.socket, files: list[IO[bytes]]) -> None:
        """Make transports, which own their files; on failure, close the remaining files here.

        Raises:
            OSError: If the event loop cannot take one.
        """
        loop, rest = asyncio.get_running_loop(), list(files)
        try:
            self._channel, _ = await loop.create_connection(
                lambda: _GuardChannel(self), sock=channel
            )
            self._transports.append(self._channel)
            self._stdin, _ = await loop.connect_write_pipe(lambda: _Pipe(self, 0), rest.pop(0))
            self._transports.append(self._stdin)
            self._stdout, _ = await loop.connect_read_pipe(lambda: _Pipe(self, 1), rest.pop(0))
            self._transports.append(self._stdout)
            stderr, _ = await loop.connect_read_pipe(lambda: _Pipe(self, 2), rest.pop(0))
            self._transports.append(stderr)
        finally:
            for file in rest:
                file.close()

    def handle_guard_message(self, word: str, number: int) -> None:
        """Handle a guard's report on the server."""
        if word == "started" and not self._started.done():
            self._started.set_result(number)
        elif word == "failed" and not self._started.done():
            self._started.set_exception(OSError(number, os.strerror(number)))
        elif word == "exited":
            self.exit_code = number
            self._note_exit()
        elif word == "done":
            self._is_clean = True

    def handle_guard_end(self) -> None:
        """Handle the end of the guard; the server has ended too, or soon will."""
        if not self._started.done():
            self._started.set_exception(BrokenPipeError(errno.EPIPE, "its guard has ended"))
        self._guard_ended.set()
        self._note_exit()

    @property
    def unsent_bytes(self) -> int:
        """Bytes written that the server has not read yet."""
        return self._stdin.get_write_buffer_size()

    async def wait_for_room(self) -> None:
        """Wait until the write buffer is nearly empty, or the process has ended."""
        await self._has_room.wait()

    def pause_writing(self) -> None:
        """Note that the write buffer is full."""
        self._has_room.clear()

    def resume_writing(self) -> None:
        """Note that the write buffer has room."""
        self._has_room.set()

    def write(self, data: bytes) -> None:
        """Queue bytes for the server's stdin; dropped if it is closed."""
        if not self._stdin.is_closing():
            self._stdin.write(data)

    def pause_stdout(self) -> None:
        """Stop reading stdout, which puts backpressure on the server."""
        if not self._stdout.is_closing():
            self._stdout.pause_reading()

    def resume_stdout(self) -> None:
        """Resume reading stdout."""
        if not self._stdout.is_closing():
            self._stdout.resume_reading()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass output on to the receiver."""
        if fd == 1:
            self._receiver.stdout_received(data)
        else:
            self._receiver.stderr_received(data)

    def pipe_connection_lost(self, fd: int) -> None:
        """Record that one of the three streams is closed."""
        self._open_pipes.discard(fd)
        self._end_if_over()

    def _note_exit(self) -> None:
        """Record the exit; the last output may still arrive."""
        self._exited.set()
        self._end_if_over()

    def _end_if_over(self) -> None:
        """End once the process, its stdin or its stdout is gone, after output has drained."""
        if self._exited.is_set() and not self._open_pipes & {1, 2}:
            self._end()
        elif self._exited.is_set() or not self._open_pipes >= {0, 1}:
            asyncio.get_running_loop().call_later(DRAIN_S, self._end_unless_exit_due)

    def _end_unless_exit_due(self) -> None:
        """End, unless the process is gone too and the guard's report is still due.

        A gateway that was itself stalled may see the closed pipes before that report.
        """
        if self._exited.is_set() or self._is_running():
            self._end()
        else:
            asyncio.get_running_loop().call_later(EXIT_NOTICE_S, self._end)

    def _is_running(self) -> bool:
        started = reap.read_start_time(self.pid)
        return started is not None and reap.is_alive((self.pid, started))

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._has_room.set()
            self._receiver.handle_end()

    async def stop(self) -> None:
        """End the server and all its descendants, in about six seconds.

        Closes stdin first. After a grace period the guard sends SIGTERM, then SIGKILL. If the
        guard was killed, the gateway does so itself; if the guard hangs, the gateway first waits
        `STDIN_GRACE_S` and `GUARD_END_S` together.
        """
        if self.unsent_bytes:
            self._stdin.abort()
        else:
            self._stdin.close()
        await _wait_within(STDIN_GRACE_S, self._exited)
        if not self._guard_ended.is_set():
            self._channel.write_eof()
        await _wait_within(GUARD_END_S, self._guard_ended)
        if not self._is_clean:
            await self._end_all()
        if self._is_running():
            log.warning("server.process_unkillable", pid=self.pid)
        self._close()
        self._end()

    def _close(self) -> None:
        self._started.cancel()  # else asyncio logs that its exception was never retrieved
        for transport in self._transports:
            transport.close()

    async def _end_all(self) -> None:
        *_, environment, folder, _, container = self._request
        if container:
            await asyncio.to_thread(stop_container, container, environment, folder)
            remove_folder(container)
        leaders = {self.pid: None if self._exited.is_set() else reap.read_start_time(self.pid)}
        for number, grace_s in _STEPS:
            targets = await asyncio.to_thread(reap.find_processes, self._marker, leaders)
            if not targets:
                return
            for target in targets:
                reap.send_signal(target, number)
            await _wait_until_gone(targets, within_s=grace_s)


def _ensure_watcher(spec: ServerSpec, watcher: GatewayWatcher) -> None:
    """Start the watcher, without which no server may start."""
    try:
        watcher.ensure_running()
    except OSError as error:
        raise SpawnFailed(
            f"the watcher of server processes cannot be started: {error.strerror}; "
            "check `ulimit -u`, `ulimit -n` and the gateway's own Python",
            server=spec.name,
        ) from None


def _make_pipe(*, is_stdin: bool) -> tuple[IO[bytes], int]:
    """Return the gateway's and the server's end of a new pipe."""
    reader, writer = os.pipe()
    if is_stdin:
        return os.fdopen(writer, "wb", 0), reader
    return os.fdopen(reader, "rb", 0), writer


async def _wait_within(seconds: float, event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


async def _wait_until_gone(targets: list[reap.ProcessTarget], *, within_s: float) -> None:
    """Wait until the processes have ended, at most `within_s` seconds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while loop.time() < deadline and any(map(reap.is_alive, targets)):  # noqa: ASYNC110
        # Most are not our children, so no event reports their end.
        await asyncio.sleep(POLL_S)
