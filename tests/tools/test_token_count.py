import importlib
import subprocess
import sys
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools import token_count


def test_words_of_a_common_sentence_are_one_token_each():
    assert token_count.count_tokens("What time is it in Tokyo?") == 7


def test_nothing_costs_nothing():
    assert token_count.count_tokens("") == 0


def test_marks_of_the_tokenizer_count_as_the_text_they_are():
    assert token_count.count_tokens("<|endoftext|>") > 1


def test_lone_surrogates_are_counted_not_refused():
    assert token_count.count_tokens("a\ud800b") > 0


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


@pytest.fixture(scope="module")
def packaged():
    """Encode as the tokenizer's own package does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # how it opens its own data
        package = importlib.import_module(token_count.PACKAGE)
        return package.get_encoding(token_count.ENCODING)


@given(st.text())
@example("<|endoftext|>")
@example('{"type":"object"}')
def test_the_extension_by_itself_counts_as_its_package_does(packaged, text):
    assert token_count.count_tokens(text) == len(packaged.encode_ordinary(text))


def test_counting_does_not_load_the_package():
    code = (
        "import sys; from tools import token_count; token_count.count_tokens('a');"
        "sys.exit('bpe_openai' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_long_text_is_counted_in_pieces_that_no_thread_waits_long_for(monkeypatch):
    pieces = []
    monkeypatch.setattr(
        token_count, "_load_tokenizer", lambda: lambda text: pieces.append(len(text)) or len(text)
    )
    assert token_count.count_tokens("-" * 1_000_000) == 1_000_000
    assert max(pieces) <= token_count.PIECE_CHARS
