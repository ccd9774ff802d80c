"""Start a server's process, or say in one line why it cannot be started."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
from pathlib import Path

from tools.upstream import reap
from tools.upstream.errors import SpawnFailed
from tools.upstream.spec import Launch, ServerSpec

MAX_SHOWN_PATH = 200


async def spawn(
    spec: ServerSpec, launch: Launch, protocol: asyncio.SubprocessProtocol, *, marker: str
) -> asyncio.SubprocessTransport:
    """Start the process as leader of its own session, with pipes for all three streams.

    Args:
        spec: The entry, whose words the errors use: those hold no secrets.
        launch: What to execute.
        protocol: Receives what the process writes, and its end.
        marker: Value of the variable by which descendants are found.

    Raises:
        SpawnFailed: If the command or its folder does not exist or cannot be executed.
    """
    _check_folder(spec, launch)
    program = _find_program(spec, launch)
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.subprocess_exec(
            lambda: protocol,
            program,
            *launch.args,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**launch.env, reap.MARKER: marker},
            cwd=launch.cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise SpawnFailed(_explain(spec, error), server=spec.name) from None
    except ValueError as error:  # a null character in a command, argument or variable
        raise SpawnFailed(
            f"command {spec.command!r} cannot be started: {error}; correct its entry",
            server=spec.name,
        ) from None
    return transport


def _check_folder(spec: ServerSpec, launch: Launch) -> None:
    if launch.cwd is None or os.path.isdir(launch.cwd):
        return
    raise SpawnFailed(
        f"its working folder {spec.cwd!r} does not exist; create it or correct its `cwd`",
        server=spec.name,
    )


def _find_program(spec: ServerSpec, launch: Launch) -> str:
    """Resolve the command on the PATH the server itself will have."""
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
        raise SpawnFailed(_not_on_path(spec, launch, path_variable), server=spec.name)
    return os.path.abspath(found)


def _not_on_path(spec: ServerSpec, launch: Launch, path_variable: str) -> str:
    for folder in path_variable.split(os.pathsep):
        candidate = Path(folder) / launch.command
        if launch.command and candidate.is_file():
            return f"{candidate} is not executable; make it so (chmod +x)"
    shown = path_variable[:MAX_SHOWN_PATH] + ("…" if len(path_variable) > MAX_SHOWN_PATH else "")
    return (
        f"command {spec.command!r} was not found on PATH ({shown}); install it, "
        "give its full path, or set PATH in the server's env"
    )


def _explain(spec: ServerSpec, error: OSError) -> str:
    hint = {
        errno.ENOENT: "the interpreter named in its first line does not exist; install it",
        errno.ENOEXEC: "it is neither a program of this machine nor a script with a #! line",
        errno.E2BIG: "its arguments and variables are too long; shorten them",
        errno.EACCES: "permission denied; let the gateway's user execute it and enter its folder",
        errno.EMFILE: "the gateway has too many files open; raise `ulimit -n`",
        errno.EAGAIN: "the user has too many processes; raise `ulimit -u`",
    }.get(error.errno or 0, f"{error.strerror}; correct its entry")
    return f"command {spec.command!r} cannot be started: {hint}"
