"""Asks a gateway a client's first requests when no client waits for the answers.

Codex `exec` kills its servers, with all of their process group, once its turn is over, which is
sooner than a gateway that starts cold answers. Nothing would be kept for the next start, nor ever.
So a process in a session of its own waits for the gateway's end; if requests are unanswered then,
it starts the same command again and asks them itself.

Imports the standard library only, because it is also the program of that process:
`python -I -S rehearsal.py <command> <argument>…`. On its stdin are the parameters of `initialize`
as a line of JSON, then a byte once nothing is unanswered.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import IO, Any, Final

IMPATIENT_CLIENTS: Final = ("codex-mcp-client",)
"""Names of clients that kill their servers before one that starts cold has answered."""
ID_PREFIX: Final = "foregate-rehearsal/"
TIMEOUT_S: Final = 300.0
"""Generous, for busy machines; nobody waits."""
_STARTING: Final = b'"code":"starting"'
_SETTLED: Final = b"0"


class RehearsalWatch:
    """Has the first requests of a client asked again if this process ends before it answers them.

    Args:
        params: Of the client's `initialize`; its answer counts as missing from now on.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        read_fd, self._write_fd = os.pipe()
        program = [sys.executable, "-I", "-S", __file__, sys.executable, *sys.orig_argv[1:]]
        try:
            process = os.posix_spawn(
                sys.executable,
                program,
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, read_fd, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
            )
            threading.Thread(target=os.waitpid, args=(process, 0), daemon=True).start()
            self._write(json.dumps(params).encode() + b"\n")
        except OSError:
            pass  # the next start is as slow as this one
        finally:
            os.close(read_fd)

    def end(self) -> None:
        """End the watch, since nothing is unanswered."""
        self._write(_SETTLED)
        os.close(self._write_fd)

    def _write(self, data: bytes) -> None:
        with suppress(OSError):
            os.write(self._write_fd, data)


def rehearse(
    command: Sequence[str],
    params: Mapping[str, Any],
    *,
    environ: Mapping[str, str] = os.environ,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Ask a gateway for its handshake and its tools, which it keeps for the next start.

    Args:
        command: Starts the gateway over stdio.
        params: Of `initialize`, as the client sends them.
        environ: Of the gateway.
        timeout_s: After this it is killed.

    Raises:
        OSError: If the command cannot be started.
    """
    import subprocess  # noqa: PLC0415 - a gateway that starts never needs it

    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
    )
    timer = threading.Timer(timeout_s, process.kill)
    timer.start()
    with suppress(BrokenPipeError), process:
        assert process.stdin is not None  # noqa: S101 - a pipe
        assert process.stdout is not None  # noqa: S101
        _send(process.stdin, {"id": f"{ID_PREFIX}0", "method": "initialize", "params": params})
        _send(process.stdin, {"method": "notifications/initialized"})
        for number in count(1):  # a gateway that still starts says so instead of its tools
            identifier = f"{ID_PREFIX}{number}"
            _send(process.stdin, {"id": identifier, "method": "tools/list"})
            awaited = f'"id":"{identifier}"'.encode()
            answer = next((line for line in process.stdout if awaited in line), b"")
            if _STARTING not in answer:
                break
        process.stdin.close()
    timer.cancel()


def _send(stream: IO[bytes], message: Mapping[str, Any]) -> None:
    stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    stream.flush()


def _wait_and_rehearse(command: Sequence[str]) -> None:
    with suppress(OSError):  # it leads its session already
        os.setsid()
    params = sys.stdin.buffer.readline()
    if params and not sys.stdin.buffer.read():  # the gateway has ended before it was settled
        rehearse(command, json.loads(params))


if __name__ == "__main__":
    _wait_and_rehearse(sys.argv[1:])
