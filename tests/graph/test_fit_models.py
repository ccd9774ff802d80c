import pytest

from gateway_project.foundation import advisory
from gateway_project.foundation.database import in_database
from graph import fit_models
from graph.binding.model import BindingModel
from graph.fit_models import Made, Terms
from graph.models import FittedModel, PatternRun, WorkflowPattern
from graph.ranking.ranker import Ranker
from graph.record_runs import record_runs
from graph.store import fitted, patterns
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import NOW, run, task
from tools.embed_catalogue import embed_missing
from tools.store import search_index

pytestmark = pytest.mark.django_db

EMBEDDER = FakeEmbedder()
TERMS = Terms(model=EMBEDDER.model, max_bytes=10_000_000)


@pytest.fixture
def tools(db):
    server = ServerFactory(name="s")
    made = [ToolFactory(server=server, name=name).pk for name in ("read", "send", "drop")]
    embed_missing(EMBEDDER)
    return made


@pytest.fixture
def record(sealer):
    def work(*runs, team=None):
        return record_runs(runs, team=team, embedder=EMBEDDER, sealer=sealer)

    return work


@pytest.fixture
def made():
    """Note what is fitted instead of fitting it."""
    seen = []

    def make(team, index):
        history = patterns.history(team, index.model)
        seen.append((team, [one.tools for one in history]))
        return Made(
            ranker=f"ranker {len(seen)}".encode(),
            bindings=b"",
            figures={"patterns": len(history), "runs": len(history), "samples": 0},
        )

    make.seen = seen
    return make


def fit(make, **more):
    return fit_models.fit_due(TERMS, now=NOW, make=make, **more)


def test_without_history_nothing_is_due(tools, made):
    assert not fit_models.is_due(TERMS)
    assert fit(made) == []


def test_what_is_recorded_is_fitted_once(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    assert fit_models.is_due(TERMS)
    (done,) = fit(made)
    assert (done.team, done.patterns, done.runs) == (None, 1, 1)
    assert not fit_models.is_due(TERMS)
    assert fit(made) == []
    assert made.seen == [(None, [(tools[1],)])]
    stored = fitted.load(None, TERMS.model)
    assert (stored.content, stored.figures["patterns"]) == (b"ranker 1", 1)
    assert stored.peak_memory_mb > 10


def test_it_is_fitted_anew_when_asked_to_or_when_anything_changed(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    assert len(fit(made, force=True)) == 1
    record(run("r2", "Send it", task("x", tools[1]), succeeded=False))
    assert len(fit(made)) == 1
    WorkflowPattern.objects.all().delete()
    assert fit_models.is_due(TERMS)
    assert fit(made) == []
    assert not FittedModel.objects.exists(), "what was learned from is forgotten with it"


def test_it_is_fitted_anew_when_tools_come_or_rules_change(tools, record, made, monkeypatch):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    ToolFactory()
    embed_missing(EMBEDDER)
    assert len(fit(made)) == 1
    monkeypatch.setattr(fit_models, "FITTED_BY", 99)
    assert len(fit(made)) == 1


def test_each_team_with_runs_of_its_own_has_a_model_of_its_own(tools, record, made):
    one, other = TeamFactory(), TeamFactory()
    record(run("r1", "Send it", task("x", tools[1])))
    record(run("r2", "Read it", task("x", tools[0])), team=one.pk)
    assert [done.team for done in fit(made)] == [None, one.pk]
    assert made.seen[1] == (one.pk, [(tools[1],), (tools[0],)])
    assert fitted.load(one.pk, TERMS.model).team == one.pk
    assert fitted.load(other.pk, TERMS.model).team is None
    record(run("r3", "Read it", task("x", tools[0])), team=one.pk)
    assert [done.team for done in fit(made)] == [one.pk], "others learn nothing from it"
    record(run("r4", "Drop it", task("x", tools[2])))
    assert [done.team for done in fit(made)] == [None, one.pk]


def test_a_scope_whose_runs_never_succeeded_has_none(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1]), succeeded=False))
    assert not fit_models.is_due(TERMS)


def test_without_vectors_of_tools_what_is_stored_stays(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    other = Terms(model="other", max_bytes=10_000_000)
    assert not fit_models.is_due(other)
    assert fit_models.fit_due(other, now=NOW, make=made) == []
    assert FittedModel.objects.count() == 1


def test_where_the_catalogue_does_not_fit_the_memory_nothing_is_fitted(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    assert fit_models.fit_due(Terms(model=TERMS.model, max_bytes=10), now=NOW, make=made) == []


def test_a_fit_that_fails_leaves_the_old_model(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    record(run("r2", "Read it", task("x", tools[0])))

    def broken(team, index):
        raise MemoryError

    with pytest.raises(MemoryError):
        fit(broken)
    assert fitted.load(None, TERMS.model).content == b"ranker 1"
    assert fit_models.is_due(TERMS)


def test_what_is_recorded_while_it_is_fitted_is_due_again(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))

    def meanwhile(team, index):
        record(run("r2", "Read it", task("x", tools[0])))
        return made(team, index)

    fit(meanwhile)
    assert fit_models.is_due(TERMS)


def test_a_team_that_is_deleted_meanwhile_does_no_harm(tools, record, made):
    team = TeamFactory()
    record(run("r1", "Send it", task("x", tools[1])), team=team.pk)

    def meanwhile(scope, index):
        done = made(scope, index)
        team.delete()
        return done

    assert fit(meanwhile) == []
    assert not FittedModel.objects.exists()


@pytest.mark.django_db(transaction=True)
async def test_one_process_fits_at_a_time(made):
    async with advisory.held(fit_models.LOCK, timeout_s=10):
        assert await in_database(fit, made) is None


def test_values_are_kept_of_the_newest_runs_only(tools, record, made, monkeypatch):
    monkeypatch.setattr(fit_models, "MAX_SAMPLED", 2)
    record(*(run(f"r{n}", "Send it", task("x", tools[1]), days_ago=n) for n in range(4)))
    for row in PatternRun.objects.all():
        row.samples = row.key.encode()
        row.save()
    assert patterns.samples(None, limit=3) == [b"r0", b"r1", b"r2"]
    fit(made)
    assert patterns.samples(None, limit=9) == [b"r0", b"r1"]


def test_the_products_own_fit_can_be_kept_and_read_again(tools, record):
    words = ["red", "blue", "green", "brown", "white", "black"]
    record(
        *(
            run(f"r{n}", f"Send the {word} one, then read it", task("x", tools[1]),
                task("y", tools[0], "x"))
            for n, word in enumerate(words)
        )
    )  # fmt: skip
    (done,) = fit_models.fit_due(TERMS, now=NOW)
    assert done.patterns == len(words)
    stored = fitted.load(None, TERMS.model)
    assert Ranker.from_bytes(stored.content).runs == len(words)
    BindingModel.from_bytes(stored.bindings)


def test_samples_are_taken_with_the_catalogue_in_memory(tools, sealer):
    index = search_index.refresh(None, model=TERMS.model, max_bytes=TERMS.max_bytes)
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tool = ToolFactory(input_schema=schema)
    runs = [run("r1", 'Weather in "Rome"', task("x", tool.pk, city="Rome"))]
    record_runs(runs, team=None, embedder=EMBEDDER, sealer=sealer, index=index)
    (sample,) = patterns.samples(None, limit=9)
    assert sample
