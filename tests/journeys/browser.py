"""Looks at pages of the console in a real browser, as strictly as people would.

Set FOREGATE_PICTURES to a folder to keep pictures of every room, light and wide, dark and narrow,
and look at them before a change of the console is landed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.patience import PATIENCE_S

BASE: Final = Path(__file__).resolve().parent.parent.parent
AXE: Final = BASE / ".venv" / "node" / "test" / "node_modules" / "axe-core" / "axe.min.js"
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS: Final = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WIDE: Final = {"width": 1440, "height": 900}
NARROW: Final = {"width": 390, "height": 844}
LOOKS: Final = {"light-wide": ("light", WIDE), "dark-narrow": ("dark", NARROW)}
"""Colours and sizes in which every page is looked at: each of both once, since a second visit of
every page takes minutes, and colours do not depend on the width."""
SETTLED: Final = """
async () => {
  const frame = () => new Promise(requestAnimationFrame)
  await frame(), await frame()
  const changing = document.getAnimations().filter(each => each instanceof CSSTransition)
  await Promise.allSettled(changing.map(each => each.finished))
}
"""
"""Waits until a change of the colours or of the size has come to its end."""
LOOKED_AT: Final = 3
"""Times that a page is looked at: a drawing may follow the colours later than the page."""
MIN_TOUCH_PX: Final = 44
"""Height of a button that a thumb hits."""
MAX_TRANSFERRED: Final = 500_000
"""Bytes of the first visit of a page, with everything that it loads."""
SERIOUS: Final = frozenset({"serious", "critical"})


def find_browser() -> str | None:
    """Return the path of a Chromium of this machine; None if there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def sign_in(page: Any, password: str, *, username: str = "admin") -> None:
    """Fill in the form that asks who somebody is, wherever it is."""
    page.locator("input[autocomplete=username], input[name=username]").first.fill(username)
    page.locator("input[type=password]").first.fill(password)
    press(page, page.locator("form:has(input[type=password]) [type=submit]").first)


def press(page: Any, button: Any) -> None:
    """Press a button and wait for the page that it leads to.

    A click alone returns before the browser has sent the form: what a test then does to the
    page would cancel it, or be cancelled by it.
    """
    with page.expect_navigation():
        button.click()


@dataclass
class Visit:
    """What a browser noticed while it showed pages.

    Attributes:
        page: The browser's page.
        problems: Errors of scripts, of the console, of the policy, and failed requests.
        addresses: What was asked for.
        transferred: Bytes that came over the network.
    """

    page: Any
    problems: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    transferred: int = 0

    def check(self, path: str, *, named: str) -> None:
        """Show a page in all looks; assert that all of it works, and that it is small and usable.

        Args:
            path: Of the page.
            named: Name of its pictures.
        """
        self.problems.clear()
        self.addresses.clear()
        self.transferred = 0
        response = self.page.goto(path)
        computing = self.page.locator("script[src*='computing']")
        if computing.count():  # the page loads itself again until it has its figures
            computing.wait_for(state="detached")
            self.check(path, named=named)
            return
        self.page.wait_for_load_state("networkidle")
        assert response.status == 200, (path, response.status)
        origin = response.url[: response.url.index("/", len("https://"))]
        assert self.transferred <= MAX_TRANSFERRED, (path, self.transferred)
        for look, (scheme, size) in LOOKS.items():
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size(size)
            for _ in range(LOOKED_AT):
                self.page.evaluate(SETTLED)
                if not (barriers := find_barriers(self.page)):
                    break
            assert barriers == [], (path, look, barriers)
            check_width(self.page, path)
            take_picture(self.page, f"{named}-{look}")
        assert self.problems == [], (path, self.problems)
        assert [one for one in self.addresses if not one.startswith((origin, "data:"))] == []


@contextmanager
def visit(browser: Any, address: str, *, state: Any, size: Any = WIDE) -> Iterator[Visit]:
    """Open a page with a fresh cache whose problems are noticed.

    Args:
        browser: Of the fixture `chromium`.
        address: Of the console.
        state: Cookies of somebody signed in (`BrowserContext.storage_state`); None: nobody.
        size: Width and height of the window.
    """
    context = browser.new_context(
        base_url=address,
        storage_state=state,
        viewport=size,
        reduced_motion="reduce",
    )
    context.add_init_script(path=AXE)
    page = context.new_page()
    page.set_default_timeout(1_000 * PATIENCE_S)
    seen = Visit(page)
    page.on("pageerror", lambda error: seen.problems.append(str(error)))
    page.on("console", lambda said: said.type == "error" and seen.problems.append(said.text))
    page.on("request", lambda request: seen.addresses.append(request.url))
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    network.on("Network.loadingFinished", lambda event: _count(seen, event))
    yield seen
    context.close()


def check_width(page: Any, path: str) -> None:
    """Assert that nothing has to be scrolled sideways."""
    wanted, width = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wanted <= width, f"{path} is {wanted - width} pixels too wide"


def find_barriers(page: Any) -> list[str]:
    """Return what axe says keeps people out, without lesser findings."""
    found = page.evaluate("axe.run().then(found => found.violations)")
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"][:3]
    ]


def take_picture(page: Any, name: str) -> None:
    """Keep a picture of the page if FOREGATE_PICTURES names a folder."""
    if folder := os.environ.get("FOREGATE_PICTURES"):
        page.screenshot(path=Path(folder, f"{name}.png"), full_page=True)


def name_picture(path: str) -> str:
    """Return the name of a room's pictures.

    Example:
        >>> name_picture("/access/tokens/")
        'access-tokens'
    """
    return path.partition("?")[0].strip("/").replace("/", "-") or "home"


def _count(seen: Visit, event: dict[str, Any]) -> None:
    seen.transferred += int(event["encodedDataLength"])
