"""Starts a real client for one job, in a home of its own, against the scripted model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.clients.model import ScriptedModel, serve
from benchmarks.clients.set_up import Entries

PROMPT: Final = "Do the job."
GRACE_S: Final = 120.0
"""For start, requests and end, beside the long call."""
_GEMINI_SETTINGS: Final = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
}
_CODEX_SETTINGS: Final = """
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
"""


@dataclass(frozen=True, kw_only=True)
class Drive:
    """One run of a client.

    Attributes:
        model: The model that it spoke to, with its requests.
        began: When the client's process was started (s, of time.time).
        ended: Whether it ended by itself in time.
    """

    model: ScriptedModel
    began: float
    ended: bool


def drive(
    folder: Path,
    client: str,
    entries: Entries,
    job: Mapping[str, Any],
    *,
    think_s: float = 0,
    long_s: float = 0,
) -> Drive:
    """Let a client with these servers do a job."""
    home = folder / "client-home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    model = ScriptedModel(job, think_s=think_s)
    is_plan = job.get("mode") == "plan"
    with serve(model) as port:
        command, env = _PREPARE[client](folder, home, entries, port, is_plan)
        began = time.time()
        process = subprocess.Popen(
            command,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **env},
            cwd=folder / "work",
            stdin=subprocess.DEVNULL,
            stdout=(folder / "client.out").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        ended = _wait(process, GRACE_S + long_s)
    return Drive(model=model, began=began, ended=ended)


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout_s)
        return True
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
            break
    return False


def _prepare_claude(
    folder: Path, home: Path, entries: Entries, port: int, is_plan: bool
) -> tuple[list[str], dict[str, str]]:
    """All servers are allowed, as a person does once who is tired of being asked."""
    config = home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": entries}))
    modules = folder / "servers" / "claude" / "node_modules" / "@anthropic-ai"
    program = next(modules.glob("claude-code-*/claude"))
    allowed = ",".join(f"mcp__{name}" for name in entries)
    command = [str(program), "-p", PROMPT, "--mcp-config", str(config), "--strict-mcp-config",
               "--output-format", "stream-json", "--verbose"]  # fmt: skip
    command += ["--allowedTools", allowed] if allowed else []
    command += ["--permission-mode", "plan"] if is_plan else []
    return command, {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def _prepare_codex(
    folder: Path, home: Path, entries: Entries, port: int, is_plan: bool
) -> tuple[list[str], dict[str, str]]:
    """`exec` asks nobody: it refuses what is not allowed, which here is all but in plan mode."""
    lines = [_CODEX_SETTINGS.format(port=port)]
    for name, entry in entries.items():
        lines.append(f"[mcp_servers.{json.dumps(name)}]")
        fields = {key: value for key, value in entry.items() if key != "env"}
        if not is_plan:
            fields["default_tools_approval_mode"] = "approve"
        lines += [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
        lines.append(f"[mcp_servers.{json.dumps(name)}.env]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in entry.get("env", {}).items()]
    (home / "config.toml").write_text("\n".join(lines))
    program = folder / "servers" / "codex" / "node_modules" / ".bin" / "codex"
    command = [str(program), "exec", "--skip-git-repo-check", "--json", PROMPT]
    return command, {"SCRIPTED_KEY": "none", "CODEX_HOME": str(home)}


def _prepare_gemini(
    folder: Path, home: Path, entries: Entries, port: int, is_plan: bool
) -> tuple[list[str], dict[str, str]]:
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({**_GEMINI_SETTINGS, "mcpServers": entries}))
    program = folder / "servers" / "gemini" / "node_modules" / ".bin" / "gemini"
    mode = "plan" if is_plan else "yolo"
    command = [str(program), "-m", "gemini-2.5-flash", "--approval-mode", mode, "-p", PROMPT]
    return command, {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


_PREPARE: Final = {"claude": _prepare_claude, "codex": _prepare_codex, "gemini": _prepare_gemini}
