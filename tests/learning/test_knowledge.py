import threading

import pytest
from django.db import connections

from execution.models import WorkflowExecution
from execution.status import RunStatus
from graph.models import (
    LearnedBinding,
    OutputShape,
    PatternRun,
    RelationEvidence,
    WorkflowPattern,
)
from graph.relations import RelationKind
from graph.store import relations
from learning import knowledge
from learning.dependencies import LearnedFromRun
from learning.knowledge import learn_from_run
from learning.models import ToolExperience
from tests.factories import TeamFactory
from tests.learning.ended_runs import ENDED, answered, called, ended_run, text
from tests.learning.taught import observed, own, usage
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db

INTENT = 'Find the log of "srv/app" and mail it'


def test_a_run_teaches_its_pattern_relations_usage_latency_and_shapes(chain, tools, means, sealer):
    tasks, rows = chain
    for row, tool in zip(rows, tools, strict=False):
        row["definition_hash"] = tool.definition.hash
    run = ended_run(
        tasks, rows, sealer=sealer, intent=INTENT, results=[("x", -1, text({"text": "hello"}))]
    )
    learned = learn_from_run(run, means, at=ENDED)
    pks = [tool.pk for tool in tools]
    assert learned == LearnedFromRun(
        has_pattern=True,
        lacks_vectors=True,
        relation_count=3,
        shape_count=1,
        usage={(pks[0], own()): 1, (pks[1], own()): 1},
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
    assert (known.runs, known.calls, known.total_ms) == (1, 1, 1_000)
    assert WorkflowExecution.objects.get(pk=run).learned_at == ENDED


def test_a_run_teaches_once_however_often_it_is_handed_in(chain, means, sealer):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)
    assert learn_from_run(run, means, at=ENDED) is not None
    before = (observed(), usage(), PatternRun.objects.count())
    assert learn_from_run(run, means, at=ENDED) is None
    assert (observed(), usage(), PatternRun.objects.count()) == before


def test_what_breaks_off_between_its_two_steps_counts_once_in_the_end(
    chain, means, sealer, monkeypatch
):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)

    def killed(*_args, **_kwargs):
        raise KeyboardInterrupt

    for step in (
        "relations.observe_relations",
        "usage.add_usage",
        "shapes.record_shapes",
        "experience.add_experience",
    ):
        with monkeypatch.context() as patched:
            patched.setattr(f"learning.knowledge.{step}", killed)
            with pytest.raises(KeyboardInterrupt):
                learn_from_run(run, means, at=ENDED)
        assert (observed(), usage(), ToolExperience.objects.count()) == ({}, {}, 0)
    assert learn_from_run(run, means, at=ENDED) is not None
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
        together.wait(PATIENCE_S)
        found.append(learn_from_run(run, means, at=ENDED))
        connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sum(one is not None for one in found) == 1
    assert len(found) == 4
    assert usage() == {"a": (None, 1, 0), "b": (None, 1, 0)}
    assert WorkflowPattern.objects.get().successes == 1
    assert observed()["a", "b", "precedes"][:2] == (1.0, 0.0)


def test_runs_that_go_on_or_are_gone_teach_nothing(chain, means, sealer):
    tasks, rows = chain
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT)
    WorkflowExecution.objects.filter(pk=run).update(ended_at=None, status="unknown")
    assert learn_from_run(run, means, at=ENDED) is None
    WorkflowExecution.objects.filter(pk=run).delete()
    assert learn_from_run(run, means, at=ENDED) is None
    assert usage() == {}


def test_what_a_team_ran_teaches_that_team(chain, means, sealer):
    tasks, rows = chain
    team = TeamFactory()
    learn_from_run(
        ended_run(tasks, rows, sealer=sealer, intent=INTENT, team=team), means, at=ENDED
    )
    assert observed() == {}
    assert set(observed(team)) == {
        ("a", "b", kind) for kind in ("precedes", "provides", "often_used_with")
    }
    assert usage()["a"] == (team.pk, 1, 0)
    assert WorkflowPattern.objects.get().team == team
    assert not list(relations.load_topology(None).iterate_relations())


def test_a_team_deleted_meanwhile_takes_its_runs_with_it(chain, means, sealer, monkeypatch):
    tasks, rows = chain
    team = TeamFactory()
    run = ended_run(tasks, rows, sealer=sealer, intent=INTENT, team=team)
    record = knowledge.record_runs

    def gone(*args, **kwargs):
        team.delete()
        return record(*args, **kwargs)

    monkeypatch.setattr(knowledge, "record_runs", gone)
    assert learn_from_run(run, means, at=ENDED) is None
    assert (usage(), ToolExperience.objects.count()) == ({}, 0)


def test_an_aborted_run_teaches_what_ran_and_no_pattern(chain, means, sealer):
    tasks, rows = chain
    learned = learn_from_run(
        ended_run(tasks, rows, sealer=sealer, status="aborted", intent=INTENT), means, at=ENDED
    )
    assert learned is not None
    assert not learned.has_pattern
    assert ("a", "b", "precedes") in observed()
    assert not WorkflowPattern.objects.exists()


@pytest.mark.parametrize("intent", ["", "   ", "...", "?!", "\N{ZERO WIDTH SPACE}"])
def test_a_run_of_which_nobody_says_what_it_was_for_teaches_all_but_a_pattern(
    chain, means, sealer, intent
):
    tasks, rows = chain
    learned = learn_from_run(ended_run(tasks, rows, sealer=sealer, intent=intent), means, at=ENDED)
    assert learned is not None
    assert not learned.has_pattern
    assert learned.relation_count == 3


def test_what_no_key_opens_is_left_out_with_the_rest_learned(chain, means, sealer, caplog):
    from cryptography.fernet import Fernet  # noqa: PLC0415

    from gateway_project.foundation.sealing import Sealer  # noqa: PLC0415

    tasks, rows = chain
    lost = Sealer([Fernet.generate_key()])
    run = ended_run(tasks, rows, sealer=lost, intent=INTENT, results=[("x", -1, text({"a": 1}))])
    learned = learn_from_run(run, means, at=ENDED)
    assert learned is not None
    assert (learned.has_pattern, learned.shape_count) == (False, 0)
    assert usage()["a"] == (None, 1, 0)


def test_a_run_of_too_many_tasks_for_a_pattern_teaches_the_rest(tools, means, sealer):
    tasks = [called(f"t{place}", tools[place % 2]) for place in range(101)]
    tasks[1]["depends_on"] = ["t0"]
    run = ended_run(tasks, [answered(task) for task in tasks], sealer=sealer, intent=INTENT)
    learned = learn_from_run(run, means, at=ENDED)
    assert learned is not None
    assert not learned.has_pattern
    assert usage() == {"a": (None, 51, 0), "b": (None, 50, 0)}
    assert observed()["a", "b", "precedes"][:2] == (1.0, 0.0)


def test_no_value_of_an_intent_or_an_argument_stands_in_clear(tools, means, sealer):
    task = called("x", tools[0], q="hunter2-secret", to="ann@example.org")
    for _ in range(3):
        run = ended_run(
            [task], [answered(task)], sealer=sealer, intent='Mail "hunter2-secret" to Ann'
        )
        learn_from_run(run, means, at=ENDED)
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


def test_every_status_of_a_run_that_has_ended_can_be_learned_from(chain, means, sealer):
    tasks, rows = chain
    for status in RunStatus:
        if status.is_final:
            run = ended_run(tasks, rows, sealer=sealer, intent=INTENT, status=status.value)
            assert learn_from_run(run, means, at=ENDED) is not None
    pattern = WorkflowPattern.objects.get()
    assert (pattern.successes, pattern.failures) == (1, 2)
    assert observed()["a", "b", RelationKind.PRECEDES.value][0] == 4.0
