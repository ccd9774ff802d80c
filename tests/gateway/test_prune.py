"""`manage.py prune`: what is no longer kept is counted, or deleted."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from execution.models import Payload, WorkflowExecution
from gateway_project.foundation.postgres import migrate
from learning.models import EpisodicEvent
from tests.execution.stored import ended, shift_clock

pytestmark = pytest.mark.django_db


def prune(*options):
    out = StringIO()
    call_command("prune", *options, stdout=out)
    return out.getvalue()


@pytest.fixture
def expired(sealer):
    """Store an old run, a run with old payloads, and an old event, each beside a young one."""
    for days in (100, 10, 1):
        shift_clock(ended(sealer), seconds=days * 86_400)
    for days in (40, 1):
        at = timezone.now() - timedelta(days=days)
        EpisodicEvent.objects.create(at=at, kind=2, session=1)


def remaining():
    models = (WorkflowExecution, EpisodicEvent)
    counts = [model.objects.count() for model in models]
    return (*counts, Payload.objects.values("run").distinct().count())


def test_a_dry_run_counts_what_the_next_one_deletes(expired):
    said = prune("--dry-run").splitlines()
    assert remaining() == (3, 2, 3)
    assert said == [
        "Would delete 2 runs whose arguments and results expired",
        "Would delete 1 runs",
        "Would delete 1 events of the memory",
    ]
    assert prune().splitlines() == [line.replace("Would delete", "Deleted") for line in said]
    assert remaining() == (2, 1, 1)
    assert prune() == "Deleted nothing\n"


def test_the_json_report_names_every_count(expired):
    would, did = json.loads(prune("--json", "--dry-run")), json.loads(prune("--json"))
    assert would == did | {"dry_run": True}
    assert (did["runs"]["runs"], did["memory"]["events"], did["dry_run"]) == (1, 1, False)


def test_a_database_that_is_not_migrated_is_left_alone(monkeypatch):
    monkeypatch.setattr(migrate, "list_pending_migrations", lambda: ["learning.0003"])
    with pytest.raises(CommandError, match="not migrated"):
        prune()
