import pytest

from graph.intent.words import MAX_WORDS, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Find it, find it!", ("Find", "it", "find", "it")),
        ("open getHTTPResponse", ("open", "getHTTPResponse", "get", "HTTP", "Response")),
        ("42 of 10.5 and a v2", ("of", "and", "a", "v2")),
        ("don't e-mail", ("don't", "don", "e-mail", "mail")),
        ("用必应搜", ("用必", "必应", "应搜")),
        ("!!!", ()),
    ],
)
def test_words_are_listed_in_order(text, found):
    assert words(text) == found


def test_words_are_bounded():
    assert len(words("word " * 1000)) == MAX_WORDS
