"""Paths that a request states plainly: one end of a move, the place of work, or the only path."""

from __future__ import annotations

from typing import Any

import pytest

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.steps import BindTool
from graph.suggestion.binding.values import ValueKind, extract_values
from graph.suggestion.intent.reading import read_intent
from tests.graph.suggestion.binding.tools import steps, text, tool


def act(*names: str, name: str = "act") -> BindTool:
    """Build a tool that requires texts of these names."""
    return tool({field: text() for field in names}, required=names, name=name)


def given(intent: str, one: BindTool) -> dict[str, Any]:
    (step,) = bind_arguments(steps(one), reading=read_intent(intent))
    return dict(step.arguments)


PURE = ("source", "destination")
PATHS = ("source_path", "destination_path")
RENAMED = ("old_path", "new_path")


@pytest.mark.parametrize(
    ("intent", "names", "expected"),
    [
        ("move /a/x there", PURE, {"source": "/a/x"}),
        ("please move the file /a/x there", PURE, {"source": "/a/x"}),
        ("move everything from /a/x", PURE, {"source": "/a/x"}),
        ("verschiebe alles von /a/x", PURE, {"source": "/a/x"}),
        ("mueve todo desde /a/x", PURE, {"source": "/a/x"}),
        ("copy a file /a/x there", PURE, {"source": "/a/x"}),
        ("copia el archivo /a/x", PURE, {"source": "/a/x"}),
        ("rename /a/x", RENAMED, {"old_path": "/a/x"}),
        ("move it to /b/y", PURE, {"destination": "/b/y"}),
        ("copy that onto /srv/b.txt", PURE, {"destination": "/srv/b.txt"}),
        ("move the report to the folder /backup", PATHS, {"destination_path": "/backup"}),
        ("move the report to my directory: /backup", PATHS, {"destination_path": "/backup"}),
        ("mueve el informe a la carpeta /backup", PATHS, {"destination_path": "/backup"}),
        ("verschiebe ihn in den Ordner /backup", PATHS, {"destination_path": "/backup"}),
        ("muévelo a /b/y", PURE, {"destination": "/b/y"}),
        ("move it under /backup", PATHS, {"destination_path": "/backup"}),
        ("rename it as /a/y", RENAMED, {"new_path": "/a/y"}),
    ],
)
def test_one_path_is_the_end_of_a_move_that_its_place_says(
    intent: str, names: tuple[str, str], expected: dict[str, str]
) -> None:
    assert given(intent, act(*names, name="move_file")) == expected


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        ("move everything but /srv/keep.txt", act(*PURE, name="move_file"), {}),
        ("move everything but the file '/srv/keep.txt'", act(*PATHS, name="move_file"), {}),
        ("copy the files in /srv/x", act(*PURE, name="copy_files"), {}),
        ("send /srv/x.txt to Ada", act("from", "to", name="send_mail"), {}),
        ("diff it under /srv/shop", act("source", "target", name="git_diff"), {}),
        ("translate /srv/x.txt", act("source", "target", name="translate"), {}),
        ("move the whole folder, i.e. /srv/x", act(*PURE, name="move_file"), {}),
        (
            "translate /srv/x.txt from English to German",
            act("file", "source_language", "target_language", name="translate_file"),
            {"file": "/srv/x.txt"},
        ),
        (
            "diff main and dev in /srv/shop",
            act("repo_path", "source", "target", name="git_diff"),
            {"repo_path": "/srv/shop"},
        ),
        (
            "move the old release from /srv/shop",
            act("repo_path", "source", "target", name="git_move"),
            {"repo_path": "/srv/shop"},
        ),
        ("diff main and dev in /srv/shop", act("source", "target", name="git_diff"), {}),
        (
            "process /srv/x.txt",
            tool(
                {"source": text("Language of the text"), "target": text("Language of the text")},
                required=["source", "target"],
            ),
            {},
        ),
        ("copy it to /srv/x.txt", act("source_title", "target_title"), {}),
        ("delete everything but /srv/keep.txt", act("path", name="delete_file"), {}),
        (
            "copy /srv/a.txt but not that to /srv/b.txt",
            act("path", name="read_file"),
            {},
        ),
    ],
)
def test_one_path_is_no_end_of_a_move_where_its_place_does_not_say_which(
    intent: str, one: BindTool, expected: dict[str, str]
) -> None:
    paths = {name: value for name, value in given(intent, one).items() if "/" in str(value)}
    assert paths == expected


UNPACK = tool({"input": text(), "output": text()}, required=["input"], name="extract")


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        ("unpack /a/x.zip into /b", UNPACK, {"input": "/a/x.zip", "output": "/b"}),
        ("entpacke /a/x.zip nach /b", UNPACK, {"input": "/a/x.zip", "output": "/b"}),
        ("unpack /a/x.zip and /b/y.zip", UNPACK, {}),
        (
            "unpack /a/x.zip into /b",
            tool({"input": text(), "output_format": text()}, required=["input"], name="extract"),
            {},
        ),
    ],
)
def test_a_target_that_may_be_left_out_is_bound_behind_its_source(
    intent: str, one: BindTool, expected: dict[str, str]
) -> None:
    assert given(intent, one) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("list_archive", {"input": "/a/x.zip"}),
        ("archive_list", {}),
        ("list_and_archive", {}),
        ("read_or_write", {}),
    ],
)
def test_a_question_states_values_for_a_tool_whose_name_begins_with_reading(
    name: str, expected: dict[str, str]
) -> None:
    assert given("what is inside /a/x.zip?", act("input", name=name)) == expected


def test_but_between_requests_protects_nothing() -> None:
    assert given("do not list it but read /srv/a.txt", act("path")) == given(
        "do not list it and read /srv/a.txt", act("path")
    )
    assert given("look quickly but read /srv/a.txt", act("path")) == {"path": "/srv/a.txt"}


MAKING = ("output_path",)
SPLITTING = ("input_path", "output_path")


@pytest.mark.parametrize(
    ("intent", "names", "expected"),
    [
        ("split contract.pdf into single pages", MAKING, {}),
        ("create a copy of contract.pdf", MAKING, {}),
        ("please merge a.pdf", MAKING, {}),
        ("split contract.pdf", SPLITTING, {"input_path": "contract.pdf"}),
        ("create a test pdf at /srv/a.pdf", MAKING, {"output_path": "/srv/a.pdf"}),
        ("make a sample file demo.pdf", MAKING, {"output_path": "demo.pdf"}),
        ("erstelle die Datei demo.pdf", MAKING, {"output_path": "demo.pdf"}),
        (
            "split contract.pdf into out.pdf",
            SPLITTING,
            {"input_path": "contract.pdf", "output_path": "out.pdf"},
        ),
    ],
)
def test_a_path_is_written_only_where_the_intent_says_so(
    intent: str, names: tuple[str, ...], expected: dict[str, str]
) -> None:
    assert given(intent, act(*names)) == expected


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        ('read the file "/data/my notes/a.txt"', act("path"), {"path": "/data/my notes/a.txt"}),
        ("read 'my notes.txt'", act("path"), {"path": "my notes.txt"}),
        (
            'move "/a/my x" to "/b/y z"',
            act(*PURE, name="move_file"),
            {"source": "/a/my x", "destination": "/b/y z"},
        ),
        ('move "/a/my x" there', act(*PURE, name="move_file"), {"source": "/a/my x"}),
        (
            'show the status of the repository "/a/jane doe/x" and read "/a/jane doe/y.txt"',
            act("repo_path", name="git_status"),
            {"repo_path": "/a/jane doe/x"},
        ),
    ],
)
def test_a_path_in_quotation_marks_may_contain_spaces(
    intent: str, one: BindTool, expected: dict[str, str]
) -> None:
    assert given(intent, one) == expected


MOVE = act(*PURE, name="move_file")


@pytest.mark.parametrize(
    ("intent", "one", "expected"),
    [
        ("read the file /home/Ann Lee/notes.txt", act("path"), "/home/Ann Lee/notes.txt"),
        ("lies /home/Jörg Über/Notizen.txt", act("path"), "/home/Jörg Über/Notizen.txt"),
        ("read /srv/Final Report 2024.pdf", act("path"), "/srv/Final Report 2024.pdf"),
        (r"read C:\Program Files\App\x.ini", act("path"), r"C:\Program Files\App\x.ini"),
        (r"read ~/my\ old\ notes.txt", act("path"), "~/my old notes.txt"),
        (
            "delete ~/Library/Application Support/x.log",
            act("path", name="delete_file"),
            "~/Library/Application Support/x.log",
        ),
    ],
)
def test_an_unquoted_path_keeps_spaces_between_capitalised_words_and_escaped_ones(
    intent: str, one: BindTool, expected: str
) -> None:
    assert given(intent, one) == {"path": expected}


@pytest.mark.parametrize(
    ("intent", "expected"),
    [
        (
            "move /home/Ann Lee/a.txt to /home/Ann Lee/b.txt",
            {"source": "/home/Ann Lee/a.txt", "destination": "/home/Ann Lee/b.txt"},
        ),
        (
            "move /srv/Inbox to Archive/Old",
            {"source": "/srv/Inbox"},
        ),
    ],
)
def test_ends_of_a_move_may_contain_spaces(intent: str, expected: dict[str, str]) -> None:
    assert given(intent, MOVE) == expected


@pytest.mark.parametrize(
    ("intent", "paths"),
    [
        ("diff /srv/A.txt B.txt", ["/srv/A.txt", "B.txt"]),
        ("list /srv/Photos and Docs/a.txt", ["/srv/Photos", "Docs/a.txt"]),
        ("plan /srv/Meeting Europe/Berlin", ["/srv/Meeting"]),
        ("list /srv/Photos Monday", ["/srv/Photos"]),
        ("copy C:\\Data\\ and /srv/x", ["C:\\Data\\", "/srv/x"]),
    ],
)
def test_what_follows_a_path_is_no_part_of_it(intent: str, paths: list[str]) -> None:
    assert [one.value for one in extract_values(intent) if one.kind is ValueKind.PATH] == paths
