import hashlib
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from cryptography.fernet import Fernet

from gateway_project.foundation import advisory
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.sealing import Sealer
from graph import fit_models
from graph.fit_models import FailedFit, FitSettings, FittedScope
from graph.models import FittedModel, PatternRun, WorkflowPattern
from graph.record_runs import record_runs
from graph.store import fitted_models, patterns
from graph.suggestion.binding import features
from graph.suggestion.binding import model as binding_model
from graph.suggestion.binding.model import BindingModel
from graph.suggestion.ranking import fit as ranking_fit
from graph.suggestion.ranking import ranker
from graph.suggestion.ranking.ranker import Ranker
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import NOW, run, task
from tests.patience import PATIENCE_S
from tools.embed_catalogue import embed_missing
from tools.models import Server, Tool, ToolEmbedding
from tools.store import search_index

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
        return FittedScope(
            ranker=f"ranker {len(seen)}".encode(),
            bindings=b"",
            figures={"patterns": len(history), "runs": len(history), "samples": 0},
        )

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
    assert (done.team, done.patterns, done.runs) == (None, 1, 1)
    assert not fit_models.is_due(TERMS)
    assert fit(made) == []
    assert made.seen == [(None, [(tools[1],)])]
    stored = fitted_models.load_model(None, TERMS.embedding_model)
    assert (SEALER.unseal_bytes(stored.content), stored.figures["patterns"]) == (b"ranker 1", 1)
    assert stored.peak_memory_mb > 10


def test_models_are_refitted_on_request_or_change(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    assert len(fit(made, force=True)) == 1
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


def test_other_features_refit_everything(tools, record, made, monkeypatch):
    told = " ".join((str(ranker.FORMAT), *ranker.FEATURES, *features.FEATURE_NAMES))
    assert hashlib.sha256(told.encode()).hexdigest()[:16] == fit_models.FEATURES_DIGEST, (
        "features have changed: bring fit_models.FEATURES up to date"
    )
    record(run("r1", "Send it", task("x", tools[1])))
    fit(made)
    monkeypatch.setattr(fit_models, "FEATURES_DIGEST", "others")
    assert fit_models.is_due(TERMS)
    assert len(fit(made)) == 1


def test_each_team_with_runs_has_its_own_model(tools, record, made):
    one, other = TeamFactory(), TeamFactory()
    record(run("r1", "Send it", task("x", tools[1])))
    record(run("r2", "Read it", task("x", tools[0])), team=one.pk)
    assert [done.team for done in fit(made)] == [None, one.pk]
    assert made.seen[1] == (one.pk, [(tools[1],), (tools[0],)])
    assert fitted_models.load_model(one.pk, TERMS.embedding_model).team == one.pk
    assert fitted_models.load_model(other.pk, TERMS.embedding_model).team is None
    record(run("r3", "Read it", task("x", tools[0])), team=one.pk)
    assert [done.team for done in fit(made)] == [one.pk], "others learn nothing from it"
    record(run("r4", "Drop it", task("x", tools[2])))
    assert [done.team for done in fit(made)] == [None, one.pk]


def test_a_scope_without_successful_runs_has_no_model(tools, record, made):
    record(run("r1", "Send it", task("x", tools[1]), succeeded=False))
    assert not fit_models.is_due(TERMS)


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


def test_samples_are_kept_for_the_newest_runs_only(tools, record, made, monkeypatch):
    monkeypatch.setattr(fit_models, "MAX_SAMPLED", 2)
    record(*(run(f"r{n}", "Send it", task("x", tools[1]), days_ago=n) for n in range(4)))
    for row in PatternRun.objects.all():
        row.samples = row.key.encode()
        row.save()
    assert patterns.load_samples(None, limit=3) == [b"r0", b"r1", b"r2"]
    fit(made)
    assert patterns.load_samples(None, limit=9) == [b"r0", b"r1"]


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
    assert done.patterns == len(words)
    stored = fitted_models.load_model(None, TERMS.embedding_model)
    assert Ranker.from_bytes(SEALER.unseal_bytes(stored.content)).past_intent_count == len(words)
    BindingModel.from_bytes(stored.bindings)


def test_samples_are_taken_with_the_catalogue_in_memory(tools, sealer):
    index = search_index.refresh_index(
        None, model=TERMS.embedding_model, max_bytes=TERMS.max_bytes
    )
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tool = ToolFactory(input_schema=schema)
    runs = [run("r1", 'Weather in "Rome"', task("x", tool.pk, city="Rome"))]
    record_runs(runs, team=None, embedder=EMBEDDER, sealer=sealer, index=index)
    (sample,) = patterns.load_samples(None, limit=9)
    assert sample


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
    assert [one.team for one in outcome.fitted] == [good.pk]
    assert outcome.failed == [FailedFit(team=bad.pk, reason="singular matrix")]
    assert FittedModel.objects.get(team=bad).failure == "singular matrix"
    assert fitted_models.load_model(bad.pk, TERMS.embedding_model).team == bad.pk, (
        "the old one serves on"
    )
    assert not fit_models.is_due(TERMS), "it is not tried again as it is"
    record(run("r3", "Read it", task("x", tools[0])), team=bad.pk)
    assert fit_models.is_due(TERMS)
    assert [done.team for done in fit(made)] == [bad.pk]
    assert FittedModel.objects.get(team=bad).failure == ""


def test_a_team_whose_fit_always_failed_uses_the_shared_model(tools, record, made):
    team = TeamFactory()
    record(run("r1", "Send it", task("x", tools[1])))
    record(run("r1", "Send it", task("x", tools[1])), team=team.pk)

    def broken(scope, index):
        if scope is not None:
            raise ValueError
        return made(scope, index)

    assert len(fit_models.fit_due_scopes(TERMS, now=NOW, fit_scope=broken).failed) == 1
    assert fitted_models.load_model(team.pk, TERMS.embedding_model).team is None
    assert not fit_models.is_due(TERMS)


@pytest.mark.parametrize("part", ["tool_model", "set_model", "order_model", "bindings"])
def test_a_model_that_is_no_finite_numbers_is_not_stored(tools, record, monkeypatch, part):
    record(run("r1", "Send it", task("x", tools[1])))
    fit_ranker, fit_bindings = ranking_fit.fit_ranker, binding_model.fit_binding

    def spoilt(model):
        return replace(model, coefficients=np.full_like(model.coefficients, np.nan))

    def ranker_of(*given):
        good = fit_ranker(*given)
        return replace(good, **{part: spoilt(getattr(good, part))})

    if part == "bindings":
        monkeypatch.setattr(
            binding_model,
            "fit_binding",
            lambda *given, **more: spoilt(fit_bindings(*given, **more)),
        )
    else:
        monkeypatch.setattr(ranking_fit, "fit_ranker", ranker_of)
    outcome = fit_models.fit_due_scopes(TERMS, now=NOW)
    assert "not finite" in outcome.failed[0].reason
    assert fitted_models.load_model(None, TERMS.embedding_model) is None


def test_the_oldest_fit_is_renewed_first(tools, record, made):
    old, new, never = TeamFactory(), TeamFactory(), TeamFactory()
    for days, team in ((2, old), (3, new)):
        record(run("r1", "Send it", task("x", tools[1])), team=team.pk)
        fit_models.fit_due_scopes(
            TERMS, now=NOW - timedelta(days=days), fit_scope=made, force=True
        )
    FittedModel.objects.filter(team=old).update(fitted_at=NOW - timedelta(days=9))
    for team in (new, old, never):
        record(run("r2", "Read it", task("x", tools[0])), team=team.pk)
    assert [done.team for done in fit(made)] == [never.pk, old.pk, new.pk]


def test_background_fitting_stops_starting_fits_after_a_while(tools, record, made):
    for team in (None, TeamFactory().pk):
        record(run("r1", "Send it", task("x", tools[1])), team=team)
    assert fit(made, stop_s=-1.0) == []
    assert fit_models.is_due(TERMS)


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

    @pytest.mark.parametrize("change", [{"enabled": False}, {"state": "removed"}])
    def test_when_a_tool_is_switched_off_or_gone(self, tools, is_due, change):
        Tool.objects.filter(pk=tools[2]).update(**change)
        assert is_due()

    def test_when_a_server_is_switched_off(self, tools, is_due):
        Server.objects.update(enabled=False)
        ToolFactory()
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
        assert [done.team for done in fit(made)] == [team.pk]
