import asyncio
import threading
from uuid import uuid4

import psycopg
import pytest
from django.db import DataError, OperationalError, connections

from execution import run_dependencies
from execution.changes import RunChanges, RunFenced
from execution.process import journal as module
from execution.process.journal import DatabaseJournal, JournalClosed
from execution.store import prepared, retry_patience, views, writing
from tests.execution.stored import EXPIRY_S, change, changes, held, task_row
from tests.patience import PATIENCE_S


class Pen:
    """Stands in for the store: keeps the batches it was given, and fails as it is told."""

    def __init__(self, *failures):
        self.batches, self.failures = [], list(failures)
        self.poison = None

    def __call__(self, batch):
        if self.failures:
            raise self.failures.pop(0)
        if any(one is self.poison for one in batch):
            raise DataError("rubbish")
        self.batches.append(list(batch))
        return [RunFenced(one.run) if one.epoch == 0 else None for one in batch]


def entry(*, epoch=1, rows=0):
    return RunChanges(run=uuid4(), epoch=epoch, tasks=(change(),) * rows)


async def recorded(pen, *entries):
    """Record entries at once and return what came of each."""
    journal = DatabaseJournal(pen)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        waiting = [group.create_task(outcome(journal, one)) for one in entries]
        await asyncio.sleep(0)
        group.create_task(journal.run())
        await asyncio.wait(waiting)
        journal.close()
    return [one.result() for one in waiting]


async def outcome(journal, one):
    try:
        await journal.record(one)
    except Exception as error:  # noqa: BLE001 - it is what the test looks at
        return error
    return None


@pytest.fixture(autouse=True)
def _quick(monkeypatch, request):
    """Retry at once, and keep what needs no database away from it."""
    monkeypatch.setattr(run_dependencies, "FIRST_RETRY_S", 0.001)
    if "django_db" not in request.keywords:
        monkeypatch.setattr(run_dependencies, "run_in_database_thread", asyncio.to_thread)


async def test_queued_changes_are_written_together_in_order():
    pen, entries = Pen(), [entry() for _ in range(20)]
    assert await recorded(pen, *entries) == [None] * 20
    assert pen.batches == [entries]


async def test_a_long_queue_is_written_in_parts(monkeypatch):
    monkeypatch.setattr(module, "MAX_BATCH_ENTRIES", 8)
    pen, entries = Pen(), [entry() for _ in range(20)]
    await recorded(pen, *entries)
    assert [len(batch) for batch in pen.batches] == [8, 8, 4]
    assert [one for batch in pen.batches for one in batch] == entries


async def test_large_batches_are_written_in_parts(monkeypatch):
    monkeypatch.setattr(module, "MAX_BATCH_ROWS", 4)
    pen, entries = Pen(), [entry(rows=rows) for rows in (2, 2, 1, 9, 4, 0)]
    await recorded(pen, *entries)
    assert [[len(one.tasks) for one in batch] for batch in pen.batches] == [
        [2, 2],
        [1],
        [9],
        [4, 0],
    ]


async def test_each_writer_gets_its_own_refusal():
    good, stale = entry(), entry(epoch=0)
    fine, refused = await recorded(Pen(), good, stale)
    assert fine is None
    assert (type(refused), refused.run) == (RunFenced, stale.run)


async def test_failed_writes_are_repeated_once_the_database_is_back():
    pen = Pen(*[OperationalError("server closed the connection")] * 5)
    one = entry()
    assert await recorded(pen, one) == [None]
    assert pen.batches == [[one]]


async def test_a_write_that_timed_out_gets_a_longer_limit(monkeypatch):
    monkeypatch.setattr(retry_patience, "MAX_TRANSACTION_S", 0.01)
    limits = []

    def write(batch):
        limits.append(prepared.format_time_limit(0))
        if len(limits) < 3:
            over.wait(0.05)
            raise OperationalError("server closed the connection")
        return [None] * len(batch)

    over = threading.Event()
    assert await recorded(write, entry()) == [None]
    assert limits == ["5000ms", "10000ms", "20000ms"]


async def test_a_rejected_entry_does_not_affect_others():
    pen = Pen()
    first, pen.poison, last = entry(), entry(), entry()
    outcomes = await recorded(pen, first, pen.poison, last)
    assert [type(one) for one in outcomes] == [type(None), DataError, type(None)]
    assert pen.batches == [[first], [last]]


async def test_an_entry_too_large_for_the_database_is_given_up():
    error = OperationalError("too large")
    error.__cause__ = psycopg.errors.ProgramLimitExceeded()
    assert await recorded(Pen(error), entry()) == [error]


async def test_a_closed_journal_accepts_nothing_but_writes_its_queue():
    pen = Pen()
    journal = DatabaseJournal(pen)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        waiting = group.create_task(outcome(journal, entry()))
        await asyncio.sleep(0)
        journal.close()
        await journal.run()
        with pytest.raises(JournalClosed):
            await journal.record(entry())
    assert (waiting.result(), len(pen.batches)) == (None, 1)


async def test_waiters_are_notified_if_the_writer_is_cancelled():
    loop, tried = asyncio.get_running_loop(), asyncio.Event()

    def fail(_batch):
        loop.call_soon_threadsafe(tried.set)
        raise OperationalError("gone")

    journal = DatabaseJournal(fail)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        writer = group.create_task(journal.run())
        waiting = group.create_task(outcome(journal, entry()))
        await tried.wait()
        writer.cancel()
    assert isinstance(waiting.result(), JournalClosed)


async def test_a_cancelled_waiter_does_not_stop_the_write():
    pen = Pen()
    journal = DatabaseJournal(pen)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        gone = group.create_task(journal.record(entry()))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        journal.close()
        group.create_task(journal.run())
    assert len(pen.batches) == 1


async def test_releasing_a_run_can_wait_for_its_pending_writes():
    pen, one = Pen(), entry()
    journal = DatabaseJournal(pen)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        gone = group.create_task(journal.record(one))
        await asyncio.sleep(0)
        gone.cancel()
        await journal.wait_until_settled(uuid4())  # of any other nothing waits
        settling = group.create_task(journal.wait_until_settled(one.run))
        await asyncio.sleep(0)
        assert not settling.done()
        group.create_task(journal.run())
        await settling
        assert pen.batches == [[one]]
        journal.close()


@pytest.mark.django_db(transaction=True)
async def test_a_connection_that_dies_around_a_commit_loses_and_doubles_nothing(sealer):
    faults = ["after the commit", "before the commit", None]

    def write(batch):
        fault = faults.pop(0) if faults else None
        if fault == "before the commit":
            with connections["default"].cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        written = writing.write_batch(batch, sealer=sealer, approval_expiry_s=EXPIRY_S)
        if fault == "after the commit":
            raise OperationalError("server closed the connection unexpectedly")
        return written

    run = (await asyncio.to_thread(_closing, held, sealer, ["a"])).run
    journal = DatabaseJournal(write)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(journal.run())
        await journal.record(changes(run, change(attempts=1), seqs=[2]))
        await journal.record(changes(run, change("a", "succeeded", result={"n": 1}), seqs=[3]))
        journal.close()

    def check():
        return task_row(run)["status"], [event.seq for event in views.load_events(run)]

    assert faults == []
    assert await asyncio.to_thread(_closing, check) == ("succeeded", [1, 2, 3])


def _closing(function, *args):
    """Run a function and let go of this thread's connection."""
    try:
        return function(*args)
    finally:
        connections.close_all()
