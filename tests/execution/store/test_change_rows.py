from datetime import timedelta

import pytest

from tests.execution.stored import AT, change, changes, held, task_row, write

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("apart", [True, False])
def test_a_repeated_call_has_a_new_start_and_a_for_each_task_does_not(sealer, apart):
    run, later = held(sealer).run, AT + timedelta(seconds=9)
    first = changes(run, change(attempts=1), change("b"), seqs=[2])
    anew = change(attempts=2)._replace(at=later), change("b")._replace(at=later)
    second = changes(run, *anew, seqs=[3])
    if apart:
        write(sealer, first)
        write(sealer, second)
    else:
        write(sealer, first, second)
    assert (task_row(run)["started_at"], task_row(run, "b")["started_at"]) == (later, AT)
