"""Installs the peer once, in a separate environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from platformdirs import user_cache_path

from benchmarks.gateway_cost.processes import HERE, RunningServer, free_port, serving

VERSION = "4.1.0"
REQUIREMENTS = (f"fastmcp=={VERSION}", "mcp==2.3.0", "uvloop==0.23.0", "httptools==0.9.0")


def fastmcp(target: Sequence[str]) -> AbstractContextManager[RunningServer]:
    """Run a FastMCP proxy that keeps one client connected."""
    port = free_port()
    program = str(HERE / "fastmcp_proxy.py")
    return serving([program, str(port), *target], port=port, python=_python())


def _python() -> str:
    folder = user_cache_path("foregate-benchmarks") / f"fastmcp-{VERSION}"
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        print(f"installing FastMCP {VERSION}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
        Path(done).touch()
    return str(python)
