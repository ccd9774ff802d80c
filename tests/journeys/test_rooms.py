"""Every room of the console in a real browser: it works, it is small, and everybody can use it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from gateway_project.console.rooms import menu
from tests.journeys import browser
from tests.journeys.gateways import PYTHON, eventually, fixture_server, free_port
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

BASE: Final = Path(__file__).resolve().parent.parent.parent
MENU: Final = tuple(room.path for _, rooms in menu.SECTIONS for room in rooms)
OTHERS: Final = (
    *("/access/people/ann/", "/access/tokens/", "/search/?q=time", "/switch/"),
    *("/access/teams/100/", "/access/webhooks/1/", "/tools/groups/desk/"),
    *("/servers/time/", "/servers/broken/", "/servers/add/", "/servers/add/?way=json"),
    *("/servers/add/?way=command", "/servers/add/?way=url", "/servers/add/?known=github"),
    *("/servers/add/test/?server=broken", "/tools/?q=time", "/tools/time:get_current_time/"),
    "/graph/?source=time:get_current_time&target=time:convert_time",
    *("/speculation/00000000-0000-0000-0000-000000000001/", "/speculation/budgets/"),
    *("/learning/thresholds/", "/learning/thresholds/backtest/"),
)
"""Pages below the rooms of the menu; each room adds its own here."""
FILL = """
from datetime import timedelta
from django.contrib.auth import get_user_model
from django.utils import timezone
from gateway_project.access import grant
from django.conf import settings
from execution.models import Speculation
from execution.store import payloads
from gateway_project.foundation import sealing
from gateway_project.models import AuditEntry, Webhook, WebhookDelivery
from tools.models import Membership, Team, Tool, ToolGroup
from learning.models import EpisodicEvent
users = get_user_model().objects
admin = users.get(username="admin")
admin.set_password("a-lasting-password-1")
admin.save()
ann = users.create_user("ann")
team = Team.objects.create(pk=100, name="research")
Membership.objects.create(user=ann, team=team, role="admin")
hook = Webhook.objects.create(pk=1, name="<script>alert(3)</script>", events=["run.failed"],
                              url="https://hooks.example.com/a", secret_sealed="x", enabled=False)
WebhookDelivery.objects.create(webhook=hook, event="run.failed", data={}, status="given_up",
                               occurred_at=timezone.now(), attempts=9, error="HTTP 500 " * 20)
ToolGroup.objects.create(name="desk", description="For the desk", tools=["time:convert_time"])
grant.create_user_token("admin", name="<script>alert(1)</script>", scopes=("search",))
AuditEntry.objects.create(at=timezone.now(), actor="ann", kind="http", action="server.changed",
                          subject="<script>alert(2)</script>" * 20, detail={"a": "<b>"})
clock = Tool.objects.get(name="get_current_time").pk
said = {"content": [{"type": "text", "text": "<script>alert(4)</script> " * 9}]}
call = {"task": "now", "tool": clock, "arguments": {"timezone": "<b>" * 20},
        "results": [{"size": 300, "raw": said}]}
sealer = sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)
content = payloads.seal_json({"intent": "what is the time in <i>Rome</i>?", "calls": [call]},
                             sealer=sealer)[0]
Speculation.objects.create(id="00000000-0000-0000-0000-000000000001", user="ann", team=team,
                           context_hash=1, domain_hash=1, confidence=0.9286, shadow=False,
                           ranked_confidence=0.9286, threshold=0.92, admitted=True,
                           tools=[clock], created_at=timezone.now(), content=content,
                           due_at=timezone.now() + timedelta(hours=1), workflow_digest="")
EpisodicEvent.objects.bulk_create(
    EpisodicEvent(at=timezone.now() - timedelta(hours=4 * hour), kind=1, session=1,
                  outcome=2 if hour % 9 == 0 else 1, duration_ms=40.0 + hour % 13)
    for hour in range(40) for _ in range(1 + hour % 5))
"""


@dataclass(frozen=True)
class FilledConsole:
    """A console with something to see, and the cookies of a superuser."""

    address: str
    state: Any


@pytest.fixture(scope="module")
def console(module_home: Path) -> Iterator[str]:
    """The address of a console with a working server, a broken one, and some history."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FOREGATE_", "DJANGO_"))}
    port = free_port()
    env = {**kept, "FOREGATE_HOME": str(module_home), "FOREGATE_CONSOLE_PORT": str(port)}
    manage = [sys.executable, "manage.py"]
    config = module_home / "servers.json"
    servers = {
        "time": {"command": PYTHON, "args": ["-m", "mcp_server_time"]},
        "broken": fixture_server("exits_at_once"),
    }
    config.write_text(json.dumps({"mcpServers": servers}))
    process = subprocess.Popen(
        [*manage, "run_console", "--no-password"],
        cwd=BASE,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert "Console" in process.stdout.readline()
    for command in (
        ["import_servers", "--from", str(config)],
        ["discover", "--no-embed"],
        ["shell", "-v0", "-c", FILL],
    ):
        # A server that cannot be discovered makes `discover` say so with its exit code.
        subprocess.run([*manage, *command], cwd=BASE, env=env, capture_output=True, check=False)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=PATIENCE_S)
    process.stdout.close()


@pytest.fixture
def filled(console: str, chromium: Any) -> FilledConsole:
    """The console, signed in to as a superuser."""
    with browser.visit(chromium, console, state=None) as seen:
        seen.page.goto("/")
        browser.sign_in(seen.page, "a-lasting-password-1")
        seen.page.locator("#sidebar").wait_for()
        return FilledConsole(address=console, state=seen.page.context.storage_state())


def test_every_room_works_is_small_and_shuts_nobody_out(
    filled: FilledConsole, chromium: Any, subtests: pytest.Subtests
) -> None:
    for path in (*MENU, *OTHERS):
        # Each with a fresh cache, since the size of a first visit is bounded.
        with (
            subtests.test(path=path),
            browser.visit(chromium, filled.address, state=filled.state) as seen,
        ):
            seen.check(path, named=browser.name_picture(path))


def test_no_page_of_the_admin_or_the_api_breaks_the_policy(
    filled: FilledConsole, chromium: Any
) -> None:
    with browser.visit(chromium, filled.address, state=filled.state) as seen:
        seen.page.goto("/admin/")
        links = seen.page.locator("#content a[href^='/admin/']")
        pages = sorted({link.get_attribute("href") for link in links.all()})
        assert len(pages) > 40
        for path in ("/admin/", "/api/v1/docs/", *pages):
            seen.problems.clear()
            seen.page.goto(path)
            seen.page.wait_for_load_state("networkidle")
            assert seen.problems == [], (path, seen.problems)
        seen.page.goto("/api/v1/docs/")
        seen.page.get_by_text("/api/v1/runs/", exact=True).first.wait_for()


def test_the_keyboard_alone_finds_a_page_and_opens_it(
    filled: FilledConsole, chromium: Any
) -> None:
    with browser.visit(chromium, filled.address, state=filled.state) as seen:
        page = seen.page
        page.goto("/")
        page.keyboard.press("/")
        page.keyboard.type("a")
        page.get_by_role("option").first.wait_for()
        page.keyboard.type("udit tr")
        page.get_by_role("option", name="Audit trail").wait_for()
        assert browser.find_barriers(page) == []
        browser.take_picture(page, "search-palette-light-wide")
        page.keyboard.press("Enter")
        page.wait_for_url("**/audit/")
        page.keyboard.press("/")
        page.keyboard.type("sett")
        page.keyboard.press("Enter")  # before anything was found: waits for it
        page.wait_for_url("**/settings/")
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Search").fill("no such thing")
        page.get_by_text("Nothing is called").wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("combobox", name="Search").wait_for(state="hidden")
        assert seen.problems == []


def test_the_menu_of_a_narrow_screen_opens_and_closes(
    filled: FilledConsole, chromium: Any
) -> None:
    with browser.visit(chromium, filled.address, state=filled.state, size=browser.NARROW) as seen:
        page = seen.page
        page.goto("/")
        link = page.get_by_role("link", name="Audit trail")
        assert not link.is_visible()
        page.get_by_role("button", name="Menu").click()
        link.wait_for()
        browser.take_picture(page, "menu-light-narrow")
        assert browser.find_barriers(page) == []
        page.keyboard.press("Escape")
        link.wait_for(state="hidden")
        page.get_by_role("button", name="Menu").click()
        link.click()
        page.wait_for_url("**/audit/")


def test_turning_speculation_off_asks_once_and_says_so_on_every_page(
    filled: FilledConsole, chromium: Any
) -> None:
    with browser.visit(chromium, filled.address, state=filled.state) as seen:
        page = seen.page
        page.goto("/clients/")
        page.get_by_role("link", name=re.compile("Speculation o")).click()
        page.get_by_role("button", name="Leave as it is").click()
        state = page.locator("header .switch strong")
        before = state.inner_text().strip()
        other = "off" if before == "on" else "on"
        page.get_by_role("link", name=re.compile("Speculation o")).click()
        browser.take_picture(page, "switch-dialog-light-wide")
        page.get_by_role("button", name=f"Turn speculation {other}").click()
        page.get_by_text(f"Speculation is {other}").wait_for()
        assert page.url.endswith("/clients/")
        page.goto("/audit/")
        assert state.inner_text().strip() == other
        page.locator("li", has_text=f"turned speculation {other}").first.wait_for()


def test_a_token_from_the_console_lets_a_client_in_until_it_is_revoked(
    filled: FilledConsole, chromium: Any
) -> None:
    with browser.visit(chromium, filled.address, state=filled.state) as seen:
        page = seen.page
        page.goto("/access/tokens/")
        page.get_by_label("Name").fill("laptop")
        page.get_by_role("button", name="Create the token").click()
        token = page.locator("#token").inner_text().strip()
        assert browser.find_barriers(page) == []
        browser.take_picture(page, "access-new-token-light-wide")

        def is_let_in() -> bool:
            response = page.request.get(
                "/api/v1/servers/", headers={"Authorization": f"Bearer {token}"}
            )
            return bool(response.ok)

        assert is_let_in()
        page.goto("/access/tokens/")
        page.get_by_role("button", name="Revoke laptop").click()
        page.get_by_role("button", name="Revoke the token").locator("visible=true").click()
        page.get_by_text("The token is revoked").wait_for()
        eventually(lambda: not is_let_in())
        assert seen.problems == []


def test_texts_of_others_are_shown_and_do_not_run(filled: FilledConsole, chromium: Any) -> None:
    with browser.visit(chromium, filled.address, state=filled.state) as seen:
        seen.page.on("dialog", lambda dialog: seen.problems.append(dialog.message))
        for path in ("/access/tokens/", "/audit/"):
            seen.page.goto(path)
            seen.page.get_by_text("<script>alert").first.wait_for()
        assert seen.problems == []


ARGUMENTS: Final = {
    "time:get_current_time": {"timezone": "UTC"},
    "time:convert_time": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "UTC"},
}


async def call_tool(address: str, token: str, tool: str) -> bool:
    """Call a tool as a client that the address and the token were given to; True: it may."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport) as client:
            asked = {"tool": tool, "arguments": ARGUMENTS[tool]}
            return not (await client.call_tool("call_tool", asked)).is_error


def test_a_client_with_the_token_of_a_group_has_its_tools_alone(
    filled: FilledConsole, chromium: Any
) -> None:
    with browser.visit(chromium, filled.address, state=filled.state) as seen:
        page = seen.page
        page.goto("/tools/groups/")
        page.get_by_label("Name").fill("clock")
        browser.press(page, page.get_by_role("button", name="Create, then choose its tools"))
        page.get_by_label("Single tools").fill("current")
        page.get_by_label("time:get_current_time").check()
        browser.press(page, page.get_by_role("button", name="Save"))
        address = page.locator("#group-address").inner_text().strip()
        page.get_by_label("What uses it").fill("wall clock")
        browser.press(page, page.get_by_role("button", name="Create a token for this group"))
        token = page.locator("#token").inner_text().strip()
        assert seen.problems == []
    with ThreadPoolExecutor(1) as aside:  # the browser has the loop of this thread

        def may_call(tool: str, at: str) -> bool:
            return aside.submit(asyncio.run, call_tool(at, token, tool)).result()

        for place in (address, f"{filled.address}/mcp"):
            assert may_call("time:get_current_time", place)
            assert not may_call("time:convert_time", place)


def test_a_new_person_signs_in_once_with_the_password_that_was_shown(
    filled: FilledConsole, chromium: Any
) -> None:
    with browser.visit(chromium, filled.address, state=filled.state) as seen:
        page = seen.page
        page.goto("/access/")
        page.locator("#name").fill("bea")
        page.get_by_label("operator").check()
        browser.press(page, page.get_by_role("button", name="Create the person"))
        password = page.locator("#password").inner_text().strip()
        assert browser.find_barriers(page) == []
    with browser.visit(chromium, filled.address, state=None) as seen:
        seen.page.goto("/")
        browser.sign_in(seen.page, password, username="bea")
        seen.page.goto("/runs/")
        seen.page.get_by_role("heading", name="Runs", exact=True).wait_for()
        assert seen.page.get_by_role("link", name="Access", exact=True).count() == 0
    with browser.visit(chromium, filled.address, state=None) as seen:
        seen.page.goto("/")
        browser.sign_in(seen.page, password, username="bea")
        seen.page.get_by_text("The user name or the password is wrong").wait_for()
