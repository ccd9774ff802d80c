"""The commands that list runs and show one."""

import io
import json
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from execution.status import RunStatus
from execution.store import views
from gateway_project.foundation import sealing
from gateway_project.management.commands import run_show
from tests.execution import stored
from tests.gateway.quiet_commands import hush, printed

pytestmark = pytest.mark.django_db(transaction=True)
NOT_THERE = UUID(int=1)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    hush(monkeypatch)


@pytest.fixture
def sealer(settings, home):
    return sealing.load_or_create_sealer(settings.FOREGATE.home, name=sealing.PAYLOADS)


@pytest.fixture
def created(sealer):
    return str(stored.held(sealer, ("a", "b"), intent="make it so").run)


def test_without_runs_the_command_says_how_to_start_one(capsys):
    assert "manage.py run FILE" in printed(capsys, "runs")
    assert json.loads(printed(capsys, "runs", "--json")) == {"runs": []}


def test_runs_are_listed(capsys, created):
    assert created in printed(capsys, "runs")
    (row,) = json.loads(printed(capsys, "runs", "--json"))["runs"]
    assert (row["run_id"], row["tools"], row["tasks"]) == (created, ["s:a", "s:b"], 2)
    other = "queued" if row["status"] == "running" else "failed"
    assert json.loads(printed(capsys, "runs", "--status", other, "--json"))["runs"] == []


def test_an_empty_filtered_list_is_reported(capsys, created):
    said = printed(capsys, "runs", "--status", "unknown")
    assert said.strip() == "No run is unknown; `manage.py runs` lists all."


@pytest.mark.parametrize(("tasks", "more"), [(5, None), (7, 2)])
def test_tools_that_a_list_leaves_out_are_counted(capsys, sealer, tasks, more):
    stored.held(sealer, [f"t{number}" for number in range(tasks)])
    (row,) = json.loads(printed(capsys, "runs", "--json"))["runs"]
    assert (len(row["tools"]), row.get("more_tools")) == (5, more)


@pytest.mark.parametrize("limit", ["0", "x", "1001"])
def test_a_limit_out_of_range_is_refused(limit):
    with pytest.raises(CommandError, match="not a number from 1 to 1,000"):
        call_command("runs", "--limit", limit)


def test_a_run_is_shown_with_its_intent_and_history(capsys, created):
    report = json.loads(printed(capsys, "run_show", created, "--events", "--json"))
    assert (report["intent"], set(report["tasks"])) == ("make it so", {"a", "b"})
    assert [event["seq"] for event in report["events"]] == [1]
    assert created in printed(capsys, "run_show", created)


def test_events_are_listed_where_a_pipe_finds_them(capsys, created):
    out, err = io.StringIO(), io.StringIO()
    call_command("run_show", created, "--events", stdout=out, stderr=err)
    assert "run queued" in out.getvalue()
    assert err.getvalue() == ""


def test_following_does_not_affect_json_output(capsys, sealer):
    over = str(stored.ended(sealer))
    out, err = io.StringIO(), io.StringIO()
    call_command("run_show", over, "--follow", "--json", stdout=out, stderr=err)
    assert json.loads(out.getvalue())["run_id"] == over
    assert "run queued" in err.getvalue()


def test_a_run_is_followed_until_it_rests_and_its_results_read_once(
    capsys, monkeypatch, sealer, created
):
    read, view = [], views.load_view

    def counted(run, *, results, **said):
        read.append(results)
        return view(run, results=results, **said)

    def goes_on(_seconds):
        end = stored.changes(UUID(created), seqs=[2], status=RunStatus.SUCCEEDED)
        stored.write(sealer, end)

    monkeypatch.setattr(views, "load_view", counted)
    monkeypatch.setattr(run_show.time, "sleep", goes_on)
    told = io.StringIO()
    call_command("run_show", created, "--follow", stdout=told)
    assert [line.split("s  ")[1].strip() for line in told.getvalue().splitlines()] == [
        "run queued", "a task started"
    ]  # fmt: skip
    assert "succeeded" in capsys.readouterr().out
    assert read == [False, False, True]


@pytest.mark.parametrize("run", ["nonsense", str(NOT_THERE)])
def test_a_missing_run_is_reported(run):
    with pytest.raises(CommandError, match=r"manage\.py runs"):
        call_command("run_show", run)
