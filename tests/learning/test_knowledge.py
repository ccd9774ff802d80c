import threading
from datetime import timedelta

import pytest
from django.db import connections

from execution.models import WorkflowExecution
from execution.status import RunStatus
from graph.models import (
    LearnedBinding,
    OutputShape,
    PatternEmbedding,
    PatternRun,
    RelationEvidence,
    ToolUsage,
    WorkflowPattern,
)
from graph.relations import Kind
from graph.store import relations
from learning import knowledge
from learning.knowledge import learn
from learning.learned import Learned, Means
from learning.models import ToolExperience
from tests.factories import ServerFactory, TeamFactory, ToolFactory, store_definition
from tests.fakes import FakeEmbedder
from tests.graph.histories import taken
from tests.learning.ended_runs import ENDED, answered, called, ended_run, text, uncalled
from tools.definition import Definition
from tools.models import Tool

pytestmark = pytest.mark.django_db

INTENT = 'Find the log of "srv/app" and mail it'
SCHEMA = {"type": "object", "properties": {"q": {}, "text": {}, "to": {}}}


@pytest.fixture
def server(db):
    return ServerFactory(name="s")


@pytest.fixture
def tools(server):
    return [ToolFactory(server=server, name=name, input_schema=SCHEMA) for name in "abcd"]


@pytest.fixture
def means(sealer):
    return Means(sealer=sealer, payloads=sealer)


@pytest.fixture
def chain(tools):
    """Return two tasks of which the second takes from the first, and their rows."""
    first = called("x", tools[0], q="log")
    second = called("y", tools[1], text=taken("x", "/text"))
    return [first, second], [answered(first), answered(second, after_s=3.0)]


def observed(team=None):
    """Return what is stored of relations: {(from, to, kind): (held, failed, seconds)}."""
    rows = RelationEvidence.objects.filter(source="observed", team=team)
    return {
        (row.relation.source.name, row.relation.target.name, row.relation.kind): (
            round(row.successes, 3),
            round(row.failures, 3),
            row.seconds,
        )
        for row in rows.select_related("relation__source", "relation__target")
    }


def usage():
    rows = ToolUsage.objects.values_list("tool__name", "team", "calls", "failures")
    return {name: (team, calls, failures) for name, team, calls, failures in rows}


def test_a_run_teaches_its_pattern_relations_usage_latency_and_shapes(chain, tools, means, sealer):
    tasks, rows = chain
    for row, tool in zip(rows, tools, strict=False):
        row["definition_hash"] = tool.definition.hash
    run = ended_run(
        tasks, rows, sealer=sealer, intent=INTENT, results=[("x", -1, text({"text": "hello"}))]
    )
    learned = learn(run, means, at=ENDED)
    pks = [tool.pk for tool in tools]
    assert learned == Learned(
        pattern=True,
        unembedded=True,
        relations=3,
        shapes=1,
        usage={(pks[0], None): 1, (pks[1], None): 1},
    )
    assert PatternRun.objects.get().key == str(run)
    assert WorkflowPattern.objects.get().tools == pks[:2]
    assert WorkflowPattern.objects.get().successes == 1
    assert observed() == {
        ("a", "b", "precedes"): (1.0, 0.0, 2.0),
        ("a", "b", "provides"): (1.0, 0.0, None),
        ("a", "b", "often_used_with"): (1.0, 0.0, None),
    }
    assert usage() == {"a": (None, 1, 0), "b": (None, 1, 0)}
    assert OutputShape.objects.get().schema["properties"] == {"text": {"type": "string"}}
    known = ToolExperience.objects.get(tool=tools[0])
    assert (known.runs, known.calls, known.total_ms, sum(known.latencies)) == (1, 1, 1_000, 1)
    assert WorkflowExecution.objects.get(pk=run).learned_at == ENDED


def test_a_run_teaches_once_however_often_it_is_handed_in(chain, means, sealer):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)
    assert learn(run, means, at=ENDED) is not None
    before = (observed(), usage(), PatternRun.objects.count())
    assert learn(run, means, at=ENDED) is None
    assert (observed(), usage(), PatternRun.objects.count()) == before


def test_what_breaks_off_between_its_two_steps_counts_once_in_the_end(
    chain, means, sealer, monkeypatch
):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)

    def killed(*_args, **_kwargs):
        raise KeyboardInterrupt

    for step in ("relations.observe", "usage.add", "shapes.record", "experience.add"):
        with monkeypatch.context() as patched:
            patched.setattr(f"learning.knowledge.{step}", killed)
            with pytest.raises(KeyboardInterrupt):
                learn(run, means, at=ENDED)
        assert (observed(), usage(), ToolExperience.objects.count()) == ({}, {}, 0)
    assert learn(run, means, at=ENDED) is not None
    assert WorkflowPattern.objects.get().successes == 1
    assert observed()["a", "b", "precedes"][:2] == (1.0, 0.0)
    assert usage()["a"] == (None, 1, 0)


@pytest.mark.django_db(transaction=True)
def test_processes_that_learn_from_one_run_at_once_count_it_once(chain, means, sealer):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)
    found = []
    together = threading.Barrier(4)

    def work():
        together.wait(timeout=10)
        found.append(learn(run, means, at=ENDED))
        connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sum(one is not None for one in found) == 1
    assert len(found) == 4
    assert usage() == {"a": (None, 1, 0), "b": (None, 1, 0)}
    assert WorkflowPattern.objects.get().successes == 1
    assert observed()["a", "b", "precedes"][:2] == (1.0, 0.0)


def test_runs_that_go_on_or_are_gone_teach_nothing(chain, means, sealer):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)
    WorkflowExecution.objects.filter(pk=run).update(ended_at=None, status="unknown")
    assert learn(run, means, at=ENDED) is None
    WorkflowExecution.objects.filter(pk=run).delete()
    assert learn(run, means, at=ENDED) is None
    assert usage() == {}


def test_what_a_team_ran_teaches_that_team(chain, means, sealer):
    tasks, rows = chain
    team = TeamFactory()
    learn(ended_run(tasks, rows, sealer=sealer, intent=INTENT, team=team), means, at=ENDED)
    assert observed() == {}
    assert set(observed(team)) == {
        ("a", "b", kind) for kind in ("precedes", "provides", "often_used_with")
    }
    assert usage()["a"] == (team.pk, 1, 0)
    assert WorkflowPattern.objects.get().team == team
    assert not list(relations.topology(None).relations())


def test_a_team_deleted_meanwhile_takes_its_runs_with_it(chain, means, sealer, monkeypatch):
    tasks, rows = chain
    team = TeamFactory()
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT, team=team)
    record = knowledge.record_runs

    def gone(*args, **kwargs):
        team.delete()
        return record(*args, **kwargs)

    monkeypatch.setattr(knowledge, "record_runs", gone)
    assert learn(run, means, at=ENDED) is None
    assert (usage(), ToolExperience.objects.count()) == ({}, 0)


def test_a_task_whose_tool_fails_speaks_against_the_order_and_counts_as_a_failed_call(
    chain, means, sealer
):
    tasks, (first, second) = chain
    second |= {"status": "failed", "error_code": "tool_error"}
    learn(ended_run(tasks, [first, second], sealer=sealer, status="failed"), means, at=ENDED)
    assert observed() == {
        ("a", "b", "precedes"): (0.0, 1.0, None),
        ("a", "b", "provides"): (0.0, 1.0, None),
    }
    assert usage() == {"a": (None, 1, 0), "b": (None, 1, 1)}
    assert ToolExperience.objects.get(tool__name="b").runs == 0


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("failed", "deadline_exceeded"),
        ("failed", "upstream_unavailable"),
        ("cancelled", ""),
        ("unknown", ""),
    ],
)
def test_calls_that_nobody_answered_say_nothing_of_their_tools(chain, means, sealer, status, code):
    tasks, (first, second) = chain
    second |= {"status": status, "error_code": code}
    learn(ended_run(tasks, [first, second], sealer=sealer, status="failed"), means, at=ENDED)
    assert (observed(), usage()) == ({}, {"a": (None, 1, 0)})


def test_skipped_tasks_say_nothing_and_a_failed_run_counts_against_its_pattern(
    tools, means, sealer
):
    tasks = [called("x", tools[0]), called("y", tools[1], "x")]
    rows = [answered(tasks[0], status="failed"), uncalled(tasks[1])]
    learn(ended_run(tasks, rows, sealer=sealer, status="failed", intent=INTENT), means, at=ENDED)
    assert observed() == {}
    assert usage() == {"a": (None, 1, 1)}
    pattern = WorkflowPattern.objects.get()
    assert (pattern.successes, pattern.failures) == (0, 1)
    assert pattern.tools == [tools[0].pk, tools[1].pk]


def test_an_aborted_run_teaches_what_ran_and_no_pattern(chain, means, sealer):
    tasks, rows = chain
    learned = learn(
        ended_run(tasks, rows, sealer=sealer, status="aborted", intent=INTENT), means, at=ENDED
    )
    assert learned is not None
    assert not learned.pattern
    assert ("a", "b", "precedes") in observed()
    assert not WorkflowPattern.objects.exists()


@pytest.mark.parametrize("intent", ["", "   ", "...", "?!", "\N{ZERO WIDTH SPACE}"])
def test_a_run_of_which_nobody_says_what_it_was_for_teaches_all_but_a_pattern(
    chain, means, sealer, intent
):
    tasks, rows = chain
    learned = learn(ended_run(tasks, rows, sealer=sealer, intent=intent), means, at=ENDED)
    assert learned is not None
    assert not learned.pattern
    assert learned.relations == 3


def test_a_direct_call_counts_and_teaches_neither_pattern_nor_use_in_a_workflow(
    tools, means, sealer
):
    task = called("call", tools[0])
    run = ended_run([task], [answered(task)], sealer=sealer, intent=INTENT, is_direct=True)
    learned = learn(run, means, at=ENDED)
    assert learned is not None
    assert not learned.pattern
    assert usage() == {"a": (None, 1, 0)}
    known = ToolExperience.objects.get()
    assert (known.runs, known.calls) == (0, 1)


def test_a_task_that_ran_for_each_of_a_list_is_one_task_and_many_calls(tools, means, sealer):
    first = called("x", tools[0])
    each = called("y", tools[1], text={"$item": "/name"}) | {"for_each": taken("x", "/found")}
    rows = [
        answered(first),
        answered(each, status="failed"),  # stands for the list
        *(answered(each, item=item, after_s=2.0, took_s=0.001 * item) for item in range(3)),
        answered(each, item=3, after_s=2.0, status="failed"),
    ]
    run = ended_run([first, each], rows, sealer=sealer, intent=INTENT, status="partial_success")
    learn(run, means, at=ENDED)
    assert usage()["b"] == (None, 4, 1)
    assert observed()["a", "b", "precedes"] == (0.75, 0.25, 1.0)
    pattern = WorkflowPattern.objects.get()
    assert pattern.tools == [tools[0].pk, tools[1].pk]
    assert pattern.failures == 1
    assert pattern.tasks[1]["references"] == [
        {"parameter": "text", "task": "t1", "pointer": "/found/0/name"}
    ]


def test_a_list_without_items_is_no_call(tools, means, sealer):
    first = called("x", tools[0])
    each = called("y", tools[1], text={"$item": ""}) | {"for_each": taken("x", "/found")}
    rows = [answered(first), uncalled(each, status="succeeded")]
    learn(ended_run([first, each], rows, sealer=sealer), means, at=ENDED)
    assert usage() == {"a": (None, 1, 0)}
    assert observed() == {}


def test_of_a_run_that_was_replanned_the_last_plan_counts_and_every_call(tools, means, sealer):
    old = called("y", tools[1], "x")
    new = [called("x", tools[0]), called("z", tools[2], "x")]
    rows = [answered(new[0]), answered(old, status="failed"), answered(new[1], after_s=1.0)]
    run = ended_run(new, rows, sealer=sealer, intent=INTENT, version=2)
    learn(run, means, at=ENDED)
    assert WorkflowPattern.objects.get().tools == [tools[0].pk, tools[2].pk]
    assert usage()["b"] == (None, 1, 1)
    assert ("a", "c", "precedes") in observed()
    assert ("a", "b", "precedes") not in observed()


def test_what_expired_leaves_what_the_rows_show(chain, means, sealer):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, workflow=False)
    learn(run, means, at=ENDED)
    assert usage() == {"a": (None, 1, 0), "b": (None, 1, 0)}
    assert set(observed()) == {("a", "b", "often_used_with")}


def test_what_no_key_opens_is_left_out_with_the_rest_learned(chain, means, sealer, caplog):
    from cryptography.fernet import Fernet  # noqa: PLC0415

    from gateway_project.foundation.sealing import Sealer  # noqa: PLC0415

    tasks, rows = chain
    lost = Sealer([Fernet.generate_key()])
    run = ended_run(tasks, rows, sealer=lost, intent=INTENT, results=[("x", -1, text({"a": 1}))])
    learned = learn(run, means, at=ENDED)
    assert learned is not None
    assert (learned.pattern, learned.shapes) == (False, 0)
    assert usage()["a"] == (None, 1, 0)


@pytest.mark.parametrize("how", ["renamed", "deleted", "of another team"])
def test_a_tool_that_is_gone_is_left_out_with_its_pattern(chain, tools, means, sealer, how):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)
    if how == "deleted":
        tools[1].delete()
    elif how == "renamed":
        Tool.objects.filter(pk=tools[1].pk).update(name="elsewhere")
    else:
        Tool.objects.filter(pk=tools[1].pk).update(server=ServerFactory(team=TeamFactory()))
    learned = learn(run, means, at=ENDED)
    assert learned is not None
    assert not learned.pattern
    assert usage() == {"a": (None, 1, 0)}
    assert observed() == {}


@pytest.mark.parametrize("state", [Tool.State.REMOVED, Tool.State.QUARANTINED])
def test_a_tool_that_was_withdrawn_meanwhile_is_learned_from_all_the_same(
    chain, tools, means, sealer, state
):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)
    Tool.objects.filter(pk=tools[1].pk).update(state=state)
    learned = learn(run, means, at=ENDED)
    assert learned is not None
    assert learned.pattern
    assert ("a", "b", "precedes") in observed()


def test_results_of_a_definition_that_was_replaced_change_no_shape(tools, means, sealer):
    (tool, *_) = tools
    task = called("x", tool)
    row = answered(task, definition_hash=tool.definition.hash)
    run = ended_run([task], [row], sealer=sealer, results=[("x", -1, text({"old": 1}))])
    newer = Definition(
        name=tool.name, title="", description="newer", input_schema={}, output_schema=None,
        annotations={},
    )  # fmt: skip
    tool.definition = store_definition(tool, newer)
    tool.save()
    learn(run, means, at=ENDED)
    assert not OutputShape.objects.exists()


def test_shapes_of_several_results_of_a_tool_are_merged_and_large_ones_left_alone(
    tools, means, sealer, monkeypatch
):
    from execution.store import ended  # noqa: PLC0415

    monkeypatch.setattr(ended, "MAX_RESULT_BYTES", 1_000)
    tasks = [called(name, tools[0]) for name in "xyz"]
    rows = [answered(task, definition_hash=tools[0].definition.hash) for task in tasks]
    given = [{"a": 1}, {"a": 2, "b": "c"}, {"large": "x" * 2_000}]
    results = [(name, -1, text(value)) for name, value in zip("xyz", given, strict=True)]
    learn(ended_run(tasks, rows, sealer=sealer, results=results), means, at=ENDED)
    assert set(OutputShape.objects.get().schema["properties"]) == {"a", "b"}


def test_a_run_of_too_many_tasks_for_a_pattern_teaches_the_rest(tools, means, sealer):
    tasks = [called(f"t{place}", tools[place % 2]) for place in range(101)]
    tasks[1]["depends_on"] = ["t0"]
    run = ended_run(tasks, [answered(task) for task in tasks], sealer=sealer, intent=INTENT)
    learned = learn(run, means, at=ENDED)
    assert learned is not None
    assert not learned.pattern
    assert usage() == {"a": (None, 51, 0), "b": (None, 50, 0)}
    assert observed()["a", "b", "precedes"][:2] == (1.0, 0.0)


def test_no_value_of_an_intent_or_an_argument_stands_in_clear(tools, means, sealer):
    task = called("x", tools[0], q="hunter2-secret", to="ann@example.org")
    for _ in range(3):
        run = ended_run(
            [task], [answered(task)], sealer=sealer, intent='Mail "hunter2-secret" to Ann'
        )
        learn(run, means, at=ENDED)
    kept = [
        *WorkflowPattern.objects.values(),
        *LearnedBinding.objects.values(),
        *PatternRun.objects.values(),
        *RelationEvidence.objects.values(),
        *ToolExperience.objects.values(),
    ]
    assert LearnedBinding.objects.exists()
    assert "hunter2" not in str(kept)
    assert "example.org" not in str(kept)


def test_an_embedder_makes_the_vectors_at_once(chain, sealer):
    tasks, rows = chain
    means = Means(sealer=sealer, payloads=sealer, embedder=FakeEmbedder())
    learned = learn(ended_run(tasks, rows, sealer=sealer, intent=INTENT), means, at=ENDED)
    assert learned is not None
    assert not learned.unembedded
    assert PatternEmbedding.objects.count() == 1


def test_how_often_tools_go_together_is_measured_by_the_one_used_more(tools, means, sealer):
    def run(*used):
        tasks = [called(tool.name, tool) for tool in used]
        at = ENDED + timedelta(seconds=1)
        learn(ended_run(tasks, map(answered, tasks), sealer=sealer, at=at), means, at=at)

    a, b, c, _ = tools
    for used in ([a], [a], [b], [a, b], [a], [b], [a, b], [b, c], [a]):
        run(*used)
    pairs = {key[:2]: value[:2] for key, value in observed().items() if "often" in key[2]}
    # a in 6 runs, b in 5, both in 2; c in 1, that one with b
    assert pairs == {("a", "b"): (2.0, 4.0), ("b", "c"): (1.0, 4.0)}


def test_every_status_of_a_run_that_has_ended_can_be_learned_from(chain, means, sealer):
    tasks, rows = chain
    for status in RunStatus:
        if status.is_final:
            run = ended_run(tasks, rows, sealer=sealer, intent=INTENT, status=status.value)
            assert learn(run, means, at=ENDED) is not None
    pattern = WorkflowPattern.objects.get()
    assert (pattern.successes, pattern.failures) == (1, 2)
    assert observed()["a", "b", Kind.PRECEDES.value][0] == 4.0
