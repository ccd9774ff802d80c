"""Modules of the program run in processes of their own, which do not outlive their caller."""

import subprocess
import sys

import psutil
import pytest

from gateway_project.foundation.module_process import ModuleFailed, run_module
from tests.journeys.gateways import eventually, gone
from tests.patience import PATIENCE_S

SLEEPS = ("timeit", "-n1", "-r1", "__import__('time').sleep(300)")
CALLER = f"""
import asyncio
from gateway_project.foundation.module_process import run_module
asyncio.run(run_module(*{SLEEPS}, timeout_s=300))
"""


async def test_gives_what_the_module_prints() -> None:
    code, printed = await run_module("calendar", "2026", timeout_s=PATIENCE_S, stdin=b"unread")
    assert (code, b"December" in printed) == (0, True)


async def test_tells_the_last_line_of_a_module_that_fails() -> None:
    with pytest.raises(ModuleFailed, match="No such file"):
        await run_module("tokenize", "no_such_file", timeout_s=PATIENCE_S)


def test_ends_with_a_caller_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", CALLER]) as caller:
        eventually(lambda: bool(psutil.Process(caller.pid).children()))
        children = psutil.Process(caller.pid).children()
        caller.kill()
    eventually(lambda: gone(children))
