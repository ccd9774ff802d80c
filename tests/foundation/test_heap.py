import ctypes
import platform
import subprocess
import sys

import pytest

from gateway_project.foundation import heap

MEASURE = """
from pathlib import Path
from gateway_project.foundation import heap
def measure_kb():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's own allocator")
def test_free_memory_between_blocks_in_use_is_returned():
    code = (
        MEASURE + "blocks = [b'x' * 100_000 for _ in range(600)]\n"
        "del blocks[:-1]\n"  # the last one keeps the heap from shrinking
        "before = measure_kb()\n"
        "heap.return_free_memory()\n"
        "assert before - measure_kb() > 40_000\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's own allocator")
def test_large_blocks_are_mapped_by_themselves():
    code = (
        MEASURE + "heap.map_large_blocks()\n"
        "del (block := [b'x' * 20_000_000])[:]\n"  # raises the bound where it is not fixed
        "blocks = [b'x' * 2_000_000 for _ in range(30)]\n"
        "before = measure_kb()\n"
        "del blocks[:-1]\n"
        "assert before - measure_kb() > 40_000\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    heap.map_large_blocks()
    heap.return_free_memory()


@pytest.mark.parametrize("refusal", [ImportError, OSError, TypeError])
def test_a_system_that_cannot_load_its_c_library_is_left_alone(monkeypatch, refusal):
    def refuse(_name):
        raise refusal

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    heap.map_large_blocks()
    heap.return_free_memory()
