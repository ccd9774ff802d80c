import asyncio
from dataclasses import dataclass, field

import django.db
import pytest

from gateway_project.foundation.database import run_in_database_thread
from tests.factories import ServerFactory
from tools import pinned_pages, ui_pages
from tools.definition import Definition
from tools.pinned_pages import PageGate, PageUnavailable
from tools.store import pages
from tools.upstream.errors import UpstreamError
from tools.upstream.listing import ItemListing

GATE = PageGate(approve_new=True)


def result(text="<p>"):
    return {"contents": [{"uri": "ui://a", "mimeType": ui_pages.MIME_TYPE, "text": text}]}


def names(uri, name="t"):
    return Definition(name=name, extras={"_meta": {"ui": {"resourceUri": uri}}})


@dataclass
class FakePool:
    texts: dict
    read: list = field(default_factory=list)

    async def list_items(self, _server, _kind, *, caller):
        ui = {"csp": {"connectDomains": ["https://listed.example"]}}
        return ItemListing(items=({"uri": "ui://a", "name": "a", "_meta": {"ui": ui}},))

    async def read_for_pin(self, server, _method, params):
        uri = params["uri"]
        self.read.append(uri)
        if self.texts[uri] is None:
            raise UpstreamError("has no such page", server=server)
        return result(self.texts[uri])


@pytest.fixture
def _registered(transactional_db):
    ServerFactory(name="s")


def waiting():
    return [(page.listed.name, page.state) for page in pages.load_waiting()]


@pytest.mark.usefixtures("_registered")
async def test_a_page_passes_as_pinned_and_what_differs_names_the_command():
    await GATE.admit("s", "ui://a", result())
    await GATE.admit("s", "ui://a", result())
    with pytest.raises(PageUnavailable, match=r"changed .*manage.py approve_tools --server s"):
        await GATE.admit("s", "ui://a", result("<b>"))
    assert await run_in_database_thread(waiting) == [("ui://a", "quarantined")]


@pytest.mark.usefixtures("_registered")
async def test_what_cannot_be_compared_does_not_pass(monkeypatch):
    with pytest.raises(PageUnavailable, match="more than"):
        await GATE.admit("s", "ui://a", result("x" * (ui_pages.MAX_PAGE_CHARS + 1)))
    with pytest.raises(PageUnavailable, match="is refused"):
        await GATE.admit("gone", "ui://a", result())

    def fail(*_args, **_options):
        raise django.db.OperationalError("away")

    monkeypatch.setattr(pinned_pages.store, "record_page", fail)
    with pytest.raises(PageUnavailable, match="cannot be compared"):
        await GATE.admit("s", "ui://a", result())


@pytest.mark.usefixtures("_registered")
async def test_discovery_pins_each_page_once_whatever_happens_to_another():
    pool = FakePool({"ui://a": "<p>", "ui://gone": None, "ui://z": "<i>"})
    tools = [names("ui://gone"), names("ui://a"), names("ui://a", "u"), names("ui://z", "v")]
    await pinned_pages.discover_pages(pool, "s", tools, approve_new=True)
    assert pool.read == ["ui://a", "ui://gone", "ui://z"]
    listed = await pool.list_items("s", "resources", caller=None)
    page = ui_pages.complete_contents(
        result(), uri="ui://a", listed=listed.items[0], shown_as="ui://b"
    )
    await GATE.admit("s", "ui://a", page)  # pinned with the sandbox that the list speaks of
    with pytest.raises(PageUnavailable):
        await GATE.admit("s", "ui://z", result("<b>"))


@pytest.mark.usefixtures("_registered")
async def test_a_server_that_does_not_answer_holds_up_a_discovery_for_a_bounded_time(monkeypatch):
    monkeypatch.setattr(pinned_pages, "DISCOVERY_TIMEOUT_S", 0.01)

    class Silent(FakePool):
        async def read_for_pin(self, server, method, params):
            await asyncio.Event().wait()

    await pinned_pages.discover_pages(Silent({}), "s", [names("ui://a")], approve_new=True)
    assert await run_in_database_thread(waiting) == []
