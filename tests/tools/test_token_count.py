import importlib
import subprocess
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import token_count


def test_lone_surrogates_are_counted_not_refused():
    assert token_count.count_tokens("a\ud800b") > 0


@pytest.fixture(scope="module")
def packaged():
    """Encode as the tokenizer's own package does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # how it opens its own data
        package = importlib.import_module(token_count.PACKAGE)
        return package.get_encoding(token_count.ENCODING)


TEXTS = [
    "",
    "<|endoftext|>",
    '{"type":"object","properties":{"owner_name":{"type":"string"}}}',
    "It's what they've SAID'LL we'd don'T, 's ''re",
    "  two  spaces\n\n  and\t\ttabs \r\n\r\n end   ",
    "1234567 12 3.14159 ٣٤٥٦ Ⅷ ½",
    "Größe für Straßenbahnhöfe; ÉTÉ d'été, ǅungla, CamelCaseHTTPServer_v2",
    "使用必应搜索指定的关键词，并返回搜索结果列表。ファイルを削除してください 한국어 ไทย",  # noqa: RUF001 - as written
    "הַשָּׁלוֹם العَرَبِيَّة हिन्दी e\u0301a\u0300 👩‍👩‍👧 ﬁ ªº",
    "\x00\x1c\x1d a\x1cb\x85c\u2028d\u3000e\xa0f\u200bg",
    "a" * 300 + "-" * 300 + "=/" * 50 + "A" * 100 + "字" * 200,
    "https://example.org/a/b?c=d&e=%20#f//\n//",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_all_kinds_are_counted_as_the_package_counts_them(packaged, text):
    assert token_count.count_tokens(text) == len(packaged.encode_ordinary(text))


# Characters that this Python does not know yet may be letters to the package.
@given(st.text(st.characters(exclude_categories=["Cs", "Cn"])))
def test_any_text_is_counted_as_the_package_counts_it(packaged, text):
    assert token_count.count_tokens(text) == len(packaged.encode_ordinary(text))


def test_counting_does_not_load_the_package():
    code = (
        "import sys; from tools import token_count; token_count.count_tokens('a');"
        "sys.exit('bpe_openai' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_pieces_of_a_text_are_the_text(text):
    assert "".join(token_count.split_pieces(text)) == text
