"""Comparing definitions word by word."""

from hypothesis import given
from hypothesis import strategies as st

from gateway_project.console.rooms import word_diff
from gateway_project.console.rooms.word_diff import MAX_WORDS, diff_place, diff_words
from tools.definition import Definition


def joined(parts, *kinds):
    return "".join(part.text for part in parts if part.kind in kinds)


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_left_and_added_is_the_newer_text(before, after):
    parts = diff_words(before, after)
    if word_diff.GAP not in joined(parts, "same"):
        assert joined(parts, "same", "added") == after
        assert joined(parts, "same", "removed") == before or not parts


def test_long_unchanged_passages_are_left_out():
    middle = " ".join(f"w{n}" for n in range(200))
    parts = diff_words(f"old {middle} end", f"new {middle} fin")
    assert [part.kind for part in parts] == [
        "removed", "added", "same", "removed", "added",
    ]  # fmt: skip
    assert word_diff.GAP in parts[2].text
    assert "w100" not in parts[2].text


def test_long_texts_are_compared_by_line_and_longer_ones_not_at_all():
    lines = "\n".join(f"line {n} of many" for n in range(MAX_WORDS // 4))
    parts = diff_words(lines, lines.replace("line 7 ", "row 7 "))
    assert joined(parts, "added") == "row 7 of many\n"
    huge = "\n".join(str(n) for n in range(MAX_WORDS))
    assert [part.kind for part in diff_words(huge, f"{huge}\nx")] == ["removed", "added"]


def test_a_place_that_one_definition_lacks_is_added_whole():
    old = Definition(name="a", input_schema={"properties": {}})
    new = Definition(name="a", input_schema={"properties": {"b": {"type": "string"}}})
    parts = diff_place(old, new, "/input_schema/properties/b")
    assert [part.kind for part in parts] == ["added"]
    assert '"type": "string"' in parts[0].text


def test_texts_are_compared_as_texts():
    old, new = Definition(name="a", description="reads"), Definition(name="a", description="runs")
    assert diff_place(old, new, "/description") == diff_words("reads", "runs")
