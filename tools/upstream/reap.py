"""Finds and signals the processes that descend from an upstream server.

On Linux they are descendants of a subreaper (see `spawner`), which no process escapes by creating
a session or clearing its environment. Elsewhere they are the members of the server's session and
process group. If all subreapers were killed, the marker in the environment still finds them on
Linux.

The spawner imports this module, so it imports only a few modules of the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

MARKER = "FOREGATE_UPSTREAM"
TERM_GRACE_S = 2.0
GIVE_UP_S = 4.0  # after SIGKILL; only a process stuck in the kernel lives that long
POLL_S = 0.05

_PR_SET_CHILD_SUBREAPER = 36
_HAS_PROC = sys.platform == "linux"
_STATE, _PARENT, _GROUP, _SESSION, _START = (
    0,
    1,
    2,
    3,
    19,
)  # fields of /proc/<pid>/stat after the name

ProcessTarget = tuple[int, str]
"""A process id with its start time, which together are unique."""


def read_start_time(pid: int) -> str | None:
    """Return a process's start time in the system's own format; None if it does not exist."""
    if _HAS_PROC:
        stat = _read_stat(pid)
        return None if stat is None else stat[_START]
    return _run_ps(pid)


def is_alive(target: ProcessTarget) -> bool:
    """Whether a process is still running; a zombie is not."""
    pid, started = target
    if _HAS_PROC:
        stat = _read_stat(pid)
        return stat is not None and stat[_START] == started and stat[_STATE] not in "ZX"
    return _run_ps(pid) == started


def find_processes(marker: str, leaders: dict[int, str | None]) -> list[ProcessTarget]:
    """Return the live processes that carry the marker or belong to a leader's group.

    Args:
        marker: Value of the marker variable, or a common prefix of several values.
        leaders: Process ids of session leaders with their start times. An id that has been
            reused by another process is ignored.
    """
    ours = {pid for pid, started in leaders.items() if read_start_time(pid) in (started, None)}
    if _HAS_PROC:
        return list(_find_in_proc(f"{MARKER}={marker}".encode(), ours))
    return list(_find_by_ps(ours))


def send_signal(target: ProcessTarget, number: int) -> None:
    """Signal a process, unless its id has been reused by another one."""
    pid, started = target
    try:
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, number)
            return
        handle = os.pidfd_open(pid)
        try:
            if read_start_time(pid) == started:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
    except OSError:
        return  # already gone, or not permitted: the next scan shows which


def adopt_orphans() -> None:
    """Make this process a subreaper: orphaned descendants become its children (Linux only)."""
    if not _HAS_PROC:
        return
    import ctypes  # noqa: PLC0415 - not needed elsewhere

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def list_children(pid: int) -> list[int]:
    """Return the children of a process, including zombies; none except on Linux."""
    if not _HAS_PROC:
        return []
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += map(int, file.read().split())
    except FileNotFoundError:
        return _list_children_by_stat(pid) if os.path.exists(f"/proc/{pid}") else found
    except ProcessLookupError:
        return found
    return found


def list_descendants(pid: int) -> list[ProcessTarget]:
    """Return the live descendants of a process; none except on Linux."""
    found, pending = [], list_children(pid)
    while pending:
        child = pending.pop()
        stat = _read_stat(child)
        if stat is not None:
            pending += list_children(child)
            if stat[_STATE] not in "ZX":
                found.append((child, stat[_START]))
    return found


def _list_children_by_stat(parent: int) -> list[int]:
    """Return the children of a process on kernels without `/proc/<pid>/task/*/children`."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if (stat := _read_stat(pid)) and int(stat[_PARENT]) == parent]


def _find_in_proc(marker: bytes, leaders: set[int]) -> Iterator[ProcessTarget]:
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        stat = _read_stat(int(name))
        if stat is None or stat[_STATE] in "ZX":
            continue
        if (
            int(stat[_GROUP]) in leaders
            or int(stat[_SESSION]) in leaders
            or _has_marker(name, marker)
        ):
            yield int(name), stat[_START]


def _read_stat(pid: int) -> list[str] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name is in parentheses and may itself contain parentheses and spaces.
    return text[text.rindex(b")") + 2 :].decode().split()


def _has_marker(name: str, marker: bytes) -> bool:
    try:
        with open(f"/proc/{name}/environ", "rb") as file:
            return any(entry.startswith(marker) for entry in file.read().split(b"\0"))
    except OSError:
        return False  # runs as another user, so it is not ours


def _run_ps(pid: int) -> str | None:
    return next((started for _, started in _ps_rows("-p", str(pid))), None)


def _find_by_ps(leaders: set[int]) -> Iterator[ProcessTarget]:
    for pid in leaders:
        for target, started in _ps_rows("-g", str(pid)):
            if target != os.getpid():
                yield target, started


def _ps_rows(*options: str) -> Iterator[ProcessTarget]:
    import subprocess  # noqa: PLC0415 - never needed on Linux, and half the watcher's memory

    result = subprocess.run(
        ["/bin/ps", "-o", "pid=,state=,lstart=", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in result.stdout.splitlines():
        pid, state, started = line.split(None, 2)
        if not state.startswith("Z"):
            yield int(pid), started.strip()
