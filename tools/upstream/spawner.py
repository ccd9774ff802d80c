"""The process that starts a gateway's servers, and ends them with all their descendants.

    gateway ── spawner ── guard ── server ── its descendants
                       ├─ guard ── server

The gateway starts the spawner with its first server. For each server it sends, over the socket
that is the spawner's stdin, one end of another socket (the channel) and of the server's three
pipes. The spawner forks a guard, which reads from the channel what to execute, forks the server,
and reports on the channel whether it started and how it exited. No server data passes through
here.

On Linux both are subreapers: orphaned processes become children of the nearest subreaper, even if
they have created their own session and cleared their environment. So a guard without children has
ended everything of its server, and nothing of another's. It does so when the channel closes, which
the kernel guarantees however the gateway dies. If a guard is killed, the spawner ends its orphans;
if the spawner is killed, the guards do.

Import as few modules as possible here: each server costs a fork of this process.
"""

from __future__ import annotations

import errno
import marshal
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tools.upstream import reap
from tools.upstream.containers import ContainerStop, remove_folder, stop_container

PARENT_POLL_S = 1.0  # a fork of the gateway may keep its sockets open after its death
CHANNEL, STREAMS = 1, 3
LENGTH_BYTES = 8
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
_RESET = (*_IGNORED, signal.SIGCHLD, signal.SIGXFSZ)

SpawnRequest = tuple[
    bytes, list[bytes], dict[bytes, bytes], bytes | None, str, ContainerStop | None
]
"""Program, arguments including its own name, environment, working directory, marker, container."""


def pack_request(request: SpawnRequest) -> bytes:
    """Encode a request for a guard; both sides run the same Python."""
    content = marshal.dumps(request)
    return len(content).to_bytes(LENGTH_BYTES, "big") + content


def main(gateway: int, term_grace_s: float) -> None:
    """Start servers for a gateway until it ends; then end all remaining processes.

    Args:
        gateway: Process id of the parent.
        term_grace_s: Seconds between SIGTERM and SIGKILL.
    """
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    Spawner(socket.socket(fileno=0), gateway, term_grace_s).run()


class Spawner:
    """Forks a guard for each server.

    Args:
        control: Socket that carries the descriptors of each server; closes with the gateway.
        gateway: Process id of the parent.
        term_grace_s: As for `main`.
    """

    def __init__(self, control: socket.socket, gateway: int, term_grace_s: float) -> None:
        self._control = control
        self._gateway = gateway
        self._term_grace_s = term_grace_s
        self._guards: set[int] = set()
        # Guards hold only the reading end, which reports the spawner's end to them.
        self._alive, self._life = os.pipe()

    def run(self) -> None:
        """Serve until the gateway ends."""
        reap.adopt_orphans()
        wake = _open_child_wakeup()
        while os.getppid() == self._gateway:
            ready, _, _ = select.select([self._control.fileno(), wake], [], [], PARENT_POLL_S)
            if wake in ready:
                os.read(wake, 4096)
                self._reap_guards()
                self._kill_orphans()
            if self._control.fileno() in ready and not self._fork_guard():
                break
        self._end()

    def _fork_guard(self) -> bool:
        """Receive a server's descriptors and fork its guard; False if the gateway has ended."""
        message, fds, _, _ = socket.recv_fds(self._control, 1, CHANNEL + STREAMS)
        for fd in fds:
            os.set_inheritable(fd, False)
        if message and len(fds) == CHANNEL + STREAMS:
            try:
                guard = os.fork()
            except OSError as error:
                os.write(fds[0], b"failed %d\n" % (error.errno or 0))
            else:
                if guard == 0:
                    self._run_guard(fds)
                self._guards.add(guard)
        for fd in fds:
            os.close(fd)
        return bool(message)

    def _run_guard(self, fds: Sequence[int]) -> None:
        try:
            self._control.detach()
            os.dup2(1, 0)  # stdout is /dev/null
            os.close(self._life)
            channel, *streams = fds
            ServerGuard(socket.socket(fileno=channel), self._alive, self._term_grace_s).run(
                streams
            )
        finally:
            os._exit(0)

    def _end(self) -> None:
        """Wait for the guards to end their servers, then kill what remains."""
        os.close(self._life)
        kill_at = time.monotonic() + self._term_grace_s + 1.0
        give_up_at = kill_at + reap.GIVE_UP_S
        while self._reap_guards() and time.monotonic() < give_up_at:
            if time.monotonic() >= kill_at:
                self._guards.clear()
            self._kill_orphans()
            time.sleep(reap.POLL_S)

    def _reap_guards(self) -> bool:
        """Reap children that have ended; return whether any remain."""
        return _reap_children(lambda pid, _: self._guards.discard(pid))

    def _kill_orphans(self) -> None:
        """Kill the orphans of dead guards: all children that are not guards."""
        give_up_at = time.monotonic() + reap.GIVE_UP_S
        while time.monotonic() < give_up_at:
            orphans = set(reap.list_children(os.getpid())) - self._guards
            if not orphans or not _kill_children(orphans):
                return
            self._reap_guards()


class ServerGuard:
    """Starts one server, and ends it with all its descendants when the channel closes.

    Args:
        channel: Socket to the gateway.
        alive: Descriptor that becomes readable when the spawner ends.
        term_grace_s: As for `main`.
    """

    def __init__(self, channel: socket.socket, alive: int, term_grace_s: float) -> None:
        self._channel = channel
        self._alive = alive
        self._term_grace_s = term_grace_s
        self._wake = _open_child_wakeup()
        self._server = 0
        self._marker = ""
        self._leaders: dict[int, str | None] = {}

    def run(self, streams: Sequence[int]) -> None:
        """Start the server with these streams; return when all its processes have ended."""
        reap.adopt_orphans()
        request = self._receive()
        if request is None:
            return
        try:
            self._server = _execute(request, streams)
        except OSError as error:
            self._report(f"failed {error.errno}")
            return
        finally:
            for stream in streams:
                os.close(stream)
        *_, environment, folder, self._marker, container = request
        self._leaders = {self._server: reap.read_start_time(self._server)}
        self._report(f"started {self._server}")
        self._hold_until_channel_closes()
        if container:
            stop_container(container, environment, folder)
        has_ended = self._end_all()
        if container:
            stop_container(container, environment, folder)  # if it was created meanwhile
            remove_folder(container)
        if has_ended:
            self._report("done")

    def _receive(self) -> SpawnRequest | None:
        length = int.from_bytes(self._read(LENGTH_BYTES), "big")
        content = self._read(length)
        return marshal.loads(content) if content else None  # noqa: S302 - the gateway's own

    def _read(self, size: int) -> bytes:
        content = bytearray()
        while len(content) < size:
            chunk = self._channel.recv(size - len(content))
            if not chunk:
                return b""
            content += chunk
        return bytes(content)

    def _report(self, message: str) -> None:
        try:
            self._channel.sendall(f"{message}\n".encode())
        except OSError:
            return  # the gateway is gone

    def _hold_until_channel_closes(self) -> None:
        """Wait until the channel closes, and report the server's exit meanwhile."""
        while True:
            channel = self._channel.fileno()
            ready, _, _ = select.select([channel, self._alive, self._wake], [], [])
            if self._wake in ready:
                os.read(self._wake, 4096)
                self._reap()
            if channel in ready or self._alive in ready:
                return

    def _reap(self) -> bool:
        return _reap_children(self._record_exit)

    def _record_exit(self, pid: int, status: int) -> None:
        if pid == self._server:
            self._report(f"exited {os.waitstatus_to_exitcode(status)}")

    def _end_all(self) -> bool:
        """Send SIGTERM, then SIGKILL, to all processes; return whether none remain."""
        if self._act_until_gone(self._terminate, within_s=self._term_grace_s):
            return True
        return self._act_until_gone(self._kill, within_s=reap.GIVE_UP_S)

    def _act_until_gone(
        self, act: Callable[[Collection[reap.ProcessTarget]], bool], *, within_s: float
    ) -> bool:
        """Act on the remaining processes repeatedly; return whether all ended in time."""
        deadline = time.monotonic() + within_s
        self._signalled: set[reap.ProcessTarget] = set()
        while True:
            has_children, targets = self._reap(), self._list_targets()
            if not targets and not has_children:
                return True
            if time.monotonic() >= deadline:
                return False
            if not act(targets):
                select.select([self._wake], [], [], reap.POLL_S)

    def _list_targets(self) -> list[reap.ProcessTarget]:
        marked = reap.find_processes(self._marker, self._leaders)
        return [*{*marked, *reap.list_descendants(os.getpid())}]

    def _terminate(self, targets: Collection[reap.ProcessTarget]) -> bool:
        new = set(targets) - self._signalled
        self._signalled |= new
        for target in new:
            reap.send_signal(target, signal.SIGTERM)
        return False

    def _kill(self, targets: Collection[reap.ProcessTarget]) -> bool:
        for target in targets:
            reap.send_signal(target, signal.SIGKILL)
        # Catches processes that fork faster than all of /proc can be scanned.
        give_up_at = time.monotonic() + reap.POLL_S
        found = children = set(reap.list_children(os.getpid()))
        while children and time.monotonic() < give_up_at:
            _kill_children(children)
            self._reap()
            children = set(reap.list_children(os.getpid()))
        return children != found


def _kill_children(children: Collection[int]) -> bool:
    """Kill children of this process; their ids cannot be reused before it reaps them."""
    killed = False
    for pid in children:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue  # runs as another user
        killed = True
    return killed


def _reap_children(note: Callable[[int, int], Any]) -> bool:
    """Reap all children that have ended; return whether any remain."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        note(pid, status)


def _open_child_wakeup() -> int:
    """Return a descriptor that becomes readable when a child ends."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def _execute(request: SpawnRequest, streams: Sequence[int]) -> int:
    """Start a server as leader of its own session.

    Raises:
        OSError: If it cannot be started.
    """
    reader, writer = os.pipe()
    try:
        server = os.fork()
        if server == 0:
            _become_server(request, streams, writer)
        os.close(writer)
        writer = -1
        if failure := os.read(reader, 16):
            os.waitpid(server, 0)
            raise OSError(int(failure), os.strerror(int(failure)))
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)
    return server


def _become_server(request: SpawnRequest, streams: Sequence[int], failure: int) -> None:
    program, arguments, environment, folder, *_ = request
    try:
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        signal.set_wakeup_fd(-1)
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        if folder is not None:
            os.chdir(folder)
        os.execve(program, arguments, environment)  # noqa: S606 - without a shell, as configured
    except OSError as error:
        os.write(failure, b"%d" % (error.errno or errno.EINVAL))
    except BaseException:  # noqa: BLE001 - a fork has no other way to report it
        os.write(failure, b"%d" % errno.EINVAL)
    finally:
        os._exit(255)
