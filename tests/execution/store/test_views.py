from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from execution.models import Approval
from execution.status import RunStatus
from execution.store import approvals, payloads, views
from execution.store.runs import UnknownRun
from execution.view import RunFilter
from gateway_project.foundation.caller import Caller
from tests.execution.stored import (
    ADMIN,
    CALL,
    asked,
    change,
    changes,
    ended,
    held,
    shift_clock,
    write,
)
from tests.factories import TeamFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("other", [{"user": "eve"}, {"team": -1}])
def test_a_run_is_visible_to_its_user_and_team_only(sealer, other):
    run = held(sealer).run
    stranger = replace(ADMIN, **other)
    for asked_for in (run, uuid4()):
        with pytest.raises(UnknownRun, match=str(asked_for)):
            views.load_view(asked_for, caller=stranger, sealer=sealer)
    assert views.load_summaries(stranger) == []
    assert views.load_view(run, caller=None, sealer=sealer).id == run


def test_a_run_of_a_team_is_invisible_without_the_team(sealer):
    team = TeamFactory()
    member = Caller(user="admin", team=team.pk, person=None, scopes=frozenset(), kind="http")
    run = held(sealer, caller=member).run
    assert views.load_view(run, caller=member, sealer=sealer).team == team.pk
    with pytest.raises(UnknownRun):
        views.load_view(run, caller=ADMIN, sealer=sealer)


def test_a_caller_limited_to_a_group_sees_the_runs_of_the_group(sealer):
    desk = replace(ADMIN, group="desk")
    free, own = held(sealer).run, held(sealer, caller=desk).run
    assert [one.id for one in views.load_summaries(desk)] == [own]
    assert views.load_view(own, caller=desk, sealer=sealer).id == own
    for run, group in ((free, "desk"), (own, "hall")):
        with pytest.raises(UnknownRun):
            views.load_view(run, caller=replace(ADMIN, group=group), sealer=sealer)
        with pytest.raises(UnknownRun):
            views.load_view(run, caller=None, group=group, sealer=sealer)
    assert {one.id for one in views.load_summaries(ADMIN)} == {free, own}


def test_items_follow_their_task_in_the_order_of_the_workflow(sealer):
    run = held(sealer, ["z", "a"]).run
    items = [change("z", "succeeded", item=n, result={"n": n}) for n in (1, 0)]
    write(sealer, changes(run, *items, change("a"), seqs=[2]))
    shown = views.load_view(run, caller=ADMIN, sealer=sealer).tasks
    assert [(one.task, one.item) for one in shown] == [("z", -1), ("z", 0), ("z", 1), ("a", -1)]
    assert [one.result for one in shown] == [None, {"n": 0}, {"n": 1}, None]


def test_a_view_without_results_reads_no_payload(sealer):
    run = held(sealer, intent="tidy up").run
    write(sealer, changes(run, change("a", "failed", error_code="x", error="No."), seqs=[2]))
    shown = views.load_view(
        run, caller=ADMIN, sealer=None, results=False
    )  # nothing is there to open
    assert (shown.workflow, shown.intent, shown.tasks[0].error) == (None, "", "")
    assert shown.tasks[0].error_code == "x"


def test_the_status_takes_one_query(sealer, django_assert_num_queries):
    run = ended(sealer)
    with django_assert_num_queries(1):
        assert views.load_status(run) is RunStatus.SUCCEEDED
    with pytest.raises(UnknownRun):
        views.load_status(uuid4())


def test_lists_name_the_newest_first_with_their_figures(sealer, django_assert_num_queries):
    old = held(sealer, [f"t{n}" for n in range(7)]).run
    shift_clock(old, seconds=60)
    write(sealer, changes(old, change("t0", "succeeded"), change("t1", "failed"), seqs=[2]))
    asking = held(sealer).run
    asked(sealer, asking, status="pending")
    with django_assert_num_queries(1):
        first, second = views.load_summaries(ADMIN)
    assert (first.id, first.approvals, first.tools) == (asking, 1, ("s:a", "s:b"))
    assert (second.id, second.tasks_total, second.tasks_done) == (old, 7, 2)
    assert second.tools == ("s:t0", "s:t1", "s:t2", "s:t3", "s:t4")
    assert [one.id for one in views.load_summaries(None, limit=1)] == [asking]


def test_lists_can_be_filtered_by_status(sealer):
    held(sealer)
    failed = ended(sealer, "failed")
    assert [
        one.id for one in views.load_summaries(ADMIN, wanted=RunFilter(status=RunStatus.FAILED))
    ] == [failed]


FILTERS = [
    ({"tool": "s:a"}, True),
    ({"tool": "s"}, True),
    ({"tool": "s:"}, False),
    ({"tool": "other:a"}, False),
    ({"user": "admin"}, True),
    ({"user": "adm"}, False),
    ({"team": 999_999}, False),
    ({"since": datetime(2020, 1, 1, tzinfo=UTC)}, True),
    ({"until": datetime(2020, 1, 1, tzinfo=UTC)}, False),
    ({"min_duration_s": 0.0}, True),
    ({"min_duration_s": 3_600.0}, False),
    ({"text": "S:B"}, True),
    ({"text": "adm"}, True),
    ({"text": "%"}, False),
    ({"tool": "s:b", "user": "admin", "status": RunStatus.FAILED}, True),
]
"""What a list may be limited to, and whether a failed run is still in it."""


def test_lists_can_be_filtered(sealer):
    failed = ended(sealer, "failed")
    for wanted, is_listed in FILTERS:
        listed = [one.id for one in views.load_summaries(ADMIN, wanted=RunFilter(**wanted))]
        assert listed == ([failed] if is_listed else []), wanted


@pytest.mark.parametrize(
    ("sort", "expected"), [("newest", "acb"), ("oldest", "bca"), ("longest", "bca")]
)
def test_lists_are_read_page_by_page_in_each_order(sealer, sort, expected):
    runs = {name: held(sealer).run for name in "abc"}
    shift_clock(runs["b"], seconds=60)
    shift_clock(runs["c"], seconds=30)
    names, after = "", None
    while page := views.load_summaries(None, wanted=RunFilter(sort=sort), after=after, limit=1):
        (one,) = page
        names += next(name for name, run in runs.items() if run == one.id)
        after = (one.created_at, one.id)
    assert names == expected


def test_events_are_read_from_where_the_reader_is(sealer):
    run = held(sealer).run
    write(sealer, changes(run, seqs=range(2, 9)))
    assert [one.seq for one in views.load_events(run, after=3, limit=3)] == [4, 5, 6]
    assert views.load_events(run, after=8) == []


def test_an_overdue_approval_is_shown_as_expired(sealer):
    run = held(sealer).run
    approval = asked(sealer, run, status="pending")
    type(approval).objects.update(expires_at=approval.created_at)
    shown = views.load_view(run, caller=ADMIN, sealer=sealer)
    assert ([one.status for one in shown.approvals], shown.pending_approvals) == (["expired"], ())


def test_a_view_of_the_workflow_unseals_nothing_else(sealer, monkeypatch):
    run = held(sealer, intent="tidy up").run
    write(sealer, changes(run, change("a", "succeeded", result={"n": 1}), seqs=[2]))
    opened, was_opened = payloads.open_payload, []
    monkeypatch.setattr(
        payloads,
        "open_payload",
        lambda *given, **named: was_opened.append(1) or opened(*given, **named),
    )
    shown = views.load_view(run, caller=ADMIN, sealer=sealer, results=False, workflow=True)
    assert [task["id"] for task in shown.workflow["tasks"]] == ["a", "b"]
    assert (len(was_opened), shown.intent, shown.tasks[0].result) == (1, "", None)
    assert shown.tasks[0].status == "succeeded"


def test_several_calls_are_returned_in_the_requested_order(sealer):
    run = held(sealer).run
    waits = [
        change("a", "waiting_approval", item=n, approval_reason="it deletes", **CALL)
        for n in range(11)
    ]
    write(sealer, changes(run, *waits, seqs=[2]))
    for place, approval in enumerate(Approval.objects.order_by("item"), start=1):
        Approval.objects.filter(pk=approval.pk).update(id=UUID(int=100 - place))
    items = list(range(11))
    assert Approval.objects.values("created_at").distinct().count() == 1
    assert [
        one.item for one in views.load_view(run, caller=None, sealer=sealer).pending_approvals
    ] == items
    assert [one.item for one in approvals.load_pending()] == items
    assert [one.item for one in approvals.load_newest_decisions(run)] == items
