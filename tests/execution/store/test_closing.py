import uuid
from datetime import UTC, datetime

from execution.status import RunStatus, TaskStatus
from execution.store import closing
from execution.store.force_acquire import Seized

AT = datetime(2026, 5, 4, tzinfo=UTC)
T = TaskStatus


def test_a_run_that_is_ended_says_of_no_call_what_nobody_knows():
    seized = Seized(
        run=uuid.uuid4(),
        epoch=4,
        last_seq=9,
        tasks={
            ("a", -1): T.SUCCEEDED,
            ("b", -1): T.RUNNING,
            ("c", -1): T.WAITING_APPROVAL,
            ("d", -1): T.PENDING,
        },
    )
    end = closing.closing(seized, code="sealed", error="no key", at=AT)
    assert [(one.task, one.status) for one in end.tasks] == [
        ("b", T.UNKNOWN),
        ("c", T.CANCELLED),
        ("d", T.SKIPPED),
    ]
    assert [one.seq for one in end.events] == [10, 11, 12, 13]
    assert (end.events[-1].kind, end.events[-1].data) == ("run_ended", {"status": "failed"})
    assert (end.status, end.error_code, end.epoch) == (RunStatus.FAILED, "sealed", 4)
