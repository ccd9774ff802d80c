"""The command that shows what the graph of tools is like."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from graph import refresh
from graph.models import GraphSnapshot, ToolDependency, ToolUsage
from tests.factories import SEEN_AT, TeamFactory, ToolFactory
from tests.gateway.admin_pages import relation

pytestmark = pytest.mark.django_db


def run(*options):
    out = StringIO()
    call_command("graph_stats", *options, stdout=out)
    return out.getvalue()


def report(*options):
    return json.loads(run(*options, "--json"))


def printed(capsys, *options):
    run(*options)
    return capsys.readouterr().out


def test_without_tools_it_says_what_to_do(capsys):
    assert "manage.py import_servers" in printed(capsys)
    assert report()["catalogue_tools"] == 0


def test_without_relations_it_says_what_to_do(tools, capsys):
    shown = printed(capsys)
    assert "Tools 3, 3 without relations" in shown
    assert "manage.py graph_stats --refresh" in shown
    assert report()["isolated"] == ["git:commit", "s0:add", "s1:status"]


def test_relations_are_counted_by_kind_and_source(tools, capsys):
    relation(tools[0], tools[1], source="curated")
    relation(tools[0], tools[1], "precedes", source="schema")
    relation(tools[1], tools[0], "precedes", source="observed", team=TeamFactory(), successes=1)
    figures = report()["statistics"]
    assert figures["kinds"] == {"depends_on": 1, "precedes": 1}
    assert figures["sources"] == {"curated": 1, "schema": 1}
    shown = printed(capsys)
    assert "Relations 2: depends on 1, precedes 1" in shown
    assert "Without relations s1:status" in shown


def test_cycles_are_named_with_what_is_dropped(tools, capsys):
    commit, stage, _ = tools
    relation(commit, stage, source="curated", confidence=0.9)
    relation(stage, commit, source="schema", confidence=0.4)
    (cycle,) = report()["cycles"]
    assert set(cycle["tools"]) == {"git:commit", "s0:add"}
    assert cycle["dropped"] == ["s0:add requires git:commit (0.40)"]
    shown = printed(capsys)
    assert "Cycles 1 among dependencies" in shown
    assert "s0:add requires git:commit (0.40)" in shown


def test_metrics_are_shown_by_name_and_recomputed_on_request(tools, capsys):
    commit, stage, status = tools
    relation(commit, stage, "precedes", source="curated")
    relation(stage, status, "precedes", source="curated")
    before = report()
    assert (before["computed_at"], before["is_outdated"]) == (None, True)
    assert before["top"]["pagerank"] == []
    found = report("--refresh")
    assert not found["is_outdated"]
    assert found["top"]["pagerank"][0]["tool"] == "s1:status"
    assert found["top"]["betweenness"][0]["tool"] == "s0:add"
    assert found["communities"][0]["size"] >= 2
    shown = printed(capsys, "--top", "1")
    assert "by PageRank: s1:status " in shown
    assert "up to date" in shown
    assert "Communities" in shown


def test_calls_of_all_teams_are_added_up(tools, capsys):
    for team, calls in ((None, 2), (TeamFactory(), 3)):
        ToolUsage.objects.create(tool=tools[0], team=team, calls=calls, last_called_at=SEEN_AT)
    ToolUsage.objects.create(tool=tools[1], calls=4, last_called_at=SEEN_AT)
    relation(tools[0], tools[1], source="curated")
    assert report()["calls"] == 9
    assert "9 counted; most: git:commit 5, s0:add 4" in printed(capsys)


def test_a_snapshot_can_be_compared_with(tools, capsys):
    relation(tools[0], tools[1], source="curated", confidence=0.5)
    taken = report("--snapshot")["snapshot_taken"]
    same = report("--since", str(taken))["since"]
    assert not any(same[name] for name in same if name not in ("snapshot", "taken_at"))
    assert "nothing changed" in printed(capsys, "--since", str(taken))

    relation(tools[1], tools[2], "precedes", source="curated")
    ToolDependency.objects.get(kind="depends_on").evidence.update(confidence=0.9)
    found = report("--since", str(taken))["since"]
    assert found["relations_added"] == [["s0:add", "s1:status", "precedes"]]
    assert found["tools_added"] == ["s1:status"]
    shown = printed(capsys, "--since", str(taken))
    assert "1 relations added: s0:add precedes s1:status" in shown
    assert "git:commit depends on s0:add 0.50 → 0.90" in shown
    assert "1 tools added: s1:status" in shown


def test_a_snapshot_is_found_by_the_day_it_is_of(tools, capsys):
    now = timezone.now()
    for days in (10, 5):
        report("--snapshot")
        GraphSnapshot.objects.filter(taken_at__gt=now - timedelta(hours=1)).update(
            taken_at=now - timedelta(days=days)
        )
    old, new = GraphSnapshot.objects.order_by("taken_at").values_list("pk", flat=True)

    def found(days):
        since = report("--since", f"{now - timedelta(days=days):%Y-%m-%d}")["since"]
        return since["snapshot"], since["is_later"]

    assert found(2) == (new, False)
    assert found(7) == (old, False)
    assert found(30) == (old, True)
    oldest = "the oldest stored: none is as old as the date asked for"
    assert oldest in printed(capsys, "--since", f"{now - timedelta(days=30):%Y-%m-%d}")
    for since in (f"{now - timedelta(days=7):%Y-%m-%d}", str(old)):
        assert oldest not in printed(capsys, "--since", since)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--since", "7"), "no snapshot yet"),
        (("--since", "yesterday"), "neither the number of a snapshot nor a date"),
        (("--since", str(10**40)), "no snapshot yet"),
        (("--top", "0"), "not a number from 1"),
        (("--top", "x"), "not a number from 1"),
    ],
)
def test_an_impossible_request_is_one_line(tools, options, said):
    with pytest.raises(CommandError, match=said):
        run(*options)


def test_an_unknown_snapshot_names_those_there_are(tools):
    taken = report("--snapshot")["snapshot_taken"]
    with pytest.raises(CommandError, match=f"no snapshot {taken + 1}; the newest are {taken}"):
        run("--since", str(taken + 1))


def test_a_concurrent_refresh_is_reported(tools, monkeypatch):
    monkeypatch.setattr(refresh, "refresh_graph", lambda **_: refresh.RefreshResult(is_busy=True))
    with pytest.raises(CommandError, match="another process"):
        run("--refresh")


def test_names_of_tools_are_no_markup(tools, capsys):
    odd = ToolFactory(name="[red]x", server__name="odd")
    relation(odd, tools[0], source="curated")
    relation(tools[0], odd, source="curated")
    assert "odd:[red]x" in printed(capsys, "--refresh")
