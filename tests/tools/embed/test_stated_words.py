"""Words that state a value, from what a reader says of each token."""

import numpy as np
import pytest

from tools.embed.reader import MarkedWord
from tools.embed.stated_words import (
    iterate_items,
    leave_out,
    mark_words,
    share_words,
    split_words,
    weigh_values,
)


def mark(text, inside=(), begins=()):
    """Mark the words of a text of which some state a value."""
    words, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        share = 0.9 if word in inside else 0.01
        words.append(MarkedWord(start, at, share, 0.85 if word in begins else share / 9))
    return words


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


def test_a_word_is_marked_by_all_of_its_tokens():
    words = split_words("gpx 42", [(0, 0), (0, 2), (2, 3), (4, 6), (0, 0)])
    tags = np.array([[1, 0, 0], [0.2, 0.8, 0], [0.4, 0, 0.6], [0, 1, 0], [1, 0, 0]], np.float32)
    [first, second] = mark_words(words, tags, is_number=False)
    assert (first.inside, first.begins) == pytest.approx((0.7, 0.7))
    assert second.inside == pytest.approx(1)
    [first, second] = mark_words(words, tags, is_number=True)
    assert first.inside < 0.5 < second.inside


def find_value(words, wholes=()):
    runs = weigh_values(words, wholes)
    assert runs.sum() == pytest.approx(1)
    assert not np.tril(runs, -1).any()
    first, last = np.unravel_index(runs.argmax(), runs.shape)
    return words[first].start, words[last].end, runs[first, last]


def test_a_value_is_what_is_likeliest_as_a_whole():
    text = "book a table at The Blue Door tonight"
    words = mark(text, inside=("The", "Blue", "Door"), begins=("The",))
    words[5] = words[5]._replace(inside=0.45)  # "Blue": a doubt in the middle splits nothing
    start, end, _ = find_value(words)
    assert text[start:end] == "The Blue Door"


def test_what_is_beside_a_value_lowers_its_probability():
    words = mark("go to Rome now", inside=("Rome",), begins=("Rome",))
    sure = find_value(words)[2]
    words[3] = words[3]._replace(inside=0.49)
    assert find_value(words)[2] < sure


def test_a_quoted_value_is_taken_as_a_whole():
    text = "the question “is it open” please"
    words = mark(text, inside=("“is", "it"), begins=("“is",))
    words[4] = words[4]._replace(inside=0.3)
    start, end, _ = find_value(words, [(text.index("“") + 1, text.index("”"))])
    assert text[start:end].strip("“”") == "is it open"
    # Another one, of which no word is part of the value, changes nothing.
    start, end, _ = find_value(words, [(0, 3)])
    assert text[start:end] == "“is it"


def test_a_word_serves_one_question():
    words = mark("from Rome to Oslo", inside=("Rome", "Oslo"), begins=("Rome", "Oslo"))
    sure = weigh_values(mark("from Rome to Oslo", inside=("Rome",), begins=("Rome",)))
    first, second = share_words([(0.99, sure), (0.99, weigh_values(words))], np.zeros(4))
    assert np.unravel_index(first.argmax(), first.shape) == (1, 1)
    assert np.unravel_index(second.argmax(), second.shape) == (3, 3)
    assert second[3, 3] > 0.9
    [taken] = share_words([(0.99, sure)], np.array([0, 1, 0, 0]))
    assert taken.sum() < 0.1


def test_items_of_a_list_begin_anew():
    text = "tags red blue and dark green"
    words = mark(text, inside=("red", "blue", "dark", "green"), begins=("red", "blue", "dark"))
    assert [text[one.start : one.end] for one in iterate_items(words)] == [
        "red",
        "blue",
        "dark green",
    ]


def test_what_serves_another_parameter_is_left_out():
    words = mark("from Rome to Oslo", inside=("Rome", "Oslo"), begins=("Rome", "Oslo"))
    start, end, _ = find_value(leave_out(words, [(5, 9)]))
    assert (start, end) == (13, 17)
