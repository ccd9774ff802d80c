"""What is read of runs that were replanned, or asked about again."""

import pytest

from execution.models import Approval, Payload
from execution.status import RunStatus
from execution.store import commands, leases, payloads, views
from tests.execution.asking import waiting
from tests.execution.stored import ADMIN, change, changes, held, row, write

pytestmark = pytest.mark.django_db
OTHER = {"definition_hash": "d" * 64, "arguments_digest": "f" * 64}


@pytest.fixture
def opened(monkeypatch):
    """Payloads that are opened, one by one."""
    seen = []
    known = payloads.open_payload

    def noted(content, *, sealer):
        seen.append(known(content, sealer=sealer))
        return seen[-1]

    monkeypatch.setattr(payloads, "open_payload", noted)
    return seen


def replanned(sealer, times=3):
    run = held(sealer).run
    for n in range(times):
        workflow = {"tasks": [{"id": f"n{n}", "tool": "s:a", "arguments": {}}]}
        commands.add_command(run, "replan", caller=ADMIN, sealer=sealer, workflow=workflow)
        (told,) = commands.load_open_commands(run, sealer=sealer)
        write(
            sealer,
            changes(run, seqs=[2 + n], workflow=workflow, applied_commands=((told.id, "done"),)),
        )
    return run, workflow


def test_only_the_last_workflow_of_a_replanned_run_is_read(sealer, opened):
    run, workflow = replanned(sealer)
    assert Payload.objects.filter(run=run).count() > 6
    opened.clear()
    assert views.load_view(run, caller=ADMIN, sealer=sealer).workflow == workflow
    assert opened == [workflow]


def test_claiming_a_replanned_run_reads_only_the_last_workflow(sealer, opened):
    run, workflow = replanned(sealer)
    leases.release_lease(run, row(run).epoch)
    opened.clear()
    taken = leases.acquire_lease(run, owner="other", lease_s=60.0, sealer=sealer)
    assert list(taken.workflow.by_id) == [task["id"] for task in workflow["tasks"]]
    assert opened == [workflow]


def test_only_open_commands_are_read(sealer, opened):
    run, _ = replanned(sealer)
    opened.clear()
    assert commands.load_open_commands(run, sealer=sealer) == ()
    assert opened == []


def test_an_approval_is_never_shown_with_the_arguments_of_the_call_before(sealer, monkeypatch):
    first = waiting(sealer, arguments={"path": "/harmless"})
    run = first.run_id
    known = views._open_payloads

    def asked_again_meanwhile(rows, sealer):
        found = known(list(rows), sealer)
        again = change(
            "a", "waiting_approval", approval_reason="it", arguments={"path": "/all"}, **OTHER
        )
        write(sealer, changes(run, again, seqs=[3], status=RunStatus.WAITING))
        return found

    monkeypatch.setattr(views, "_open_payloads", asked_again_meanwhile)
    shown = views.load_view(run, caller=ADMIN, sealer=sealer)
    second = Approval.objects.get(run=run, status="pending")
    assert second.pk != first.pk
    assert {one.id: one.arguments for one in shown.approvals} == {first.pk: {"path": "/harmless"}}
