"""Installs the peer library once, in a separate environment."""

from __future__ import annotations

import subprocess
import sys
import venv

from platformdirs import user_cache_path

LANGGRAPH = "1.2.22"


def langgraph() -> list[str]:
    """Return the command that runs LangGraph outside of the project's environment."""
    folder = user_cache_path("foregate-benchmarks") / f"langgraph-{LANGGRAPH}"
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        print(f"installing langgraph {LANGGRAPH}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-q", f"langgraph=={LANGGRAPH}"]
        subprocess.run(install, check=True)
        done.touch()
    return [str(python), "-m", "benchmarks.execution.langgraph_way"]
