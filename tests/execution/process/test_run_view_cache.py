from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest

from execution.process.run_view_cache import MAX_RESULT_BYTES, MAX_ROWS, RunViewCache
from execution.status import RunStatus
from execution.store import runs, views, writing
from execution.store.writing import WrittenEntry
from execution.workflow import OnError, RunOptions
from tests.execution.stored import ADMIN, AT, CALL, EXPIRY_S, change, changes, new

pytestmark = pytest.mark.django_db


class Run:
    """A run that is written down and followed."""

    def __init__(self, sealer, **said):
        said = {"intent": "tidy up", **said}
        self.new, self.sealer = new(**said), sealer
        first = changes(self.new.run, change(attempts=1, **CALL), seqs=[2], status=RUNNING)
        also = partial(
            writing.write_first_changes,
            changes=first,
            version=1,
            sealer=sealer,
            approval_expiry_s=EXPIRY_S,
        )
        created = runs.create_run(self.new, sealer=sealer, also=also)
        self.kept = RunViewCache(self.new, created)
        self.kept.apply_changes(
            first, WrittenEntry(written_at=created.created_at, result_sizes={})
        )

    def write(self, *tasks, **said):
        entry = changes(self.new.run, *tasks, **said)
        (written,) = writing.write_batch([entry], sealer=self.sealer, approval_expiry_s=EXPIRY_S)
        self.kept.apply_changes(entry, written)

    def read(self):
        return views.load_view(self.new.run, caller=ADMIN, sealer=self.sealer)


RUNNING = RunStatus.RUNNING
NASTY = "x\x00\ud800\x1a0000'é"


def retried(run):
    run.write(change("a", "pending", attempts=1, error_code="lost", error="Lost."), seqs=[3])
    run.write(change("a", attempts=2)._replace(at=AT + timedelta(seconds=9)), seqs=[4])
    run.write(change("a", "succeeded", result={"n": 1.5}, duration_ms=0.1), seqs=[5])


def failed(run):
    bad = change("a", "failed", error_code=NASTY * 20, error=NASTY, result={NASTY: [NASTY]})
    run.write(bad, change("b", "skipped"), seqs=[3, 4])
    run.write(seqs=[5], status=RunStatus.FAILED, error_code="task_failed", error="Because.")


def listed(run):
    items = [change("b", item=place, attempts=1) for place in (1, 0)]
    run.write(change("b"), *items, seqs=[3])
    run.write(change("b", "succeeded", item=0, result={"n": 1}, duration_ms=3.25), seqs=[4])
    run.write(change("b", "unknown", item=1), change("a", "cancelled", error_code="aborted"))


def paused(run):
    run.write(seqs=[3], status=RunStatus.PAUSED)
    run.write(seqs=[4], status=RUNNING)
    run.write(change("b", "succeeded", result={}), seqs=[5], status=RunStatus.SUCCEEDED)


@pytest.mark.parametrize("happening", [retried, failed, listed, paused])
def test_the_cached_view_always_equals_the_stored_rows(sealer, happening):
    options = RunOptions(on_error=OnError.CONTINUE, deadline_s=60.5)
    run = Run(sealer, options=options)
    assert run.kept.build_view() == run.read()
    happening(run)
    assert run.kept.build_view() == run.read()


def test_names_that_postgresql_cannot_store_are_unchanged(sealer):
    run = Run(sealer, tasks=["a", NASTY], intent=NASTY)
    run.write(change(NASTY, "succeeded", result={"n": 1}), seqs=[3], status=RunStatus.SUCCEEDED)
    assert run.kept.build_view() == run.read()


def test_large_results_are_not_cached(sealer):
    run = Run(sealer)
    half = {"text": "x" * (MAX_RESULT_BYTES // 2)}
    run.write(change("a", "succeeded", result=half), seqs=[3])
    run.write(change("b", "failed", error_code="x"), seqs=[4])
    assert run.kept.build_view() == run.read()
    run.write(change("b", "succeeded", result=half), seqs=[5])
    run.write(seqs=[6], status=RunStatus.SUCCEEDED)
    assert run.kept.build_view() is None


def test_long_lists_are_not_cached(sealer):
    run = Run(sealer)
    run.write(*(change("b", item=place) for place in range(MAX_ROWS)), seqs=[3])
    run.write(seqs=[4], status=RunStatus.SUCCEEDED)
    assert run.kept.build_view() is None


@pytest.mark.parametrize(
    "unusual",
    [
        {"workflow": {"tasks": [{"id": "a", "tool": "s:a"}]}},
        {"tasks": (change("b", "waiting_approval", approval_reason="it deletes", **CALL),)},
        {"tasks": (change("c", "succeeded"),)},
    ],
)
def test_unknown_runs_are_read_from_the_rows(sealer, unusual):
    run = Run(sealer)
    run.write(*unusual.pop("tasks", ()), seqs=[3], **unusual)
    run.write(seqs=[4], status=RunStatus.FAILED)
    assert run.kept.build_view() is None


def test_a_run_with_an_unacknowledged_commit_is_read_from_the_rows(sealer):
    run = Run(sealer)
    entry = changes(run.new.run, change("a", "succeeded", result={"n": 1}), seqs=[3])
    for _ in range(2):
        (written,) = writing.write_batch([entry], sealer=sealer, approval_expiry_s=EXPIRY_S)
    assert written is None
    run.kept.apply_changes(entry, written)
    assert run.kept.build_view() is None


def test_a_used_approval_is_read_from_the_rows(sealer):
    run = Run(sealer)
    use = changes(run.new.run, change("b", approval=uuid4(), **CALL), seqs=[3])
    run.kept.apply_changes(use, WrittenEntry(written_at=AT, result_sizes={}))
    assert run.kept.build_view() is None


def test_a_direct_call_is_read_from_the_rows_because_of_its_delivery(sealer):
    assert Run(sealer, is_direct=True).kept.build_view() is None
