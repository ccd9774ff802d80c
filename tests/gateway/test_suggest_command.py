"""The commands that suggest a workflow and say why."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from execution.models import Speculation
from execution.speculation.outcome import Outcome
from execution.store import grants
from gateway_project.foundation import sealing, telemetry
from gateway_project.management.commands import explain
from gateway_project.wiring import one_intent
from learning.memory.context import describe_context, hash_context
from learning.memory.event import EventKind, EventOutcome
from learning.sessions import word_vectors
from learning.store import events
from tests.factories import TeamFactory, ToolFactory
from tests.fakes import FakeEmbedder
from tests.learning.some_events import PREDICTION, a_vector, an_event
from tools.embed.cache import CachedEmbedder
from tools.embed_catalogue import embed_missing

pytestmark = pytest.mark.django_db(transaction=True)

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@pytest.fixture(autouse=True)
def embedder(monkeypatch, home):
    fake = FakeEmbedder()
    for module in (one_intent, explain):
        monkeypatch.setattr(module, "make_embedder", lambda _config: CachedEmbedder(fake))
    monkeypatch.setattr(telemetry, "configure_logging", lambda *_, **__: None)
    return fake


@pytest.fixture
def weather(embedder):
    tool = ToolFactory(
        server__name="sky",
        name="get_weather",
        description="Tells the weather of a city",
        input_schema=CITY,
    )
    ToolFactory(server__name="post", name="send_letter")
    embed_missing(embedder)
    return tool


def run(command, *arguments):
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def suggested(*arguments):
    return json.loads(run("suggest", *arguments, "--json"))


@pytest.mark.usefixtures("weather")
def test_an_intent_becomes_a_workflow():
    answer = suggested("get weather of a city", "--parameters", '{"city": "Rome"}')
    (task,) = answer["draft_workflow"]["tasks"]
    assert (task["tool"], task["arguments"]) == ("sky:get_weather", {"city": "Rome"})
    assert answer["mode"] == "explicit_required"
    assert answer["warnings"] == []


@pytest.mark.usefixtures("weather")
def test_the_suggestion_is_a_table_with_missing_values(capsys):
    run("suggest", "get weather of a city")
    shown = capsys.readouterr().out
    assert "sky:get_weather" in shown
    assert "city = ?" in shown
    assert "needs input get_weather/city" in shown
    assert "No past run counts yet" in shown


@pytest.mark.usefixtures("weather")
def test_the_explanation_lists_probabilities_and_bindings(capsys):
    run("explain", "get weather of a city")
    shown = capsys.readouterr().out
    assert "Why" in shown
    assert "probability" in shown
    report = json.loads(run("explain", "get weather of a city", "--json"))
    assert report["tool_probabilities"][0]["tool"] == "sky:get_weather"
    assert report["neighbours"] == []


@pytest.mark.usefixtures("weather")
@pytest.mark.parametrize(
    ("is_on", "reason"),
    [
        (True, "Server sky is not trusted; an admin can mark it as trusted."),
        (False, "Speculation is switched off in the settings."),
    ],
)
def test_a_command_says_what_keeps_a_gateway_from_running_it_ahead(is_on, reason, monkeypatch):
    monkeypatch.setattr(grants, "is_speculation_on", lambda: is_on)
    answer = suggested("get weather of a city", "--parameters", '{"city": "Rome"}')
    told = answer["fallback_reason"]
    assert reason in told
    assert "sees no tool" not in told
    assert ("switched off" in told) == (not is_on)


@pytest.mark.usefixtures("weather")
def test_where_nothing_fits_the_answer_does_not_speak_of_a_threshold():
    answer = suggested("summon my uncle")
    assert answer["draft_workflow"] == {"tasks": []}
    assert answer["fallback_reason"] == (
        "No tool fits the intent well enough, so there is nothing to run ahead."
    )


def test_one_tool_alone_cannot_be_explained(weather):
    with pytest.raises(CommandError, match="name a second tool to see how the two relate"):
        run("explain", "sky:get_weather")


def test_without_tools_it_says_what_to_do():
    answer = suggested("get weather")
    assert answer["draft_workflow"] == {"tasks": []}
    assert "manage.py import_servers" in answer["warnings"][0]


def test_without_vectors_there_is_a_draft_and_it_says_what_to_do():
    ToolFactory(server__name="sky", name="get_weather")
    answer = suggested("get weather")
    assert answer["draft_workflow"]["tasks"][0]["tool"] == "sky:get_weather"
    assert answer["warnings"] == [
        "drafted from words alone, without confidence: no tool is embedded with fake/words "
        "yet; run `manage.py embed`"
    ]


@pytest.mark.usefixtures("weather")
def test_a_team_does_not_see_tools_of_another():
    TeamFactory(name="red")
    secret = ToolFactory(server__name="vault", server__team=TeamFactory(name="blue"), name="city")
    assert secret.server.team.name == "blue"
    assert "vault" not in run("suggest", "weather city", "--team", "red", "--json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("\x07",), "the intent is empty"),
        (("x", "--parameters", "{"), "--parameters is not valid JSON"),
        (("x", "--parameters", "[1]"), "must be a JSON object"),
        (("x", "--team", "none"), "no team 'none'"),
        (("get weather", "--parameters", '{"city": {"a": 1}}'), "city"),
    ],
)
@pytest.mark.usefixtures("weather")
def test_an_impossible_request_is_reported_in_one_line(arguments, said):
    with pytest.raises(CommandError, match=said):
        run("suggest", *arguments)


@pytest.mark.usefixtures("weather")
@pytest.mark.parametrize(
    ("depth", "told"),
    # Some Pythons parse even the second, and its levels are counted then.
    [(500, "more than 64 levels deep"), (9**5, "too deeply|more than 64 levels deep")],
)
def test_parameters_that_are_nested_too_deeply_are_one_clear_line(depth, told):
    value = '{"city": ' + "[" * depth + "]" * depth + "}"
    with pytest.raises(CommandError, match=told):
        run("suggest", "get weather", "--parameters", value)


@pytest.mark.usefixtures("weather")
def test_past_events_about_similar_texts_are_listed_for_the_team_alone(embedder, home, capsys):
    intent, team = "get weather of a city", TeamFactory(name="meteorologists")
    sealer = sealing.load_or_create_sealer(home)
    [vector] = embedder.embed([intent], kind="query")
    sealed = word_vectors.seal_vector(vector, sealer)
    past = {"team": team.pk, "intent_hash": 3}
    events.store_records(
        [
            a_vector(model=embedder.model, sealed=sealed, **past),
            an_event(kind=EventKind.INTENT, **past),
            an_event(kind=EventKind.SPECULATION_END, outcome=EventOutcome.HIT, **past),
        ],
        spool=PREDICTION,
        start=0,
        end=1,
    )
    report = json.loads(run("explain", intent, "--team", team.name, "--json"))
    assert [(row["kind"], row["outcome"]) for row in report["similar_events"]] == [
        ("intent", None),
        ("speculation_end", "hit"),
    ]
    assert json.loads(run("explain", intent, "--json"))["similar_events"] == []
    run("explain", intent, "--team", team.name)
    assert "2023-11-14 22:13  speculation_end  hit" in capsys.readouterr().out


def test_outcomes_correct_a_confidence_as_they_do_in_the_gateway(weather, home):
    before = suggested("the weather in Bern")
    digest = sealing.load_or_create_sealer(home).digest
    context = hash_context(describe_context(categories=["sky", "post"]), digest)
    now = timezone.now()
    for number in range(60):
        Speculation.objects.create(
            user="ann",
            context_hash=context.context if number else 0,
            domain_hash=context.domain,
            confidence=0.9,
            ranked_confidence=0.9,
            threshold=0.92,
            workflow_digest="d",
            created_at=now,
            due_at=now,
            outcome=Outcome.REJECTED,
            weight=1.0,
            resolved_at=now,
        )
    after = suggested("the weather in Bern")
    assert after["confidence"] < before["confidence"]
    assert after["evidence"]["context"] == {"suggestions": 59.0, "right": 0.0}


def test_a_malformed_threshold_setting_is_named(weather, settings):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"threshold_policy": "lucky"})
    with pytest.raises(CommandError, match="thresholds"):
        run("suggest", "the weather in Bern")
