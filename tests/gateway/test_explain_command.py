"""The command that says how two tools relate."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from graph.models import ToolMetric
from tests.factories import EvidenceFactory, TeamFactory, ToolFactory
from tests.gateway.admin_pages import relation

pytestmark = pytest.mark.django_db


def run(*arguments):
    out = StringIO()
    call_command("explain", *arguments, stdout=out)
    return out.getvalue()


def report(*arguments):
    return json.loads(run(*arguments, "--json"))


def test_relations_and_paths_are_told_in_plain_words(tools, capsys):
    commit, stage, status = tools
    row = relation(commit, stage, source="curated", origin="ann", confidence=0.9)
    EvidenceFactory(relation=row, source="observed", confidence=None, successes=7, failures=1)
    relation(
        stage, status, "provides", source="schema", confidence=0.5,
        fields=[{"output": "/items/*/id", "input": "/geoId"}],
    )  # fmt: skip
    run("git:commit", "s1:status")
    printed = capsys.readouterr().out
    assert "No direct relation." in printed
    assert "Path git:commit → s1:status: 2 hops, through s0:add; confidence 0.45" in printed
    assert "git:commit requires s0:add" in printed
    assert "curated by ann" in printed
    assert "seen in 7 of 8 runs" in printed
    assert "its output /items/*/id feeds the parameter geoId" in printed
    assert "No path s1:status → git:commit." in printed
    run("git:commit", "s0:add")
    assert "Path git:commit → s0:add: direct; confidence 0.90" in capsys.readouterr().out


def test_the_shortest_and_the_strongest_path_are_told_where_they_differ(tools, capsys):
    commit, stage, status = tools
    relation(commit, status, "precedes", source="schema", confidence=0.1)
    relation(commit, stage, "precedes", source="schema", confidence=0.9)
    relation(stage, status, "precedes", source="schema", confidence=0.9)
    run("git:commit", "s1:status")
    printed = capsys.readouterr().out
    assert "Shortest path git:commit → s1:status: direct; confidence 0.10" in printed
    assert "Strongest path git:commit → s1:status: 2 hops" in printed


def test_metrics_exclusion_and_common_neighbours_are_told(tools, capsys):
    commit, stage, status = tools
    for tool in (commit, stage):
        ToolMetric.objects.create(
            tool=tool, pagerank=0.25, community=3, betweenness=0.0, closeness=0.0
        )
        relation(tool, status, "alternative_to", source="curated")
    relation(commit, stage, "mutually_exclusive", source="curated")
    run("git:commit", "s0:add")
    printed = capsys.readouterr().out
    assert "s0:add  PageRank 0.25, community 3 (the same)" in printed
    assert "They exclude each other" in printed
    assert "Related to both\n  s1:status  1.00" in printed
    run("git:commit", "s1:status")
    assert "no metrics yet: `manage.py graph_stats --refresh`" in capsys.readouterr().out


def test_a_tool_and_itself_are_said_to_be_one(tools, capsys):
    run("git:commit", "git:commit")
    assert "Both names refer to this tool." in capsys.readouterr().out
    assert report("git:commit", "git__commit")["same_tool"] is True


def test_a_team_sees_what_it_observed_and_others_do_not(tools):
    team = TeamFactory(name="blue")
    relation(
        tools[0], tools[1], "precedes", source="observed", team=team, confidence=None, successes=4
    )
    assert report("git:commit", "s0:add")["relations"] == []
    (seen,) = report("git:commit", "s0:add", "--team", "blue")["relations"]
    assert seen["grounds"] == ["seen by team blue in 4 of 4 runs"]


def test_tools_of_other_teams_are_unknown_and_on_no_path(tools):
    hidden = ToolFactory(name="x", server__name="private", server__team=TeamFactory(name="blue"))
    relation(tools[0], hidden, "precedes", source="curated")
    relation(hidden, tools[1], "precedes", source="curated")
    with pytest.raises(CommandError, match="no tool 'private:x'"):
        run("git:commit", "private:x")
    assert report("git:commit", "s0:add")["paths"]["a_to_b"]["shortest"] is None
    path = report("git:commit", "s0:add", "--team", "blue")["paths"]["a_to_b"]["shortest"]
    assert path["tools"] == ["git:commit", "private:x", "s0:add"]


def test_what_was_rejected_is_no_relation(tools):
    row = relation(tools[0], tools[1], source="schema")
    row.rejected = True
    row.save()
    assert report("git:commit", "s0:add")["relations"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("git:comit", "s0:add"), "no tool 'git:comit'; did you mean git:commit"),
        (("git:commit", "qqqqqq"), "no tool 'qqqqqq'; `manage.py graph_stats`"),
        (("git:commit", "s0:add", "--team", "x"), "no team 'x'; there are: blue"),
    ],
)
def test_what_is_unknown_is_one_line(tools, arguments, said):
    TeamFactory(name="blue")
    with pytest.raises(CommandError, match=said):
        run(*arguments)


@pytest.mark.parametrize("state", ["pending", "quarantined"])
def test_a_tool_that_awaits_approval_is_told_with_what_to_do(tools, capsys, state):
    ToolFactory(server=tools[0].server, name="commit_all", state=state)
    run("git:commit_all", "s0:add")
    printed = capsys.readouterr().out
    assert f"git:commit_all is {state}, so searches leave it out" in printed
    assert "`manage.py approve_tools git:commit_all`" in printed
    assert report("git:commit_all", "s0:add")["a"]["state"] == state
    with pytest.raises(CommandError, match=rf"did you mean .*git:commit_all \({state}\)"):
        run("git:comit_all", "s0:add")


def test_a_tool_that_is_switched_off_is_told(tools, capsys):
    ToolFactory(server=tools[0].server, name="push", enabled=False)
    run("git:push", "s0:add")
    assert "git:push is disabled" in capsys.readouterr().out


def test_without_tools_it_says_what_to_do():
    with pytest.raises(CommandError, match=r"manage\.py discover"):
        run("a:b", "c:d")


def test_names_of_tools_are_no_markup(tools, capsys):
    ToolFactory(name="[red]x", server__name="odd")
    run("odd:[red]x", "git:commit")
    assert "odd:[red]x" in capsys.readouterr().out


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("git:commit", "git:commit is a tool, not an intent: name a second tool"),
        ("git:comit", "no tool 'git:comit'; did you mean git:commit"),
    ],
)
def test_one_tool_alone_is_no_intent(argument, said):
    with pytest.raises(CommandError, match=said):
        run(argument)
