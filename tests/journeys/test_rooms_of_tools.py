"""Journeys through the rooms of servers and tools, in a real browser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys import browser
from tests.journeys.gateways import BASE, PYTHON, eventually, free_port
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

SERVER = """
import pathlib
from mcp.server.mcpserver import MCPServer
server = MCPServer("notes")
words = pathlib.Path(__file__).with_suffix(".txt")

@server.tool(description=words.read_text() if words.exists() else "Reads the notes.")
def read_notes(folder: str = "inbox") -> str:
    return f"Buy milk <script>alert(1)</script> ({folder})"

@server.tool(description="Archives one note for ever.")
def archive_note(title: str) -> str:
    return f"archived {title}"

server.run()
"""
RELATE = """
from django.utils import timezone
from gateway_project.access import callers
from gateway_project.use_cases.curate_relations import curate_relation
from graph.record import RelationClaim
from graph.relations import RelationKind
from tools.store.configuration import load_tool_keys
keys = load_tool_keys()
curate_relation(callers.caller_for_user("admin", kind="command"), RelationClaim(
    source=keys["notes:read_notes"], target=keys["notes:archive_note"],
    kind=RelationKind.PRECEDES, confidence=0.9), at=timezone.now())
"""
PASSWORD = """
from django.contrib.auth import get_user_model
admin = get_user_model().objects.get(username="admin")
admin.set_password("a-lasting-password-1")
admin.save()
"""


class Console:
    """A console of an installation of its own, and a server whose words can be changed."""

    def __init__(self, home: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FOREGATE_", "DJANGO_"))}
        self.port = free_port()
        self.home = home
        self.env = {
            **kept,
            "FOREGATE_HOME": str(home),
            "FOREGATE_CONSOLE_PORT": str(self.port),
        }
        self.script = home / "notes.py"
        self.script.write_text(SERVER)
        self.address = f"http://127.0.0.1:{self.port}"

    def manage(self, *arguments: str) -> None:
        subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=BASE, env=self.env, capture_output=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def console(module_home: Path) -> Iterator[Console]:
    made = Console(module_home)
    process = subprocess.Popen(
        [sys.executable, "manage.py", "run_console", "--no-password"],
        cwd=BASE, env=made.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert "Console" in process.stdout.readline()
    made.manage("shell", "-v0", "-c", PASSWORD)
    yield made
    process.terminate()
    process.wait(timeout=PATIENCE_S)
    process.stdout.close()


@pytest.fixture
def page(console: Console, chromium: Any) -> Iterator[Any]:
    """A page of a superuser; at its end nothing may have gone wrong in the browser."""
    with browser.visit(chromium, console.address, state=None) as seen:
        seen.page.on("dialog", lambda dialog: seen.problems.append(dialog.message))
        seen.page.goto("/")
        browser.sign_in(seen.page, "a-lasting-password-1")
        yield seen.page
        assert seen.problems == []


def finish(page: Any, decision: str = "Accept ") -> None:
    page.get_by_role("button", name="Test again").wait_for()
    page.locator(f"label:has-text('{decision}')").first.click()
    browser.press(page, page.get_by_role("button", name="Done"))


def test_a_first_answer_needs_no_documentation(console: Console, page: Any) -> None:
    page.goto("/playground/")
    page.get_by_role("link", name="add one").click()
    page.get_by_role("link", name="A command").click()
    page.get_by_label("Command").fill(f"{PYTHON} {console.script}")
    page.get_by_label("Name").fill("notes")
    page.get_by_role("button", name="Check").click()
    page.get_by_role("button", name="Store and test").click()
    page.get_by_text("2 tools").wait_for()
    browser.take_picture(page, "servers-add-tested-light-wide")
    assert browser.find_barriers(page) == []
    finish(page, "Accept and trust")

    def is_discovered() -> bool:
        page.goto("/servers/notes/")
        return "read_notes" in page.content()

    eventually(is_discovered)
    page.goto("/playground/")
    page.get_by_label("What do you want").fill("read the notes in the folder inbox")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("heading", name="What it would do").wait_for()
    assert "notes:read_notes" in page.content()
    browser.take_picture(page, "playground-answer-light-wide")
    assert browser.find_barriers(page) == []
    page.get_by_role("button", name="Check without calling anything").click()
    page.get_by_text("nothing was called").wait_for()


def test_servers_are_added_by_each_way_and_a_broken_one_says_why(
    console: Console, page: Any
) -> None:
    broken = {"command": PYTHON, "args": ["-c", "import sys; sys.exit('no TOKEN set')"]}
    time = {"command": PYTHON, "args": ["-m", "mcp_server_time"], "env": {"A_KEY": "<your key>"}}
    page.goto("/servers/add/?way=json")
    page.get_by_label("Configuration").fill(
        json.dumps({"mcpServers": {"clock": time, "broken": broken}})
    )
    page.get_by_role("button", name="Check").click()
    page.get_by_label("A_KEY").fill("hunter2-hunter2")
    assert browser.find_barriers(page) == []
    page.get_by_role("button", name="Store and test").click()
    page.get_by_text("no TOKEN set").first.wait_for()
    page.get_by_role("button", name="Test again").wait_for()
    assert "hunter2" not in page.content()
    browser.take_picture(page, "servers-add-broken-light-wide")
    browser.press(page, page.get_by_role("button", name="Done"))
    page.wait_for_url("**/servers/clock/")  # the broken one was left disabled
    page.goto("/servers/broken/")
    page.get_by_role("button", name="Test", exact=True).click()
    page.get_by_text("no TOKEN set").first.wait_for()

    page.goto("/servers/add/?way=known&known=time")
    page.get_by_label("Name").fill("known time")
    browser.press(page, page.get_by_role("button", name="Check"))
    assert "uvx mcp-server-time" in page.content()
    page.goto("/servers/add/?way=url")
    page.get_by_label("Address").fill(f"http://127.0.0.1:{free_port()}/mcp")
    page.get_by_label("Name").fill("away")
    page.get_by_role("button", name="Check").click()
    page.get_by_role("button", name="Store and test").click()
    page.locator(".badge--bad").first.wait_for()
    finish(page, "Remove it again")
    page.wait_for_url("**/servers/")
    assert page.get_by_role("link", name="away", exact=True).count() == 0


def test_a_changed_definition_is_seen_word_by_word_and_approved(
    console: Console, page: Any
) -> None:
    console.script.with_suffix(".txt").write_text("Reads all the notes, also deleted ones.")
    page.goto("/servers/notes/")
    browser.press(page, page.get_by_role("button", name="List its tools again"))

    def waits() -> bool:
        page.goto("/tools/changed/")
        return "notes:read_notes" in page.content()

    eventually(waits)
    assert page.locator("ins").first.inner_text().strip()
    browser.take_picture(page, "tools-changed-light-wide")
    assert browser.find_barriers(page) == []
    page.get_by_label("Choose notes:read_notes").check()
    page.get_by_role("button", name="Approve the chosen").click()
    page.get_by_text("1 approved").wait_for()
    page.goto("/tools/notes:read_notes/")
    page.get_by_text("also deleted ones").first.wait_for()
    page.get_by_text("in use").wait_for()


def test_a_tool_is_tried_and_its_result_does_not_run(page: Any) -> None:
    page.goto("/tools/notes:read_notes/")
    page.get_by_label("folder").fill("work")
    if page.get_by_label("this is a real call").count():
        page.get_by_label("this is a real call").check()
    page.get_by_role("button", name="Call it").click()
    page.get_by_text("Buy milk <script>alert(1)</script> (work)").first.wait_for()
    browser.take_picture(page, "tool-tried-light-wide")
    assert browser.find_barriers(page) == []


def test_a_curated_danger_changes_search_and_speculation(page: Any) -> None:
    page.goto("/tools/notes:archive_note/")
    assert page.get_by_text("a person decides on each call").count() == 0
    page.goto("/danger/")
    page.get_by_label("Words").fill("archive")
    page.get_by_text("would become dangerous").wait_for()  # before anything is saved
    browser.take_picture(page, "danger-preview-light-wide")
    page.get_by_label("Reason").fill("it cannot be undone")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("“archive” is dangerous").wait_for()
    page.goto("/tools/?q=archive+a+note")
    found = page.locator(".found__item", has=page.get_by_role("link", name="notes:archive_note"))
    found.locator(".badge", has_text="dangerous").wait_for()
    page.goto("/tools/notes:archive_note/")
    page.get_by_text("a person decides on each call").wait_for()
    page.get_by_text(re.compile("danger class .* is dangerous; no grant covers it")).wait_for()


def test_the_path_between_two_tools_is_found_and_drawn(console: Console, page: Any) -> None:
    console.manage("shell", "-v0", "-c", RELATE)

    def is_drawn() -> bool:
        page.goto("/graph/?source=notes:read_notes&target=notes:archive_note")
        return "comes before notes:archive_note" in page.content()

    eventually(is_drawn)
    page.locator("[data-explorer][data-ready=yes]").wait_for()
    assert "2 tools" in page.locator("#path").inner_text()
    # What the calls before have taught may be drawn, too: on a slow machine it has been learned.
    kind = page.locator(".legend").get_by_role("button", name=re.compile(r"precedes \(\d\)"))
    kind.click()
    assert kind.get_attribute("aria-pressed") == "true"
    assert browser.find_barriers(page) == []
    browser.take_picture(page, "graph-path-light-wide")
    page.get_by_placeholder("Find a tool").fill("archive")
    page.get_by_placeholder("Find a tool").press("Enter")
    page.locator(".explorer__card").get_by_role("link", name="notes:archive_note").wait_for()
    assert browser.find_barriers(page) == []
    page.get_by_role("button", name="Path to here").click()
    assert page.get_by_label("To", exact=True).input_value() == "notes:archive_note"
