"""Kills a process that outlives a request to stop, whatever its event loop is doing.

A signal handler in Python runs only when the main thread returns to its bytecode, and no thread
runs while a call into C holds the interpreter's lock. So a separate process, the guard, watches
the grace period. It learns of the signal through a handler in C (`faulthandler`), which writes to
a pipe at once and then chains to the previous handler. If a stdio client is guarded too, the guard
itself notices that the client has closed its end.

This file imports only the standard library, because it is also the guard's program:
`python -I -S stop_guard.py <pid> <grace s> <client fd or -1> <grace s after the client>`. The
guard ends with its stdin or with the guarded process.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import sys
import time

SIGNALS = (signal.SIGTERM, signal.SIGINT)
NO_CLIENT = -1
PARENT_POLL_S = 1.0
"""Interval at which the guard checks its parent: a fork of that may keep the pipe open."""
_CHUNK_BYTES = 65536

_guard_pipes: list[int] = []
"""Write end of the guard's stdin, once there is one."""


def start_guard(
    grace_s: float, *, client_fd: int = NO_CLIENT, client_grace_s: float = 0.0
) -> None:
    """Start the guard of this process; a second call does nothing.

    Args:
        grace_s: Seconds this process may live after a signal that asks it to stop.
        client_fd: Pipe or socket on which a client sends; -1: no client is guarded.
        client_grace_s: Seconds this process may live after the client has closed its end.
    """
    if _guard_pipes:
        return
    import subprocess  # noqa: PLC0415 - the guard itself never needs it

    read_end, write_end = os.pipe()
    try:
        subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", __file__),
                *map(str, (os.getpid(), grace_s, client_fd, client_grace_s)),
            ],
            stdin=read_end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=() if client_fd == NO_CLIENT else (client_fd,),
            start_new_session=True,  # an interrupt of this process must not end its guard
            cwd="/",
            env={},
        )
    finally:
        os.close(read_end)
    os.set_blocking(write_end, False)
    _guard_pipes.append(write_end)


def watch_signals() -> None:
    """Report signals to the guard from now on; does nothing without a guard.

    Must be called after each change of the signal handlers, which are still called. Only the main
    thread may call it.
    """
    for number in SIGNALS if _guard_pipes else ():
        handler = signal.getsignal(number)
        # A second registration would do nothing, and unregistering the first restores the handler
        # that preceded it.
        faulthandler.unregister(number)
        if handler is not None:
            signal.signal(number, handler)
        faulthandler.register(number, file=_guard_pipes[0], all_threads=False, chain=True)


def run_guard(process: int, grace_s: float, client_fd: int, client_grace_s: float) -> None:
    """Run as the guard: kill the parent if it outlives a request to stop."""
    for number in (*SIGNALS, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    if client_fd != NO_CLIENT:
        poll.register(client_fd, 0)  # a hang-up is reported without being asked for
    kill_at = float("inf")
    while os.getppid() == process:
        left_s = kill_at - time.monotonic()
        if left_s <= 0:
            os.kill(process, signal.SIGKILL)
            return
        for descriptor, _ in poll.poll(1000 * min(left_s, PARENT_POLL_S)):
            if descriptor == client_fd:
                poll.unregister(client_fd)
                kill_at = min(kill_at, time.monotonic() + client_grace_s)
            elif os.read(0, _CHUNK_BYTES):
                kill_at = min(kill_at, time.monotonic() + grace_s)
            else:
                return


if __name__ == "__main__":
    run_guard(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
