"""manage.py learning_report, on a terminal and for programs."""

import json
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from execution.speculation.agreements import AgreementKey, ComparedResult
from execution.speculation.outcome import Verdict
from execution.store import agreements
from execution.store.speculations import NewSpeculation, insert_speculations
from gateway_project.access import callers
from learning import outcomes
from learning.memory.event import KIND_CODES, EventKind
from learning.models import AdaptiveThreshold, EpisodicEvent
from learning.store import totals
from learning.store.totals import CountedPrediction
from tests.factories import TeamFactory, ToolFactory
from tests.learning.taught import contributor

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(home):
    """Log into the test's own folder."""


def own(team):
    """Return a team's primary key; without one, that of what the local admin's belongs to."""
    return contributor(team, callers.LOCAL_ADMIN).owner


def report(*options):
    out = StringIO()
    call_command("learning_report", *options, stdout=out)
    return out.getvalue()


def as_json(*options):
    return json.loads(report("--json", *options))


def shown(capsys, *options):
    report(*options)
    return capsys.readouterr().out


def suggest(*, at, team=None, confidence=0.95, tools=()):
    new = NewSpeculation(
        id=uuid4(), user="admin", team=own(team), context_hash=1, domain_hash=2,
        confidence=confidence, ranked_confidence=confidence, threshold=0.92,
        is_admitted=confidence >= 0.92, is_runnable=True, tools=tools, digest="d" * 64,
        saves_ms=500.0, tokens=40, at=at,
    )  # fmt: skip
    insert_speculations([new])
    return new.id


def judge(count, verdict, **values):
    now = timezone.now()
    for _ in range(count):
        speculation = suggest(at=now, **values)
        outcomes.give_verdict(
            speculation, Verdict(verdict), allowed=lambda _team, _user: True, at=now
        )


def predict_calls(tool, hits, misses, *, team=None, chance=0.6):
    now = timezone.now()
    totals.add_predictions(
        CountedPrediction(
            form=totals.NEXT_CALL, team=own(team), tool=tool.pk, is_shadow=True, at=now,
            chance=chance,
            is_hit=number < hits, is_wasted=number >= hits, takes_ms=200.0, price=None,
        )
        for number in range(hits + misses)
    )  # fmt: skip


def make_calls(count, *, at=None):
    EpisodicEvent.objects.bulk_create(
        EpisodicEvent(
            team_id=own(None),
            at=at or timezone.now(),
            session=1,
            kind=KIND_CODES[EventKind.TASK_COMPLETE],
        )
        for _ in range(count)
    )


def test_without_predictions_it_says_so(capsys):
    text = shown(capsys)
    assert "Nothing predicted yet" in text
    assert "not enough data yet (n = 0 < 20)" in text
    assert "%" not in text


def test_compared_results_are_reported_by_team(capsys):
    served, ended = ToolFactory(), ToolFactory()
    team = TeamFactory()
    compared = [
        *(
            ComparedResult(AgreementKey(served.pk, "d", "e", own(None)), True, age)
            for age in (1, 2, 3)
        ),
        ComparedResult(AgreementKey(ended.pk, "d", "e", own(None)), False, 1.0),
        ComparedResult(AgreementKey(ended.pk, "d", "e", team.pk), False, 1.0),
    ]
    agreements.add_compared(compared, at=timezone.now())
    text = " ".join(shown(capsys).split())
    assert "3 of 4 agreed; 1 tools have earned that theirs are served, 1 are not" in text
    assert "0 of 1 agreed" in " ".join(shown(capsys, "--team", team.name).split())


def test_shares_are_shown_with_their_number_and_goal(capsys):
    judge(19, "accept")
    judge(1, "reject")
    text = shown(capsys)
    for part in ("95.0% (n = 20)", "> 95%", "> 90%", "< 10%", "9.5 s", "760"):
        assert part in text, part
    assert "would have had results ready for 20 intents" in text


def test_few_outcomes_give_no_figures(capsys):
    judge(5, "accept")
    text = shown(capsys)
    assert "not enough data yet (n = 5 < 20)" in text
    assert "100.0%" not in text


def test_next_calls_are_shown_by_server_and_tool(capsys):
    tool = ToolFactory(server__name="git", name="log[bold]")
    predict_calls(tool, hits=30, misses=10)
    make_calls(60)
    text = shown(capsys)
    assert "from a chance of 0.0 on: 30 of 40 came, waste 25.0% (n = 40)" in text
    assert "of all calls 50.0% (n = 60) ready" in text
    assert "git:log[bold]" in text
    assert "would have had 30 results ready" in text
    assert "unknown" in text, "the price of the server's calls"


def test_calls_are_unknown_where_older_events_may_be_deleted():
    predict_calls(ToolFactory(), hits=30, misses=0)
    make_calls(60, at=timezone.now() - timedelta(days=40))
    assert as_json("--days", "60")["shadow_next_calls"]["hit_rate"] == {"value": None, "of": 0}
    make_calls(60)
    assert as_json()["shadow_next_calls"]["hit_rate"] == {"value": 0.5, "of": 60}


def test_programs_get_the_same_figures(settings):
    tool = ToolFactory(server__price_per_call="0.25")
    judge(30, "accept", tools=(tool.pk,))
    judge(10, "reject", tools=(tool.pk,))
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"token_price": 10.0})
    AdaptiveThreshold.objects.create(
        team_id=own(None),
        policy="adaptive",
        threshold=0.9,
        level="none",
        updated_at=timezone.now(),
    )
    found = as_json()
    intents = found["shadow_intents"]
    assert intents["success"] == {"value": 0.75, "of": 40}
    assert (intents["saved_s"], intents["wasted_s"]) == (15.0, 5.0)
    assert (intents["saved_money"], intents["wasted_money"]) == (0.012, 2.5)
    assert found["goals"] == {"success": 0.95, "acceptance": 0.9, "waste": 0.1}
    assert found["calibration"]["error"] == pytest.approx(0.2)
    assert found["calibration"]["reliability"][0]["samples"] == 40
    assert found["thresholds"]["thresholds"] == 1
    assert found["speed"] == {"runs": 0, "task_ms": 0.0, "wall_ms": 0.0, "speed_up": None}
    assert found["intents"]["success"] == {"value": None, "of": 0}


def test_overconfidence_is_shown_with_its_correction(capsys):
    judge(60, "reject")
    text = shown(capsys)
    assert "outcomes correct confidences: 0.70 → " in text
    assert "error 0.950, Brier score 0.90" in text


def test_a_team_sees_its_own_figures_only():
    team, other = TeamFactory(name="ops"), TeamFactory(name="legal")
    judge(20, "accept", team=team.pk)
    predict_calls(ToolFactory(), hits=30, misses=0, team=team.pk)
    assert as_json("--team", "ops")["shadow_intents"]["success"] == {"value": 1.0, "of": 20}
    for options in ((), ("--team", other.name)):
        found = as_json(*options)
        assert found["shadow_intents"]["outcomes"] == {}
        assert found["shadow_next_calls"]["predictions"] == 0


def test_days_beyond_what_is_kept_and_unknown_teams_are_refused():
    for days in ("0", "366", "x"):
        with pytest.raises(CommandError, match="days"):
            report("--days", days)
    with pytest.raises(CommandError, match="no team 'x'"):
        report("--team", "x")
