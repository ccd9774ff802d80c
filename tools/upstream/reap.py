"""Find and end every process that stems from an upstream server.

Two ways, both needed: all members of the server's session and process group (the server is
started as leader of its own), and on Linux every process whose environment carries the marker
the server was started with, which also finds grandchildren that made a session of their own.

This file imports nothing but the standard library and little of that, because it is also the
program of the watcher: a tiny process beside the gateway that ends what the gateway leaves
behind, however it died. The gateway runs it as `python -I -S reap.py <gateway pid> <marker>`
and writes `+<pid>` or `-<pid>` lines to its stdin; the end of that pipe, or of the gateway,
is its signal.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterator

MARKER = "FOREGATE_UPSTREAM"
TERM_GRACE_S = 2.0
GIVE_UP_S = 4.0  # after SIGKILL; only a process stuck in the kernel lives that long
POLL_S = 0.05
PARENT_POLL_S = 1.0  # for pipes that outlive the gateway because a fork of it holds them

_HAS_PROC = sys.platform == "linux"
_STATE, _GROUP, _SESSION, _START = 0, 2, 3, 19  # fields of /proc/<pid>/stat after the name

Target = tuple[int, str]
"""A process id with its start time, which together are never used twice."""


def start_time(pid: int) -> str | None:
    """Return when a process started, in the system's own words; None if there is none."""
    if _HAS_PROC:
        stat = _stat(pid)
        return None if stat is None else stat[_START]
    return _ps(pid)


def is_alive(target: Target) -> bool:
    """Say whether a process runs still; one that waits to be reaped does not."""
    pid, started = target
    if _HAS_PROC:
        stat = _stat(pid)
        return stat is not None and stat[_START] == started and stat[_STATE] not in "ZX"
    return _ps(pid) == started


def find(marker: str, leaders: dict[int, str | None]) -> list[Target]:
    """Return the live processes that carry the marker or belong to a leader's group.

    Args:
        marker: Value of the marker variable, or the beginning all values share.
        leaders: Process ids of session leaders with their start times. If another process has
            taken a leader's id meanwhile, that id no longer counts.
    """
    ours = {pid for pid, started in leaders.items() if start_time(pid) in (started, None)}
    if _HAS_PROC:
        return list(_find_in_proc(f"{MARKER}={marker}".encode(), ours))
    return list(_find_by_ps(ours))


def send(target: Target, number: int) -> None:
    """Signal a process, unless its id has been taken by another one meanwhile."""
    pid, started = target
    try:
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, number)
            return
        handle = os.pidfd_open(pid)
        try:
            if start_time(pid) == started:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
    except OSError:
        return  # gone already, or not ours to signal: both are seen by the next look


def end_all(marker: str, leaders: dict[int, str | None]) -> None:
    """SIGTERM all, wait a little, SIGKILL until none is left. Blocks; for the watcher."""
    for number, patience_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, GIVE_UP_S)):
        deadline = time.monotonic() + patience_s
        told: set[Target] = set()
        while targets := find(marker, leaders):
            for target in targets:
                if target not in told or number == signal.SIGKILL:
                    send(target, number)
                    told.add(target)
            if time.monotonic() >= deadline:
                break
            time.sleep(POLL_S)
        else:
            return


def _find_in_proc(marker: bytes, leaders: set[int]) -> Iterator[Target]:
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        stat = _stat(int(name))
        if stat is None or stat[_STATE] in "ZX":
            continue
        if int(stat[_GROUP]) in leaders or int(stat[_SESSION]) in leaders or _has(name, marker):
            yield int(name), stat[_START]


def _stat(pid: int) -> list[str] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name stands in brackets and may itself hold brackets and spaces.
    return text[text.rindex(b")") + 2 :].decode().split()


def _has(name: str, marker: bytes) -> bool:
    try:
        with open(f"/proc/{name}/environ", "rb") as file:
            return any(entry.startswith(marker) for entry in file.read().split(b"\0"))
    except OSError:
        return False  # another user's, so none of ours


def _ps(pid: int) -> str | None:
    return next((started for _, started in _ps_rows("-p", str(pid))), None)


def _find_by_ps(leaders: set[int]) -> Iterator[Target]:
    for pid in leaders:
        for target, started in _ps_rows("-g", str(pid)):
            if target != os.getpid():
                yield target, started


def _ps_rows(*which: str) -> Iterator[Target]:
    import subprocess  # noqa: PLC0415 - never needed on Linux, and half the watcher's memory

    result = subprocess.run(
        ["/bin/ps", "-o", "pid=,state=,lstart=", *which],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in result.stdout.splitlines():
        pid, state, started = line.split(None, 2)
        if not state.startswith("Z"):
            yield int(pid), started.strip()


def watch(gateway: int, marker: str) -> None:
    """Serve as the watcher: note the leaders named on stdin, and end all when the gateway ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    leaders: dict[int, str | None] = {}
    rest = b""
    while os.getppid() == gateway:
        if not select.select([0], [], [], PARENT_POLL_S)[0]:
            continue
        chunk = os.read(0, 4096)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            _note(line, leaders)
    end_all(marker, leaders)


def _note(line: bytes, leaders: dict[int, str | None]) -> None:
    pid = int(line[1:])
    if line.startswith(b"+"):
        leaders[pid] = start_time(pid)
    else:
        leaders.pop(pid, None)


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2])
