"""Prepares what to execute for a server, and explains failures in one line."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from tools.upstream import reap
from tools.upstream.containers import follow_container
from tools.upstream.errors import SpawnFailed
from tools.upstream.spawner import SpawnRequest
from tools.upstream.spec import LaunchSpec, ServerSpec

MAX_SHOWN_PATH = 200


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
