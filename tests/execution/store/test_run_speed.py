"""Runs are compared with their tasks one after another."""

from datetime import UTC, datetime, timedelta

import pytest

from execution.models import RunCommand, TaskRun, WorkflowExecution
from execution.store.run_speed import load_run_speed
from tests.execution.stored import ADMIN, ended, held
from tests.factories import TeamFactory
from tests.learning.taught import contributor

pytestmark = pytest.mark.django_db

START = datetime(2026, 11, 23, 12, tzinfo=UTC)


def timed(sealer, *durations_ms, seconds=1.0, **given):
    run = ended(sealer, tasks=[f"t{place}" for place in range(len(durations_ms))])
    WorkflowExecution.objects.filter(pk=run).update(
        started_at=START, ended_at=START + timedelta(seconds=seconds), **given
    )
    for place, duration_ms in enumerate(durations_ms):
        TaskRun.objects.filter(run=run, task=f"t{place}").update(duration_ms=duration_ms)
    return run


def speed(team=None, since=START):
    """Return the times of a team's runs; without one, of the admin's own."""
    return load_run_speed(contributor(team, ADMIN.user).owner, since=since)


def test_the_speed_up_is_the_time_of_all_calls_over_the_time_of_the_runs(sealer):
    timed(sealer, 900.0, 800.0)
    timed(sealer, 900.0, 400.0, seconds=2.0)
    found = speed()
    assert (found.runs, found.task_ms, found.wall_ms) == (2, 3_000.0, 3_000.0)
    assert found.speed_up == 1.0


def test_runs_that_say_nothing_are_left_out(sealer):
    timed(sealer, 900.0)
    timed(sealer, 900.0, 800.0, is_direct=True)
    timed(sealer, 900.0, 800.0, status="failed")
    timed(sealer, 900.0, 800.0, team=TeamFactory())
    held(sealer)
    paused = timed(sealer, 900.0, 800.0)
    RunCommand.objects.create(
        run_id=paused, action="pause", user=ADMIN.user, kind="stdio", created_at=START
    )
    assert speed().speed_up is None
    timed(sealer, 900.0, 800.0)
    assert speed(since=START + timedelta(seconds=2)).runs == 0
    assert speed().runs == 1
