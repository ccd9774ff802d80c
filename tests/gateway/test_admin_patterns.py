"""The pages of what runs have shown: who sees which rows, and how they are forgotten."""

import pytest

from gateway_project.console import pattern_pages
from gateway_project.models import AuditEntry
from graph.models import FittedModel, LearnedBinding, PatternEmbedding, PatternRun, WorkflowPattern
from graph.record_runs import record_runs
from tests.factories import MembershipFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.gateway.admin_pages import act, entries, label, page, sign_in_root, sign_in_staff
from tests.graph.histories import NOW, run, task

pytestmark = pytest.mark.django_db

OF_HISTORY = (WorkflowPattern, PatternEmbedding, PatternRun, LearnedBinding, FittedModel)


@pytest.fixture
def teams():
    return TeamFactory(name="ops"), TeamFactory(name="legal")


@pytest.fixture
def history(teams, sealer):
    """Record a run of everybody's and one of each team, and fit what they stand for."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    for team in (None, *teams):
        tool = ToolFactory(server__team=team, input_schema=schema).pk
        record_runs(
            [run("r1", "Do it", task("x", tool, city="Rome"))],
            team=team and team.pk,
            embedder=FakeEmbedder(),
            sealer=sealer,
        )
        FittedModel.objects.create(
            team=team, embedding_model="m", content=b"c", digest="d", fitted_at=NOW, seconds=1.0,
            peak_memory_mb=1,
        )  # fmt: skip


def of(team):
    return WorkflowPattern.objects.get(team=team)


@pytest.mark.parametrize("model", OF_HISTORY, ids=label)
def test_rows_of_a_team_are_shown_to_its_members_and_shared_ones_to_all(
    client, history, teams, model
):
    staff = sign_in_staff(client)
    MembershipFactory(user=staff, team=teams[0])
    place = "pattern__team" if model is PatternEmbedding else "team"
    for team, is_seen in ((None, True), (teams[0], True), (teams[1], False)):
        for row in model.objects.filter(**{place: team}):
            answer = client.get(page(model, "change", row.pk))
            assert (answer.status_code == 200) is is_seen
    shown = client.get(page(model, "changelist")).content.decode()
    assert "legal" not in shown
    hidden = model.objects.filter(**{place: teams[1]})
    assert all(page(model, "change", row.pk) not in shown for row in hidden)


def test_a_pattern_is_forgotten_after_asking_and_that_is_written_down(client, history, teams):
    sign_in_root(client)
    row = of(teams[0])
    asked = act(client, WorkflowPattern, "delete_selected", row)
    assert str(row) in asked
    assert "Fitted models, until the next fit: 1" in asked
    assert WorkflowPattern.objects.count() == 3
    act(client, WorkflowPattern, "delete_selected", row, post="yes")
    for model in (WorkflowPattern, PatternRun, LearnedBinding, FittedModel):
        assert not model.objects.filter(team=teams[0]).exists()
        assert model.objects.exists()
    assert entries() == [("pattern.forgotten", str(row), "root")]
    client.post(page(WorkflowPattern, "delete", of(teams[1]).pk), {"post": "yes"})
    assert WorkflowPattern.objects.count() == 1
    assert AuditEntry.objects.filter(action="pattern.forgotten").count() == 2


def test_users_cannot_forget_patterns_they_cannot_see(client, history, teams):
    sign_in_staff(client)
    row = of(teams[0])
    act(client, WorkflowPattern, "delete_selected", row, post="yes")
    client.post(page(WorkflowPattern, "delete", row.pk), {"post": "yes"})
    assert WorkflowPattern.objects.filter(pk=row.pk).exists()


def test_deletion_is_offered_only_with_permission(client, history):
    staff = sign_in_staff(client)
    staff.user_permissions.remove(
        *staff.user_permissions.filter(codename="delete_workflowpattern")
    )
    shown = client.get(page(WorkflowPattern, "changelist")).content.decode()
    assert "Forget selected patterns" not in shown
    act(client, WorkflowPattern, "delete_selected", of(None), post="yes")
    assert WorkflowPattern.objects.count() == 3


def test_not_too_many_at_a_time(client, history, monkeypatch):
    monkeypatch.setattr(pattern_pages, "MAX_SELECTED", 2)
    sign_in_root(client)
    told = act(
        client, WorkflowPattern, "delete_selected", *WorkflowPattern.objects.all(), post="yes"
    )
    assert "at most 2 patterns" in told
    assert WorkflowPattern.objects.count() == 3
