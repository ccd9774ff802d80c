"""The rooms of runs: what their people see, and what they can do."""

import json
import re
from datetime import timedelta
from html import unescape
from uuid import uuid4

import pytest

from execution.models import Payload, WorkflowExecution
from execution.status import RunStatus
from execution.store import views
from gateway_project.console.rooms import runs as room
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.models import AuditEntry
from tests.execution.asking import waiting
from tests.execution.stored import change, changes, ended, held, told, unknown, write
from tests.factories import MembershipFactory, TeamFactory
from tests.gateway.rooms.conftest import browser
from tests.gateway.rooms.predicted import predict

pytestmark = pytest.mark.django_db
NASTY = "<script>alert(1)</script>"
PERSON = Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="http")


@pytest.fixture
def sealer(home):
    return sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch):
    monkeypatch.setattr(room, "APPLY_WAIT_S", 0.0)


def text(client, path, status=200):
    response = client.get(path, follow=True)
    assert response.status_code == status
    return response.content.decode()


def started(sealer, **said):
    run = held(sealer, **said).run
    write(sealer, changes(run, change("a"), seqs=[2], status=RunStatus.RUNNING))
    return run


def test_runs_are_listed_in_pages(root, sealer):
    made = {str(held(sealer).run) for _ in range(3)}
    first = root.get("/runs/?limit=2").content.decode()
    (cursor,) = {part.split('"')[0] for part in first.split("cursor=")[1:]}
    second = text(root, f"/runs/?limit=2&cursor={cursor}")
    on_first = {run for run in made if run in first}
    assert len(on_first) == 2
    assert {run for run in made if run in second} == made - on_first


def test_runs_are_filtered_by_state(root, sealer):
    over, open_run = ended(sealer), held(sealer).run
    shown = text(root, "/runs/?status=succeeded")
    assert (str(over) in shown, str(open_run) in shown) == (True, False)
    assert str(over) in text(root, "/runs/?tool=s:a&user=admin&since=2020-01-01")
    assert str(over) not in text(root, "/runs/?until=2020-01-01")
    assert "None matches these filters" in text(root, "/runs/?status=failed")
    text(root, "/runs/?status=dancing", status=400)


def test_a_new_installation_says_how_a_run_appears(root, home):
    assert "A run appears here as soon as" in text(root, "/runs/")


def test_a_run_shows_its_graph_tasks_time_and_events(root, sealer):
    run = started(sealer, intent=NASTY)
    shown = text(root, f"/runs/{run}/")
    assert 'id="run-graph"' in shown
    assert 'data-task="a"' in shown
    assert "bar--running" in shown
    assert "task started" in shown
    assert f'data-follow="/live/runs/{run}/"' in shown
    assert NASTY not in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_a_run_leads_to_the_prediction_that_it_followed(root, sealer):
    run = started(sealer)
    at = WorkflowExecution.objects.get(pk=run).created_at
    followed = predict(run=run, created_at=at - timedelta(seconds=5))
    predict(run=run, created_at=at - timedelta(hours=1))
    assert f'"/speculation/{followed.pk}/"' in text(root, f"/runs/{run}/")
    assert views.find_followed_prediction(PERSON, run, created_at=at) is None


def test_a_failure_in_an_ordinary_result_is_pointed_out(root, sealer):
    run = started(sealer)
    result = {"content": [{"type": "text", "text": "Error: no such file\nLine 2"}]}
    write(sealer, changes(run, change("a", "succeeded", result=result), seqs=[3]))
    shown = text(root, f"/runs/{run}/")
    assert "reads like an error" in shown
    assert "no such file\nLine 2" in shown  # with its lines, and not as JSON alone


def test_results_and_errors_are_shown_as_quotations(root, sealer):
    run = started(sealer)
    result = {"content": [{"type": "text", "text": NASTY}]}
    failed = change("b", "failed", error_code="tool_error", error=NASTY)
    write(
        sealer,
        changes(
            run,
            change("a", "succeeded", result=result),
            failed,
            seqs=[3],
            status=RunStatus.FAILED,
        ),
    )
    shown = text(root, f"/runs/{run}/")
    assert NASTY not in shown
    assert shown.count("alert(1)") == 3  # the result as text and as data, and the error
    assert "reads like an error" not in shown
    assert "Task b failed first: tool error." in shown


def test_a_call_is_approved_on_the_page_of_its_run(root, sealer):
    approval = waiting(sealer)
    run = f"/runs/{approval.run_id}/"
    assert "Approve, once" in text(root, run)
    answer = root.post(f"/approvals/{approval.pk}/approve", {"back": "run"})
    assert answer["Location"] == run
    approval.refresh_from_db()
    assert approval.decided_by == "root"


def test_a_run_that_waits_says_for_what(root, sealer):
    approval = waiting(sealer)
    shown = text(root, f"/runs/{approval.run_id}/")
    assert "1 call waits for a person" in shown
    assert f"/approvals/{approval.pk}" in shown


@pytest.mark.parametrize("path", ["", "replan/", "again/", "abort/"])
def test_a_run_of_somebody_else_is_not_found(member, sealer, path):
    run = held(sealer).run
    text(member, f"/runs/{run}/{path}", status=404)
    text(member, f"/runs/{uuid4()}/{path}", status=404)


def test_an_admin_of_the_team_sees_and_controls_runs_of_its_members(sealer):
    team = TeamFactory()
    who = Caller(user="bob", team=team.pk, person=None, scopes=frozenset(), kind="http")
    run = started(sealer, caller=who)
    admin = MembershipFactory(team=team, role="admin").user
    client = browser(admin)
    assert str(run) in text(client, "/runs/")
    client.post(f"/runs/{run}/pause/")
    assert [row[0] for row in told()] == ["pause"]


def test_a_viewer_sees_no_button_and_cannot_control(sign_in, sealer):
    client = sign_in("viewer")
    run = started(sealer, caller=PERSON)
    shown = text(client, f"/runs/{run}/")
    assert "/abort/" not in shown
    assert client.post(f"/runs/{run}/abort/").status_code == 403
    assert told() == []


def test_abort_is_explained_before_it_is_done(root, sealer):
    run = started(sealer)
    assert "1 call in flight is cancelled" in text(root, f"/runs/{run}/abort/")
    assert told() == []
    answer = root.post(f"/runs/{run}/abort/", follow=True)
    assert "carried out as soon as" in answer.content.decode()
    assert [row[0] for row in told()] == ["abort"]
    assert AuditEntry.objects.get().action == "run.told_to_abort"


def test_actions_follow_the_state_of_the_run(root, sealer):
    running, over = started(sealer), ended(sealer)
    shown = text(root, f"/runs/{running}/")
    assert (f"{running}/pause/" in shown, f"{running}/resume/" in shown) == (True, False)
    shown = text(root, f"/runs/{over}/")
    assert (f"{over}/pause/" in shown, f"{over}/again/" in shown) == (False, True)
    answer = root.post(f"/runs/{over}/pause/", follow=True)
    assert "Nothing was changed" in answer.content.decode()


def test_pausing_by_a_link_does_nothing(root, sealer):
    run = started(sealer)
    assert root.get(f"/runs/{run}/pause/").status_code == 302
    assert told() == []
    text(root, f"/runs/{run}/explode/", status=404)


def test_calls_with_an_unknown_outcome_are_shown_before_they_are_repeated(root, sealer):
    run = unknown(sealer)
    assert "Each may have taken effect" in text(root, f"/runs/{run}/")
    assert "Repeat these calls" in text(root, f"/runs/{run}/rerun_unknown/")
    root.post(f"/runs/{run}/rerun_unknown/")
    assert [(row[0], row[3]) for row in told()] == [("resume", {"rerun_unknown": True})]


def test_a_run_without_lost_calls_offers_nothing_to_repeat(root, sealer):
    assert "no unknown call" in text(root, f"/runs/{started(sealer)}/rerun_unknown/")


def test_a_replan_is_checked_and_sent(root, sealer):
    run = started(sealer)
    shown = text(root, f"/runs/{run}/replan/")
    assert "&quot;s:a&quot;" in shown
    for wrong, why in (
        ("{", "this is not JSON"),
        ("[]", "a JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"tasks": [{"id": "a"}]}', "tool"),
    ):
        answer = root.post(f"/runs/{run}/replan/", {"workflow": wrong})
        assert answer.status_code == 200
        assert why in answer.content.decode()
    assert told() == []
    workflow = {"tasks": [{"id": "c", "tool": "s:c", "arguments": {}}]}
    root.post(f"/runs/{run}/replan/", {"workflow": json.dumps(workflow)})
    assert [row[0] for row in told()] == ["replan"]


def test_a_replan_may_refer_to_tasks_that_have_begun(root, sealer):
    run = started(sealer)
    task = {"id": "c", "tool": "s:c", "arguments": {}, "depends_on": ["b"]}
    answer = root.post(f"/runs/{run}/replan/", {"workflow": json.dumps({"tasks": [task]})})
    assert "must repeat the unstarted tasks" in answer.content.decode()
    assert told() == []
    task["depends_on"] = ["a"]
    root.post(f"/runs/{run}/replan/", {"workflow": json.dumps({"tasks": [task]})})
    assert [row[0] for row in told()] == ["replan"]


def test_running_again_needs_a_gateway_in_the_process(root, sealer):
    run = ended(sealer)
    assert "s:a" in text(root, f"/runs/{run}/again/")
    answer = root.post(f"/runs/{run}/again/", {"workflow": '{"tasks": [{"id":"a","tool":"s:a"}]}'})
    assert answer.status_code == 503
    assert "Not available right now" in answer.content.decode()


def test_a_run_whose_payloads_expired_is_still_shown(root, sealer):
    run = started(sealer)
    Payload.objects.all().delete()
    assert "no longer stored" in text(root, f"/runs/{run}/")


def test_superusers_find_the_stored_records_of_a_run(root, sealer):
    run, other = started(sealer), started(sealer)
    shown = unescape(text(root, f"/runs/{run}/"))
    links = re.findall(r'href="(/(?:admin|learning)/[^"]*(?:run|change)[^"]*)"', shown)
    assert len(links) == 5
    for link in links:
        records = text(root, link)
        assert str(run)[:8] in records
        assert str(other) not in records
