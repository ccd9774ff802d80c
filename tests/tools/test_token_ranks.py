import gzip
import itertools
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import token_count
from tools.token_count import build_ranks, hash_bytes

TOKENS = [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"ca", b"aa"]


def make_ranks(tokens):
    lines = (b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens))
    return build_ranks(gzip.compress(b"".join(lines)))


@pytest.fixture(scope="module")
def ranks():
    return make_ranks(TOKENS)


@pytest.fixture(scope="module")
def shipped():
    return token_count.load_ranks("o200k_base")


def count_plainly(piece, tokens):
    """Merge the leftmost pair of the lowest rank again and again."""
    if piece in tokens:
        return 1
    parts = [piece[at : at + 1] for at in range(len(piece))]
    while True:
        pairs = [
            (tokens.index(first + second), at)
            for at, (first, second) in enumerate(itertools.pairwise(parts))
            if first + second in tokens
        ]
        if not pairs:
            return len(parts)
        _, at = min(pairs)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@given(st.text("abc", max_size=30).map(str.encode))
def test_the_pair_of_the_lowest_rank_is_merged_first(ranks, piece):
    assert ranks.count(piece) == count_plainly(piece, TOKENS)


def test_each_token_has_its_rank(ranks):
    assert [ranks.find(hash_bytes(token)) for token in TOKENS] == list(range(len(TOKENS)))
    assert ranks.find(hash_bytes(b"cb")) is None


def test_no_two_tokens_of_the_shipped_encoding_have_one_hash(shipped):
    assert len(shipped.keys) == len(set(shipped.keys)) == 199_998
    assert sorted(shipped.ranks) == list(range(199_998))


def test_the_shipped_table_is_small(shipped):
    assert shipped.keys.nbytes + shipped.ranks.nbytes < 3 * 1024**2


def test_a_missing_package_is_an_error_that_names_it(monkeypatch):
    monkeypatch.setattr(token_count, "PACKAGE", "no_such_package")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        token_count.load_ranks("o200k_base")
