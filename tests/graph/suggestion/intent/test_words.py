import pytest

from graph.encode import MAX_WORDS, split_words


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
    assert split_words(text) == found


def test_words_are_bounded():
    assert len(split_words("word " * 1000)) == MAX_WORDS
