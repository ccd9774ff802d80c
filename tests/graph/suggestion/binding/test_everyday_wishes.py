"""Values that wishes in everyday words state, and words in them that are no values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.knowledge import BindingKnowledge, FrequentConstant
from graph.suggestion.binding.schemas import load_schema
from graph.suggestion.binding.steps import BindTool
from graph.suggestion.intent.reading import read_intent
from tests.graph.suggestion.binding.tools import steps, text, tool

NUMBER = {"type": "integer"}
LIST = {"type": "array"}
TEXTS = {"type": "array", "items": {"type": "string"}}
NUMBERS = {"type": "array", "items": NUMBER}


def act(called: str = "act", /, **fields: dict[str, Any]) -> BindTool:
    """Build a tool that requires these fields."""
    return tool(fields, required=list(fields), name=called)


def given(intent: str, one: BindTool) -> dict[str, Any]:
    (step,) = bind_arguments(steps(one), reading=read_intent(intent))
    return dict(step.arguments)


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        ("mark card 455 as done", act(task_id=NUMBER), {"task_id": 455}),
        ("who is in room 445566", act(channelId=text()), {"channelId": "445566"}),
        ("show all messages on case 88", act(ticket_id=NUMBER), {"ticket_id": 88}),
        (
            "remove entries 51, 52 and 53 together",
            act(time_entry_ids={"type": "array", "items": {"type": "integer"}}),
            {"time_entry_ids": [51, 52, 53]},
        ),
        ("stop pipeline {5e0a-91}", act(pipeline_uuid=text()), {"pipeline_uuid": "{5e0a-91}"}),
        (
            "run php within container shop-app",
            act(container_id=text()),
            {"container_id": "shop-app"},
        ),
        (
            "look in collection songs for hits",
            act(collection_name=text()),
            {"collection_name": "songs"},
        ),
        (
            "show the diff of PR 93 in acme/shop",
            act(workspace=text(), repo_slug=text(), pull_request_id=text()),
            {"workspace": "acme", "repo_slug": "shop", "pull_request_id": "93"},
        ),
        (
            "what did build 4 of team/nightly say",
            act(fullname=text()),
            {"fullname": "team/nightly"},
        ),
        ("add a row to the 'Rent 2026' tab", act(sheet=text()), {"sheet": "Rent 2026"}),
        ("read the tab 'Guests'", act(sheet=text()), {"sheet": "Guests"}),
        (
            "duplicate 'May' as 'June'",
            act("copy_sheet", srcSheetName=text(), dstSheetName=text()),
            {"srcSheetName": "May", "dstSheetName": "June"},
        ),
        ("call it 'Jonas'", act("clone_voice", name=text()), {"name": "Jonas"}),
        (
            "which pages mention 'expenses'?",
            act("search_pages", term=text()),
            {"term": "expenses"},
        ),
        (
            "put the points 'cut costs', 'hire' and 'ship' on it",
            act(bullet_points=LIST),
            {"bullet_points": ["cut costs", "hire", "ship"]},
        ),
        ("make it 768 by 1024", act(width=NUMBER, height=NUMBER), {"width": 768, "height": 1024}),
        (
            "current value of sum(rate(hits[5m])) by (job)",
            act(query=text()),
            {"query": "sum(rate(hits[5m])) by (job)"},
        ),
        (
            "erase 18aa01, 18aa02 and 18aa03",
            act(ids=TEXTS),
            {"ids": ["18aa01", "18aa02", "18aa03"]},
        ),
        ("tally the answers of s-12", act(session_id=text()), {"session_id": "s-12"}),
        (
            "every '2025' should become '2026'",
            act(find_text=text(), replace_text=text()),
            {"find_text": "2025", "replace_text": "2026"},
        ),
        (
            "remove user::17 from the bucket",
            act(document_id=text("such as 'user' or 'order'")),
            {"document_id": "user::17"},
        ),
        ("any storm warnings for Miami", act(location=text()), {"location": "Miami"}),
        ("which ports are open on 192.168.1.10", act(target=text()), {"target": "192.168.1.10"}),
        (
            "which coins does 0xab58f1 hold",
            act(chain_id=text(), address=text()),
            {"address": "0xab58f1"},
        ),
        ("drop document d9", act("delete_document", id=text()), {"id": "d9"}),
        ("is light.living_room on", act(entity_id=text()), {"entity_id": "light.living_room"}),
        ("how many has lee215 solved", act(username=text()), {"username": "lee215"}),
        ("put a 👍 there", act(emoji=text()), {"emoji": "👍"}),
        ("leave a remark on task 99120", act(task_id=text()), {"task_id": "99120"}),
    ],
)
def test_what_everyday_words_call_is_bound(
    intent: str, one: BindTool, expected: dict[str, Any]
) -> None:
    assert given(intent, one) == expected


@pytest.mark.parametrize(
    ("intent", "fields", "expected"),
    [
        (
            "join a.mp4 and b.mp4 into all.mp4",
            ["video_path", "video_path2", "output_name"],
            {"video_path": "a.mp4", "video_path2": "b.mp4", "output_name": "all.mp4"},
        ),
        (
            "lay tune.mp3 over beach.mp4, save it as out.mp4",
            ["video_path", "audio_path", "output_path"],
            {"video_path": "beach.mp4", "audio_path": "tune.mp3", "output_path": "out.mp4"},
        ),
        (
            "make /out/a.pdf out of /notes/a.md",
            ["input_path", "output_path"],
            {"input_path": "/notes/a.md", "output_path": "/out/a.pdf"},
        ),
        (
            "hardcode /subs/film.srt into film.mp4",
            ["file_path", "subtitle_path", "output_path"],
            {"file_path": "film.mp4", "subtitle_path": "/subs/film.srt"},
        ),
        ("spot icon.png inside page.png", ["image_path", "template_path"], {}),
    ],
)
def test_files_are_bound_to_what_is_read_and_written(
    intent: str, fields: list[str], expected: dict[str, str]
) -> None:
    assert given(intent, act(**{name: text() for name in fields})) == expected


@pytest.mark.parametrize(
    ("intent", "one"),
    [
        ("remove ws-1f0", act(note=text())),
        ("delete the old deployment", act("delete_deployment", deployment=text())),
        ("delete task follow-up for me", act("delete_task", task_id=text())),
        ("delete the 12345 oldest mails", act("delete_mail", id=NUMBER)),
        ("remove everything older than 20240101", act("delete_log", id=text())),
        ("is table locked in prod?", act("describe_table", table=text())),
        ("what does job failed at mean", act("get_job", job=text())),
        ("go long at 60000", act(exchange_id=text())),
        ("any storm warnings for Friday", act(location=text())),
        ("note on contact 10551", act(ownerId=NUMBER)),
        ("add 'A shark terrorises a beach'", act("add_rows", collection_name=text())),
        ("set the city of it to 'Porto'", act("set_field", bucket_name=text())),
        ("what is slow in SELECT * FROM t WHERE city='Kiel'", act("explain", text=text())),
        ("put 12, 15 and 18 there", act(data={"type": "array", "description": "2D array"})),
        ("mark 'termination'", act("add_marks", marks=text("A JSON array of marks"))),
        ("enter it from 9:00", act(start_time=text("Such as 2024-01-29T09:00:00"))),
        (
            "delete the note 'Trip'",
            act("delete_note", path=text("Its path (e.g., 'dir/note.md')")),
        ),
    ],
)
def test_no_value_is_read_from_what_states_none(intent: str, one: BindTool) -> None:
    assert given(intent, one) == {}


def test_a_quoted_path_with_spaces_is_deleted_as_a_whole_and_never_a_part_of_it() -> None:
    one = act("delete_note", vault=text(), path=text("Path of the note"))
    told = given('delete the note "Reading list.md" in the vault "main"', one)
    assert told == {"vault": "main", "path": "Reading list.md"}


def test_the_name_of_the_server_is_no_value() -> None:
    one = replace(act("get_application", applicationName=text()), tool="argocd:get_application")
    assert given("how is the Argo app guestbook", one).get("applicationName") != "Argo"


def test_parameters_are_described_by_the_text_of_their_tool() -> None:
    one = replace(
        act(sheet=text()), description="Read.\n\nArgs:\n    sheet (str): Name of the tab\n"
    )
    assert load_schema(one).parameters["sheet"].description == "Name of the tab"


@pytest.mark.parametrize(
    ("intent", "one"),
    [
        ("close the 3 oldest issues", act("close_issue", issue_number=NUMBER)),
        ("delete the file that is older than /srv/a.txt", act("delete_file", path=text())),
        ("delete the backup of /srv/a.txt", act("delete_file", path=text())),
    ],
)
def test_counts_and_what_something_is_compared_with_are_no_targets(
    intent: str, one: BindTool
) -> None:
    assert given(intent, one) == {}


@pytest.mark.parametrize(
    ("intent", "one"),
    [
        ("delete the user who blocked lee215", act("delete_user", username=text())),
        ("delete lee215's friend", act("delete_user", username=text())),
        ("do I need to erase 18aa01 and 18aa02?", act("delete_entries", ids=TEXTS)),
        ("remove entries 51, 52 and 53, no wait, not 53", act("remove_entries", ids=TEXTS)),
        ("delete the duplicates of card 455", act("delete_task", task_id=NUMBER)),
        ("document d9 was deleted, why?", act("delete_document", id=text())),
        ("delete the document after document d9", act("delete_document", id=text())),
        ("merge PR 93 or 94", act("merge_pull_request", pull_request_id=text())),
        ("revert PR 93", act("merge_pull_request", pull_request_id=text())),
        ("hands off container shop-app", act("stop_container", container_id=text())),
        ("who scanned 192.168.1.10?", act("scan_ports", target=text())),
        ("transfer from 0xab58f1", act("transfer_tokens", address=text())),
        ("did I delete task 12?", act("delete_task", task_id=NUMBER)),
        ("my boss said to delete /srv/a.txt", act("delete_file", path=text())),
        ("was /srv/a.txt deleted?", act("delete_file", path=text())),
        ("delete whatever links to https://a.example/x", act("delete_link", url=text())),
        ("ich habe die Datei /srv/a.txt gelöscht", act("delete_file", path=text())),
        ("Bob quiere borrar el archivo /srv/a.txt", act("delete_file", path=text())),
        ("老板让我删除文件 /srv/a.txt", act("delete_file", path=text())),
        ("Bob paid invoice INV-77", act("pay_invoice", invoice_id=text())),
        ("delete task 12, no wait", act("delete_task", task_id=NUMBER)),
        ("delete task 12 when Bob agrees", act("delete_task", task_id=NUMBER)),
        ("Bob: delete task 12", act("delete_task", task_id=NUMBER)),
        ("delete tasks 12, 13 and 14 but not 13", act("delete_tasks", task_ids=NUMBERS)),
        ("delete copies of /a/x.txt and /a/y.txt", act("delete_files", paths=TEXTS)),
    ],
)
def test_only_an_order_names_what_is_changed(intent: str, one: BindTool) -> None:
    assert given(intent, one) == {}


def test_an_order_names_what_is_deleted_directly_behind_its_verb() -> None:
    one = act("delete_task", task_id=NUMBER)
    assert given("could you please delete card 455?", one) == {"task_id": 455}


@pytest.mark.parametrize(
    "intent",
    [
        "delete task 12, I don't need it any more",
        "please delete task 12 because it was entered twice",
        "We don't need it. Delete task 12.",
    ],
)
def test_the_reason_of_an_order_takes_nothing_back(intent: str) -> None:
    assert given(intent, act("delete_task", task_id=NUMBER)) == {"task_id": 12}


def test_what_is_asked_about_takes_no_learned_value() -> None:
    one = act("delete_logs", mode={"enum": ["old", "all"]})
    known = BindingKnowledge(
        constants={
            (one.pk, "mode"): [FrequentConstant(value="all", count=9, stated_count=0)],
        },
        totals={(one.pk, "mode"): 9},
        run_counts={one.pk: 9},
    )
    for intent, expected in (
        ("weekly cleanup", {"mode": "all"}),
        ("who deleted the logs", {}),
    ):
        (step,) = bind_arguments(steps(one), reading=read_intent(intent), knowledge=known)
        assert step.arguments == expected
