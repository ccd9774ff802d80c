"""The playground: an intent in words, its answer, a check and a run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.console.rooms import playground
from gateway_project.foundation.rounding import round_apart
from tests.factories import ServerFactory, ToolFactory
from tests.gateway.rooms.test_servers_room import failing, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway")]
PROBABILITIES = st.integers(0, 10_000).map(lambda count: count / 10_000)
READ = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}},
    "required": ["path", "depth"],
}
ANSWER = {
    "mode": "suggestion",
    "confidence": 0.83,
    "evidence": {
        "history": 1200, "similar": 7, "same_tools": 5, "successes": 4, "failures": 1,
        "nearest": 0.91, "threshold": 0.9, "above_threshold": False,
        "context": {"suggestions": 4.0, "right": 3.0},
    },
    "order": ["t1", "t2"],
    "bindings": [
        {"task": "t1", "pointer": "/path", "source": "literal", "evidence": "“/x”",
         "confidence": 0.9},
    ],
    "needs_input": [
        {"task": "t1", "pointer": "/depth", "why": "nothing states it",
         "schema": {"type": "integer", "description": "How deep."}},
        {"task": "t2", "pointer": "/filter/since", "why": "", "schema": {"type": "string"}},
    ],
    "explanation": ["t1 comes before t2"],
    "dependency_paths": [],
    "alternatives": [{"tools": ["fs:read"], "confidence": 0.2}],
    "warnings": ["beware <script>alert(1)</script>"],
    "speculation_id": "0" * 32,
}  # fmt: skip
WORKFLOW = {
    "tasks": [
        {"id": "t1", "tool": "fs:read", "arguments": {"path": "/x"}},
        {"id": "t2", "tool": "fs:list", "arguments": {}, "depends_on": ["t1"]},
    ]
}


@pytest.fixture
def tools(db):
    server = ServerFactory(name="fs")
    ToolFactory(server=server, name="read", description="Read a file.", input_schema=READ)
    ToolFactory(server=server, name="list", description="Lists all of the files. In a folder.")


def send(root, action, *, answer=ANSWER, workflow=WORKFLOW, **given):
    values = {"intent": "read it", "answer": json.dumps(answer), "workflow": json.dumps(workflow)}
    return root.post("/playground/", values | {"action": action} | given)


def test_without_tools_the_next_step_is_named(root):
    assert "There are no tools to answer with" in text_of(root.get("/playground/"))


def test_tools_that_wait_are_not_taken_for_none(root):
    ToolFactory(server=ServerFactory(name="fs"), name="read", state="pending")
    assert "1 tool cannot be used yet" in text_of(root.get("/playground/"))


def test_servers_without_tools_are_not_taken_for_none(root):
    def ask():
        return text_of(root.get("/playground/"))

    server = ServerFactory(name="fs")
    assert "Your servers are being asked for their tools" in ask()
    server.enabled = False
    server.save()
    assert "Tools come with servers: add one" in ask()
    failing("bad")
    assert "See what is wrong with them" in ask()


def test_who_may_not_add_servers_is_not_sent_there(member):
    answer = member.get("/playground/")
    assert "an admin of this installation adds" in text_of(answer)
    assert "/servers/add/" not in answer.content.decode()


def test_a_wish_made_from_the_tools_at_hand_is_answered_by_one_press(root, tools):
    page = root.get("/playground/")
    (wish, *_) = page.context["examples"]
    assert wish == ("List all of the files", "fs")
    assert "Try one of these" in text_of(page)
    answer = text_of(root.post("/playground/", {"intent": wish.text, "action": "ask"}))
    assert "What it would do" in answer
    assert "Try one of these" not in answer


def test_an_intent_is_answered_with_tools_and_a_workflow(root, tools):
    answer = root.post("/playground/", {"intent": "read a file", "action": "ask"})
    text = text_of(answer)
    assert "What it would do" in text
    assert "Tools that a search finds" in text
    assert "fs:read" in text
    assert "No earlier intent is known" in text or "Nothing is run ahead" in text
    assert "drawing__box" in answer.content.decode()


def test_an_intent_without_words_is_refused_in_words(root, tools):
    assert "words" in text_of(root.post("/playground/", {"intent": "??", "action": "ask"}))


def test_nothing_is_asked_without_an_intent(root, tools):
    assert "What it would do" not in text_of(root.post("/playground/", {"intent": " "}))


def test_an_answer_is_shown_with_sources_and_grounds():
    shown = playground.describe_answer(ANSWER, WORKFLOW)
    assert shown["percent"] == "83"
    (argument,) = shown["tasks"][0]["arguments"]
    assert (argument["source"], argument["percent"]) == ("from your words", 90)
    assert [need["name"] for need in shown["needs"]] == ["depth", "filter → since"]
    assert shown["grounds"] == [
        "7 of 1,200 earlier intents are similar, the nearest 91 % alike.",
        "5 of them used the same tools: right in 4 cases, wrong in 1.",
        "In this context 3 of 4 suggestions were right.",
        "It would be run ahead from 90 % on, and is below that with 83 %.",
    ]


def test_a_suspended_threshold_is_said():
    assert playground.list_grounds({})[-1].startswith("Nothing is run ahead")


@given(confidence=PROBABILITIES, threshold=PROBABILITIES, reason=st.sampled_from(["", "Slow."]))
def test_what_is_said_of_running_ahead_fits_the_numbers_beside_it(confidence, threshold, reason):
    is_above = confidence >= threshold
    shown, least = round_apart(confidence, threshold, digits=2)
    answer = {
        "confidence": shown,
        "evidence": {"threshold": least, "above_threshold": is_above},
        "fallback_reason": reason,
    }
    said = playground.list_grounds(answer)[-1]
    if reason:
        assert said == "It is not run ahead: Slow."
        return
    words = said.rstrip(".").split()
    least, percent = (float(words[place]) for place in (6, -2))
    assert (percent >= least) == is_above == ("reaches" in words)
    assert f"{percent:g}" == playground.describe_answer(answer, {})["percent"]


def test_values_are_filled_in_where_they_are_missing():
    workflow = json.loads(json.dumps(WORKFLOW))
    needs = ANSWER["needs_input"]
    assert playground.fill_needs(workflow, needs, ["3", "now"]) == {}
    assert workflow["tasks"][0]["arguments"] == {"path": "/x", "depth": 3}
    assert workflow["tasks"][1]["arguments"] == {"filter": {"since": "now"}}
    assert playground.fill_needs(workflow, needs, ["deep", ""]) == {0: "enter a whole number"}
    whole = [{"task": "t1", "pointer": "/o",
              "schema": {"type": "object", "properties": {"a": {}}}}]  # fmt: skip
    assert playground.fill_needs(workflow, whole, ['{"a": 1}']) == {}
    assert workflow["tasks"][0]["arguments"]["o"] == {"a": 1}


def test_a_check_calls_nothing_and_lists_what_is_wrong(root, tools, gateway):
    text = text_of(send(root, "check"))
    assert "A run would not start yet" in text
    filled = text_of(send(root, "check", **{"need-0": "3"}))
    assert "It can run as it is; nothing was called" in filled
    assert "2 steps" in filled
    assert "may change something" in filled


def test_a_value_of_the_wrong_kind_is_said_at_its_field(root, tools):
    assert "Enter a whole number." in text_of(send(root, "check", **{"need-0": "deep"}))


def test_a_run_that_cannot_start_says_why(root, tools):
    answer = send(root, "run")
    assert answer.status_code == 400
    assert "depth" in text_of(answer)


def test_a_run_leads_to_its_page(root, tools, gateway):
    answer = send(root, "run", **{"need-0": "3"})
    assert answer.status_code == 302, text_of(answer)
    assert answer["Location"].startswith("/runs/")


def test_viewers_may_ask_but_not_run(sign_in, tools):
    viewer = sign_in("viewer")
    page = text_of(viewer.post("/playground/", {"intent": "read a file", "action": "ask"}))
    assert "What it would do" in page
    assert "Run it" not in page
    assert send(viewer, "run", **{"need-0": "3"}).status_code == 400


@pytest.mark.parametrize(
    ("answer", "workflow"),
    [([], {}), ({}, []), ({}, {"tasks": 1}), ({}, {"tasks": [1]})],
)
def test_a_form_that_this_page_did_not_write_is_asked_again(root, tools, answer, workflow):
    shown = text_of(send(root, "check", answer=answer, workflow=workflow))
    assert "What it would do" in shown
    broken = root.post("/playground/", {"intent": "read", "action": "run", "answer": "{"})
    assert broken.status_code == 200


def test_texts_of_an_answer_are_no_markup(root, tools):
    assert "<script>alert" not in send(root, "check").content.decode()
