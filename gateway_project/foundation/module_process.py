"""Runs a module of the program in a process of its own, which ends with the caller."""

from __future__ import annotations

import asyncio
import os
import runpy
import sys
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[2]


class ModuleFailed(RuntimeError):
    """The process of a module failed or took too long."""


async def run_module(
    module: str,
    *arguments: str,
    timeout_s: float,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    accepted: Collection[int] = (0,),
) -> tuple[int, bytes]:
    """Run a module in a process that ends if it takes too long or the caller is cancelled or dies.

    Args:
        module: What `python -m` runs.
        arguments: Of its command line.
        timeout_s: Seconds it may take.
        stdin: What it reads.
        env: Its environment; None: that of this process.
        accepted: Exit codes that are no failure.

    Returns:
        Exit code and standard output.

    Raises:
        ModuleFailed: If it fails, with the last line of its standard error, or takes too long.
        OSError: If no process can be started.
    """
    lifeline, held = os.pipe()
    with os.fdopen(held, "wb"):  # closed once this ends, however it ends
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", __name__, str(lifeline), module, *arguments),
                cwd=_ROOT,
                env=env,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(lifeline,),
            )
        finally:
            os.close(lifeline)
        try:
            async with asyncio.timeout(timeout_s):
                stdout, stderr = await process.communicate(stdin)
        except TimeoutError:
            raise ModuleFailed(f"it took more than {timeout_s:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    code = await process.wait()
    if code not in accepted:
        *_, reason = stderr.decode(errors="replace").strip().splitlines() or [""]
        raise ModuleFailed(reason or f"its process ended with code {code}")
    return code, stdout


def main(lifeline: int, module: str, *arguments: str) -> None:
    """Run a module as this process, which ends once nobody holds the other end of a pipe."""
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with(lifeline: int) -> None:
    os.read(lifeline, 1)  # nobody writes
    # A niced process of a killed gateway would go on for minutes on a busy machine, and the next
    # gateway waits for its lock.
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
