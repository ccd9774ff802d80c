import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import query_text
from tools.query_text import QueryError, read_query


@pytest.mark.parametrize("raw", ["", "   ", "\n\t", "\x00\x01", "\u200b\u200b"])
def test_a_query_without_anything_to_read_is_refused(raw):
    with pytest.raises(QueryError, match="the query is empty"):
        read_query(raw)


def test_a_huge_query_is_cut_and_says_so():
    query = read_query("word " * 20_000)
    assert query.is_cut
    assert len(query.text) <= query_text.MAX_CHARS


def test_control_characters_are_removed():
    assert read_query("read\x00 a\x1b[31m file").text == "read a[31m file"


def test_sentences_are_told_apart_where_there_are_several():
    assert read_query("Find a flight. Then book a hotel!").sentences == (
        "Find a flight.",
        "Then book a hotel!",
    )


@pytest.mark.parametrize("raw", ["Find a flight.", "Hi. Find a flight.", "one two three"])
def test_one_sentence_is_not_told_apart_from_the_whole(raw):
    assert read_query(raw).sentences == ()


def test_lines_and_marks_of_other_scripts_end_sentences():
    assert len(read_query("first of all\nsecond of all").sentences) == 2
    assert len(read_query("请帮我查找今天的天气情况。然后发送邮件给我的朋友们").sentences) == 2


def test_parts_of_compound_names_are_words_too():
    words = read_query("run getCurrentTime on report_2024.docx").words
    assert {"getCurrentTime", "Current", "Time", "report", "docx"} <= set(words)
    assert "2024" not in words


@given(st.text())
def test_any_text_is_read_or_refused(raw):
    try:
        query = read_query(raw)
    except QueryError:
        return
    assert query.text
    assert "\n" not in query.text
    assert len(query.words) <= query_text.MAX_WORDS


def test_an_idiom_is_also_read_in_plain_words():
    query = read_query("Kick off the tests again")
    assert query.plain == "rerun run again the tests"
    assert query.embedded_texts == ["Kick off the tests again", "rerun run again the tests"]
    assert {"Kick", "tests", "rerun"} <= set(query.words)
