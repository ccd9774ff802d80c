import pytest

from tools import token_count


def test_words_of_a_common_sentence_are_one_token_each():
    assert token_count.count("What time is it in Tokyo?") == 7


def test_nothing_costs_nothing():
    assert token_count.count("") == 0


def test_marks_of_the_tokenizer_count_as_the_text_they_are():
    assert token_count.count("<|endoftext|>") > 1


def test_lone_surrogates_are_counted_not_refused():
    assert token_count.count("a\ud800b") > 0


@pytest.mark.parametrize(
    ("more", "less"),
    [
        (("tool", "a long description", {}), ("tool", "", {})),
        (("tool", "", {"type": "object"}), ("tool", "", {})),
        (("a_much_longer_tool_name", "", {}), ("tool", "", {})),
    ],
)
def test_every_part_of_a_definition_costs(more, less):
    assert token_count.count_definition(*more) > token_count.count_definition(*less)
