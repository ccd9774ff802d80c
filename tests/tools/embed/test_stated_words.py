"""Words that state a value, from what a reader says of each token."""

import numpy as np
import pytest

from tools.embed.reader import MarkedWord
from tools.embed.stated_words import (
    find_value,
    iterate_items,
    leave_out,
    mark_words,
    split_words,
)


def mark(text, inside=(), begins=()):
    """Mark the words of a text of which some state a value."""
    words, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        share = 0.9 if word in inside else 0.01
        words.append(MarkedWord(start, at, share, 0.9 if word in begins else 0.1))
    return words


def found(text, span):
    return None if span is None else text[span.start : span.end]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('say "hi there", please.', ["say", "hi", "there", "please"]),
        ("run f(x)[0] (now)", ["run", "f(x)[0]", "now"]),
        ("where city='Kiel' please", ["where", "city='Kiel'", "please"]),
        ("to a.b@c.example!", ["to", "a.b@c.example"]),
        ("-121.31 and 5°", ["-121.31", "and", "5°"]),
        ("查看天气 Paris", ["查", "看", "天", "气", "Paris"]),
        ("… !", ["…"]),
    ],
)
def test_words_come_without_the_punctuation_around_them(text, expected):
    offsets = [(place, place + 1) for place in range(len(text))]
    assert [text[word.start : word.end] for word in split_words(text, offsets)] == expected


def test_words_that_the_reader_did_not_see_are_left_out():
    assert [word.start for word in split_words("one two three", [(0, 3), (4, 7)])] == [0, 4]


def test_a_word_is_marked_by_all_of_its_tokens():
    words = split_words("gpx 42", [(0, 0), (0, 2), (2, 3), (4, 6), (0, 0)])
    tags = np.array([[1, 0, 0], [0.2, 0.8, 0], [0.4, 0, 0.6], [0, 1, 0], [1, 0, 0]], np.float32)
    [first, second] = mark_words(words, tags, is_number=False)
    assert (first.inside, first.begins) == pytest.approx((0.7, 0.8))
    assert second.inside == pytest.approx(1)
    [first, second] = mark_words(words, tags, is_number=True)
    assert first.inside < 0.5 < second.inside


def test_a_value_is_what_is_likeliest_as_a_whole():
    text = "book a table at The Blue Door tonight"
    words = mark(text, inside=("The", "Blue", "Door"))
    words[5] = words[5]._replace(inside=0.45)  # "Blue": a doubt in the middle splits nothing
    assert found(text, find_value(words)) == "The Blue Door"
    assert find_value(mark(text)) is None
    assert find_value([]) is None


def test_what_is_beside_a_value_lowers_its_probability():
    words = mark("go to Rome now", inside=("Rome",))
    sure = find_value(words).probability
    words[3] = words[3]._replace(inside=0.49)
    assert find_value(words).probability < sure


def test_a_quoted_value_is_taken_as_a_whole():
    text = "the question “is it open” please"
    words = mark(text, inside=("“is", "it"))
    words[4] = words[4]._replace(inside=0.3)
    whole = (text.index("“") + 1, text.index("”"))
    span = find_value(words, [whole])
    assert text[span.start : span.end].strip("“”") == "is it open"
    # Another one, of which no word is part of the value, changes nothing.
    assert found(text, find_value(words, [(0, 3)])) == "“is it"


def test_items_of_a_list_begin_anew():
    text = "tags red blue and dark green"
    words = mark(text, inside=("red", "blue", "dark", "green"), begins=("red", "blue", "dark"))
    assert [text[one.start : one.end] for one in iterate_items(words)] == [
        "red",
        "blue",
        "dark green",
    ]


def test_what_serves_another_parameter_is_left_out():
    text = "from Rome to Oslo"
    words = mark(text, inside=("Rome", "Oslo"))
    words[1] = words[1]._replace(inside=0.95)
    assert found(text, find_value(words)) == "Rome"
    assert found(text, find_value(leave_out(words, [(5, 9)]))) == "Oslo"
