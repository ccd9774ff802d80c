"""Start the console, which also serves MCP over HTTP, with the user's account."""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError

from gateway_project.client_config import own_entry
from gateway_project.management.command import GatewayCommand, argument, flag

UNIT: Final = "foregate.service"
LABEL: Final = "foregate.console"
_UNIT_TEXT: Final = """\
[Unit]
Description=Foregate, MCP gateway and console
After=network.target

[Service]
ExecStart={command}
Environment={environment}
Restart=on-failure
RestartSec=5
TimeoutStopSec=30

[Install]
WantedBy=default.target
"""


class Command(GatewayCommand):
    """`manage.py service install|uninstall|status`."""

    help = (
        "Start the console, with MCP over HTTP, when you sign in: as a systemd user unit on "
        "Linux, as a launchd agent on macOS."
    )
    requires_system_checks: list[str] = []
    arguments = (
        argument("action", "", choices=["install", "uninstall", "status"]),
        flag("--dry-run", "print what would be written and run"),
    )

    def handle(self, *_: Any, action: str, dry_run: bool, **_options: Any) -> None:
        launch = own_entry.describe_own_launch(
            base=settings.BASE_DIR, user="", url="", home=settings.FOREGATE.home
        )
        command = [*launch.command[:-1], "run_console", "--no-password"]
        on_mac = sys.platform == "darwin"
        path = _find_agent_path() if on_mac else _find_unit_path()
        content = _make_agent(command, launch.env) if on_mac else _make_unit(command, launch.env)
        steps = (_list_mac_steps if on_mac else _list_linux_steps)(action, path)
        if dry_run:
            self.stdout.write(f"{path}\n\n{content.decode() if action == 'install' else ''}")
            self.stdout.write("\n".join(map(shlex.join, steps)))
            return
        if action == "install":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if not shutil.which(steps[0][0]):
            raise CommandError(f"{steps[0][0]} is not on this machine; written: {path}")
        codes = [subprocess.run(step, check=False).returncode for step in steps]
        if action == "uninstall":
            path.unlink(missing_ok=True)
        if any(codes):
            raise CommandError(f"{shlex.join(steps[-1])} failed; it says why above")
        if action == "install":
            self.stdout.write(f"Installed {path}; manage.py service uninstall removes it.")


def _find_unit_path() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "systemd" / "user" / UNIT


def _find_agent_path() -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def _make_unit(command: list[str], environ: Any) -> bytes:
    # systemd expands $ and %, and reads double quotes with backslashes.
    words = [_quote_for_systemd(word) for word in command]
    settings_text = " ".join(_quote_for_systemd(f"{k}={v}") for k, v in environ.items())
    return _UNIT_TEXT.format(command=" ".join(words), environment=settings_text).encode()


def _quote_for_systemd(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped.replace("$", "$$")}"'


def _make_agent(command: list[str], environ: Any) -> bytes:
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": command,
            "EnvironmentVariables": dict(environ),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
        }
    )


def _list_linux_steps(action: str, _path: Path) -> list[list[str]]:
    control = ["systemctl", "--user"]
    return {
        "install": [[*control, "daemon-reload"], [*control, "enable", "--now", UNIT]],
        "uninstall": [[*control, "disable", "--now", UNIT]],
        "status": [[*control, "status", "--no-pager", UNIT]],
    }[action]


def _list_mac_steps(action: str, path: Path) -> list[list[str]]:
    domain = f"gui/{os.getuid()}"
    return {
        "install": [["launchctl", "bootstrap", domain, str(path)]],
        "uninstall": [["launchctl", "bootout", f"{domain}/{LABEL}"]],
        "status": [["launchctl", "print", f"{domain}/{LABEL}"]],
    }[action]
