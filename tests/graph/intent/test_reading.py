import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.intent.reading import masked_view, read
from tools.query_text import MAX_CHARS, QueryError


def test_an_intent_is_cut_and_masked():
    reading = read("Find flights to Rome on 2026-05-01. Then mail them to bob@example.org!")
    assert reading.masked == "Find flights to on Then mail them to"
    assert reading.sentences == (
        "Find flights to Rome on 2026-05-01.",
        "Then mail them to bob@example.org!",
    )
    assert [clause.masked for clause in reading.clauses] == [
        "Find flights to on",
        "Then mail them to",
    ]
    assert not reading.is_cut


@given(st.text(min_size=1, max_size=200))
def test_every_clause_stands_where_it_says(raw):
    try:
        reading = read(raw)
    except QueryError:
        return
    assert reading.sentences
    for clause in reading.clauses:
        assert clause.text
        assert reading.text[clause.start :].startswith(clause.text)
        assert {clause.text, clause.masked_view} <= set(reading.texts)
    assert {reading.text, reading.masked_view, *reading.sentences} <= set(reading.texts)
    assert len(set(reading.texts)) == len(reading.texts)


@pytest.mark.parametrize("raw", ["", "  \n\t ", "\x00\x07\u200b\u200b", "\u202e" * 100_000])
def test_an_intent_of_nothing_is_refused(raw):
    with pytest.raises(QueryError, match="say in words what should be done"):
        read(raw)


def test_one_character_is_an_intent():
    reading = read("a")
    assert reading.texts == ("a",)
    assert reading.clauses[0].start == 0


def test_control_characters_are_removed():
    assert read("fi\x00nd\u200b it\r\nnow\x1b please").text == "find it\nnow please"


@pytest.mark.parametrize("raw", ["find it " * 600, "find it " * 20_000, "a" * 100_000])
def test_a_long_intent_is_cut(raw):
    reading = read(raw)
    assert reading.is_cut
    assert len(reading.text) <= MAX_CHARS


def test_where_masking_leaves_nothing_the_text_is_embedded():
    reading = read("https://a.example/b")
    assert reading.masked == ""
    assert reading.texts == ("https://a.example/b",)
    assert masked_view("abc 12", "abc") == "abc 12"
    assert masked_view("abcd 12", "abcd") == "abcd"


def test_equal_parts_are_embedded_once():
    assert read("find a hotel").texts == ("find a hotel",)
