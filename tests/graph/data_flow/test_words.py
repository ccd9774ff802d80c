import pytest

from graph.data_flow import words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("destinationEntityId", "destination entity id"),
        ("repo-names", "repository name"),
        ("SEC_FilingURLs", "sec filing url"),
        ("user_uuid", "user id"),
        ("username", "user name"),
        ("ticker_symbol", "symbol"),
        ("file1Path", "file path"),
        ("people", "person"),
        ("", ""),
        ("__", ""),
        ("42", ""),
    ],
)
def test_a_name_is_split_into_canonical_words(name, expected):
    assert " ".join(words.split_name(name)) == expected


def test_a_name_of_any_length_costs_no_more_than_a_long_one():
    assert len(words.split_name("aB" * 100_000)) <= words.MAX_WORDS


@pytest.mark.parametrize(
    ("plural", "expected"),
    [("movies", "movie"), ("batches", "batch"), ("bus", "bus"), ("is", "is"), ("gas", "gas")],
)
def test_plurals_are_brought_to_the_singular(plural, expected):
    assert words.singularize_word(plural) == expected
