"""The command that replays resolved predictions under policies."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from gateway_project.management.commands import backtest
from learning import outcomes
from learning.thresholds.named import COMPARED_POLICIES
from tests.factories import TeamFactory
from tests.gateway import quiet_commands
from tests.gateway.quiet_commands import printed
from tests.learning.thresholds.resolved import resolved, stream

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    quiet_commands.hush(monkeypatch)


@pytest.fixture
def file(tmp_path):
    rows = [
        {"confidence": one.confidence, "succeeded": one.succeeded, "saves_ms": 1_000}
        for one in stream(60, lambda confidence: confidence)
    ]
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def report(capsys, *options):
    return json.loads(printed(capsys, "backtest", "--json", *options))


def test_a_file_is_replayed_under_all_compared_policies(capsys, file):
    found = report(capsys, "--file", str(file))
    assert found["predictions"] == 60
    assert [row["policy"] for row in found["policies"]] == list(COMPARED_POLICIES)
    fixed = found["policies"][1]
    assert 0 < fixed["speculated"] < 60
    assert fixed["success"] + fixed["waste"] == pytest.approx(1.0, abs=1e-3)
    assert fixed["saved_ms"] == pytest.approx(
        1_000 * fixed["speculated"] * fixed["success"], rel=0.01
    )


def test_policies_can_be_chosen(capsys, file):
    found = report(capsys, "--file", str(file), "--policy", "fixed:0.9", "--policy", "fixed:0.8")
    assert [row["policy"] for row in found["policies"]] == ["fixed:0.9", "fixed:0.8"]


def test_stdin_can_be_replayed(capsys, monkeypatch):
    line = b'{"confidence": 0.95, "succeeded": true}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line)))
    assert report(capsys, "--file", "-", "--policy", "fixed:0.9")["policies"][0]["speculated"] == 1


def test_a_terminal_gets_a_table_with_the_thresholds_over_time(capsys, file):
    shown = printed(capsys, "backtest", "--file", str(file))
    assert "coverage" in shown
    assert "fixed:0.92" in shown
    assert "0.85 0.85" in shown


def test_the_database_is_replayed_for_one_team_only(capsys, monkeypatch):
    team = TeamFactory(name="ops").pk
    known = {team: [resolved(0.95, team=team)] * 3, None: [resolved(0.95)]}
    monkeypatch.setattr(outcomes, "load_resolved", lambda pk, *, limit: known[pk][:limit])
    assert report(capsys, "--team", "ops")["predictions"] == 3
    assert report(capsys)["predictions"] == 1


def test_without_predictions_it_says_where_they_come_from(capsys):
    assert "No resolved predictions yet" in printed(capsys, "backtest")
    found = report(capsys)
    assert found["predictions"] == 0
    assert found["policies"][0]["success"] is None


def test_an_empty_file_is_not_taken_for_an_empty_database(capsys, file):
    file.write_text("\n", encoding="utf-8")
    shown = printed(capsys, "backtest", "--file", str(file))
    assert shown.strip() == "The file contains no predictions."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"confidence": 0.9, "succeeded": true}\n{"confidence": 2}', "line 2: `succeeded`"),
        ("nonsense", "history.jsonl, line 1: it is not JSON"),
    ],
)
def test_a_malformed_line_is_named(file, content, message):
    file.write_text(content, encoding="utf-8")
    with pytest.raises(CommandError, match=message):
        call_command("backtest", "--file", str(file))


def test_a_file_that_is_too_large_is_refused(file, monkeypatch):
    monkeypatch.setattr(backtest, "MAX_BYTES", 10)
    with pytest.raises(CommandError, match="larger than 10 bytes"):
        call_command("backtest", "--file", str(file))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--file", "nowhere.jsonl"], "no file"),
        (["--team", "nobody"], "no team 'nobody'"),
        (["--file", "f", "--team", "ops"], "a file has no teams"),
        (["--policy", "best"], "no policy 'best'"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(CommandError, match=message):
        call_command("backtest", *options)


def test_suspended_speculation_is_shown(capsys, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"confidence": 0.97, "succeeded": false}\n' * 120, encoding="utf-8")
    assert "off" in printed(capsys, "backtest", "--file", str(path), "--policy", "adaptive")
