import asyncio
import json

import pytest
from django.db import connection

from gateway_project.foundation.database import run_in_database_thread
from graph.encode import encode_intents
from graph.models import LearnedBinding, PatternEmbedding, PatternRun, WorkflowPattern
from graph.patterns import InvalidRun
from graph.record_runs import record_runs
from graph.store import binding_uses, patterns
from graph.store.recording import RecordedRuns, TeamDeleted
from graph.suggestion.binding.knowledge import PAIRED_OCCURRENCE
from graph.suggestion.intent import reading
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import NOW, run, taken, task
from tools.models import Tool
from tools.query_text import QueryError

pytestmark = pytest.mark.django_db

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "days": {"type": "integer"},
        "is_short": {"type": "boolean"},
    },
}


@pytest.fixture
def embedder():
    return FakeEmbedder()


@pytest.fixture
def tools(db):
    server = ServerFactory(name="s")
    made = [ToolFactory(server=server, name=name, input_schema=SCHEMA) for name in "abc"]
    return [tool.pk for tool in made]


@pytest.fixture
def record(embedder, sealer):
    def work(*runs, team=None, by=embedder):
        return record_runs(runs, team=team, embedder=by, sealer=sealer)

    return work


def flight(key, tools, city="Rome", **more):
    return run(key, f'Weather in "{city}" then tell me', task("x", tools[0], city=city), **more)


def test_a_recorded_run_keeps_its_workflow_and_the_intent_as_vectors(
    tools, record, sealer, embedder
):
    intent = 'Weather in "Rome" tomorrow, then mail it'
    chain = (task("x", tools[0], city="Rome"), task("y", tools[1], "x", city=taken("x", "/name")))
    assert record(run("r1", intent, *chain)) == RecordedRuns(new_runs=1, patterns=1)
    stored = WorkflowPattern.objects.get()
    assert stored.tools == tools[:2]
    assert [one["tool"] for one in stored.tasks] == ["s:a", "s:b"]
    assert sealer.unseal(stored.intent) == reading.read_intent(intent).masked
    (past,) = patterns.load_history(None, embedder.model, sealer=sealer)
    (encoded,) = encode_intents([reading.read_intent(intent)], embedder=embedder)
    assert past.tools == tuple(tools[:2])
    assert past.encoded.words == encoded.words
    assert abs(past.encoded.masked - encoded.masked).max() < 1e-3
    assert (past.successes, past.failures, past.last_seen) == (1, 0, NOW)


def test_a_run_whose_tasks_feed_each_other_in_pairs_is_recorded(tools, record):
    givers = [task(f"g{n}", tools[0], city=f"c{n}") for n in range(2)]
    takers = [task(f"t{n}", tools[1], f"g{n}", city=taken(f"g{n}", "/name")) for n in range(2)]
    assert record(run("r1", "both names, please", *givers, *takers)).new_runs == 1
    assert LearnedBinding.objects.get(kind="reference", tool=tools[1]).nth == PAIRED_OCCURRENCE


def test_intents_and_arguments_are_never_stored_in_clear(tools, record):
    record(
        *(
            run(
                f"r{n}",
                "Pay 4711081523424711 to zebra@example.org for Hillary",
                task("x", tools[0], city="Qo"),
            )
            for n in range(4)
        )
    )
    with connection.cursor() as cursor:
        for model in (WorkflowPattern, PatternRun, PatternEmbedding, LearnedBinding):
            cursor.execute(f"SELECT row_to_json(t)::text FROM {model._meta.db_table} t")
            shown = " ".join(row[0] for row in cursor.fetchall())
            assert shown
            for word in ("4711081523424711", "zebra", "Hillary", '"Qo"'):
                assert word not in shown


def test_a_run_recorded_repeatedly_counts_once(tools, record):
    assert record(flight("r1", tools), flight("r1", tools)) == RecordedRuns(
        new_runs=1, repeated_runs=1, patterns=1
    )
    assert record(flight("r1", tools)) == RecordedRuns(repeated_runs=1)
    # What it says the second time is not looked at.
    assert record(run("r1", "Something else", task("x", tools[2]))) == RecordedRuns(
        repeated_runs=1
    )
    assert WorkflowPattern.objects.get().successes == 1
    assert LearnedBinding.objects.get(kind="call").uses == 1


def test_only_the_first_run_of_a_key_is_recorded(tools, record):
    first = flight("1", tools)
    other = run("1", "something else altogether", task("x", tools[1]))
    rest = run("2", "and a third thing", task("x", tools[2]))
    recorded = record(first, other, rest)
    with connection.cursor() as cursor:  # as at the end of a transaction
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert (recorded.new_runs, recorded.repeated_runs) == (2, 1)
    assert PatternEmbedding.objects.count() == WorkflowPattern.objects.count() == 2


def test_equal_runs_share_a_pattern_regardless_of_values(tools, record):
    done = record(
        flight("r1", tools, "Rome", days_ago=2),
        flight("r2", tools, "Oslo", days_ago=1),
        flight("r3", tools, "Bonn", succeeded=False, days_ago=3),
    )
    assert done == RecordedRuns(new_runs=3, patterns=1)
    one = WorkflowPattern.objects.get()
    assert (one.successes, one.failures) == (2, 1)
    assert (one.last_seen_at - one.first_seen_at).days == 2


def test_the_same_key_is_another_run_in_another_team(tools, record):
    team = TeamFactory()
    record(flight("r1", tools))
    assert record(flight("r1", tools), team=team.pk) == RecordedRuns(new_runs=1, patterns=1)
    hashes = WorkflowPattern.objects.values_list("intent_hash", flat=True)
    assert len(set(hashes)) == 2, "one team's intents cannot be looked up by another's"


def test_a_team_learns_from_its_own_runs_and_everybodys(tools, record, embedder, sealer):
    mine, other = TeamFactory(), TeamFactory()
    record(run("r1", "Send it", task("x", tools[0])))
    record(run("r2", "Read it", task("x", tools[1])), team=mine.pk)
    seen = {
        team: {one.tools for one in patterns.load_history(team, embedder.model, sealer=sealer)}
        for team in (None, mine.pk, other.pk)
    }
    assert seen == {
        None: {(tools[0],)},
        mine.pk: {(tools[0],), (tools[1],)},
        other.pk: {(tools[0],)},
    }


def test_failed_patterns_are_counted_but_not_learned_from(tools, record, embedder, sealer):
    record(flight("r1", tools, succeeded=False))
    assert WorkflowPattern.objects.get().failures == 1
    assert patterns.load_history(None, embedder.model, sealer=sealer) == []
    assert not LearnedBinding.objects.exists()
    record(flight("r2", tools))
    (past,) = patterns.load_history(None, embedder.model, sealer=sealer)
    assert (past.successes, past.failures) == (1, 1)


def test_a_workflow_that_only_failed_is_recorded_beside_one_that_succeeded(tools, record):
    failed = run("r2", "Send it", task("x", tools[1]), succeeded=False)
    assert record(flight("r1", tools), failed).new_runs == 2
    assert {one.success_weight for one in WorkflowPattern.objects.all()} == {0.0, 1.0}


@pytest.mark.parametrize(
    "broken",
    [
        run("r2", "Send it", task("x", 999_999)),
        run("r2", "Send it"),
        run("", "Send it", task("x", 1)),
        run("k" * 201, "Send it", task("x", 1)),
        run("a\x00b", "Send it", task("x", 1)),
        run("r2", " \x00 ", task("x", 1)),
        run("r2", "Send it", task("x", 1, n=float("nan"))),
        run("r2", "Send it", task("x", 1, "y"), task("y", 1, "x")),
    ],
)
def test_runs_are_recorded_all_or_none(tools, record, broken):
    tasks = tuple(
        task(one.id, tools[0] if one.tool == 1 else one.tool, *one.depends_on, **one.arguments)
        for one in broken.tasks
    )
    with pytest.raises((InvalidRun, QueryError)):
        record(flight("r1", tools), run(broken.key, broken.intent, *tasks))
    assert not PatternRun.objects.exists()
    assert not WorkflowPattern.objects.exists()


def test_runs_of_a_deleted_team_are_refused(tools, record):
    with pytest.raises(TeamDeleted):
        record(flight("r1", tools), team=999_999)


def test_values_and_keys_postgresql_cannot_store_are_handled(tools, record, sealer):
    odd = {"ci\x00ty": "a\x00b", "surrogate\ud800": "\udfff", "k" * 300: 1}
    record(*(run(f"r{n}", "Send it", task("x", tools[0], **odd)) for n in range(3)))
    assert binding_uses.load_knowledge(None, sealer).run_counts == {tools[0]: 3}


class TestWhatArgumentsShow:
    def runs(self, tools, values, **more):
        return [
            run(f"{more}{n}", "Weather please", task("x", tools[0], **arguments), **more)
            for n, arguments in enumerate(values)
        ]

    def test_references_enumerations_and_booleans_are_kept_in_clear(self, tools, record, sealer):
        chain = (
            task("x", tools[0], unit="C", is_short=True),
            task("y", tools[1], city=taken("x", "/name")),
        )
        record(run("r1", "Weather please", *chain), run("r2", "Weather please", *chain))
        told = binding_uses.load_knowledge(None, sealer)
        assert told.references[tools[1], "city"] == {(tools[0], "/name", 0): 2}
        assert [(one.value, one.count) for one in told.constants[tools[0], "unit"]] == [("C", 2)]
        assert [one.value for one in told.constants[tools[0], "is_short"]] == [True]
        assert told.totals == {
            (tools[0], "unit"): 2,
            (tools[0], "is_short"): 2,
            (tools[1], "city"): 2,
        }
        assert told.run_counts == {tools[0]: 2, tools[1]: 2}

    def test_a_literal_is_stored_sealed_after_three_runs(self, tools, record, sealer):
        record(*self.runs(tools, [{"city": "Rome"}] * 2 + [{"city": "Oslo"}]))
        told = binding_uses.load_knowledge(None, sealer)
        assert (told.constants, told.totals) == ({}, {(tools[0], "city"): 3})
        assert set(LearnedBinding.objects.values_list("sealed", flat=True)) == {""}
        record(*self.runs(tools, [{"city": "Rome"}], days_ago=1))
        (one,) = binding_uses.load_knowledge(None, sealer).constants[tools[0], "city"]
        assert (one.value, one.count) == ("Rome", 3)
        row = LearnedBinding.objects.exclude(sealed="").get()
        assert sealer.unseal(row.sealed) == "Rome"
        assert "Rome" not in json.dumps([row.key, row.sealed, row.value])

    def test_a_literal_used_three_times_in_one_run_counts_as_one_run(self, tools, record, sealer):
        tasks = [task(f"x{n}", tools[0], city="Rome") for n in range(3)]
        record(run("r1", "Weather please", *tasks))
        assert binding_uses.load_knowledge(None, sealer).constants == {}
        row = LearnedBinding.objects.get(kind="literal")
        assert (row.uses, row.runs) == (3, 1)

    def test_a_long_literal_is_counted_but_never_stored(self, tools, record, sealer):
        record(*self.runs(tools, [{"city": "R" * 2_000}] * 4))
        told = binding_uses.load_knowledge(None, sealer)
        assert (told.constants, told.totals) == ({}, {(tools[0], "city"): 4})

    def test_literals_of_a_team_are_not_visible_to_others(self, tools, record, sealer):
        team = TeamFactory()
        record(*self.runs(tools, [{"city": "Rome"}] * 3), team=team.pk)
        assert binding_uses.load_knowledge(None, sealer).totals == {}
        assert binding_uses.load_knowledge(team.pk, sealer).constants[tools[0], "city"]


class TestToolsThatGo:
    def test_a_pattern_of_a_deleted_tool_is_kept_but_not_used(
        self, tools, record, embedder, sealer
    ):
        record(flight("r1", tools), run("r2", "Send it", task("x", tools[1])))
        Tool.objects.filter(pk=tools[0]).delete()
        assert WorkflowPattern.objects.count() == 2
        assert [
            one.tools for one in patterns.load_history(None, embedder.model, sealer=sealer)
        ] == [(tools[1],)]
        assert binding_uses.load_knowledge(None, sealer).totals == {}


@pytest.mark.django_db(transaction=True)
async def test_runs_that_two_processes_record_at_once_count_once(sealer):
    def prepare():
        return [ToolFactory(input_schema=SCHEMA).pk for _ in range(3)]

    tools = await run_in_database_thread(prepare)
    runs = [flight(f"r{n}", tools, city=f"C{n % 5}") for n in range(40)]
    runs += [run(f"s{n}", f"Send {n} it", task("x", tools[n % 3])) for n in range(40)]

    def work(order):
        return record_runs(order, team=None, embedder=FakeEmbedder(), sealer=sealer)

    async with asyncio.TaskGroup() as group:
        done = [
            group.create_task(run_in_database_thread(work, order))
            for order in (runs, runs[::-1], runs[40:] + runs[:40])
        ]
    assert sum(one.result().new_runs for one in done) == 80
    shown = await run_in_database_thread(WorkflowPattern.objects.count)
    assert sum(one.result().patterns for one in done) == shown
    counted = await run_in_database_thread(
        lambda: sum(WorkflowPattern.objects.values_list("successes", flat=True))
    )
    calls = await run_in_database_thread(
        lambda: sum(LearnedBinding.objects.filter(kind="call").values_list("uses", flat=True))
    )
    assert (counted, calls) == (80, 40)
