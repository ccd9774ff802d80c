import pytest
from django.core.management import CommandError, call_command


def test_where_gateways_run_workflows_a_worker_has_nothing_to_do():
    with pytest.raises(CommandError, match="FOREGATE_EXECUTION_BACKEND=queue"):
        call_command("worker")


@pytest.mark.parametrize("number", ["0", "-1", "1001", "many", "1.5"])
def test_a_number_of_runs_at_once_that_cannot_be_is_refused(number):
    with pytest.raises(CommandError, match="not a number from 1 to 1,000"):
        call_command("worker", f"--concurrency={number}")
