"""The gateway's side of the spawner, the process that starts servers and outlives the gateway."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from tools.upstream import reap

STOP_TIMEOUT_S = 8.0  # longer than the spawner needs to end everything; then it is killed
PROGRAM: Final = """
import sys
sys.path.append(sys.argv[1])
from tools.upstream import spawner
spawner.main(int(sys.argv[2]), float(sys.argv[3]))
"""
ROOT: Final = Path(__file__).resolve().parents[2]

log = structlog.get_logger(__name__)


class GatewayWatcher:
    """Runs the spawner, which starts servers and ends them once the gateway is gone.

    The spawner starts with the first server. It has its own session, so that signals to the
    gateway's do not reach it, and shares none of the gateway's standard streams.
    """

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the spawner while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def new_marker(self) -> str:
        """Return a unique value of the marker variable, for one start of one server."""
        return f"{self._token}.{next(self._numbers)}."

    def ensure_running(self) -> None:
        """Start the spawner unless it is running.

        Raises:
            OSError: If it cannot be started.
        """
        if self.pid is not None:
            return
        if self._process is not None:
            log.warning("server.watcher_restarted")
        self._close_control()
        self._control, remote_end = socket.socketpair()
        with remote_end:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", PROGRAM, *self._build_arguments()],
                stdin=remote_end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={},
            )
        self._control.setblocking(False)

    def open_guard_channel(self, streams: Sequence[int]) -> socket.socket:
        """Return the channel to a new guard that will start a server with these streams.

        Raises:
            OSError: If there is no spawner to fork the guard.
        """
        if self._control is None:
            raise BrokenPipeError(errno.EPIPE, "the watcher of server processes does not run")
        channel, remote_end = socket.socketpair()
        with remote_end:
            try:
                socket.send_fds(self._control, [b"+"], [remote_end.fileno(), *streams])
            except OSError:
                channel.close()
                raise
        channel.setblocking(False)
        return channel

    async def aclose(self) -> None:
        """Wait until the spawner has ended all processes; kill it after `STOP_TIMEOUT_S`."""
        process, self._process = self._process, None
        self._close_control()
        if process is None:
            return
        try:
            await asyncio.to_thread(process.wait, STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _close_control(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None

    @staticmethod
    def _build_arguments() -> list[str]:
        return [str(ROOT), str(os.getpid()), str(reap.TERM_GRACE_S)]
