from uuid import uuid4

import pytest

from execution.models import Payload, RunCommand
from execution.store import commands
from execution.store.commands import RunEnded
from execution.store.runs import UnknownRun
from tests.execution.stored import ADMIN, changes, ended, held, write

pytestmark = pytest.mark.django_db


def test_commands_are_queued_in_order(sealer):
    run = held(sealer).run
    plan = {"tasks": [{"id": "z", "tool": "s:z", "arguments": {"secret": 1}}]}
    for action, more in (("pause", {}), ("replan", {"workflow": plan}), ("resume", {})):
        commands.add_command(run, action, caller=ADMIN, sealer=sealer, **more)
    told = commands.load_open_commands(run, sealer=sealer)
    assert [one.action for one in told] == ["pause", "replan", "resume"]
    assert set(RunCommand.objects.values_list("user", "kind")) == {("admin", "stdio")}
    assert [one.workflow for one in told] == [None, plan, None]
    kept = Payload.objects.get(kind="replan")
    assert b"secret" not in bytes(kept.content)


def test_an_applied_command_is_closed_with_its_outcome(sealer):
    run = held(sealer).run
    told = commands.add_command(run, "resume", caller=ADMIN, sealer=sealer, detail={"rerun": True})
    assert commands.load_open_commands(run, sealer=sealer)[0].detail == {"rerun": True}
    assert commands.load_outcome(told) is None
    write(sealer, changes(run, seqs=[2], applied_commands=((told, "run_not_paused"),)))
    assert commands.load_open_commands(run, sealer=sealer) == ()
    assert commands.load_outcome(told) == "run_not_paused"


def test_an_ended_run_accepts_no_command(sealer):
    run = ended(sealer, "aborted")
    with pytest.raises(RunEnded, match="aborted"):
        commands.add_command(run, "pause", caller=ADMIN, sealer=sealer)


def test_a_missing_run_accepts_no_command(sealer):
    with pytest.raises(UnknownRun):
        commands.add_command(uuid4(), "pause", caller=ADMIN, sealer=sealer)
