"""The console as it happens: runs of another process, approvals and the switch, in a browser."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.journeys import browser
from tests.journeys.gateways import BASE, PYTHON, Installation, eventually, free_port
from tests.journeys.test_console import MAKE_PASSWORD
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

PASSWORD: Final = "a-lasting-password-1"
NASTY: Final = "<script>alert(1)</script>"
FILL: Final = """
from tools.models import Tool
Tool.objects.filter(name="count_once").update(approval="always")
from datetime import timedelta
from uuid import uuid4
from django.utils import timezone
from execution.models import Speculation
from learning.models import AdaptiveThreshold, EpisodicEvent, ThresholdChange
from graph.models import WorkflowPattern
now = timezone.now()
tool = Tool.objects.get(name="look").pk
for place in range(120):
    resolved = place % 4 != 0
    Speculation.objects.create(
        user="admin", context_hash=1, domain_hash=1, confidence=0.5 + place % 5 / 10,
        ranked_confidence=0.6, threshold=0.9, tools=[tool], workflow_digest="",
        created_at=now - timedelta(minutes=place), due_at=now + timedelta(hours=1),
        fallback="below_threshold",
        outcome=("hit" if place % 3 else "rejected") if resolved else "",
        weight=1.0 if resolved else 0.0, resolved_at=now if resolved else None)
row = AdaptiveThreshold.objects.create(policy="adaptive", threshold=0.9, level="team",
                                       updated_at=now, sample_weight=50.0, expected_success=0.96)
for place in range(6):
    ThresholdChange.objects.create(threshold=row, before=0.9, after=0.95 - place / 50,
                                   reason="evidence", evidence={"level": "team"},
                                   at=now - timedelta(days=place))
WorkflowPattern.objects.create(workflow_hash="a" * 64, intent_hash="b" * 64, tasks=[],
                               tools=[tool], intent="", successes=3, first_seen_at=now,
                               last_seen_at=now)
EpisodicEvent.objects.create(at=now, kind=1, session=1, tool=tool, outcome=1, duration_ms=12.0)
"""

AS_A_GATEWAY: Final = """
from django.utils import timezone
from tools.store import servers as server
now = timezone.now()
"""


class Gateway:
    """A client with a gateway process of its own, in a thread."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._loop = asyncio.new_event_loop()
        self._client: Any = None
        self._end = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        async with self._installation.client() as self._client:
            self._ready.set()
            await self._end.wait()

    def start_run(self, tasks: list[dict[str, Any]], *, intent: str = "") -> str:
        """Start a run; return its id without waiting for it."""
        asked = {"workflow": {"tasks": tasks}, "intent": intent, "options": {"wait_s": 0}}
        result = self._call("run_workflow", asked).result(PATIENCE_S)
        assert not result.is_error, result.content[0]
        run: str = result.structured_content["run_id"]
        return run

    def _call(self, name: str, arguments: dict[str, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(
            self._client.call_tool(name, arguments), self._loop
        )

    def end(self) -> None:
        """End the client and its gateway."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE_S)
        self._loop.close()


@dataclass(frozen=True, kw_only=True)
class World:
    """A console process and a gateway process of one installation.

    Attributes:
        address: Of the console.
        state: Cookies of a superuser.
        gateway: Executes runs.
        folder: Where files are that calls wait for.
        installation: The data folder.
    """

    address: str
    state: Any
    gateway: Gateway
    folder: Path
    installation: Installation

    def hold(self, name: str, *, task: str = "", after: str = "") -> dict[str, Any]:
        """Return a task that waits until a test lets it go."""
        arguments = {"name": name, "gate": str(self.folder / name)}
        depends = {"depends_on": [after]} if after else {}
        return {"id": task or name, "tool": "counting:count", "arguments": arguments, **depends}

    def let_go(self, name: str) -> None:
        """Let a task go on."""
        (self.folder / name).touch()


@contextmanager
def running_console(installation: Installation, port: int) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "run_console", "--no-password"],
        cwd=BASE,
        env=installation.env | {"FOREGATE_CONSOLE_PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert "Console" in process.stdout.readline()
    yield
    process.terminate()
    process.wait(timeout=PATIENCE_S)
    process.stdout.close()


@pytest.fixture(scope="module")
def installed(module_home: Path) -> Iterator[tuple[Installation, str, Gateway]]:
    made = Installation(home=module_home)
    ledger = module_home / "ledger.jsonl"
    server = str(BASE / "tests" / "servers" / "counting.py")
    made.register(counting={"command": PYTHON, "args": ["-I", "-S", server, str(ledger)]})
    port = free_port()
    with running_console(made, port):
        made.manage("shell", "-v0", "-c", MAKE_PASSWORD)
        made.manage("shell", "-v0", "-c", FILL)
        gateway = Gateway(made)
        yield made, f"http://127.0.0.1:{port}", gateway
        gateway.end()


@pytest.fixture
def world(installed: Any, chromium: Any, tmp_path: Path) -> World:
    installation, address, gateway = installed
    with browser.visit(chromium, address, state=None) as seen:
        seen.page.goto("/")
        browser.sign_in(seen.page, PASSWORD)
        seen.page.locator("main h1").wait_for()
        state = seen.page.context.storage_state()
    return World(
        address=address,
        state=state,
        gateway=gateway,
        folder=tmp_path,
        installation=installation,
    )


@contextmanager
def looking(world: World, chromium: Any, **options: Any) -> Iterator[Any]:
    """Look at the console; nothing may go wrong meanwhile."""
    with browser.visit(chromium, world.address, state=world.state, **options) as seen:
        yield seen.page
        assert seen.problems == []


class Line:
    """The websockets of a page, which can be cut."""

    def __init__(self, page: Any) -> None:
        self.is_cut = False
        self._open: list[Any] = []
        page.route_web_socket(re.compile("/live/"), self._route)

    def _route(self, line: Any) -> None:
        if self.is_cut:
            line.close(code=1001)
        else:
            line.connect_to_server()
            self._open.append(line)

    def cut(self) -> None:
        """Cut the line, and every new one until it is mended."""
        self.is_cut = True
        for line in self._open:
            line.close(code=1001)


def state_of(page: Any, task: str) -> Any:
    return page.locator(f'tr[data-task="{task}"] [data-part=status]')


def is_live(page: Any) -> None:
    page.locator("[data-live]", has_text=re.compile("^(live|caught up)$")).wait_for()


def test_a_run_of_another_process_shows_as_it_goes_and_is_aborted(
    world: World, chromium: Any
) -> None:
    run = world.gateway.start_run(
        [world.hold("one"), world.hold("two", after="one"), world.hold("three", after="two")],
        intent=NASTY,
    )
    with looking(world, chromium) as page:
        page.goto(f"/runs/{run}/")
        is_live(page)
        state_of(page, "one").get_by_text("running").wait_for()
        world.let_go("one")
        state_of(page, "one").get_by_text("succeeded").wait_for()
        state_of(page, "two").get_by_text("running").wait_for()
        page.locator("[data-timeline] .bars__row").nth(1).wait_for()
        page.get_by_text(NASTY).wait_for()
        browser.take_picture(page, "run-live-light-wide")
        page.get_by_role("link", name="Abort").click()
        page.get_by_text("cannot be continued").wait_for()
        browser.take_picture(page, "run-abort-light-wide")
        page.get_by_role("button", name="Abort this run").click()
        state_of(page, "two").get_by_text("cancelled").wait_for()
        page.locator("[data-part=status]").first.get_by_text("aborted").wait_for()


def test_a_run_appears_in_the_list_and_changes_there(world: World, chromium: Any) -> None:
    with looking(world, chromium) as page:
        page.goto("/runs/")
        is_live(page)
        run = world.gateway.start_run([world.hold("listed")])
        row = page.locator(f'tr[data-run="{run}"]')
        row.get_by_text("running").wait_for()
        world.let_go("listed")
        row.get_by_text("succeeded").wait_for()
        row.get_by_text("1 of 1").wait_for()


def test_a_page_that_was_cut_off_says_so_and_misses_nothing(world: World, chromium: Any) -> None:
    run = world.gateway.start_run([world.hold("cut"), world.hold("again", after="cut")])
    with looking(world, chromium) as page:
        line = Line(page)
        page.goto(f"/runs/{run}/")
        is_live(page)
        state_of(page, "cut").get_by_text("running").wait_for()
        line.cut()
        page.locator("[data-live]", has_text="cut off").wait_for()
        world.let_go("cut")
        world.let_go("again")
        eventually(lambda: '"succeeded"' in world.installation.manage("run_show", run, "--json"))
        state_of(page, "cut").get_by_text("running").wait_for()
        line.is_cut = False
        is_live(page)
        state_of(page, "again").get_by_text("succeeded").wait_for()
        numbers = [
            int(found.group(1))
            for row in page.locator("[data-events] > li").all()
            if (found := re.search(r"#(\d+)", row.inner_text()))
        ]
        assert numbers == list(range(numbers[0], 0, -1))


def test_a_call_is_approved_by_keyboard_as_it_arrives(world: World, chromium: Any) -> None:
    with looking(world, chromium) as page:
        page.goto("/approvals/")
        is_live(page)
        asked = {"id": "asks", "tool": "counting:count_once", "arguments": {"name": NASTY}}
        run = world.gateway.start_run([asked])
        page.locator("article.approval").wait_for()
        assert NASTY in page.locator("article.approval pre").inner_text()
        browser.take_picture(page, "approvals-inbox-light-wide")
        assert browser.find_barriers(page) == []
        page.keyboard.press("j")
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        page.get_by_text("Approved: counting:count_once").wait_for()
        page.goto(f"/runs/{run}/")
        state_of(page, "asks").get_by_text("succeeded").wait_for()


def test_a_long_call_is_decided_on_a_phone_without_scrolling_to_its_end(
    world: World, chromium: Any
) -> None:
    asked = {"id": "asks", "tool": "counting:count_once", "arguments": {"name": "word " * 3_000}}
    world.gateway.start_run([asked])
    with looking(world, chromium, size=browser.NARROW) as page:
        page.goto("/approvals/")
        browser.press(page, page.get_by_role("link", name="See all arguments and decide"))
        reject = page.get_by_role("button", name="Reject")
        page.keyboard.press("r")
        assert page.evaluate("document.activeElement.matches('[data-reject]')")
        for button in (reject, page.get_by_role("button", name="Approve, once")):
            box = button.bounding_box()
            assert box["height"] >= browser.MIN_TOUCH_PX
            assert box["y"] + box["height"] <= browser.NARROW["height"]
        assert browser.find_barriers(page) == []
        browser.press(page, reject)
        page.get_by_text("Rejected: counting:count_once").wait_for()


def test_a_second_call_is_compared_with_the_one_that_was_allowed_on_a_phone(
    world: World, chromium: Any
) -> None:
    for name in ("first", "second"):
        asked = {"id": "asks", "tool": "counting:count_once", "arguments": {"name": name}}
        world.gateway.start_run([asked])
        with looking(world, chromium, size=browser.NARROW) as page:
            page.goto("/approvals/")
            waiting = page.locator("article.approval", has_text=name)
            browser.press(page, waiting.locator("a[data-open]"))
            if name == "second":
                page.locator("mark", has_text="second").wait_for()
                page.locator("del", has_text="first").wait_for()
                browser.check_width(page, "approval")
                browser.take_picture(page, "approval-light-narrow")
            page.get_by_role("button", name="Approve, once").click()
            page.get_by_text("Approved: counting:count_once").wait_for()


def test_turning_the_switch_shows_on_an_open_page_at_once(world: World, chromium: Any) -> None:
    with looking(world, chromium) as page:
        page.goto("/speculation/")
        is_live(page)
        before = page.locator(".switch strong").first.inner_text().strip()
        after = "off" if before == "on" else "on"
        with looking(world, chromium) as other:
            other.goto("/switch/")
            turn = other.locator("main").get_by_role("button", name=f"Turn speculation {after}")
            browser.press(other, turn)
        page.locator(".switch strong", has_text=after).first.wait_for()


def test_the_state_of_a_server_changes_on_open_pages_and_a_cut_line_says_so(
    world: World, chromium: Any
) -> None:
    with looking(world, chromium) as page, looking(world, chromium) as other:
        line = Line(page)
        page.goto("/servers/")
        other.goto("/servers/counting/")
        is_live(page)
        is_live(other)
        states = [page.locator("article .badge").first, other.locator("h1 .badge")]
        for script, state in (
            (
                'server.record_error("counting", at=now, error="it fell over", output=["why"])',
                "failing",
            ),
            ('server.record_connection("counting", at=now, protocol_version="2026-07-28")', "up"),
        ):
            world.installation.manage("shell", "-v0", "-c", AS_A_GATEWAY + script)
            for shown in states:
                shown.filter(has_text=state).wait_for()
            text = other.locator("[data-refresh=trouble]").inner_text()
            assert ("it fell over" in text) == (state == "failing")
        line.cut()
        page.locator("[data-live]", has_text="cut off").wait_for()
        script = 'server.record_error("counting", at=now, error="again")'
        world.installation.manage("shell", "-v0", "-c", AS_A_GATEWAY + script)
        line.is_cut = False
        states[0].filter(has_text="failing").wait_for()
        script = 'server.record_connection("counting", at=now, protocol_version="2026-07-28")'
        world.installation.manage("shell", "-v0", "-c", AS_A_GATEWAY + script)


def test_a_prediction_is_corrected_and_a_threshold_overridden(world: World, chromium: Any) -> None:
    with looking(world, chromium) as page:
        page.goto("/speculation/")
        page.locator("tr", has_text="open").first.get_by_role("link").click()
        page.get_by_text("Correct: something of it was right").click()
        page.get_by_label("Other tools that would have been right").fill("counting:fail")
        page.get_by_role("button", name="Correct it").click()
        page.get_by_text("Your verdict is recorded").wait_for()
        page.locator(".badge", has_text="modified").wait_for()
        page.get_by_text("counting:fail").wait_for()
        page.goto("/learning/thresholds/")
        page.locator("tbody th a").first.click()
        page.get_by_label("Confidence from which to run ahead").fill("0.8")
        page.get_by_role("button", name="Override", exact=True).click()
        page.get_by_text("admin overrode it").first.wait_for()
        page.get_by_text("0.80 is in force, set by a person").wait_for()


def test_every_live_room_works_is_small_and_shuts_nobody_out(
    world: World, chromium: Any, subtests: pytest.Subtests
) -> None:
    run = world.gateway.start_run([world.hold("seen"), world.hold("next", after="seen")])
    look = {"id": "l", "tool": "counting:look", "arguments": {"name": "x" * 300}}
    done = world.gateway.start_run([look, {**look, "id": "f", "tool": "counting:fail"}])
    asked = {"id": "asks", "tool": "counting:count_once", "arguments": {"name": "n" * 300}}
    world.gateway.start_run([asked])
    with browser.visit(chromium, world.address, state=world.state) as seen:
        seen.page.goto("/approvals/")
        approval = seen.page.locator("article.approval").first.get_attribute("data-approval")
        seen.page.goto("/speculation/")
        prediction = seen.page.locator("tbody th a[href^='/speculation/']").first
        rooms = {
            "runs": "/runs/",
            "run": f"/runs/{run}/",
            "run-done": f"/runs/{done}/",
            "run-replan": f"/runs/{run}/replan/",
            "run-again": f"/runs/{done}/again/",
            "approvals": "/approvals/",
            "approval": f"/approvals/{approval}",
            "speculation": "/speculation/",
            "prediction": prediction.get_attribute("href"),
            "grants": "/speculation/grants/",
            "budgets": "/speculation/budgets/",
            "learning": "/learning/",
            "thresholds": "/learning/thresholds/",
            "threshold": "/learning/thresholds/1/",
            "patterns": "/learning/patterns/",
            "forget": "/learning/patterns/1/forget/",
            "memory": "/learning/memory/",
        }
    for name, path in rooms.items():
        with (
            subtests.test(room=name),
            browser.visit(chromium, world.address, state=world.state) as seen,
        ):
            seen.check(path, named=name)
    world.let_go("seen")
    world.let_go("next")
