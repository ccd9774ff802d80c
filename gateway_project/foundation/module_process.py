"""Runs a module of the program in a process of its own, which ends with the caller."""

from __future__ import annotations

import asyncio
import sys
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
    """Run a module in a process that is killed when it takes too long or the caller is cancelled.

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
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        cwd=_ROOT,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
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
