import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.intent import clauses as cutting


def clauses(text):
    return [text[span.start : span.end] for span in cutting.split_clauses(text)]


def sentences(text):
    return [text[span.start : span.end] for span in cutting.split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("find the best flight and book it for me", ["find the best flight", "book it for me"]),
        (
            "find the best flight, then book it today; after that send a mail",
            ["find the best flight", "book it today", "after that send a mail"],
        ),
        ("plan a whole trip: find the best flight", ["plan a whole trip", "find the best flight"]),
        ("look up the weather – then tell it to me", ["look up the weather", "tell it to me"]),  # noqa: RUF001
        ("查一下天气，然后发送邮件给他", ["查一下天气", "发送邮件给他"]),  # noqa: RUF001
        ("one two three followed by four five six", ["one two three", "four five six"]),
    ],
)
def test_a_sentence_is_cut_at_marks_and_connectives(text, parts):
    assert clauses(text) == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("find a hotel in Rome, Milan and Bari", ["find a hotel in Rome, Milan and Bari"]),
        ("Please, find me a hotel", ["Please, find me a hotel"]),
        ("Today, Rome", ["Today, Rome"]),
    ],
)
def test_a_piece_of_two_words_joins_its_neighbour(text, parts):
    assert clauses(text) == parts


def test_nothing_is_cut_inside_quotation_marks():
    text = 'send "buy the milk, and then the bread" to all my friends'
    assert clauses(text) == [text]


def test_a_line_ends_a_sentence():
    assert sentences("find a flight\nbook a hotel") == ["find a flight", "book a hotel"]


def test_a_fragment_is_no_sentence():
    assert sentences("Hi! Find it.") == ["Find it."]
    assert sentences("Hi!") == ["Hi!"]
    assert sentences("好。查一下天气吧。") == ["查一下天气吧。"]


def test_very_many_parts_are_bounded():
    text = "find one more thing. " * 50
    assert len(clauses(text)) == cutting.MAX_CLAUSES
    assert len(sentences(text)) == cutting.MAX_SENTENCES


@given(st.text(st.sampled_from("abc ,.:;!\n\"'and中，。"), min_size=1, max_size=80))  # noqa: RUF001
def test_parts_are_found_in_order_and_do_not_overlap(text):
    for spans in (cutting.split_clauses(text), cutting.split_sentences(text)):
        assert spans
        ends = [0, *(span.end for span in spans)]
        for before, span in zip(ends, spans, strict=False):
            assert before <= span.start <= span.end <= len(text)
