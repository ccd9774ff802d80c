from dataclasses import replace

import numpy as np
import pytest
from cryptography.fernet import Fernet

from gateway_project.foundation import advisory
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.sealing import Sealer
from graph import fit_models
from graph.fit_models import FailedFit, FitSettings
from graph.models import FittedModel, WorkflowPattern
from graph.record_runs import record_runs
from graph.store import fitted_models, patterns
from graph.suggestion.ranking import fit as ranking_fit
from graph.suggestion.ranking.ranker import Ranker
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import NOW, run, task
from tests.patience import PATIENCE_S
from tools.embed_catalogue import embed_missing
from tools.models import ToolEmbedding

pytestmark = pytest.mark.django_db

EMBEDDER = FakeEmbedder()
SEALER = Sealer([Fernet.generate_key()])
TERMS = FitSettings(embedding_model=EMBEDDER.model, max_bytes=10_000_000, sealer=SEALER)


@pytest.fixture
def sealer():
    return SEALER


@pytest.fixture
def tools(db):
    server = ServerFactory(name="s")
    made = [ToolFactory(server=server, name=name).pk for name in ("read", "send", "drop")]
    embed_missing(EMBEDDER)
    return made


@pytest.fixture
def record(sealer):
    def work(*runs, team=None, embedder=EMBEDDER):
        return record_runs(runs, team=team, embedder=embedder, sealer=sealer)

    return work


@pytest.fixture
def made():
    """Note what is fitted instead of fitting it."""
    seen = []

    def make(team, index):
        history = patterns.load_history(team, index.model, sealer=SEALER)
        seen.append((team, [one.tools for one in history]))
        figures = {"patterns": len(history), "runs": len(history)}
        return f"ranker {len(seen)}".encode(), figures

    make.seen = seen
    return make


def fit(make, **more):
    outcome = fit_models.fit_due_scopes(TERMS, now=NOW, fit_scope=make, **more)
    return None if outcome is None else list(outcome.fitted)


def test_without_history_nothing_is_due(tools, made):
    assert not fit_models.is_due(TERMS)
    assert fit(made) == []


def test_recorded_runs_are_fitted_once(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    assert fit_models.is_due(TERMS)
    (done,) = fit(made)
    assert (done.team_id, done.figures["patterns"], done.figures["runs"]) == (None, 1, 1)
    assert not fit_models.is_due(TERMS)
    assert fit(made) == []
    assert made.seen == [(None, [(tools[1],)])]
    stored = fitted_models.load_model(None, TERMS.embedding_model)
    assert (SEALER.unseal_bytes(stored.content), stored.figures["patterns"]) == (b"ranker 1", 1)
    assert stored.peak_memory_mb > 10


def test_models_are_refitted_when_history_changes(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    record(run("r2", "Send it", task("x", tools[1]), succeeded=False))
    assert len(fit(made)) == 1
    WorkflowPattern.objects.all().delete()
    assert fit_models.is_due(TERMS)
    assert fit(made) == []
    assert not FittedModel.objects.exists(), "what was learned from is forgotten with it"


def test_models_are_refitted_when_tools_or_rules_change(tools, record, made, monkeypatch):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    ToolFactory()
    embed_missing(EMBEDDER)
    assert len(fit(made)) == 1
    monkeypatch.setattr(fit_models, "FIT_VERSION", 99)
    assert len(fit(made)) == 1


def test_each_team_with_runs_has_its_own_model(tools, record, made):
    one, other = TeamFactory(), TeamFactory()
    record(run("r1", "Send it", task("x", tools[1])))
    record(run("r2", "Read it", task("x", tools[0])), team=one.pk)
    assert [done.team_id for done in fit(made)] == [None, one.pk]
    assert made.seen[1] == (one.pk, [(tools[1],), (tools[0],)])
    assert fitted_models.load_model(one.pk, TERMS.embedding_model).team_id == one.pk
    assert fitted_models.load_model(other.pk, TERMS.embedding_model).team_id is None
    record(run("r3", "Read it", task("x", tools[0])), team=one.pk)
    assert [done.team_id for done in fit(made)] == [one.pk], "others learn nothing from it"
    record(run("r4", "Drop it", task("x", tools[2])))
    assert [done.team_id for done in fit(made)] == [None, one.pk]


def test_without_tool_vectors_stored_models_are_kept(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    other = replace(TERMS, embedding_model="other")
    assert not fit_models.is_due(other)
    outcome = fit_models.fit_due_scopes(other, now=NOW, fit_scope=made)
    assert outcome.missing_reason == "no past intent has vectors by other: run `manage.py embed`"
    record(run("r2", "Send it", task("x", tools[1])), embedder=FakeEmbedder(model="other"))
    outcome = fit_models.fit_due_scopes(other, now=NOW, fit_scope=made)
    assert outcome.missing_reason == "no tool has vectors by other: run `manage.py embed`"
    assert FittedModel.objects.count() == 1


def test_nothing_is_fitted_if_the_catalogue_exceeds_memory(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    outcome = fit_models.fit_due_scopes(replace(TERMS, max_bytes=10), now=NOW, fit_scope=made)
    assert (outcome.fitted, outcome.missing_reason) == ((), fit_models.TOO_LARGE_MESSAGE)


def test_a_fit_that_fails_leaves_the_old_model(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    record(run("r2", "Read it", task("x", tools[0])))

    def broken(team, index):
        raise MemoryError

    with pytest.raises(MemoryError):
        fit(broken)
    assert (
        SEALER.unseal_bytes(fitted_models.load_model(None, TERMS.embedding_model).content)
        == b"ranker 1"
    )
    assert fit_models.is_due(TERMS)


def test_runs_recorded_during_a_fit_are_due_again(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))

    def meanwhile(team, index):
        record(run("r2", "Read it", task("x", tools[0])))
        return made(team, index)

    fit(meanwhile)
    assert fit_models.is_due(TERMS)


def test_a_team_deleted_during_a_fit_is_handled(tools, record, made):
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
    async with advisory.hold_lock(fit_models.LOCK_NAME, timeout_s=PATIENCE_S):
        assert await run_in_database_thread(fit, made) is None
    assert await run_in_database_thread(fit, made, wait_s=PATIENCE_S) == []


def test_the_products_own_fit_can_be_kept_and_read_again(tools, record):
    words = ["red", "blue", "green", "brown", "white", "black"]
    record(
        *(
            run(f"r{n}", f"Send the {word} one, then read it", task("x", tools[1]),
                task("y", tools[0], "x"))
            for n, word in enumerate(words)
        )
    )  # fmt: skip
    (done,) = fit_models.fit_due_scopes(TERMS, now=NOW).fitted
    assert done.figures["patterns"] == len(words)
    stored = fitted_models.load_model(None, TERMS.embedding_model)
    assert Ranker.from_bytes(SEALER.unseal_bytes(stored.content)).past_intent_count == len(words)


def test_a_failed_scope_does_not_block_others(tools, record, made):
    bad, good = TeamFactory(), TeamFactory()
    for team in (None, bad.pk, good.pk):
        record(run("r1", "Send it", task("x", tools[1])), team=team)
    fit(made)
    for team in (bad.pk, good.pk):
        record(run("r2", "Read it", task("x", tools[0])), team=team)

    def broken(team, index):
        if team == bad.pk:
            raise np.linalg.LinAlgError("singular matrix\nand more")
        return made(team, index)

    outcome = fit_models.fit_due_scopes(TERMS, now=NOW, fit_scope=broken)
    assert [one.team_id for one in outcome.fitted] == [good.pk]
    assert outcome.failed == [FailedFit(team=bad.pk, reason="singular matrix")]
    assert FittedModel.objects.get(team=bad).failure == "singular matrix"
    assert fitted_models.load_model(bad.pk, TERMS.embedding_model).team_id == bad.pk, (
        "the old one serves on"
    )
    assert not fit_models.is_due(TERMS), "it is not tried again as it is"
    record(run("r3", "Read it", task("x", tools[0])), team=bad.pk)
    assert fit_models.is_due(TERMS)
    assert [done.team_id for done in fit(made)] == [bad.pk]
    assert FittedModel.objects.get(team=bad).failure == ""


@pytest.mark.parametrize("part", ["tool_model", "set_model", "order_model"])
def test_a_model_that_is_no_finite_numbers_is_not_stored(tools, record, monkeypatch, part):
    record(run("r1", "Send it", task("x", tools[1])))
    fit_ranker = ranking_fit.fit_ranker

    def spoilt(model):
        return replace(model, coefficients=np.full_like(model.coefficients, np.nan))

    def ranker_of(*given):
        good = fit_ranker(*given)
        return replace(good, **{part: spoilt(getattr(good, part))})

    monkeypatch.setattr(ranking_fit, "fit_ranker", ranker_of)
    outcome = fit_models.fit_due_scopes(TERMS, now=NOW)
    assert "not finite" in outcome.failed[0].reason
    assert fitted_models.load_model(None, TERMS.embedding_model) is None


def test_a_fit_that_takes_too_long_is_given_up(tools, record, made, monkeypatch):
    monkeypatch.setattr(fit_models, "SCOPE_TIMEOUT_S", 0.05)
    record(run("r1", "Send it", task("x", tools[1])))

    def endless(team, index):
        while True:
            pass

    outcome = fit_models.fit_due_scopes(TERMS, now=NOW, fit_scope=endless)
    assert [one.reason for one in outcome.failed] == ["it took more than 0.05 s"]


class TestDue:
    @pytest.fixture
    def fitted_once(self, tools, record, made):
        record(run("r1", "Send it", task("x", tools[1])))
        fit(made)

    @pytest.fixture
    def is_due(self, fitted_once):
        return lambda: fit_models.is_due(TERMS)

    def test_when_a_tool_is_embedded_anew(self, tools, is_due):
        ToolEmbedding.objects.filter(tool=tools[0]).delete()
        embed_missing(EMBEDDER)
        assert is_due()

    def test_when_the_key_of_what_is_sealed_is_another(self, is_due):
        other = replace(TERMS, sealer=Sealer([Fernet.generate_key()]))
        assert fit_models.is_due(other)
        assert not is_due()

    def test_not_when_a_tool_comes_that_only_another_team_sees(self, tools, record, made, is_due):
        team = TeamFactory()
        record(run("r1", "Send it", task("x", tools[1])), team=team.pk)
        fit(made)
        ToolFactory(server__team=TeamFactory())
        embed_missing(EMBEDDER)
        assert not is_due()
        ToolFactory(server__team=team)
        embed_missing(EMBEDDER)
        assert [done.team_id for done in fit(made)] == [team.pk]
