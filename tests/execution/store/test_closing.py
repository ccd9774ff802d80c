import uuid
from datetime import UTC, datetime

import pytest
from django.db import transaction

from execution.snapshot import TaskSnapshot
from execution.status import RunStatus, TaskStatus
from execution.store import closing
from execution.store.closing import SeizedRun
from tests.execution import stored

AT = datetime(2026, 5, 4, tzinfo=UTC)
T = TaskStatus


def test_ending_a_run_claims_no_outcome_for_calls_in_flight():
    seized = SeizedRun(
        run=uuid.uuid4(),
        epoch=4,
        last_seq=9,
        tasks={
            ("a", -1): TaskSnapshot(status=T.SUCCEEDED, attempts=1),
            ("b", -1): TaskSnapshot(status=T.RUNNING, attempts=1),
            ("c", -1): TaskSnapshot(status=T.WAITING_APPROVAL),
            ("d", -1): TaskSnapshot(status=T.PENDING),
        },
    )
    end = closing.build_closing_changes(seized, code="sealed", error="no key", at=AT)
    assert [(one.task, one.status) for one in end.tasks] == [
        ("b", T.UNKNOWN),
        ("c", T.CANCELLED),
        ("d", T.SKIPPED),
    ]
    assert [one.seq for one in end.events] == [10, 11, 12, 13]
    assert (end.events[-1].kind, end.events[-1].data) == ("run_ended", {"status": "failed"})
    assert (end.status, end.error_code, end.epoch) == (RunStatus.FAILED, "sealed", 4)


@pytest.mark.django_db
def test_a_lost_call_due_for_repetition_is_unknown_after_its_run_ends(sealer):
    run = stored.held(sealer, ["a", "b"]).run
    again = stored.change("a", "pending", attempts=1)
    stored.write(sealer, stored.changes(run, again))
    with transaction.atomic():
        closing.end_runs([closing.seize_run(run, me="us")], code="sealed", sealer=sealer)
    assert [stored.task_row(run, task)["status"] for task in "ab"] == ["unknown", "skipped"]
