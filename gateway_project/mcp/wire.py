"""Claim of stdin and stdout for the protocol, before anything else can write there.

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
FIRST_FREE: Final = 3
EX_UNAVAILABLE: Final = 69  # of sysexits.h

_claimed: list[Wire] = []


@dataclass(frozen=True, kw_only=True)
class Wire:
    """Private descriptors of the protocol; no child inherits them.

    Attributes:
        read_fd: What the client sends.
        write_fd: Where the client listens.
    """

    read_fd: int
    write_fd: int


def claim() -> Wire:
    """Move the protocol to private descriptors; what is printed goes to stderr from here on.

    Python's own prints, those of C libraries and those of children are all diverted, since
    descriptor 1 itself now leads to stderr. Until the server takes over, SIGTERM and SIGINT end
    the process quietly. Calling this again returns the same wire.
    """
    if _claimed:
        return _claimed[0]
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)
    try:
        wire = Wire(read_fd=_private(STDIN), write_fd=_private(STDOUT))
    except OSError:
        sys.stderr.write(
            "foregate: run_gateway speaks MCP over stdin and stdout, and one of them is closed; "
            "let an MCP client start it\n"
        )
        sys.exit(EX_UNAVAILABLE)
    _divert()
    _claimed.append(wire)
    return wire


def _private(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)


def _divert() -> None:
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, STDIN)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # stderr is closed: silence, then
        os.dup2(nothing, STDOUT)
    os.close(nothing)


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    os._exit(0)
