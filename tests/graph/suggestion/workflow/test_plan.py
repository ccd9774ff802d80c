from __future__ import annotations

from dataclasses import replace

import pytest

from graph.suggestion.binding.tasks import WorkflowTool
from graph.suggestion.ranking.rank import Ranking
from graph.suggestion.ranking.request_scores import RequestCandidate
from graph.suggestion.workflow.build import build_workflow
from graph.suggestion.workflow.plan import MAX_PARTIAL_CONFIDENCE, MAX_SINGLE_CHARS
from graph.suggestion.workflow.types import Suggestion
from tests.graph.suggestion.workflow.builders import (
    make_candidate,
    make_context,
    make_reading,
    neighbour,
    ranked,
    ranking,
    tool,
)
from tools.fusion import NOTHING_CLOSE_WARNING

READ, POST, LIST, OTHER = 21, 22, 23, 24
TOOLS = (
    tool(READ, tool="files:read_file", name="read_file"),
    tool(POST, tool="chat:post_message", name="post_message"),
    tool(LIST, tool="files:list_directory", name="list_directory"),
    tool(OTHER, tool="files:read_graph", name="read_graph"),
)
PATH = {"properties": {"path": {"type": "string"}}, "required": ["path"]}


def candidate(pk: int, cosine: float, *, word_share: float = 0.5) -> RequestCandidate:
    return make_candidate(pk, cosine, word_share=word_share)


def suggest(
    intent: str,
    *requests: tuple[RequestCandidate, ...],
    found: Ranking | None = None,
    **more: object,
) -> Suggestion:
    found = found or ranking(ranked(LIST, OTHER, confidence=0.1))
    found = replace(found, requests=requests, **more)  # type: ignore[arg-type]
    return build_workflow(make_reading(intent), found, context=make_context(*TOOLS))


def tools_of(suggestion: Suggestion) -> list[int]:
    return [task.tool.pk for task in suggestion.tasks]


def test_one_request_gets_the_one_tool_that_fits_it_best() -> None:
    found = suggest("read the report", (candidate(READ, 0.5), candidate(OTHER, 0.4)))
    assert tools_of(found) == [READ]
    assert [one.tools for one in found.alternatives] == [(LIST, OTHER)]
    assert found.uncovered == ()


@pytest.mark.parametrize(
    ("intent", "is_destructive", "kept"),
    [
        ("read the report", False, [(OTHER, POST)]),
        ("read the report without posting it", True, []),
        ("never post it, only read the report", False, []),
        ("read the report but do not post it", False, []),
    ],
)
def test_an_alternative_does_nothing_harmful_or_ruled_out_that_no_request_asks_for(
    intent: str, is_destructive: bool, kept: list[tuple[int, ...]]
) -> None:
    tools = [
        replace(one, is_destructive=is_destructive) if one.pk == POST else one for one in TOOLS
    ]
    found = build_workflow(
        make_reading(intent),
        replace(
            ranking(
                ranked(OTHER, POST, confidence=0.6),
                shares={POST: [1.0, 1.0]},
                probabilities={POST: 0.9, READ: 0.4},
            ),
            requests=((candidate(READ, 0.7), candidate(OTHER, 0.4), candidate(POST, 0.1)),),
        ),
        context=make_context(*tools),
    )
    assert tools_of(found) == [READ]
    assert [one.tools for one in found.alternatives] == kept


def test_a_suggestion_and_its_alternatives_claim_no_more_than_certainty() -> None:
    sets = [ranked(pk, confidence=0.6) for pk in (LIST, OTHER, POST)]
    found = suggest("read the report", (candidate(READ, 0.9),), found=ranking(*sets))
    assert tools_of(found) == [READ]
    claimed = [one.confidence for one in found.alternatives]
    assert len(claimed) == 3
    assert found.confidence + sum(claimed) == pytest.approx(1.0)


def test_each_request_gets_its_tool_in_the_order_of_the_text() -> None:
    found = suggest(
        "post a message and read the report",
        (candidate(POST, 0.6), candidate(READ, 0.2)),
        (candidate(READ, 0.5), candidate(POST, 0.3)),
    )
    assert tools_of(found) == [POST, READ]


def test_a_familiar_intent_is_left_to_past_runs() -> None:
    found = suggest("read the report", (candidate(READ, 0.5),), familiarity=0.8)
    assert tools_of(found) == [LIST, OTHER]


def test_a_long_text_describes_a_goal_and_is_left_to_ranked_sets() -> None:
    found = suggest("read the report " + "of this year " * 30, (candidate(READ, 0.5),))
    assert len("of this year " * 30) > MAX_SINGLE_CHARS
    assert tools_of(found) == [LIST, OTHER]


def test_a_request_that_no_tool_serves_is_named_and_gets_none() -> None:
    found = suggest(
        "read the report and post it to the moon",
        (candidate(READ, 0.5),),
        (candidate(OTHER, 0.1, word_share=0.0),),
    )
    assert tools_of(found) == [READ]
    assert found.uncovered == ("post it to the moon",)
    assert "no task covers this part of the intent: “post it to the moon”" in found.warnings
    assert found.confidence <= MAX_PARTIAL_CONFIDENCE


def test_half_of_what_past_runs_suggest_is_not_complete_either() -> None:
    found = suggest(
        "read the report and post a message",
        (candidate(READ, 0.7), candidate(POST, 0.1)),
        (candidate(POST, 0.6), candidate(READ, 0.1)),
        found=ranking(
            ranked(POST, confidence=0.95), probabilities={POST: 0.9, READ: 0.2}, history=40
        ),
        familiarity=0.9,
    )
    assert tools_of(found) == [POST]
    assert found.uncovered == ("read the report",)
    assert found.confidence <= MAX_PARTIAL_CONFIDENCE


@pytest.mark.parametrize(("more", "is_sure"), [("", False), (" of this long year" * 10, True)])
def test_a_tool_that_no_run_called_may_be_what_a_short_intent_asks_for(
    more: str, *, is_sure: bool
) -> None:
    found = suggest(
        f"read the report{more}",
        (candidate(READ, 0.7), candidate(POST, 0.1)),
        found=ranking(ranked(POST, confidence=0.95), probabilities={POST: 0.9}, history=40),
        familiarity=0.9,
    )
    assert tools_of(found) == [POST]
    assert (found.confidence > MAX_PARTIAL_CONFIDENCE) == is_sure


def test_what_no_task_has_to_do_with_is_named_although_runs_are_familiar() -> None:
    found = suggest(
        "post a message and translate the flowers",
        (candidate(POST, 0.6), candidate(READ, 0.1)),
        (candidate(OTHER, 0.2, word_share=0.0), candidate(POST, 0.0, word_share=0.0)),
        found=ranking(ranked(POST, confidence=0.95), history=40),
        familiarity=0.9,
    )
    assert found.uncovered == ("translate the flowers",)


def test_a_workflow_that_served_this_intent_before_covers_it() -> None:
    found = suggest(
        "read the report and post a message",
        (candidate(READ, 0.5), candidate(POST, 0.1)),
        (candidate(POST, 0.6), candidate(READ, 0.1)),
        found=ranking(
            ranked(POST, confidence=0.95), neighbours=[neighbour(0.99, POST)], history=40
        ),
        familiarity=0.9,
    )
    assert found.uncovered == ()
    assert found.confidence == 0.95


def test_where_nothing_fits_nothing_is_suggested() -> None:
    found = suggest("call my mum", (candidate(OTHER, 0.05, word_share=0.0),))
    assert found.tasks == ()


def test_a_further_object_gets_a_tool_only_if_one_stands_out() -> None:
    def with_lead(lead: float) -> list[int]:
        return tools_of(
            suggest(
                "read the report and the folder",
                (candidate(READ, 0.6), candidate(LIST, 0.1)),
                (candidate(LIST, 0.5), candidate(OTHER, 0.5 - lead)),
            )
        )

    assert with_lead(0.3) == [READ, LIST]
    assert with_lead(0.04) == [READ]


def test_requests_for_different_actions_share_no_tool_if_another_is_near() -> None:
    def with_second(score: float) -> list[int]:
        return tools_of(
            suggest(
                "read the folder and list the files",
                (candidate(LIST, 0.5, word_share=1.0), candidate(OTHER, 0.1)),
                (candidate(LIST, 0.5), candidate(READ, score, word_share=1.0)),
            )
        )

    assert with_second(0.2) == [LIST]
    assert with_second(0.63) == [LIST, READ]


def test_a_ranked_set_adds_no_steps_that_no_request_asks_for() -> None:
    found = suggest(
        "read the report",
        (candidate(READ, 0.6), candidate(POST, 0.2)),
        found=ranking(ranked(READ, POST, confidence=0.6)),
    )
    assert tools_of(found) == [READ]


def test_a_tool_that_cannot_be_called_serves_no_request() -> None:
    found = replace(
        ranking(ranked(LIST, confidence=0.1)),
        requests=((candidate(READ, 0.6), candidate(OTHER, 0.5)),),
    )
    context = make_context(replace(TOOLS[0], obstacle="is disabled"), *TOOLS[1:])
    assert tools_of(build_workflow(make_reading("read the report"), found, context=context)) == [
        OTHER
    ]


def test_each_task_is_bound_to_its_own_request() -> None:
    files = [replace(one, input_schema=PATH) for one in (TOOLS[0], TOOLS[2])]
    found = replace(
        ranking(None),
        requests=(
            (candidate(READ, 0.6), candidate(LIST, 0.1)),
            (candidate(LIST, 0.6), candidate(READ, 0.1)),
        ),
    )
    suggestion = build_workflow(
        make_reading("read /srv/a.txt and list the folder /srv/b"),
        found,
        context=make_context(*files),
    )
    assert {task.tool.pk: task.arguments for task in suggestion.tasks} == {
        READ: {"path": "/srv/a.txt"},
        LIST: {"path": "/srv/b"},
    }


def test_the_server_that_a_request_names_is_preferred() -> None:
    found = suggest("something at hand", (candidate(OTHER, 0.5), candidate(POST, 0.48)))
    assert tools_of(found) == [OTHER]
    found = suggest("something in chat", (candidate(OTHER, 0.5), candidate(POST, 0.48)))
    assert tools_of(found) == [POST]


@pytest.mark.parametrize("cosine", [0.3, 0.4])
def test_a_short_wish_without_evidence_of_a_tool_gets_a_warning_and_no_task(cosine: float) -> None:
    found = suggest("summon my uncle", (candidate(OTHER, cosine, word_share=0.0),))
    assert found.tasks == ()
    assert found.warnings == (NOTHING_CLOSE_WARNING,)


@pytest.mark.parametrize(("length", "tools"), [(60, []), (120, [OTHER])])
def test_a_longer_wish_needs_less_evidence(length: int, tools: list[int]) -> None:
    found = suggest("summon my uncle".ljust(length, "e"), (candidate(OTHER, 0.4, word_share=0),))
    assert tools_of(found) == tools


def test_tools_of_one_server_are_chosen_together() -> None:
    found = suggest(
        "summon my uncle and read the report",
        (candidate(POST, 0.6), candidate(LIST, 0.55)),
        (candidate(READ, 0.7), candidate(OTHER, 0.4)),
    )
    assert tools_of(found) == [LIST, READ]


def test_a_request_that_only_refers_back_stays_with_the_server() -> None:
    def second(text: str) -> int:
        return tools_of(
            suggest(
                f"read the report and {text}",
                (candidate(READ, 0.8), candidate(POST, 0.1)),
                (candidate(POST, 0.7), candidate(LIST, 0.5)),
            )
        )[-1]

    assert second("list it") == LIST
    assert second("list it to bo@example.org") == POST
    assert second("list it in chat") == POST


WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"],
}


def choose_between(first: WorkflowTool, second: WorkflowTool) -> list[int]:
    """Suggest a tool for a request that both tools are near to, the first one a little nearer."""
    requests = ((candidate(first.pk, 0.52), candidate(second.pk, 0.5)),)
    found = replace(ranking(ranked(LIST, confidence=0.1)), requests=requests)
    request = make_reading("weather in Lisbon, please")
    return tools_of(build_workflow(request, found, context=make_context(first, second)))


def test_of_two_near_tools_the_one_that_takes_what_is_stated_is_chosen() -> None:
    plain, takes = tool(31, name="weather"), tool(32, name="forecast", input_schema=WEATHER)
    assert choose_between(plain, takes) == [32]


def test_what_is_stated_does_not_lift_a_destructive_tool_above_another() -> None:
    plain = tool(31, name="weather")
    destroys = tool(32, name="wipe", input_schema=WEATHER, is_destructive=True)
    assert choose_between(plain, destroys) == [31]
