"""An intent that is sure enough is answered with its results, or with the reason why not."""

import asyncio
import json
from dataclasses import replace
from uuid import UUID

import jsonschema
import pytest

from execution.mode import SuggestionMode
from execution.planning.parse import dump
from execution.speculation.outcome import Verdict
from execution.speculation.rules import SpeculationGrants
from execution.workflow import RunOptions
from gateway_project import flow
from gateway_project.intent.answer import IntentRequest
from gateway_project.intent.feedback import FeedbackRequest
from gateway_project.mcp import meta_tools
from gateway_project.runs.request import RunRequest
from gateway_project.runs.task_results import speculative_run_to_json
from graph.rank_intent import RankedIntent
from learning.predictions.interface import Feedback, Predictions
from learning.thresholds.in_force import ThresholdInForce
from tests.execution.early_world import World as EarlyWorld
from tests.execution.early_world import settle
from tests.execution.run_setup import means, process
from tests.execution.speculation_setup import ANN as CALLER
from tests.execution.speculation_setup import (
    CLOSED,
    grant,
    known_server,
    known_tool,
    plain_tool,
)
from tests.graph.suggestion.workflow.builders import ranked, ranking
from tests.patience import PATIENCE_S
from tools.danger import Danger
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult

ANN = replace(CALLER, team=None, scopes=frozenset({"call", "search"}), session="conversation")
FIELDS = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TAKES_ID = {"input_schema": FIELDS, "definition_hash": "9" * 64}
"""Schemas are compiled once by hash, and other tests have others."""
READ = known_tool("git:show", pk=1, annotations=CLOSED, **TAKES_ID)
OTHER = known_tool("git:list", pk=2, annotations=CLOSED, **TAKES_ID)
WRITE = known_tool("git:push", pk=3, annotations={}, danger=Danger.WRITE, vetoed=True, **TAKES_ID)
THRESHOLD = 0.92


class Noted(Predictions):
    """Keeps what was predicted, and takes any feedback."""

    def __init__(self):
        self.intents = []

    def note_intent(self, predicted):
        self.intents.append(predicted)

    async def give_feedback(self, caller, speculation, verdict, **_):
        return Feedback(speculation=speculation, outcome=verdict, is_new=True)


class Asked:
    """A gateway whose suggestions are sure, over servers that are called ahead."""

    def __init__(self, world, *tools, servers=None, **changes):
        self.early = EarlyWorld(*(tools or (READ, OTHER, WRITE)), servers=servers, served=())
        self.early.upstream.answer = answer
        self.world, self.changes = world, changes
        world.catalogue, world.caller = self.early.rules.catalogue, ANN
        world.upstream, world.speculation = self.early.upstream, self.early.speculator
        world.predictions = self.noted = Noted()
        self.rank(READ)

    def rank(self, *tools, confidence=0.97):
        found = ranked(*(tool.pk for tool in tools), confidence=confidence)
        self.world.ranked = RankedIntent(ranking=ranking(found))

    @property
    def effects(self):
        return replace(
            self.world.effects,
            rules=lambda: self.early.rules,
            find_threshold=lambda *_: ThresholdInForce(value=THRESHOLD),
            **{"speculation_wait_s": PATIENCE_S} | self.changes,
        )

    async def ask(self, *, mode="auto", parameters=None, intent="show it"):
        request = IntentRequest(
            intent=intent,
            mode=mode,
            parameters={"id": "x7"} if parameters is None else parameters,
        )
        async with asyncio.timeout(PATIENCE_S):
            return await flow.handle_intent(self.effects, ANN, request)

    async def call(self, tool=READ, **arguments):
        request = UpstreamRequest.to_call(tool.tool, arguments)
        return await flow.call_tool(self.effects, ANN, request)

    @property
    def sent(self):
        return self.early.sent


def answer(_server, request):
    value = {"tool": request.tool, **request.arguments}
    text = [{"type": "text", "text": json.dumps(value)}]
    return UpstreamResult(raw={"content": text, "structuredContent": value})


@pytest.fixture
def asked(world):
    return Asked(world)


async def test_the_results_come_with_the_answer(asked):
    asked.rank(READ, OTHER)
    made = await asked.ask()
    assert made.mode is SuggestionMode.SPECULATIVE_EXECUTION
    assert (made.ahead.fallback_reason, asked.sent) == ("", 2)
    (noted,) = asked.noted.intents
    assert sorted(call.tool for call in noted.ran.run.tasks) == ["git:list", "git:show"]
    assert noted.ran.run.took_s >= 0
    assert noted.ran.episode.intent == "show it"


async def test_the_same_calls_are_answered_with_these_results(asked):
    await asked.ask()
    outcome = await asked.call(id="x7")
    assert (outcome.served.form.value, asked.sent) == ("intent", 1)
    assert (await asked.call(id="other")).served is None


async def test_a_client_that_asks_for_a_suggestion_gets_one(asked):
    made = await asked.ask(mode="suggest")
    assert (made.mode, made.ahead.fallback_code) == (SuggestionMode.SUGGESTION, "not_requested")
    assert asked.sent == 0


@pytest.mark.parametrize("confidence", [0.97, 0.5])
async def test_a_suggestion_says_why_it_never_would_be_run_ahead(world, confidence):
    asked = Asked(world, PLAIN)
    asked.rank(PLAIN, confidence=confidence)
    made = await asked.ask(mode="suggest")
    assert (made.ahead.fallback_code, asked.sent) == ("not_granted", 0)


@pytest.mark.parametrize(("confidence", "count"), [(THRESHOLD, 1), (THRESHOLD - 0.001, 0)])
async def test_only_what_reaches_the_threshold_in_force_is_run(asked, confidence, count):
    asked.rank(READ, confidence=confidence)
    made = await asked.ask()
    assert asked.sent == count
    assert made.ahead.fallback_code == ("" if count else "below_threshold")
    assert bool(made.as_json()["fallback_reason"]) is (count == 0)


PLAIN = plain_tool("git:show", pk=1, **TAKES_ID)
FALLBACKS = {
    "not_granted": ({"tools": (PLAIN,)}, "grant"),
    "server_not_trusted": ({"servers": (known_server(trusted=False),)}, "trust"),
    "unknown_cost": ({"servers": (known_server(price_per_call=None),)}, "price"),
    "too_expensive": ({"servers": (known_server(price_per_call=1),)}, "$"),
    "vetoed": ({"tools": (replace(READ, vetoed=True),)}, "git:show"),
    "too_slow": ({"estimate_p95_ms": lambda _team, _tool: 6_000.0}, "6"),
}


@pytest.mark.parametrize("code", FALLBACKS)
async def test_what_may_not_run_ahead_is_suggested_with_the_reason(world, code):
    values, named = FALLBACKS[code]
    values = dict(values)
    asked = Asked(world, *values.pop("tools", ()), servers=values.pop("servers", None), **values)
    made = await asked.ask()
    assert (made.mode, asked.sent) == (SuggestionMode.SUGGESTION, 0)
    assert code in [reason.code.value for reason in made.ahead.reasons]
    assert named in made.ahead.fallback_reason
    assert made.as_json()["fallback_reason"] == made.ahead.fallback_reason
    (noted,) = asked.noted.intents
    assert (noted.ran.run, noted.ran.fallback) == (None, made.ahead.fallback_code)


async def test_the_missing_grant_is_all_it_takes(world):
    asked = Asked(world, PLAIN)
    asked.early.rules = replace(
        asked.early.rules,
        grants=SpeculationGrants.from_grants([grant(PLAIN)]),
    )
    assert (await asked.ask()).mode is SuggestionMode.SPECULATIVE_EXECUTION


async def test_a_missing_argument_is_asked_for_first(asked):
    made = await asked.ask(parameters={})
    assert (made.ahead.fallback_code, asked.sent) == ("needs_input", 0)


async def test_what_depends_on_a_condition_is_never_run_ahead(asked):
    made = await asked.ask(intent="show it unless the build is green")
    assert (made.mode, asked.sent) == (SuggestionMode.EXPLICIT_REQUIRED, 0)
    assert "“unless” is a condition" in made.as_json()["warnings"][0]


async def test_switched_off_it_is_a_suggestion(asked):
    asked.early.on = False
    made = await asked.ask()
    assert (made.ahead.fallback_code, asked.sent) == ("switched_off", 0)


async def test_nine_reads_and_one_write_run_nothing(world):
    reads = [
        known_tool(f"git:show{n}", pk=10 + n, annotations=CLOSED, **TAKES_ID) for n in range(9)
    ]
    asked = Asked(world, *reads, WRITE)
    asked.rank(*reads, WRITE)
    made = await asked.ask()
    assert len(made.suggestion.tasks) == 10
    assert (made.mode, asked.sent) == (SuggestionMode.SUGGESTION, 0)
    assert "git:push" in made.ahead.fallback_reason


async def test_a_failed_call_leaves_a_suggestion(asked):
    asked.early.upstream.answer = lambda *_: UpstreamResult(
        raw={"content": [{"type": "text", "text": "no"}], "isError": True}
    )
    made = await asked.ask()
    assert (made.mode, made.ahead.is_whole) == (SuggestionMode.SUGGESTION, False)
    assert "error" in made.ahead.fallback_reason
    (noted,) = asked.noted.intents
    assert noted.ran.run is not None, "it was run ahead, without success"
    assert (noted.ran.fallback, noted.ran.episode) == (made.ahead.fallback_code, None)


async def test_results_of_what_succeeded_come_along(asked):
    asked.rank(READ, OTHER)
    asked.early.upstream.answer = lambda server, request: (
        answer(server, request)
        if request.tool == "show"
        else UpstreamResult(raw={"content": [], "isError": True})
    )
    made = await asked.ask()
    told = made.as_json() | speculative_run_to_json(made.ahead)
    assert (told["mode"], told["status"]) == ("suggestion", "partial_success")
    assert [one["tool"] for one in told["results"].values()] == ["show"]
    assert "git:list" in told["fallback_reason"]
    jsonschema.validate(told, meta_tools.TOOLS["run_intent"].output_schema)
    (noted,) = asked.noted.intents
    assert noted.ran.fallback == "unusable_result", "it teaches nothing as a success"


async def test_a_slow_answer_is_not_waited_for_but_serves_later(asked):
    asked.changes["speculation_wait_s"] = 0.01
    asked.early.upstream.gate = asyncio.Event()
    made = await asked.ask()
    assert (made.mode, made.ahead.fallback_code) == (SuggestionMode.SUGGESTION, "too_slow")
    (noted,) = asked.noted.intents
    (unanswered,) = noted.ran.run.tasks
    assert (unanswered.trouble, noted.ran.fallback) == ("not answered in time", "too_slow")
    assert noted.ran.run.took_s >= 0.01
    asked.early.upstream.gate.set()
    await settle()
    assert (await asked.call(id="x7")).served is not None
    assert asked.sent == 1


@pytest.mark.parametrize(
    ("verdict", "is_kept"),
    [(Verdict.ACCEPT, True), (Verdict.REJECT, False), (Verdict.MODIFY, False)],
)
async def test_only_accepted_results_answer_later_calls(asked, verdict, is_kept):
    made = await asked.ask()
    await flow.give_feedback(
        asked.effects, ANN, FeedbackRequest(speculation=made.speculation_id, verdict=verdict)
    )
    assert ((await asked.call(id="x7")).served is not None) is is_kept
    assert asked.sent == (1 if is_kept else 2)


@pytest.mark.django_db
@pytest.mark.usefixtures("runs_db")
@pytest.mark.parametrize("names_it", [True, False])
async def test_a_run_that_names_the_suggestion_calls_nothing_again(asked, home, sealer, names_it):
    asked.rank(READ, OTHER)
    made = await asked.ask()
    given = means(
        home,
        sealer,
        asked.early.upstream,
        catalogue=lambda: asked.early.rules.catalogue,
        speculation=asked.early.speculator,
    )
    request = RunRequest(
        workflow=dump(made.workflow),
        intent="show it",
        options=RunOptions(),
        from_speculation=made.speculation_id if names_it else None,
        wait_s=PATIENCE_S,
    )
    async with process(given) as runs:
        view = await flow.run_workflow(replace(asked.effects, runs=runs), ANN, request)
    assert view.status == "succeeded"
    assert {task.result["structuredContent"]["id"] for task in view.tasks} == {"x7"}
    assert asked.sent == (2 if names_it else 4)


async def test_over_mcp_the_answer_has_its_results_and_their_age(asked, connect, monkeypatch):
    effects = asked.effects
    monkeypatch.setattr(type(asked.world), "effects", property(lambda _world: effects))
    async with connect() as client:
        result = await client.call_tool(
            "run_intent", {"intent": "show it", "parameters": {"id": "x7"}}
        )
        told = result.structured_content
        served = await client.call_tool(
            "call_tool", {"tool": "git:show", "arguments": {"id": "x7"}}
        )
    jsonschema.validate(told, meta_tools.TOOLS["run_intent"].output_schema)
    assert told["mode"] == "speculative_execution"
    (task,) = told["workflow"]["tasks"]
    assert told["results"] == {task["id"]: {"tool": "show", "id": "x7"}}
    assert told["results_age_ms"] >= 0
    assert told["fallback_reason"] == ""
    assert served.meta["foregate/served"]["prediction"] == UUID(told["speculation_id"]).hex
    assert asked.sent == 1
