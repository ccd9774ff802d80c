"""Statements that lock runs: several at once in one order, and none waits for whoever may stand
still."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction

from execution.models import WorkflowExecution
from execution.store import expiry, leases
from tests.execution.stored import held, shift_clock
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
DAY_S = 24 * 3_600.0


def closing(function):
    try:
        return function()
    finally:
        connections.close_all()


def until_somebody_waits():
    gone_on, give_up_at = threading.Event(), time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT FROM pg_locks "
                "WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
            if cursor.fetchone() is not None:
                return
        gone_on.wait(0.01)
    raise AssertionError("nobody waits")


def lock(run):
    return WorkflowExecution.objects.select_for_update(no_key=True, nowait=True).get(id=run)


def test_a_blocked_renewal_holds_no_later_lock(sealer):
    low, high = sorted(held(sealer).run for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock(low)
            mine = {high: 1, low: 1}
            renewing = pool.submit(closing, lambda: leases.renew_leases("us", mine, lease_s=60))
            until_somebody_waits()
            lock(high)
        assert renewing.result(PATIENCE_S) == {low, high}


def test_keys_of_runs_that_are_being_written_are_forgotten_another_time(sealer):
    one, other = (held(sealer, key=key).run for key in "ab")
    for run in (one, other):
        shift_clock(run, seconds=DAY_S + 1)
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        lock(one)
        sweeping = pool.submit(closing, lambda: expiry.delete_expired(payload_days=7, run_days=90))
        assert sweeping.result(PATIENCE_S).keys == 1
    assert expiry.delete_expired(payload_days=7, run_days=90).keys == 1


def test_a_run_that_somebody_has_locked_is_not_waited_for_and_is_had_later(sealer):
    run = held(sealer, owner="").run

    def taken():
        return leases.acquire_lease(run, owner="them", lease_s=60, sealer=sealer)

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        lock(run)
        assert pool.submit(closing, taken).result(PATIENCE_S) is None
    assert taken().run == run


@pytest.mark.parametrize("owner", ["us", ""])
def test_a_request_made_again_waits_for_nobody_who_is_writing_to_its_run(sealer, owner):
    first = held(sealer, key="k")
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        WorkflowExecution.objects.filter(id=first.run).update(status="running")
        again = pool.submit(closing, lambda: held(sealer, key="k", owner=owner))
        assert again.result(PATIENCE_S).run == first.run
