"""The console in a real browser: sign in once, look around, change something, sign out."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.foundation.postgres import processes
from tests.foundation.postgres.homes import located
from tests.journeys.browser import sign_in, take_picture
from tests.journeys.gateways import eventually, free_port, gone
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

BASE = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class RunningConsole:
    """A console process and the password it printed."""

    address: str
    password: str
    env: dict[str, str]

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=BASE,
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


@pytest.fixture(scope="module")
def console(module_home: Path) -> Iterator[RunningConsole]:
    port = free_port()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FOREGATE_", "DJANGO_"))}
    env = {**kept, "FOREGATE_HOME": str(module_home), "FOREGATE_CONSOLE_PORT": str(port)}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "run_console"],
        cwd=BASE,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline() + process.stdout.readline()
    password = re.search(r"one-time password (\S+)", said)
    assert password, said
    running = RunningConsole(
        address=f"http://127.0.0.1:{port}/", password=password.group(1), env=env
    )
    config = module_home / "servers.json"
    entry = {
        "command": sys.executable,
        "args": ["-m", "mcp_server_time"],
        "env": {"SECRET_TOKEN": "never-shown"},
    }
    config.write_text(json.dumps({"mcpServers": {"time": entry}}))
    running.manage("import_servers", "--from", str(config))
    running.manage("discover", "--no-embed")
    yield running
    process.terminate()
    process.wait(timeout=PATIENCE_S)
    process.stdout.close()


@pytest.fixture
def page(console: RunningConsole, chromium: Any) -> Iterator[Any]:
    page = chromium.new_page(base_url=console.address)
    page.set_default_timeout(1_000 * PATIENCE_S)
    yield page
    page.close()


def test_an_admin_signs_in_once_looks_around_and_leaves_a_trail(
    console: RunningConsole, page: Any, tmp_path: Path
) -> None:
    requested: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)

    page.goto("/")
    sign_in(page, console.password)
    page.get_by_role("heading", name="All is well").wait_for()
    page.goto("/admin/")
    page.get_by_role("link", name="Servers", exact=True).first.click()
    page.get_by_role("link", name="time", exact=True).click()
    page.get_by_label("Trusted").check()
    assert "never-shown" not in page.content()
    page.screenshot(path=str(tmp_path / "server.png"), full_page=True)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("was changed successfully").wait_for()
    page.goto("/admin/tools/tool/")
    page.get_by_text("get_current_time").first.wait_for()
    page.goto("/admin/gateway_project/auditentry/")
    page.get_by_text("server.changed").first.wait_for()

    assert problems == []
    assert all(url.startswith(console.address) for url in requested), requested


def test_an_added_server_is_discovered_and_one_that_fails_says_why(
    console: RunningConsole, page: Any, tmp_path: Path
) -> None:
    console.manage("shell", "-v0", "-c", MAKE_PASSWORD)
    page.goto("/servers/")
    sign_in(page, "a-lasting-password-1")
    config = tmp_path / "servers.json"
    entries = {
        name: {"command": sys.executable, "args": args}
        for name, args in (
            ("added", ["-m", "mcp_server_time"]),
            ("failing", ["-c", "import sys; sys.exit('no TOKEN set')"]),
        )
    }
    config.write_text(json.dumps({"mcpServers": entries}))
    console.manage("import_servers", "--from", str(config))

    def shows(name: str, state: str) -> bool:
        page.goto("/servers/")
        return state in page.locator(f'[data-server="{name}"]').inner_text()

    eventually(lambda: shows("added", "up") and shows("failing", "no TOKEN set"))
    page.screenshot(path=str(tmp_path / "servers.png"), full_page=True)
    page.goto("/servers/failing/")
    page.get_by_role("button", name="Test", exact=True).click()
    page.get_by_role("heading", name="Test: it failed").wait_for()
    assert "no TOKEN set" in page.content()
    page.goto("/servers/added/")
    page.get_by_role("button", name="List its tools again", exact=True).click()
    page.get_by_text("Its tools are being listed again").wait_for()
    page.locator('[data-state="up"]').first.wait_for()


def test_the_one_time_password_opens_no_second_session(console: RunningConsole, page: Any) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(console.password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("The user name or the password is wrong").wait_for()


def test_a_token_made_in_the_console_reads_the_metrics(console: RunningConsole, page: Any) -> None:
    console.manage("shell", "-v0", "-c", MAKE_PASSWORD)
    page.goto("/admin/")
    sign_in(page, "a-lasting-password-1")
    page.goto("/access/tokens/")
    page.locator("#id_name").fill("monitor")
    page.locator("input[name=scopes][value=metrics]").check()
    page.get_by_role("button", name="Create the token").click()
    page.get_by_text("it is shown once").wait_for()
    token = re.search(r"fgt_[\w-]+", page.content())
    assert token is not None
    page.goto("/access/tokens/")
    assert token.group() not in page.content()

    request = urllib.request.Request(
        f"{console.address}metrics", headers={"Authorization": f"Bearer {token.group()}"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        assert b"foregate_tools" in answer.read()


def test_pages_say_that_the_database_is_down_while_nothing_can_restart_it(
    console: RunningConsole, page: Any, module_home: Path
) -> None:
    if "DATABASE_URL" in console.env:
        pytest.skip("needs the embedded database")
    console.manage("shell", "-v0", "-c", MAKE_PASSWORD)
    page.goto("/runs/")
    sign_in(page, "a-lasting-password-1")
    cluster = located(module_home)
    keeper, server = processes.keeper_of(cluster), processes.server_of(cluster)
    os.kill(keeper.pid, signal.SIGSTOP)
    try:
        processes.postmaster_of(cluster).kill()
        eventually(lambda: gone(server))
        assert page.goto("/runs/").status == 503
        page.get_by_role("heading", name="The database cannot be reached").wait_for()
        take_picture(page, "database-down")
        answer = page.request.get("/api/v1/runs/")
        assert (answer.status, answer.json()["code"]) == (503, "database_unavailable")
    finally:
        os.kill(keeper.pid, signal.SIGCONT)
    eventually(lambda: page.goto("/runs/").status == 200)
    page.get_by_role("heading", name="Runs", exact=True).wait_for()


MAKE_PASSWORD = """
from django.contrib.auth import get_user_model
admin = get_user_model().objects.get(username="admin")
admin.set_password("a-lasting-password-1")
admin.save()
"""
