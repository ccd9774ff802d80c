"""The room of learning: calibration, thresholds, patterns and the memory."""

import re
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from execution.snapshot import compute_run_session
from gateway_project.models import AuditEntry
from graph.models import WorkflowPattern
from learning.models import AdaptiveThreshold, EpisodicEvent, ThresholdChange
from tests.factories import (
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
    find_own_team,
)
from tests.gateway.rooms.conftest import browser
from tests.gateway.rooms.predicted import NASTY, make_pattern, make_threshold, predict, said, text

pytestmark = pytest.mark.django_db


def test_a_new_installation_says_what_is_missing(root):
    assert "Too few predictions" in text(root, "/learning/")
    for path, words in (
        ("thresholds/", "No threshold yet"),
        ("patterns/", "No pattern yet"),
        ("memory/", "Nothing remembered"),
    ):
        assert words in text(root, f"/learning/{path}")
    assert "No prediction" in text(root, "/speculation/")


def test_calibration_is_drawn_from_judged_predictions(root):
    for place in range(60):
        right = place % 3 != 0
        predict(
            outcome="hit" if right else "rejected",
            weight=1.0,
            confidence=0.3 + place % 6 / 10,
            resolved_at=timezone.now(),
        )
    shown = text(root, "/learning/")
    assert 'id="calibration"' in shown
    assert "Stated confidences are off by" in shown


def test_a_threshold_shows_its_history_and_is_overridden_within_bounds(root):
    row = make_threshold()
    ThresholdChange.objects.create(
        threshold=row,
        before=0.92,
        after=0.9,
        reason="evidence",
        evidence={"level": NASTY},
        at=timezone.now(),
    )
    url = f"/learning/thresholds/{row.pk}/"
    shown = text(root, url)
    assert "outcomes moved it" in shown
    assert NASTY not in shown
    for wrong in ("0.2", "2", "x", "nan", ""):
        assert "Give a number from 0.70 to 0.95" in said(root.post(url, {"override": wrong}))
    root.post(url, {"override": "0.8"})
    row.refresh_from_db()
    assert row.override == 0.8
    assert "root overrode it" in text(root, url)
    root.post(url, {"reset": "yes"})
    row.refresh_from_db()
    assert row.override is None


def test_a_threshold_is_set_before_anything_was_asked(root, home):
    url = "/learning/thresholds/"
    assert 'name="domain"' in text(root, url)
    given = {"domain": "Payments", "override": "0.94"}
    shown = said(root.post(url, given, follow=True))
    assert "domain payments" in shown
    assert "0.94 is in force" in shown
    row = AdaptiveThreshold.objects.get()
    assert (row.override, row.context_hash) == (0.94, None)
    refused = said(root.post(url, {**given, "override": "0.5"}))
    assert "override: Ensure this value is greater than or equal to 0.7" in refused
    assert 'value="Payments"' in refused, "what was entered is still there"
    assert 'name="domain"' not in text(browser(UserFactory()), url)
    assert browser(UserFactory()).post(url, given).status_code == 403


def test_what_is_pasted_or_uploaded_is_replayed(root):
    url = "/learning/thresholds/backtest/"
    assert "Replay these lines" in text(root, url)
    lines = '{"confidence": 0.9286, "succeeded": true}\n' * 60
    pasted = root.post(url, {"lines": lines, "policy": ["adaptive", "fixed:0.92"]})
    cells = [
        " ".join(cell.split())
        for cell in re.findall(r"<td[^>]*>(.*?)</td>", said(pasted), re.DOTALL)
    ]
    assert cells[:4] == ["60", "60", "100 %", "100 %"]
    assert cells[6:10] == ["60", "60", "100 %", "100 %"]
    file = SimpleUploadedFile("history.jsonl", lines.encode())
    assert "What each would have done" in said(root.post(url, {"file": file}))
    assert AdaptiveThreshold.objects.count() == 0


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"lines": "no JSON"}, "Line 1: it is not JSON"),
        ({"lines": '{"confidence": 2, "succeeded": true}'}, "`confidence` must be from 0 to 1"),
        ({"lines": ""}, "There are no outcomes to replay"),
        ({"own": "yes"}, "There are no outcomes to replay"),
        ({"own": "yes", "policy": "best"}, "No policy &#x27;best&#x27;"),
        ({"lines": '{"confidence": 0.9, "succeeded": true}\n' * 2_001}, "more than 2,000"),
    ],
)
def test_what_cannot_be_replayed_is_said(root, given, problem):
    shown = said(root.post("/learning/thresholds/backtest/", given))
    assert problem in shown
    assert "What each would have done" not in shown


def test_figures_of_a_threshold_are_told_in_words(root):
    row = make_threshold(find_own_team("root"))
    ThresholdChange.objects.create(
        threshold=row,
        before=0.92,
        after=0.9,
        reason="evidence",
        at=timezone.now(),
        evidence={"level": "none", "converged": False, "sample_weight": 3.0},
    )
    shown = text(root, f"/learning/thresholds/{row.pk}/")
    assert "all outcomes of the team, since its domain has few" in shown
    assert "<dt>settled</dt>" in shown
    assert "where it started, since there are few outcomes" in shown
    assert "converged" not in shown


def test_a_threshold_of_somebody_without_a_team_says_so(root):
    own, blue = make_threshold(find_own_team("root")), make_threshold(TeamFactory(name="blue"))
    assert text(root, "/learning/thresholds/").count("without a team") == 1
    for row, is_private in ((own, True), (blue, False)):
        assert ("without a team" in text(root, f"/learning/thresholds/{row.pk}/")) is is_private


def test_a_member_sees_thresholds_of_the_team_and_overrides_none():
    team = TeamFactory()
    client = browser(MembershipFactory(team=team).user)
    own, foreign = make_threshold(team), make_threshold(TeamFactory())
    url = f"/learning/thresholds/{own.pk}/"
    assert 'name="override"' not in text(client, url)
    assert client.post(url, {"override": "0.8"}).status_code == 403
    text(client, f"/learning/thresholds/{foreign.pk}/", status=404)


def test_a_pattern_is_forgotten_after_it_was_said_what_goes_with_it(root):
    row = make_pattern()
    url = f"/learning/patterns/{row.pk}/forget/"
    assert "0 recorded runs" in text(root, url)
    root.post(url)
    assert not WorkflowPattern.objects.exists()
    assert AuditEntry.objects.get().action == "pattern.forgotten"
    text(root, url, status=404)


def test_a_curator_forgets_only_patterns_of_the_team(sign_in):
    client = sign_in("curator")
    own, foreign = make_pattern(find_own_team("ann")), make_pattern(TeamFactory())
    text(client, f"/learning/patterns/{foreign.pk}/forget/", status=404)
    assert client.get(f"/learning/patterns/{own.pk}/forget/").status_code == 200


def test_the_memory_shows_structure_and_no_hashes(root):
    tool = ToolFactory(server=ServerFactory(name="notes"), name="read")
    EpisodicEvent.objects.create(
        at=timezone.now(),
        kind=1,
        session=123_456_789,
        tool=tool.pk,
        arguments_hash=987_654_321,
        outcome=1,
        duration_ms=12.0,
        prediction=uuid4(),
    )
    shown = text(root, "/learning/memory/")
    assert "notes:read" in shown
    assert "987654321" not in shown
    assert "a call ended" in shown
    assert "task_complete<" not in shown
    assert "Nothing of this kind" in text(root, "/learning/memory/?kind=search")
    text(root, "/learning/memory/?kind=dream", status=400)


def test_the_memory_is_filtered_and_its_entries_open(root):
    run, prediction = uuid4(), uuid4()
    blue = TeamFactory(name="blue")
    notes = ServerFactory(name="notes")
    fields = {"at": timezone.now(), "kind": 1, "session": 5}
    for name, values in {
        "read": {"session": compute_run_session(run)},
        "write": {"prediction": prediction, "data": {"layer": NASTY}},
        "list": {"team": blue, "context_hash": 9},
    }.items():
        tool = ToolFactory(server=notes, name=name)
        EpisodicEvent.objects.create(**fields | {"tool": tool.pk} | values)
    for query, name in {
        f"run={run}": "read",
        "tool=notes:write": "write",
        f"prediction={prediction}": "write",
        "team=blue": "list",
        "context=9": "list",
    }.items():
        shown = text(root, f"/learning/memory/?{query}")
        found = {one for one in ("read", "write", "list") if f"notes:{one}</span>" in shown}
        assert found == {name}
    assert "&lt;script&gt;" in text(root, "/learning/memory/?session=5")
    text(root, "/learning/memory/?run=x", status=400)
    text(root, "/learning/memory/?tool=notes:none", status=404)
