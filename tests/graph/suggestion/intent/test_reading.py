import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.intent.masks import mask_values, non_empty_masked_text
from graph.suggestion.intent.reading import read_intent
from tools.query_text import MAX_CHARS, QueryError


@given(st.text(min_size=1, max_size=200))
def test_every_clause_starts_at_its_offset(raw):
    try:
        reading = read_intent(raw)
    except QueryError:
        return
    assert reading.sentences
    for clause in reading.clauses:
        assert clause.text
        assert reading.text[clause.start :].startswith(clause.text)
        assert {clause.english, clause.embedded_masked_text} <= set(reading.distinct_texts)
    assert {reading.english, reading.embedded_masked_text, *reading.sentences} <= set(
        reading.distinct_texts
    )
    assert len(set(reading.distinct_texts)) == len(reading.distinct_texts)


@pytest.mark.parametrize("raw", ["", "  \n\t ", "\x00\x07\u200b\u200b", "\u202e" * 100_000])
def test_an_empty_intent_is_refused(raw):
    with pytest.raises(QueryError, match="describe in words what should be done"):
        read_intent(raw)


def test_one_character_is_an_intent():
    reading = read_intent("a")
    assert reading.distinct_texts == ("a",)
    assert reading.clauses[0].start == 0


def test_control_characters_are_removed():
    assert read_intent("fi\x00nd\u200b it\r\nnow\x1b please").text == "find it\nnow please"


@pytest.mark.parametrize("raw", ["find it " * 600, "find it " * 20_000, "a" * 100_000])
def test_a_long_intent_is_cut(raw):
    reading = read_intent(raw)
    assert reading.is_cut
    assert len(reading.text) <= MAX_CHARS


def test_an_entirely_masked_text_is_embedded_itself():
    reading = read_intent("https://a.example/b")
    assert reading.masked == ""
    assert reading.distinct_texts == ("https://a.example/b",)
    assert non_empty_masked_text("abc 12", "abc") == "abc 12"
    assert non_empty_masked_text("abcd 12", "abcd") == "abcd"


def test_equal_parts_are_embedded_once():
    assert read_intent("find a hotel").distinct_texts == ("find a hotel",)


def test_an_intent_in_another_language_is_embedded_in_english_and_keeps_its_text():
    text = "lösche /srv/a.txt, dann schick Bob „1 und 2“ als Mail"
    reading = read_intent(text)
    assert reading.text == text
    assert reading.english == "delete /srv/a.txt, send Bob „1 und 2“ as email"
    assert [clause.english for clause in reading.clauses] == [
        "delete /srv/a.txt",
        "send Bob „1 und 2“ as email",
    ]
    assert reading.masked == "delete , send as email"
    assert text not in reading.distinct_texts


def test_english_intents_are_embedded_unchanged():
    base = Path(__file__).resolve().parents[4]
    lines = (base / "benchmarks/outside/wishes_open.jsonl").read_text(encoding="utf-8")
    for wish in map(json.loads, lines.splitlines()):
        if wish["language"] == "en":
            reading = read_intent(wish["wish"])
            assert reading.english == reading.text == wish["wish"]
            assert reading.masked == mask_values(reading.text)
            assert all(one.english == one.text for one in reading.clauses)
            assert all(one.masked == mask_values(one.text) for one in reading.clauses)
            assert all(one.english == one.text for one in reading.requests)
