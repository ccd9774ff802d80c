"""A transaction that takes too long is given more time when it is tried again."""

import asyncio
from contextlib import suppress

import pytest
from django.db import OperationalError, transaction

from execution.run_dependencies import retry_until_available
from execution.store import prepared, retry_patience
from execution.store.retry_patience import RetryPatience
from tests.patience import PATIENCE_S


class Clock:
    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(retry_patience, "time", self)

    def monotonic(self):
        return self.now

    def try_for(self, patient, *, seconds):
        """Try something that fails after so long; return the limit that it had."""
        with suppress(OperationalError), patient.extend_timeouts():
            limit = prepared.format_time_limit(0)
            self.now += seconds
            raise OperationalError
        return limit


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_a_timed_out_attempt_doubles_the_limit(clock):
    patient = RetryPatience()
    limits = [clock.try_for(patient, seconds=seconds) for seconds in (5, 6, 10, 1)]
    assert limits == ["5000ms", "10000ms", "10000ms", "20000ms"]
    assert prepared.format_time_limit(0) == "5000ms", "of all else nothing is known"


def test_an_immediate_failure_does_not_extend_the_limit(clock):
    patient = RetryPatience()
    assert {clock.try_for(patient, seconds=1) for _ in range(9)} == {"5000ms"}


def test_there_is_an_end_to_it(clock):
    patient = RetryPatience()
    limits = [clock.try_for(patient, seconds=1e6) for _ in range(9)]
    assert limits[-2:] == [f"{5_000 * retry_patience.MAX_TIME_FACTOR}ms"] * 2


@pytest.mark.django_db(transaction=True)
async def test_retrying_extends_the_limit_until_success(monkeypatch):
    if not await retry_until_available(prepared.can_limit_transactions):
        pytest.skip("this server cannot limit the time of a transaction")
    monkeypatch.setattr(prepared, "MAX_TRANSACTION_S", 0.5)
    monkeypatch.setattr(retry_patience, "MAX_TRANSACTION_S", 0.5)
    tries = []  # more than two where this process stands still meanwhile

    def slow():
        tries.append(prepared.format_time_limit(0))
        with transaction.atomic(), prepared.cursor(pipelined=True) as cursor:
            cursor.execute("SELECT pg_sleep(0.8)")

    async with asyncio.timeout(PATIENCE_S):
        await retry_until_available(slow)
    assert tries == ["500ms", "1000ms", "2000ms", "4000ms", "8000ms"][: max(2, len(tries))]
