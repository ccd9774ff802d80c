"""`manage.py prune`: what is no longer kept is counted, or deleted."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from execution.models import Payload, Speculation, WorkflowExecution
from execution.speculation.outcome import Outcome
from gateway_project.foundation.postgres import migrate
from learning.models import EpisodicEvent, PredictionTotal
from tests.execution.stored import ended, shift_clock

pytestmark = pytest.mark.django_db


def prune(*options):
    out = StringIO()
    call_command("prune", *options, stdout=out)
    return out.getvalue()


def store_outcome(at, **more):
    Speculation.objects.create(
        user="ann",
        context_hash=1,
        domain_hash=2,
        confidence=0.9,
        ranked_confidence=0.9,
        threshold=0.92,
        workflow_digest="d",
        created_at=at,
        due_at=at,
        outcome=Outcome.HIT,
        resolved_at=at,
        **more,
    )


@pytest.fixture
def expired(sealer):
    """Store an old run, event, outcome, total and run with payloads, each beside a young one."""
    for days in (100, 10, 1):
        shift_clock(ended(sealer), seconds=days * 86_400)
    for days in (40, 1):
        at = timezone.now() - timedelta(days=days)
        EpisodicEvent.objects.create(at=at, kind=2, session=1)
    for days in (400, 300):
        at = timezone.now() - timedelta(days=days)
        PredictionTotal.objects.create(day=at.date(), form="intent", shadow=True, decile=9)
        store_outcome(at)


def test_what_a_suggestion_was_made_for_goes_with_the_payloads_of_runs(expired):
    contents = Speculation.objects.filter(content__isnull=False)
    for days in (8, 6):
        store_outcome(timezone.now() - timedelta(days=days), content=b"sealed")
    assert "Would delete 1 intents, calls and results of suggestions" in prune("--dry-run")
    assert contents.count() == 2
    prune()
    assert contents.get().created_at > timezone.now() - timedelta(days=7)


def remaining():
    models = (WorkflowExecution, EpisodicEvent, Speculation, PredictionTotal)
    counts = [model.objects.count() for model in models]
    return (*counts, Payload.objects.values("run").distinct().count())


def test_a_dry_run_counts_what_the_next_one_deletes(expired):
    said = prune("--dry-run").splitlines()
    assert remaining() == (3, 2, 2, 2, 3)
    assert said == [
        "Would delete 2 runs whose arguments and results expired",
        "Would delete 1 runs",
        "Would delete 1 events of the memory",
        "Would delete 1 outcomes of suggestions",
        "Would delete 1 totals of predictions",
    ]
    assert prune().splitlines() == [line.replace("Would delete", "Deleted") for line in said]
    assert remaining() == (2, 1, 1, 1, 1)
    assert prune() == "Deleted nothing\n"


def test_the_setting_says_how_long_outcomes_are_kept(expired, settings):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"prediction_days": 200})
    assert json.loads(prune("--json"))["outcomes"] == {
        "suggestions": 2,
        "contents": 0,
        "totals": 2,
        "reservations": 0,
    }


def test_the_json_report_names_every_count(expired):
    would, did = json.loads(prune("--json", "--dry-run")), json.loads(prune("--json"))
    assert would == did | {"dry_run": True}
    assert (did["runs"]["runs"], did["memory"]["events"], did["dry_run"]) == (1, 1, False)


def test_a_database_that_is_not_migrated_is_left_alone():
    MigrationRecorder(connection).record_unapplied("sessions", "0001_initial")
    with pytest.raises(migrate.MigrationsPending, match=r"manage\.py upgrade"):
        prune()
