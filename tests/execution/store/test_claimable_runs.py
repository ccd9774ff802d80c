"""Runs that wait for a process, as it is told of them."""

import pytest

from execution.models import WorkflowExecution
from execution.store import commands, leases
from execution.store.claimable_runs import ClaimableRun, load_claimable_runs
from gateway_project.foundation.caller import Caller
from tests.execution.stored import ADMIN, held, shift_clock

pytestmark = pytest.mark.django_db
BOB = Caller(user="bob", team=None, person=None, scopes=frozenset({"call"}), kind="http")


def queued(sealer, caller=ADMIN):
    run = held(sealer, caller=caller, owner="").run
    shift_clock(run, seconds=100.0 - WorkflowExecution.objects.count())
    return run


def found(**said):
    return [one.run for one in load_claimable_runs(**({"each": 10, "limit": 10} | said))]


def abort(run, caller, sealer):
    commands.add_command(run, "abort", caller=caller, sealer=sealer)


def test_callers_alternate_oldest_run_first_up_to_their_share(sealer):
    bobs = [queued(sealer, BOB) for _ in range(4)]
    admins = [queued(sealer) for _ in range(2)]
    assert found(each=2) == [bobs[0], admins[0], bobs[1], admins[1]]
    assert found(each=9) == [bobs[0], admins[0], bobs[1], admins[1], *bobs[2:]]
    assert found(each=2, limit=3) == [bobs[0], admins[0], bobs[1]]
    assert load_claimable_runs(each=1, limit=1) == [
        ClaimableRun(run=bobs[0], user="bob", team=None, has_instructions=False)
    ]


def test_runs_with_commands_come_first_with_a_queue_too(sealer):
    first, told, taken = queued(sealer), queued(sealer), queued(sealer)
    abort(told, ADMIN, sealer)
    WorkflowExecution.objects.filter(id=taken).update(epoch=1)
    assert found() == [told, first, taken]
    assert found(each=1) == [told, first]
    assert found(new=False) == [told, taken]
    assert found(only_with_instructions=True) == [told]
    assert load_claimable_runs(each=1, limit=1)[0].has_instructions


def test_runs_that_cannot_be_claimed_are_not_returned(sealer):
    mine, theirs = queued(sealer), held(sealer, owner="others").run
    assert found() == [mine]
    assert found(dead={"others"}) == [mine, theirs]
    leases.acquire_lease(mine, owner="us", lease_s=60, sealer=sealer)
    assert found() == []
