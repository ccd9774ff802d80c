"""A real gateway makes the next calls of a real client ahead, once they have earned it."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from tests.journeys.gateways import BASE, JOURNEY_S, Installation
from tests.journeys.migrated import migrated_home

pytestmark = pytest.mark.full

THINKING_S = 0.8
"""Silence in which a gateway predicts, and makes the call."""
MAX_ROUNDS = 9


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return tmp_path_factory.mktemp("ledger") / "calls"


@pytest.fixture(scope="module")
def served(ledger):
    with migrated_home() as folder:
        installation = Installation(home=folder)
        script = str(BASE / "tests" / "servers" / "records.py")
        config = folder / "config.json"
        entry = {"command": sys.executable, "args": ["-I", "-S", script, str(ledger)]}
        config.write_text(json.dumps({"mcpServers": {"records": entry}}))
        installation.manage_all(
            ("import_servers", "--from", str(config), "--trust", "records"),
            ("discover", "--no-embed"),
        )
        yield installation


def list_calls(ledger):
    return [json.loads(line) for line in ledger.read_text().splitlines()]


async def call(client, tool, **arguments):
    result = await client.call_tool(
        "call_tool", {"tool": f"records:{tool}", "arguments": arguments}
    )
    assert not result.is_error, result
    return result.structured_content, (result.meta or {}).get("foregate/served")


async def find_and_read(client, number):
    """Find the records of an owner, think, and read the one found."""
    found, _ = await call(client, "find_records", owner=f"o{number}")
    await asyncio.sleep(THINKING_S)
    record = found["records"][0]["record_id"]
    read, served = await call(client, "read_record", record_id=record)
    assert read["title"] == record
    return read, served


async def test_a_read_is_compared_then_served_until_something_is_written(served, ledger):
    async with asyncio.timeout(JOURNEY_S), served.client("legacy") as client:
        rounds = [await find_and_read(client, number) for number in range(1, MAX_ROUNDS)]
        hits = [number for number, (_, how) in enumerate(rounds, start=1) if how is not None]
        assert hits, rounds
        assert hits[0] > 3, "three results agree before one is served"
        asked = [one["arguments"] for one in list_calls(ledger)]
        assert asked.count({"record_id": f"rec-{hits[0]}00{hits[0]}"}) == 1
        assert rounds[hits[0] - 1][1]["form"] == "next_call"

        await call(client, "find_records", owner="o9")
        await asyncio.sleep(THINKING_S)
        other, how = await call(client, "read_record", record_id="rec-9010")
        assert (other["title"], how) == ("rec-9010", None)
        await call(client, "write_record", record_id="rec-9009")
        read, how = await call(client, "read_record", record_id="rec-9009")
        assert (read["written"], how) == (1, None)


async def test_switched_off_in_the_settings_nothing_is_called_ahead(served, ledger):
    ledger.write_text("")
    off = served.client("legacy", FOREGATE_SPECULATION="false")
    async with asyncio.timeout(JOURNEY_S), off as client:
        rounds = [await find_and_read(client, number) for number in range(1, 4)]
    assert [how for _, how in rounds] == [None] * 3
    assert len(list_calls(ledger)) == 6
