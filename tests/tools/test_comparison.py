import pytest

from tools.comparison import reveal_hidden


@pytest.mark.parametrize(
    ("hidden", "written"),
    [
        ("\u200b", r"\u200b"),  # space of no width
        ("\u202e", r"\u202e"),  # turns the direction round
        ("\U000e0041", r"\U000e0041"),  # a tag: a letter that is not drawn
        ("\x1b", r"\x1b"),
        ("\r", r"\r"),
        ("\u2028", r"\u2028"),
    ],
)
def test_what_a_reader_would_not_see_is_written_out(hidden, written):
    assert reveal_hidden(f"a{hidden}b") == f"a{written}b"


@pytest.mark.parametrize("text", ["", "a b\n\tc", "ünï 漢字 🙂", r"\u200b"])
def test_what_a_reader_sees_stays(text):
    assert reveal_hidden(text) == text
