"""Takes the pictures of README and docs anew: `.venv/bin/python -m tests.journeys.pictures`.

It runs the demonstration in a folder of its own and shows the console that it leaves: light, 1280
pixels wide, as WebP. Look at the pictures before you commit them.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import sync_playwright

from tests.foundation.postgres.homes import temporary_home
from tests.journeys import browser
from tests.journeys.gateways import free_port
from tests.patience import PATIENCE_S

IMAGES: Final = browser.BASE / "docs" / "images"
MAX_BYTES: Final = 150_000
QUALITY: Final = 82
"""Of the WebP encoder; text stays sharp."""
SIZE: Final = {"width": 1280, "height": 800}
PASSWORD: Final = "for-the-pictures-1"
WISH: Final = "Convert 09:30 from Europe/Lisbon to Asia/Tokyo, and list the directory /srv/reports"
PREPARE: Final = f"""
from django.contrib.auth import get_user_model
from gateway_project.access.callers import caller_for_user
from gateway_project.demo.speculation import DEMO_NAME
from gateway_project.use_cases.curate_danger import save_operation
from tools.store.overview import ensure_member
admin = get_user_model().objects.get(username="admin")
admin.set_password({PASSWORD!r})
admin.save()
ensure_member("admin", DEMO_NAME)
pattern = {{"pattern": "write file", "danger": "dangerous", "reason": "overwrites a file"}}
save_operation(caller_for_user("admin", kind="command"), pattern, pk=None)
"""
WAITING: Final = {
    "tasks": [
        {
            "id": "report",
            "tool": "filesystem:write_file",
            "arguments": {
                "path": "/srv/reports/week-48.md",
                "content": "# Week 48\n\n- 12 commits\n- 2 open questions\n",
            },
        }
    ]
}


def main() -> None:
    """Take all pictures."""

    with _serve_demonstration() as address, sync_playwright() as engine:
        chromium = engine.chromium.launch(
            executable_path=browser.find_browser(), args=browser.FLAGS
        )
        page = chromium.new_page(
            base_url=address, viewport=SIZE, color_scheme="light", reduced_motion="reduce"
        )
        page.goto("/")
        browser.sign_in(page, PASSWORD)
        for name, show in PICTURES.items():
            show(page)
            page.wait_for_load_state("networkidle")
            if page.locator("[data-live]").count():
                page.locator("[data-live]", has_text=re.compile("^live$")).wait_for()
            _keep(page, IMAGES / f"console_{name}.webp")
        chromium.close()


def _show_room(path: str) -> Callable[[Any], None]:
    return lambda page: page.goto(path)


def _show_playground(page: Any) -> None:
    page.goto("/playground/")
    page.get_by_label("What do you want to get done?").fill(WISH)
    browser.press(page, page.get_by_role("button", name="Ask"))


def _show_run(page: Any) -> None:
    page.goto("/runs/")
    # The oldest one; the later ones compare it with the same calls one after another.
    row = page.locator("tr[data-run]", has_text="7 of 7").last
    browser.press(page, row.get_by_role("link"))


PICTURES: Final[Mapping[str, Callable[[Any], None]]] = {
    "home": _show_room("/"),
    "playground": _show_playground,
    "run": _show_run,
    "graph": _show_room("/graph/"),
    "speculation": _show_room("/speculation/"),
    "approvals": _show_room("/approvals/"),
}
"""How each picture of README is reached, by its name."""


def _keep(page: Any, file: Path) -> None:
    """Store what the window shows.

    Raises:
        SystemExit: If it is larger than a reader should have to load.
    """
    session = page.context.new_cdp_session(page)
    options = {"format": "webp", "quality": QUALITY}
    data = base64.b64decode(session.send("Page.captureScreenshot", options)["data"])
    if len(data) > MAX_BYTES:
        raise SystemExit(f"{file.name} has {len(data):,} bytes, more than {MAX_BYTES:,}")
    file.write_bytes(data)
    sys.stdout.write(f"{file.relative_to(browser.BASE)}: {len(data):,} bytes\n")


@contextmanager
def _serve_demonstration() -> Iterator[str]:
    """Run the demonstration in a folder of its own; yield the address of its console."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FOREGATE_", "DJANGO_"))}
    with temporary_home() as home:
        home.mkdir(mode=0o755)
        port = free_port()
        env = {**kept, "FOREGATE_HOME": str(home), "FOREGATE_CONSOLE_PORT": str(port)}
        workflow = home / "waiting.json"
        workflow.write_text(json.dumps(WAITING), encoding="utf-8")
        _manage(env, "demo")
        _manage(env, "shell", "-v0", "-c", PREPARE)
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run_console", "--no-password"],
            cwd=browser.BASE, env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        _manage(env, "run", str(workflow), "--wait", "1", check=False)
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        process.wait(timeout=PATIENCE_S)
        process.stdout.close()


def _manage(env: Mapping[str, str], *command: str, check: bool = True) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=browser.BASE, env=env, check=check, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    main()
