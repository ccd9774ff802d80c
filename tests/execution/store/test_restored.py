import pytest

from execution.changes import RunFenced
from execution.control import Action
from execution.models import RunCommand
from execution.status import RunStatus
from execution.store import claimable_runs, commands, leases
from execution.store.restored import hold_open_runs
from tests.execution.stored import ADMIN, asked, change, changes, ended, held, row, unknown, write

pytestmark = pytest.mark.django_db


def claimable():
    return [one.run for one in claimable_runs.load_claimable_runs(each=9, limit=9)]


def running(sealer):
    run = held(sealer).run
    write(sealer, changes(run, change("a"), seqs=[2], status=RunStatus.RUNNING))
    return run


def waiting(sealer):
    """A run with a call that somebody has approved and that was not made yet."""
    run = held(sealer).run
    asked(sealer, run)
    write(sealer, changes(run, seqs=[3], status=RunStatus.WAITING))
    return run


def unknown_at_rest(sealer):
    run = unknown(sealer)
    leases.release_lease(run, 1)
    return run


def queued(sealer):
    return held(sealer, owner="").run


@pytest.mark.parametrize("make", [queued, running, waiting])
def test_an_open_run_of_a_backup_is_paused_and_its_events_say_why(sealer, make):
    run = make(sealer)
    assert hold_open_runs() == 1
    assert row(run).status == "paused"
    last = row(run).events.order_by("seq").last()
    assert (last.seq, last.kind, last.data) == (
        row(run).last_seq,
        "run_paused",
        {"reason": "restored"},
    )


def test_runs_that_have_ended_or_wait_for_a_person_anyway_are_left_as_they_are(sealer):
    runs = (ended(sealer), ended(sealer, "failed"), unknown_at_rest(sealer))
    left = {run: row(run).status for run in runs}
    assert hold_open_runs() == 0
    assert {run: row(run).status for run in left} == left


def test_a_process_that_held_a_run_can_no_longer_write_to_it(sealer):
    run = running(sealer)
    hold_open_runs()
    (refusal,) = write(sealer, changes(run, change("b"), seqs=[4]))
    assert isinstance(refusal, RunFenced)


@pytest.mark.parametrize(
    ("action", "left"), [(Action.RESUME, False), (Action.CONTINUE, False), (Action.ABORT, True)]
)
def test_of_the_commands_in_a_backup_only_the_end_of_a_run_is_carried_out(sealer, action, left):
    run = queued(sealer)
    commands.add_command(run, action, caller=ADMIN, sealer=sealer)
    hold_open_runs()
    assert claimable() == ([run] if left else [])
    assert RunCommand.objects.filter(applied_at=None).exists() == left
