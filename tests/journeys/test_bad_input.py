"""Whatever a user gets wrong: one clear line, nothing stored is lost, the others work on."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.foundation.postgres.homes import temporary_home
from tests.foundation.postgres.processes import User
from tests.journeys import gateways
from tests.journeys.gateways import JOURNEY_S, fixture_server, free_port

BASE = Path(__file__).resolve().parent.parent.parent
MANAGE = str(BASE / "manage.py")
PYTHON = sys.executable


ADD_AND_DISCOVER = """
import io, os, runpy, sys
import django
os.environ["DJANGO_SETTINGS_MODULE"] = "gateway_project.settings.base"
django.setup()
from django.core.management import call_command
from tools.models import Server
call_command("import_servers", "--from", {file!r}, stdout=io.StringIO())
Server.objects.filter(name__in={names!r}).update(connect_timeout_s={limit_s})
sys.argv = [{manage!r}, "discover", "--no-embed", *{names!r}, "healthy"]
runpy.run_path({manage!r}, run_name="__main__")
"""
USABLE_TOOLS = (
    "SELECT count(*) FROM tools_tool AS tool JOIN tools_server AS server "
    "ON server.id = tool.server_id "
    "WHERE server.name = 'healthy' AND server.enabled AND tool.enabled AND tool.state = 'active'"
)


@dataclass
class Installation:
    """A home with one healthy server, whose tools are known."""

    home: Path
    scratch: Path
    stack: ExitStack = field(default_factory=ExitStack)

    def manage(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command on this home."""
        return self._run(MANAGE, *arguments, **env)

    def _run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PYTHON, *arguments],
            cwd=BASE,
            env={**clean_environment(), "FOREGATE_HOME": str(self.home), **env},
            capture_output=True,
            text=True,
            timeout=JOURNEY_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def write(self, servers: object) -> str:
        """Write a client's configuration and return its path."""
        path = self.scratch / "config.json"
        text = servers if isinstance(servers, str) else json.dumps({"mcpServers": servers})
        path.write_text(text)
        return str(path)

    def discover_with(
        self, entries: dict[str, object], *, limit_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Add servers, which have a limit of their own to start in, and discover all."""
        given = {"file": self.write(entries), "limit_s": limit_s, "manage": MANAGE}
        done = self._run("-c", ADD_AND_DISCOVER.format(names=list(entries), **given))
        assert re.search(r"ok +healthy: \d+ tools", done.stdout), "the healthy server works on"
        return done


def clean_environment() -> dict[str, str]:
    """Return our environment without any setting of Foregate."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FOREGATE_", "DJANGO_")) and name != "DATABASE_URL"
    }


HEALTHY_TOOLS = 6


@pytest.fixture(scope="module")
def home(module_home: Path) -> Path:
    gateways.Installation(home=module_home).register(healthy=fixture_server("stateless"))
    return module_home


@pytest.fixture(scope="module")
def database(home: Path) -> Iterator[User]:
    """Another user of the database, who keeps it running."""
    user = User(home, linger_s=60.0).ready()
    yield user
    user.kill()


@pytest.fixture
def installation(home: Path, tmp_path: Path) -> Iterator[Installation]:
    with Installation(home=home, scratch=tmp_path).stack as stack:
        yield Installation(home=home, scratch=tmp_path, stack=stack)


def broken_configuration(use: Installation) -> subprocess.CompletedProcess[str]:
    return use.manage("import_servers", "--from", use.write('{"mcpServers": {"a": }'))


def servers_that_do_not_start(use: Installation) -> subprocess.CompletedProcess[str]:
    rubbish = "import sys\nfor line in sys.stdin:\n    print('\\x00 not json', flush=True)\n"
    return use.discover_with(
        {
            "unset": {"command": "${ABSENT_COMMAND}"},
            "absent": {"command": "no-such-command-anywhere"},
            "exits": python("import sys; sys.exit('no licence found')"),
            "hangs": python("import time; time.sleep(600)"),
            "rubbish": python(rubbish),
        },
        limit_s=5,
    )


def python(code: str) -> dict[str, object]:
    """Return the entry of a server in Python."""
    return {"command": PYTHON, "args": ["-I", "-S", "-c", code]}


def wrong_database_url(use: Installation) -> subprocess.CompletedProcess[str]:
    url = f"postgresql://someone:hidden-password@127.0.0.1:{free_port()}/nowhere"
    return use.manage("status", DATABASE_URL=url)


def malformed_database_url(use: Installation) -> subprocess.CompletedProcess[str]:
    return use.manage("status", DATABASE_URL="mysql://someone:hidden-password@localhost/x")


def unmigrated_database(use: Installation) -> subprocess.CompletedProcess[str]:
    fresh = use.stack.enter_context(temporary_home())
    return use.manage("status", FOREGATE_HOME=str(fresh), FOREGATE_POSTGRES_LINGER_S="0")


def port_in_use(use: Installation) -> subprocess.CompletedProcess[str]:
    taken = use.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    return use.manage("run_console", FOREGATE_CONSOLE_PORT=str(taken.getsockname()[1]))


def read_only_home(use: Installation) -> subprocess.CompletedProcess[str]:
    folder = mounted(use, "size=1m,mode=755,ro") if os.geteuid() == 0 else use.scratch / "sealed"
    folder.mkdir(exist_ok=True)
    if os.geteuid() != 0:
        folder.chmod(0o500)
    return use.manage("discover", FOREGATE_HOME=str(folder))


def full_home(use: Installation) -> subprocess.CompletedProcess[str]:
    folder = mounted(use, "size=8m,mode=755")
    return use.manage("discover", FOREGATE_HOME=str(folder))


def mounted(use: Installation, options: str) -> Path:
    """Mount a small tmpfs for the length of a test."""
    # Not below pytest's private folder: the database's own user must be able to reach it.
    folder = Path(tempfile.mkdtemp(prefix="foregate-mounted-"))
    use.stack.callback(folder.rmdir)
    folder.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs can only be mounted by root where mounting is allowed")
    use.stack.callback(subprocess.run, ["umount", "-l", str(folder)], check=True)
    return folder


Act = Callable[[Installation], "subprocess.CompletedProcess[str]"]
CASES: dict[Act, tuple[str, ...]] = {
    broken_configuration: (r"config\.json: line 1, column \d+: .*; fix the JSON",),
    servers_that_do_not_start: (
        r"'unset': .*ABSENT_COMMAND.*set",
        r"'absent': .*no-such-command-anywhere.*",
        r"'exits': .*no licence found",
        r"'hangs': .*5 s",
        r"'rubbish': ",
    ),
    wrong_database_url: (r"127\.0\.0\.1.*DATABASE_URL",),
    malformed_database_url: (r"DATABASE_URL: must look like postgresql://",),
    unmigrated_database: (
        r"the database lacks \d+ migrations of this version, .*; run `manage\.py migrate`",
    ),
    port_in_use: (
        r"cannot listen on 127\.0\.0\.1:\d+: .*; stop what listens there or set FOREGATE",
    ),
    read_only_home: (r"FOREGATE_HOME",),
    full_home: (r"(?i)room|space",),
}


@pytest.mark.parametrize(("act", "lines"), CASES.items(), ids=[act.__name__ for act in CASES])
def test_each_mistake_is_answered_in_one_clear_line_and_harms_nothing_else(
    act: Act, lines: tuple[str, ...], installation: Installation, database: User
) -> None:
    done = act(installation)

    output = unwrapped(done.stdout + done.stderr)
    assert "Traceback" not in output
    assert "hidden-password" not in output
    for line in lines:
        assert sum(bool(re.search(line, text)) for text in output.splitlines()) == 1, output
    assert database.ask(USABLE_TOOLS) == {"rows": [[HEALTHY_TOOLS]]}


def unwrapped(text: str) -> str:
    """Drop log lines: the promise is about what the command itself says."""
    return "\n".join(part for part in text.splitlines() if not re.match(r"\d{4}-\d\d-\d\dT", part))
