"""Addresses that hold secrets: sealed at rest, whole where they are used, blanked where shown."""

from datetime import timedelta

import pytest

from tests.factories import ServerFactory
from tests.tools.store.registrations import AT, REMOTE, register, remote, specs
from tools.models import Server
from tools.store import items, launches, servers, sign_ins
from tools.upstream.output import MAX_LINES

pytestmark = pytest.mark.django_db

KEYED = "https://example.com/s/a8F9d20dk3Lx0pQ7/mcp?api_key=hunter2&page=2"
SHOWN = "https://example.com/s/[redacted]/mcp?api_key=[redacted]&page=2"


def columns():
    """Return all that the row of the only server holds, as text."""
    return str(Server.objects.values().get())


def test_the_secrets_of_an_address_are_sealed_and_it_is_whole_where_it_is_called(sealer):
    register(remote(url=KEYED), sealer=sealer)
    assert Server.objects.get().url == SHOWN
    assert "hunter2" not in columns()
    assert "a8F9d20dk3Lx0pQ7" not in columns()
    assert [spec.url for spec in specs(sealer)] == [KEYED]
    assert sign_ins.find_server(sealer=sealer, name="far").spec.url == KEYED


@pytest.mark.parametrize("url", [REMOTE.url, "https://example.com/mcp?api_key=${KEY}"])
def test_an_address_without_a_written_secret_stays_readable(sealer, url):
    register(remote(url=url), sealer=sealer)
    row = Server.objects.get()
    assert (row.url, row.url_sealed) == (url, "")


def test_registering_the_same_address_again_changes_nothing(sealer):
    register(remote(url=KEYED, trusted=True), sealer=sealer)
    before = Server.objects.get().url_sealed
    assert register(remote(url=KEYED), sealer=sealer)[0].changed == ()
    assert Server.objects.get().url_sealed == before


def test_another_secret_in_the_address_is_another_address_and_costs_its_trust(sealer):
    register(remote(url=KEYED, trusted=True), sealer=sealer)
    changed = register(remote(url=KEYED.replace("hunter2", "hunter3")), sealer=sealer)[0].changed
    assert changed == ("url", "trusted")
    row = Server.objects.get()
    assert (row.url, row.trusted) == (SHOWN, False)
    assert "hunter3" in launches.open_url(row, sealer)


def test_a_changed_secret_in_the_address_invalidates_stored_lists(sealer):
    register(remote(url=KEYED), sealer=sealer)
    items.record_items("far", {"prompts": [{"name": "a"}]}, at=AT)
    assert items.load_items("prompts", ["far"])
    register(remote(url=KEYED.replace("hunter2", "hunter3")), sealer=sealer)
    assert not items.load_items("prompts", ["far"])


def test_output_before_a_failure_is_kept_until_the_next_failure():
    ServerFactory(name="s")
    lines = [f"line {number}\x00" for number in range(MAX_LINES + 1)]
    servers.record_error("s", at=AT, error="exited", output=lines)
    kept = Server.objects.get().last_output
    assert (kept[0], len(kept)) == ("line 1\ufffd", MAX_LINES)
    servers.record_connection("s", at=AT + timedelta(seconds=1), protocol_version="x")
    assert Server.objects.get().last_output
    servers.record_error("s", at=AT + timedelta(seconds=2), error="cannot be started")
    servers.record_error("gone", at=AT, error="x", output=["x"])
    assert Server.objects.get().last_output == []
