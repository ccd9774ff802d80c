"""Claims stdin and stdout for the protocol before anything else can write there.

Imports the standard library only, so that it can run first in the process.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from dataclasses import dataclass
from types import FrameType
from typing import Final, NoReturn

STDIN, STDOUT, STDERR = 0, 1, 2
FIRST_FREE_FD: Final = 3
CHUNK_BYTES: Final = 256 * 1024
EX_UNAVAILABLE: Final = 69  # of sysexits.h

_claimed_wires: list[ProtocolWire] = []


@dataclass(frozen=True, kw_only=True)
class ProtocolWire:
    """Private descriptors of the protocol, which no child inherits.

    Attributes:
        read_fd: Carries messages from the client.
        write_fd: Carries messages to the client.
    """

    read_fd: int
    write_fd: int

    def read_chunk(self) -> bytes:
        """Return what the client has sent, once it has; empty if it has gone."""
        try:
            return os.read(self.read_fd, CHUNK_BYTES)
        except OSError:
            return b""


def claim_wire() -> ProtocolWire:
    """Move the protocol to private descriptors and redirect stdout to stderr.

    Output of Python, of C libraries and of children is redirected alike, since descriptor 1 itself
    now leads to stderr. Until the server takes over, SIGTERM and SIGINT end the process quietly.
    Further calls return the same wire.
    """
    if _claimed_wires:
        return _claimed_wires[0]
    signal.signal(signal.SIGTERM, _exit_quietly)
    signal.signal(signal.SIGINT, _exit_quietly)
    try:
        wire = ProtocolWire(read_fd=_move_descriptor(STDIN), write_fd=_move_descriptor(STDOUT))
    except OSError:
        sys.stderr.write(
            "foregate: run_gateway speaks MCP over stdin and stdout, and one of them is closed; "
            "let an MCP client start it\n"
        )
        sys.exit(EX_UNAVAILABLE)
    _divert_output()
    _claimed_wires.append(wire)
    return wire


def _move_descriptor(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD)


def _divert_output() -> None:
    sys.stdout.flush()
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, STDIN)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # stderr is closed: discard the output
        os.dup2(devnull, STDOUT)
    os.close(devnull)


def _exit_quietly(_signal: int, _frame: FrameType | None) -> NoReturn:
    os._exit(0)
