"""A gateway is killed while it calls ahead: nothing of it is served, and its money comes back."""

from __future__ import annotations

import json
import sys
import time

import pytest

from tests.journeys.gateways import BASE, Installation, eventually
from tests.journeys.migrated import migrated_home
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

THINKING_S = 0.8
"""Silence in which a gateway predicts, and makes the call."""
MAX_ROUNDS = 9
SET_PRICE = """
from tools.models import Server
from execution.models import SpeculationBudget
server = Server.objects.get(name="records")
server.price_per_call = "0.01"
server.save()
SpeculationBudget.objects.create(server=server, waste=0.9, dollars_per_day="1")
"""
LIST_MONEY = """
from datetime import timedelta
from django.utils import timezone
from execution.models import BudgetReservation
from execution.store.budgets import LEASE_S
open_ones = BudgetReservation.objects.filter(spent_at=None)
later = timezone.now() + timedelta(seconds=LEASE_S)
print("money", open_ones.count(), open_ones.filter(expires_at__gt=later).count())
"""


@pytest.fixture
def world(tmp_path):
    """An installation with a priced server, its ledger, and the file that holds its answers."""
    ledger, hold = tmp_path / "calls", tmp_path / "hold"
    with migrated_home() as folder:
        installation = Installation(home=folder)
        script = str(BASE / "tests" / "servers" / "records.py")
        config = folder / "config.json"
        entry = {"command": sys.executable, "args": ["-I", "-S", script, str(ledger), str(hold)]}
        config.write_text(json.dumps({"mcpServers": {"records": entry}}))
        installation.manage_all(
            ("import_servers", "--from", str(config), "--trust", "records"),
            ("discover", "--no-embed"),
        )
        installation.manage("shell", "-c", SET_PRICE)
        yield installation, ledger, hold


class Client:
    """A client of one gateway, which finds and reads records."""

    def __init__(self, installation):
        self.gateway, self.number = installation.start("--attach", "never"), 0

    def call(self, tool, **arguments):
        self.number += 1
        result = self.gateway.call(
            self.number, "call_tool", tool=f"records:{tool}", arguments=arguments
        )
        assert not result.get("isError"), result
        return result["structuredContent"], result.get("_meta", {}).get("foregate/served")

    def find(self, owner):
        found, _ = self.call("find_records", owner=f"o{owner}")
        time.sleep(THINKING_S)
        return found["records"][0]["record_id"]

    def work_until_served(self, first):
        """Find and read until a read is answered ahead; return the number of the next owner."""
        for owner in range(first, first + MAX_ROUNDS):
            if self.call("read_record", record_id=self.find(owner))[1] is not None:
                return owner + 1
        raise AssertionError("no read was ever answered ahead")

    def kill(self):
        self.gateway.process.kill()
        self.gateway.process.communicate(timeout=PATIENCE_S)


def count_reads(ledger, record):
    calls = [json.loads(line)["arguments"] for line in ledger.read_text().splitlines()]
    return calls.count({"record_id": record})


def list_money(installation):
    said = installation.manage("shell", "-c", LIST_MONEY).split("money")[-1].split()
    return [int(number) for number in said]


def test_nothing_called_ahead_outlives_its_gateway(world):
    installation, ledger, hold = world
    killed = Client(installation)
    owner = killed.work_until_served(1)
    eventually(lambda: list_money(installation)[0] == 0)  # all settled
    hold.touch()
    record = killed.find(owner)
    eventually(lambda: count_reads(ledger, record) == 1)  # in flight, and held
    open_money, _ = list_money(installation)
    assert open_money > 0
    killed.kill()
    hold.unlink()

    later = Client(installation)
    try:
        read, served = later.call("read_record", record_id=record)
        assert (read["title"], served) == (record, None)
        assert count_reads(ledger, record) == 2
        later.work_until_served(owner + 1)
        _, stuck = list_money(installation)
        assert stuck == 0
    finally:
        later.gateway.end()
