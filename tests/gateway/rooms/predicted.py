"""Predictions and thresholds for the rooms, and what a page says."""

from datetime import timedelta

from django.utils import timezone

from execution.models import Speculation
from graph.models import WorkflowPattern
from learning.models import AdaptiveThreshold
from tests.factories import find_own_team

NASTY = "<script>alert(1)</script>"


def predict(user="root", team=None, **values):
    team = team or find_own_team(user)
    now = timezone.now()
    fields = {
        "user": user,
        "team": team,
        "context_hash": 1,
        "domain_hash": 1,
        "confidence": 0.6,
        "ranked_confidence": 0.5,
        "threshold": 0.9,
        "tools": [],
        "workflow_digest": "",
        "created_at": now,
        "due_at": now + timedelta(hours=1),
    }
    return Speculation.objects.create(**fields | values)


def text(client, path, status=200):
    response = client.get(path)
    assert response.status_code == status, response.content.decode()[:2_000]
    return response.content.decode()


def said(response):
    return response.content.decode()


def make_threshold(team=None, **scope):
    return AdaptiveThreshold.objects.create(
        team=team,
        policy="adaptive",
        threshold=0.9,
        level="team",
        updated_at=timezone.now(),
        sample_weight=12.0,
        expected_success=0.97,
        success_bound=0.95,
        **scope,
    )


def make_pattern(team=None, tools=()):
    return WorkflowPattern.objects.create(
        team=team,
        workflow_hash="a" * 64,
        intent_hash="b" * 64,
        tasks=[],
        tools=list(tools),
        intent="",
        successes=3,
        first_seen_at=timezone.now(),
        last_seen_at=timezone.now(),
    )
