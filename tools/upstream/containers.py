"""Stops the container of a server that is run by `docker run` and the like.

A container is a child of its engine, not of the command that the gateway starts, so it outlives
that command unless it heeds the end of its input. The command writes the container's id to a file,
by which it is stopped.

The spawner imports this module, so it imports only a few modules of the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

STOP_GRACE_S = 1  # between SIGTERM and SIGKILL in the container
STOP_TIMEOUT_S = 4.0

_ENGINES = frozenset({"docker", "podman", "nerdctl", "finch"})
_WRAPPERS = frozenset({"sudo", "doas", "env"})
_CONFINED = "/snap/"  # an engine there does not see the gateway's temporary files
_ID_FILE = "--cidfile"

ContainerStop = tuple[list[bytes], bytes, bytes]
"""The command that stops a container, without its id; the file with the id; the folder made for it
or empty."""


def follow_container(
    program: str, args: Sequence[str], *, cwd: str | None
) -> tuple[list[str], ContainerStop | None]:
    """Have a command that runs a container write its id to a file.

    Args:
        program: Path of the command.
        args: Its arguments.
        cwd: Its working directory; None is the gateway's.

    Returns:
        The arguments to start it with, and how to stop its container; None: it runs none, or its
        own file for the id exists already, perhaps for another container.
    """
    words = [program, *args]
    run = _find_run(words)
    if run is None or program.startswith(_CONFINED):
        return list(args), None
    own_file, folder = _find_own_file(words[run:]), ""
    if own_file is None:
        import tempfile  # noqa: PLC0415 - the spawner does not need it

        folder = tempfile.mkdtemp(prefix="foregate-")
        file = os.path.join(folder, "cid")
        words.insert(run + 1, f"{_ID_FILE}={file}")
    else:
        file = os.path.abspath(os.path.join(cwd or "", own_file))
        if os.path.exists(file):
            return list(args), None
    stop = [os.fsencode(word) for word in (*words[:run], "stop", "-t", str(STOP_GRACE_S))]
    return words[1:], (stop, os.fsencode(file), os.fsencode(folder))


def stop_container(
    stop: ContainerStop, environment: Mapping[bytes, bytes], cwd: bytes | None
) -> None:
    """Stop a server's container if it was created; takes `STOP_TIMEOUT_S` at most."""
    command, file, _ = stop
    try:
        with open(file, "rb") as content:
            container = content.read().strip()
    except OSError:
        return
    import subprocess  # noqa: PLC0415 - half the memory of a guard

    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            [*command, container],
            env=environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=STOP_TIMEOUT_S,
            check=False,
        )
    with suppress(OSError):
        os.unlink(file)


def remove_folder(stop: ContainerStop) -> None:
    """Remove the folder made for the id, once no container can be created any more."""
    with suppress(OSError):
        os.rmdir(stop[2])


def _find_run(words: Sequence[str]) -> int | None:
    """Return the index of the engine's verb `run`; None if the command runs no container."""
    engine = 0
    if os.path.basename(words[0]) in _WRAPPERS:
        names = [os.path.basename(word) for word in words]
        engine = next((index for index, name in enumerate(names) if name in _ENGINES), 0)
    if os.path.basename(words[engine]) not in _ENGINES:
        return None
    for index in range(engine + 1, len(words)):
        word, before = words[index], words[index - 1]
        if word == "run":
            return index
        is_value = index - 1 > engine and before.startswith("-") and "=" not in before
        if not (word.startswith("-") or word == "container" or is_value):
            return None
    return None


def _find_own_file(words: Sequence[str]) -> str | None:
    """Return the file for the id that the command itself names."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == _ID_FILE:
            return following
        if word.startswith(f"{_ID_FILE}="):
            return word.partition("=")[2]
    return None
