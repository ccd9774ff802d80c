"""What stands in the database of what people ask for and give to tools."""

import json

import numpy as np
import pytest
import structlog.testing
from cryptography.fernet import Fernet
from django.db import connection

from gateway_project.foundation.sealing import Sealer
from graph import fit_models
from graph.embed_patterns import embed_missing_patterns as embed_intents
from graph.encode import encode_intents
from graph.fit_models import FitSettings
from graph.models import FittedModel, LearnedBinding, PatternEmbedding, PatternRun, WorkflowPattern
from graph.patterns import InvalidRun
from graph.record_runs import record_runs
from graph.store import binding_uses, patterns
from graph.suggestion.intent import reading
from graph.suggestion.intent.encoded import EncodedIntent
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.graph.histories import NOW, run, taken, task
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed_catalogue import embed_missing
from tools.lexemes import hash_lexeme, map_lexemes

pytestmark = pytest.mark.django_db

INTENT = 'set the password of ann.miller to "hunter2" at db-prod-7.example, then sleep'
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("city", "user", "body")},
}


@pytest.fixture
def embedder():
    return FakeEmbedder()


@pytest.fixture
def tools(embedder):
    server = ServerFactory(name="s")
    made = [ToolFactory(server=server, name=name, input_schema=SCHEMA).pk for name in "ab"]
    embed_missing(embedder)
    return made


@pytest.fixture
def record(embedder, sealer):
    def work(*runs, team=None, by=embedder):
        return record_runs(runs, team=team, embedder=by, sealer=sealer)

    return work


@pytest.fixture
def history(embedder, sealer):
    def work(team=None, **more):
        return patterns.load_history(team, embedder.model, **{"sealer": sealer} | more)

    return work


class TestIntents:
    def test_no_guess_of_a_word_can_be_confirmed(self, tools, record, embedder, sealer):
        record(run("r1", INTENT, task("x", tools[0])))
        fit_models.fit_due_scopes(
            FitSettings(embedding_model=embedder.model, max_bytes=10**7, sealer=sealer), now=NOW
        )
        kept = bytes(PatternEmbedding.objects.get().encoded)
        content = bytes(FittedModel.objects.get().content)
        guessed = ("hunter2", "password", "ann.miller", "miller")
        keys = [hash_lexeme(lexeme) for lexeme in map_lexemes(guessed)]
        assert keys
        opened = sealer.unseal_bytes(kept)
        assert any(np.int64(key).tobytes() in opened for key in keys), "the guess is a good one"
        for key in keys:
            assert np.int64(key).tobytes() not in kept
        assert content[:2] != b"PK", "an archive that anybody reads"

    def test_the_unsealed_vector_is_of_the_masked_intent(self, tools, record, embedder):
        record(run("r1", INTENT, task("x", tools[0])))
        (encoded,) = encode_intents([reading.read_intent(INTENT)], embedder=embedder)
        stored = np.asarray(PatternEmbedding.objects.get().vector)
        assert np.allclose(stored, encoded.masked, atol=1e-5)
        assert not np.allclose(stored, encoded.whole, atol=1e-2)

    def test_an_intent_of_only_a_value_has_no_unsealed_vector(self, tools, record, history):
        record(run("r1", "ann@example.org", task("x", tools[0])))
        assert PatternEmbedding.objects.get().vector is None
        assert len(history()) == 1

    def test_unopenable_rows_are_skipped_with_one_warning(self, tools, record, history):
        record(*(run(f"r{n}", f"Send {one}", task("x", tools[0])) for n, one in enumerate("ab")))
        with structlog.testing.capture_logs() as logs:
            assert history(sealer=Sealer([Fernet.generate_key()])) == []
        assert [(one["event"], one["count"]) for one in logs] == [("patterns.unseal_failed", 2)]

    def test_damaged_vectors_are_skipped(self, tools, record, history, sealer):
        record(*(run(f"r{n}", f"Send {one}", task("x", tools[0])) for n, one in enumerate("abc")))
        first, second, third = PatternEmbedding.objects.order_by("pk")
        first.encoded = sealer.seal_bytes(b"torn")
        second.encoded = sealer.seal_bytes(of_length(8).to_bytes())
        for row in (first, second):
            row.save()
        assert [one.pattern for one in history(dimensions=16)] == [third.pattern_id]

    def test_a_model_that_answers_no_numbers_is_treated_as_none(self, tools, record, history):
        class Odd(FakeEmbedder):
            def embed(self, texts, *, kind):
                rows = super().embed(texts, kind=kind)
                rows[0, 0] = float("nan")
                return rows

        with pytest.raises(EmbeddingUnavailable, match="no usable vectors"):
            encode_intents([reading.read_intent("Send it")], embedder=Odd())
        assert record(run("r1", "Send it", task("x", tools[0])), by=Odd()).unembedded == 1
        assert history() == []


def of_length(dimensions):
    row = np.zeros(dimensions, dtype=np.float32)
    return EncodedIntent(
        whole=row, masked=row, sentences=row[None], clauses=row[None], masked_clauses=row[None],
        words=(1,), clause_words=((1,),), length=4,
    )  # fmt: skip


class TestOneIntent:
    def test_intents_differing_only_in_values_are_one_past_intent(
        self, tools, record, history, embedder, sealer
    ):
        team, (a, b) = TeamFactory(), tools
        say = "look it up and mail it"
        record(run("1", say, task("x", a), task("y", b, body="hello"), days_ago=3))
        record(run("2", say, task("x", a), task("y", b, body=taken("x", "/text")), days_ago=2))
        record(run("3", say, task("x", a), task("y", b, "x"), days_ago=1))
        record(run("4", say + ".", task("y", b), task("x", a), days_ago=0), team=team.pk)
        record(run("5", say, task("y", b), task("x", a), succeeded=False), team=team.pk)
        assert WorkflowPattern.objects.count() == 4
        (shared,) = history()
        assert (shared.tools, shared.successes) == ((a, b), 3)
        (own,) = history(team.pk)
        assert (own.tools, own.successes, own.failures) == ((a, b), 4, 1)
        assert own.last_seen == NOW
        again = FakeEmbedder(model="other")
        embed_intents(again, sealer=sealer)
        assert len(patterns.load_history(team.pk, again.model, sealer=sealer)) == 1


class TestArguments:
    def test_names_that_look_like_values_are_masked(self, tools, record, sealer):
        values = {
            "ann@example.org": taken("x", "/users/ann@example.org/ssn/123-45-6789"),
            "user": taken("x", "/accounts/4012888888881881/name"),
            "body": taken("x", "/items/0/text"),
            "k" * 61: taken("x"),
        }
        record(run("r1", "mail it", task("x", tools[0]), task("y", tools[1], **values)))
        assert WorkflowPattern.objects.get().tasks[1]["references"] == [
            {"parameter": "*", "task": "t1", "pointer": ""},
            {"parameter": "*", "task": "t1", "pointer": "/users/*/ssn/*"},
            {"parameter": "body", "task": "t1", "pointer": "/items/0/text"},
            {"parameter": "user", "task": "t1", "pointer": "/accounts/*/name"},
        ]
        told = binding_uses.load_knowledge(None, sealer)
        assert list(told.references) == [(tools[1], "body")]
        assert told.totals == {(tools[1], "body"): 1, (tools[1], "user"): 1}
        shown = json.dumps([list(LearnedBinding.objects.values_list("pointer", "parameter"))])
        assert "4012" not in shown

    def test_only_arguments_named_in_the_schema_are_examined(self, record, embedder, sealer):
        names = [f"p{n}" for n in range(90)]
        schema = {"type": "object", "properties": {one: {"type": "string"} for one in names}}
        tool = ToolFactory(input_schema=schema).pk
        unknown = {f"q{n}": "x" for n in range(500)}
        given = dict.fromkeys(names, "v")
        record(run("r1", "do it", task("x", tool, **unknown, **given)))
        places = set(binding_uses.load_knowledge(None, sealer).totals)
        assert places == {(tool, one) for one in names[:60]}

    def test_distinguished_values_per_parameter_are_bounded(
        self, tools, record, sealer, monkeypatch
    ):
        monkeypatch.setattr(binding_uses, "MAX_USES_PER_PARAMETER", 3)
        often = [run(f"o{n}", "do it", task("x", tools[0], city="Rome")) for n in range(4)]
        rare = [
            run(f"r{n}", "do it", task("x", tools[0], city=f"C{n}"), days_ago=n) for n in range(8)
        ]
        record(*often, *rare)
        ways = LearnedBinding.objects.filter(parameter="city")
        assert sorted(ways.values_list("kind", "uses")) == [
            ("literal", 1), ("literal", 1), ("literal", 4), ("other", 6)
        ]  # fmt: skip
        told = binding_uses.load_knowledge(None, sealer)
        assert told.totals == {(tools[0], "city"): 12}, "what goes counts on"
        assert [one.value for one in told.constants[tools[0], "city"]] == ["Rome"]

    def test_an_unopenable_literal_is_skipped(self, tools, record, sealer):
        for value in ("Rome", "Oslo"):
            record(
                *(run(f"{value}{n}", "do it", task("x", tools[0], city=value)) for n in range(3))
            )
        broken = LearnedBinding.objects.exclude(sealed="").first()
        LearnedBinding.objects.filter(pk=broken.pk).update(sealed="gAAAAAB")
        with structlog.testing.capture_logs() as logs:
            told = binding_uses.load_knowledge(None, sealer)
        assert len(told.constants[tools[0], "city"]) == 1
        assert told.run_counts == {tools[0]: 6}
        assert [(one["event"], one["count"]) for one in logs] == [("bindings.unseal_failed", 1)]


class TestTeams:
    def test_a_run_of_a_team_tool_belongs_to_that_team(self, record, embedder):
        owner, other = TeamFactory(name="ops"), TeamFactory()
        tool = ToolFactory(server=ServerFactory(name="p", team=owner), name="x").pk
        for team in (None, other.pk):
            with pytest.raises(InvalidRun, match=r"only the team 'ops' sees .* with --team"):
                record(run("r1", "do x", task("a", tool)), team=team)
        assert record(run("r1", "do x", task("a", tool)), team=owner.pk).new_runs == 1


class TestForgetting:
    def test_deleting_a_pattern_deletes_what_was_learned_from_it(
        self, tools, record, embedder, sealer
    ):
        team = TeamFactory()
        for of in (None, team.pk):
            record(run("r1", "do it", task("x", tools[0], city="Rome")), team=of)
            record(run("r2", "send it", task("x", tools[1], city="Rome")), team=of)
        terms = FitSettings(embedding_model=embedder.model, max_bytes=10**7, sealer=sealer)
        fit_models.fit_due_scopes(terms, now=NOW)
        gone = WorkflowPattern.objects.get(team=team, tools=[tools[0]])
        going = patterns.count_forgotten([gone.pk])
        assert (going.runs, going.bindings, going.models) == (1, 2, 1)
        assert patterns.delete_patterns([gone.pk]) == [str(gone)]
        assert PatternRun.objects.filter(team=team).count() == 1
        assert binding_uses.load_knowledge(team.pk, sealer).run_counts == {
            tools[0]: 1,
            tools[1]: 2,
        }
        assert list(FittedModel.objects.values_list("team", flat=True)) == [None]
        assert fit_models.is_due(terms)
        assert patterns.delete_patterns([gone.pk]) == []
        shared = WorkflowPattern.objects.get(team=None, tools=[tools[0]])
        patterns.delete_patterns([shared.pk])
        assert not FittedModel.objects.exists()

    def test_nothing_of_a_forgotten_pattern_remains(self, tools, record):
        record(*(run(f"r{n}", "do it", task("x", tools[0], city="Rome")) for n in range(3)))
        patterns.delete_patterns(list(WorkflowPattern.objects.values_list("pk", flat=True)))
        with connection.cursor() as cursor:
            for model in (WorkflowPattern, PatternRun, PatternEmbedding, LearnedBinding):
                cursor.execute(f"SELECT count(*) FROM {model._meta.db_table}")
                assert cursor.fetchone() == (0,)
