"""The installation that the dumps are of: its keys, its server, and what it runs."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

SERVERS: Final = Path(__file__).resolve().parent.parent / "servers"
TEST_KEY: Final = base64.urlsafe_b64encode(b"for tests of old databases only!")
"""Seals what the dumps hold. It is public, protects nothing, and is used nowhere else."""

SERVER: Final[dict[str, Any]] = {
    "command": "${FOREGATE_TEST_PYTHON}",
    "args": ["-I", "-S", "${FOREGATE_TEST_SERVERS}/counting.py", "${FOREGATE_TEST_LEDGER}"],
    "env": {"TOKEN": "sealed with the test key"},
}
WORKFLOW: Final[dict[str, Any]] = {
    "tasks": [
        {"id": "count", "tool": "counting:count", "arguments": {"name": "kept"}},
        {
            "id": "look",
            "tool": "counting:look",
            "arguments": {"name": "kept", "after": {"$ref": "count", "pointer": "/name"}},
        },
    ]
}
HISTORY: Final[dict[str, Any]] = {
    "id": "run-1",
    "intent": 'Count the name "kept" and look at it',
    **WORKFLOW,
    "succeeded": True,
    "at": "2026-11-20T08:00:00Z",
}


def prepare_home(home: Path) -> None:
    """Write the keys that open what the dumps hold."""
    keys = home / "keys"
    keys.mkdir(mode=0o700, parents=True)
    for name in ("sealing", "payloads"):
        file = keys / f"{name}.keys"
        file.write_bytes(TEST_KEY + b"\n")
        file.chmod(0o600)


def write_inputs(folder: Path) -> dict[str, Path]:
    """Write what the commands read; return the files by name."""
    contents = {
        "servers.json": {"mcpServers": {"counting": SERVER}},
        "workflow.json": WORKFLOW,
        "history.jsonl": HISTORY,
    }
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content))
    return {name: folder / name for name in contents}


def environment(home: Path, database_url: str) -> dict[str, str]:
    """Return the environment of a process of this installation."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FOREGATE_", "DJANGO_", "COV_"))
    }
    return kept | {
        "FOREGATE_HOME": str(home),
        "DATABASE_URL": database_url,
        "FOREGATE_TEST_PYTHON": sys.executable,
        "FOREGATE_TEST_SERVERS": str(SERVERS),
        "FOREGATE_TEST_LEDGER": str(home / "ledger.jsonl"),
    }
