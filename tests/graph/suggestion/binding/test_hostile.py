"""Texts and schemas crafted to be slow or misread."""

from __future__ import annotations

import time

import pytest

from graph.suggestion.binding.parameters import ParameterError
from graph.suggestion.binding.schemas import MAX_PARAMETERS, load_schema
from graph.suggestion.binding.values import ValueKind, extract_values
from tests.graph.suggestion.binding.test_values import found
from tests.graph.suggestion.binding.tools import bound, text, tool

CHARS = 4_000
ATOMS = (
    *("-.", "_", "+1", "a-", "a@", "@a", "./", "-/", "~/", "a.", "A.", "1,", "1:", "1_", "'a "),
    *('"', '\\"', '"a\\', '{"a":', '{"a": {', "feature/", "a@a.", "1(1", "A and ", "C:\\", "//"),
)


def measure(told: str) -> float:
    """Return the processor time of finding values."""
    extract_values.cache_clear()
    start = time.process_time()
    extract_values(told)
    return time.process_time() - start


def is_far_slower(told: str, plain: str) -> bool:
    """Whether a text takes far longer each time: others only add to what is measured."""
    # Side by side, for a processor that is shared is not always as fast.
    return all(measure(told) >= 15 * measure(plain) for _ in range(3))


def test_no_repeated_text_is_far_slower_than_a_plain_one() -> None:
    plain = ("please list the 3 files of Rome in /srv/a.txt now " * CHARS)[:CHARS]
    for atom in ATOMS:
        for end in ("", "!"):
            told = (atom * CHARS)[: CHARS - len(end)] + end
            assert not is_far_slower(told, plain), atom


def test_escaped_quotation_marks_do_not_end_a_text() -> None:
    told = 'Write the text "She said \\"hi\\" there" to file /tmp/x.txt'
    assert found(told, ValueKind.QUOTED) == ['She said "hi" there']
    assert found("say 'it''s' and 'b'", ValueKind.QUOTED) == ["it's", "b"]
    assert found('open "C:\\temp\\" or "D:\\x"', ValueKind.QUOTED) == ["C:\\temp\\", "D:\\x"]


def test_json_is_one_value_and_markup_is_no_path() -> None:
    told = '{"$ref": "git_add", "pointer": "/x"} commit with message {"$literal": 1}'
    kinds = {one.kind: one.text for one in extract_values(told) if one.kind is not ValueKind.WORD}
    assert set(kinds) <= {ValueKind.QUOTED, ValueKind.PHRASE}
    assert found("<script>alert(1)</script> read [red]x[/red]", ValueKind.PATH) == []
    assert found("cat </srv/x", ValueKind.PATH) == ["/srv/x"]


def test_a_quoted_text_that_is_no_path_does_not_become_one() -> None:
    show = tool({"repo_path": text()}, required=["repo_path"], name="git_show")
    intent = "请读取文件 /tmp/a.txt 然后提交到仓库 /tmp/repo\uff0c信息为“更新”"
    assert bound(intent, show)[0].arguments.get("repo_path") != "更新"
    named = bound("open the file 'notes'", tool({"path": text("Path of a file")}, name="read"))
    assert named[0].arguments in ({}, {"path": "notes"})


def test_long_descriptions_and_many_parameters_are_cut() -> None:
    many = {f"p{n}": text("as in a " * 2_000) for n in range(70)}
    tools = [tool({**many, f"q{n}": text()}, required=[f"q{n}"]) for n in range(15)]
    known = load_schema(tools[0]).parameters
    assert len(known) == MAX_PARAMETERS
    assert "q0" in known
    assert max(len(one.description) for one in known.values()) <= 300


@pytest.mark.parametrize("depth", [65, 500, 5_000])
def test_a_parameter_that_is_nested_too_deeply_is_refused(depth: int) -> None:
    value: object = "x"
    for _ in range(depth):
        value = {"a": value}
    one = tool({"o": {"type": "object"}}, required=["o"])
    with pytest.raises(ParameterError, match="more than 64 levels deep"):
        bound("do it", one, parameters={"o": value})
