"""What was observed without a team finds its owner when a database is brought up to date."""

from importlib import import_module

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from graph.models import PatternRun, RelationEvidence, ToolUsage, WorkflowPattern
from tests.factories import (
    SEEN_AT,
    MembershipFactory,
    RelationFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tools.models import Team

RUN = "0b4cf0d6-7d7c-4a3a-9a5c-0d7f4a2f6d11"


def adopt():
    migration = import_module("gateway_project.migrations.0010_owners_of_observations")
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS observed_pattern")
        cursor.execute(migration.ADOPT)


def pattern(*keys, team=None):
    row = WorkflowPattern.objects.create(
        team=team, workflow_hash="w", intent_hash=keys[0], tasks=[], tools=[], intent="",
        successes=len(keys), success_weight=len(keys), first_seen_at=SEEN_AT, last_seen_at=SEEN_AT,
    )  # fmt: skip
    for key in keys:
        PatternRun.objects.create(team=team, key=key, pattern=row, succeeded=True, at=SEEN_AT)
    return row


@pytest.fixture
def observed(db):
    """What was observed without a team, and what was imported for everybody."""
    tool = ToolFactory()
    ToolUsage.objects.create(tool=tool, calls=3, failures=0, last_called_at=SEEN_AT)
    relation = RelationFactory()
    RelationEvidence.objects.create(relation=relation, source="observed", successes=2)
    RelationEvidence.objects.create(relation=relation, source="curated", confidence=0.9)
    return [pattern(RUN), pattern("imported-1"), pattern("imported-2", RUN[::-1])]


def owners(model):
    return list(model.objects.order_by("pk").values_list("team", flat=True))


def test_the_only_person_without_a_team_gets_what_was_observed(observed):
    ann = UserFactory(username="ann")
    MembershipFactory(user=UserFactory(username="bob"), team=TeamFactory())
    adopt()
    own = ann.private_team.pk
    assert owners(WorkflowPattern)[:2] == [own, None]
    assert owners(ToolUsage) == [own]
    said = dict(RelationEvidence.objects.values_list("source", "team"))
    assert said == {"observed": own, "curated": None}


def test_where_several_act_without_a_team_it_is_believed_no_more(observed):
    UserFactory(username="ann")
    UserFactory(username="bob")
    adopt()
    assert list(WorkflowPattern.objects.values_list("intent_hash", flat=True)) == [
        "imported-1", "imported-2",
    ]  # fmt: skip
    assert owners(ToolUsage) == []
    assert list(RelationEvidence.objects.values_list("source", flat=True)) == ["curated"]


@pytest.mark.django_db
def test_an_account_has_a_private_team_that_nobody_sees_as_a_team():
    ann = UserFactory(username="ann")
    assert ann.private_team.name == "ann"
    assert not Team.objects.filter(name="ann").exists()
    TeamFactory(name="ann")
    get_user_model().objects.filter(pk=ann.pk).update(username="anna")
    ann.private_team.refresh_from_db()
    assert ann.private_team.name == "anna"
    ann.delete()
    assert list(
        Team.with_private.filter(name__in=("ann", "anna")).values_list("name", flat=True)
    ) == ["ann"]
