"""The gateway's end of the watcher that outlives it (see `reap`)."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import subprocess
import sys

import structlog

from tools.upstream import reap

END_S = 8.0  # longer than the watcher needs to end everything, then it is killed

log = structlog.get_logger(__name__)


class Watcher:
    """A process that ends this gateway's servers once the gateway is gone.

    It is started with the first server and costs that start no waiting: what it is told stands
    in a pipe until it reads it. It has a session of its own, so that what ends the gateway does
    not end it too, and shares none of the gateway's standard streams.
    """

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._leaders: set[int] = set()

    @property
    def pid(self) -> int | None:
        """Process id of the watcher while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def new_marker(self) -> str:
        """Return a value of the marker variable for one start of one server."""
        return f"{self._token}.{next(self._numbers)}."

    def ensure(self) -> None:
        """Start the watcher unless it runs already."""
        if self.pid is not None:
            return
        if self._process is not None:
            log.warning("the watcher of server processes had ended; starting another one")
            self._close_pipe(self._process)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", reap.__file__, str(os.getpid()), f"{self._token}."],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            # An outer gateway that runs this one as its server must not find the watcher.
            env={},
        )
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        os.set_blocking(self._process.stdin.fileno(), False)
        for pid in self._leaders:
            self._tell(f"+{pid}\n")

    def add(self, pid: int) -> None:
        """Put a server under watch, by the process id of its session leader."""
        self._leaders.add(pid)
        self._tell(f"+{pid}\n")

    def remove(self, pid: int) -> None:
        """Forget a server all of whose processes have ended."""
        self._leaders.discard(pid)
        self._tell(f"-{pid}\n")

    async def aclose(self) -> None:
        """Let the watcher finish, which takes as long as there is something left to end."""
        process, self._process = self._process, None
        if process is None:
            return
        self._close_pipe(process)
        try:
            await asyncio.to_thread(process.wait, END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            os.write(self._process.stdin.fileno(), line.encode())
        except OSError as error:
            # On Linux the marker still finds the server; the next start replaces the watcher.
            log.warning("the watcher of server processes does not listen", error=str(error))

    @staticmethod
    def _close_pipe(process: subprocess.Popen[bytes]) -> None:
        if process.stdin is not None:
            process.stdin.close()
