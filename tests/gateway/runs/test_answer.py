"""What a client is told of a run."""

import json

import jsonschema
import pytest

from execution.status import RunStatus, TaskStatus
from gateway_project.mcp.meta_tools.runs import GET_RUN
from gateway_project.runs import answer as run_answer
from gateway_project.runs import table as run_table
from gateway_project.runs.timeline import Timeline
from tests.gateway.run_views import BEGAN, RUN, approval, task, text, view

PICTURE = {"type": "image", "data": "", "mimeType": "image/png"}


def told(shown, **changes):
    answer = run_answer.answer_to_json(shown, "http://console/{}".format, **changes)
    jsonschema.validate(answer, GET_RUN.output_schema)
    json.dumps(answer)
    return answer


def test_results_are_the_values_that_references_resolve_to():
    answer = told(
        view(
            task("a", result=text('{"n": 1}')),
            task("b", result={"structuredContent": [1, 2], "content": []}),
            task("c", result=text("plain")),
        )
    )
    assert answer["run_id"] == str(RUN)
    assert answer["results"] == {"a": {"n": 1}, "b": [1, 2], "c": "plain"}
    assert "contents" not in answer
    assert answer["tasks"] == dict.fromkeys("abc", "succeeded")


def test_content_blocks_missing_from_the_value_are_included():
    answer = told(
        view(
            task("a", result={"content": [{"type": "text", "text": "seen"}, PICTURE]}),
            task(
                "b",
                result={
                    "structuredContent": {"n": 1},
                    "content": [
                        {"type": "text", "text": '{"n":  1}'},
                        {"type": "text", "text": "x"},
                    ],
                },
            ),
        )
    )
    assert answer["contents"] == {"a": [PICTURE], "b": [{"type": "text", "text": "x"}]}


@pytest.mark.parametrize(
    ("structured", "texts", "left"),
    [
        ({"result": "the text"}, ["the text"], []),
        ({"content": {"deep": ["the text"]}}, ["the text", "more"], ["more"]),
        ({"result": [{"a": 1}, "b", 2]}, ['{"a": 1}', "b", "2"], []),
        ([{"a": 1}, {"a": 2}], ['{"a":1}', '{"a":2}'], []),
        ({"result": True}, ["true", "1"], ["1"]),
        ({"result": {"a": 1}}, ['{"a": 1}', '{"a": 2}'], ['{"a": 2}']),
    ],
)
def test_no_text_of_a_result_is_sent_twice(structured, texts, left):
    blocks = [{"type": "text", "text": one} for one in texts]
    answer = told(view(task("a", result={"structuredContent": structured, "content": blocks})))
    assert answer["results"] == {"a": structured}
    assert [block["text"] for block in answer.get("contents", {}).get("a", [])] == left


def test_a_for_each_task_returns_a_list_in_item_order():
    answer = told(
        view(
            task("a"),
            task("a", item=1, result=text("second")),
            task("a", item=0, result={"content": [{"type": "text", "text": "first"}, PICTURE]}),
            task("a", TaskStatus.FAILED, item=2, error_code="tool_error", error="no"),
        )
    )
    assert answer["results"] == {"a": ["first", "second", None]}
    assert answer["contents"] == {"a": [[PICTURE], [], []]}
    assert answer["errors"]["a"]["items"] == {"2": {"code": "tool_error", "message": "no"}}


@pytest.mark.parametrize(
    "status",
    [TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.UNKNOWN, TaskStatus.RUNNING],
)
def test_results_of_items_are_listed_whatever_the_status_of_their_task(status):
    reported = {**text("no"), "isError": True}
    answer = told(
        view(
            task("a", status),
            task("a", item=3, result={"content": [{"type": "text", "text": "last"}, PICTURE]}),
            task("a", item=0, result=text("first")),
            task("a", TaskStatus.FAILED, item=1, result=reported, error_code="tool_error"),
            task("b", TaskStatus.FAILED, result=reported, error_code="tool_error"),
            task("c", status),
            task("c", TaskStatus.FAILED, item=0, result=reported, error_code="tool_error"),
        )
    )
    assert answer["results"] == {"a": ["first", None, None, "last"]}
    assert answer["contents"] == {"a": [[], [], [], [PICTURE]]}


def test_the_first_of_many_item_errors_are_listed_and_the_rest_counted():
    failed = [
        task("a", TaskStatus.FAILED, item=number, error_code="tool_error", error="no")
        for number in range(25)
    ]
    whole = task("a", TaskStatus.FAILED, error_code="item_failed", error="25 of 25 calls failed")
    row = told(view(whole, *failed))["errors"]["a"]
    assert (row["code"], len(row["items"]), row["more_items"]) == ("item_failed", 20, 5)
    assert "more_items" not in told(view(whole, *failed[:20]))["errors"]["a"]


@pytest.mark.parametrize("content", ["not a list", {"type": "text"}, 7, None])
def test_content_that_is_not_a_list_has_no_blocks(content):
    answer = told(view(task("a", result={"content": content})))
    assert answer["results"] == {"a": None}
    assert "contents" not in answer


def test_an_empty_list_gives_an_empty_result():
    given = {"tasks": [{"id": "a", "tool": "s:a", "for_each": {"$ref": "b", "pointer": ""}}]}
    assert told(view(task("a"), workflow=given))["results"] == {"a": []}


def test_linked_results_are_not_sent():
    shown = view(task("a", result=text("x" * 100)), task("b", result=text("small")))
    link = {"uri": "foregate://result/1", "bytes": 100, "expires_at": "2026-03-01"}
    answer = told(shown, result_links={"a": link})
    assert (answer["results"], answer["links"]) == ({"b": "small"}, {"a": link})


def test_errors_are_listed_by_task_without_invisible_characters():
    shown = view(
        task("a", TaskStatus.FAILED, error_code="tool_error", error="bad\u202e path"),
        task("b", TaskStatus.SKIPPED, error_code="dependency_failed"),
        status=RunStatus.FAILED,
        error_code="failed",
        error="a failed",
    )
    answer = told(shown)
    assert answer["errors"]["a"] == {"code": "tool_error", "message": "bad path"}
    assert answer["error"] == {"code": "failed", "message": "a failed"}


def test_a_long_message_of_a_server_is_cut():
    shown = view(task("a", TaskStatus.FAILED, error_code="tool_error", error="x" * 100_000))
    assert len(told(shown)["errors"]["a"]["message"]) == run_answer.MAX_ERROR_CHARS


def test_pending_approvals_are_listed_with_reason_and_link():
    shown = view(
        task("wipe", TaskStatus.WAITING_APPROVAL),
        status=RunStatus.WAITING,
        approvals=(approval(), approval("gone", status="used")),
    )
    answer = told(shown)
    (one,) = answer["pending_approvals"]
    assert (one["task"], one["tool"], one["arguments"]) == ("wipe", "server:wipe", '{"path": "/"}')
    assert one["link"] == f"http://console/{one['id']}"
    assert "give them the link" in answer["next"]
    assert "control_run approve asks your user" not in answer["next"]
    askable = run_answer.answer_to_json(shown, str, can_ask_user=True)
    assert "control_run approve asks your user" in askable["next"]


LAYERED = {
    "tasks": [
        {"id": "a", "tool": "s:a", "arguments": {}},
        {"id": "b", "tool": "s:b", "arguments": {}, "depends_on": ["a"]},
    ]
}


@pytest.mark.parametrize(
    ("layered", "second", "reason", "first"),
    [
        (True, TaskStatus.PENDING, "layer_complete", "continue"),
        (True, TaskStatus.RUNNING, "paused", "resume"),
        (False, TaskStatus.PENDING, "paused", "resume"),
    ],
)
def test_a_paused_run_lists_its_possible_actions(layered, second, reason, first):
    shown = view(
        task("a"),
        task("b", second),
        status=RunStatus.PAUSED,
        workflow=LAYERED,
        options={"per_layer_validation": layered},
    )
    decision = told(shown)["decision"]
    assert decision["reason"] == reason
    assert decision["actions"] == [first, "replan", "abort"]
    assert (decision.get("layer"), decision.get("of")) == (
        (1, 2) if first == "continue" else (None, None)
    )


def test_a_later_task_that_is_skipped_already_hides_no_layer():
    later = {"id": "c", "tool": "s:t", "depends_on": ["x"]}
    workflow = {"tasks": [*LAYERED["tasks"], {"id": "x", "tool": "s:t"}, later]}
    shown = view(
        task("a", TaskStatus.FAILED),
        task("x"),
        task("b", TaskStatus.SKIPPED),
        task("c", TaskStatus.PENDING),
        status=RunStatus.PAUSED,
        workflow=workflow,
        options={"per_layer_validation": True},
    )
    decision = told(shown)["decision"]
    assert (decision["reason"], decision["layer"], decision["of"]) == ("layer_complete", 1, 2)


def test_a_replan_during_reading_does_not_break_the_answer():
    shown = view(
        task("a"), status=RunStatus.PAUSED, workflow=LAYERED,
        options={"per_layer_validation": True},
    )  # fmt: skip
    assert told(shown)["decision"]["layer"] == 1


def test_the_first_of_many_approvals_are_listed_and_the_rest_counted():
    many = tuple(approval(f"t{number}") for number in range(25))
    answer = told(view(task("a"), status=RunStatus.WAITING, approvals=many))
    assert (len(answer["pending_approvals"]), answer["more_approvals"]) == (20, 5)
    shown = run_table.render_run(answer, Timeline(spans=()))
    assert "5 more wait for approval: manage.py approvals" in [str(line) for line in shown]
    few = told(view(task("a"), status=RunStatus.WAITING, approvals=many[:20]))
    assert "more_approvals" not in few


def test_a_direct_call_says_that_the_same_call_returns_its_outcome():
    assert "same call_tool" in told(view(task("call"), is_direct=True))["next"]
    given = view(task("call"), is_direct=True, delivered_at=BEGAN)
    assert "next" not in told(given)


def test_only_a_person_may_repeat_a_call_of_unknown_outcome():
    shown = view(
        *(task(f"t{number}", TaskStatus.UNKNOWN) for number in range(7)),
        status=RunStatus.UNKNOWN,
    )
    answer = told(shown)
    assert answer["decision"]["actions"] == ["replan", "abort"]
    assert "t0, t1, t2, t3, t4 and 2 more" in answer["next"]


def test_a_replan_is_reported():
    effects = {"kept": ["a"], "changed": [], "added": ["c"], "removed": ["b"]}
    assert told(view(task("a"), replanned=effects))["replanned"] == effects


def test_expired_payloads_are_reported_as_expired():
    answer = told(view(task("a"), has_expired=True))
    assert answer["results"] == {}
    assert "no longer stored" in answer["next"]
