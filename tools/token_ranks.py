"""The vocabulary of a byte-pair encoding as a table of hashes, and counting by it.

The table of o200k_base takes 2.4 MB; the package that ships the vocabulary takes some 70 MB to
count by it.
"""

from __future__ import annotations

import gzip
import heapq
import importlib.util
from binascii import a2b_base64
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Final

PACKAGE: Final = "bpe_openai"
BASE: Final = 0x9E3779B97F4A7C15
"""Of the polynomial that hashes bytes: any odd number under which no two tokens collide."""
MASK: Final = 2**64 - 1
MAX_TOKEN_BYTES: Final = 255
CHUNK_TOKENS: Final = 4_096


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenRanks:
    """The rank of each token by its hash; of two adjacent pairs, the lower rank is merged first.

    Attributes:
        keys: Hashes of all tokens, ascending.
        ranks: Their ranks, parallel to `keys`.
        powers: Powers of `BASE`, from 0 to the number of bytes of the longest token.
    """

    keys: Sequence[int]
    ranks: Sequence[int]
    powers: Sequence[int]

    def find(self, key: int) -> int | None:
        """Return the rank of the token with this hash."""
        at = bisect_left(self.keys, key)
        return self.ranks[at] if at < len(self.keys) and self.keys[at] == key else None

    def count(self, piece: bytes) -> int:
        """Return the number of tokens of a piece of text.

        Complexity: O(n log n) in its bytes.

        References:
            Sennrich, Haddow & Birch, Neural Machine Translation of Rare Words with Subword Units,
            ACL 2016.
        """
        if len(piece) < len(self.powers) and self.find(hash_bytes(piece)) is not None:
            return 1
        return _PairMerge(piece, self).count()


class _PairMerge:
    """Merges adjacent parts of a piece until no pair is a token; a part is known by its start."""

    def __init__(self, piece: bytes, ranks: TokenRanks) -> None:
        size = len(piece)
        self._ranks = ranks
        self._end = size
        self._keys = [byte + 1 for byte in piece]
        self._sizes = [1] * size  # 0 for what was merged into the part before it
        self._next = list(range(1, size + 1))
        self._previous = list(range(-1, size - 1))
        self._pairs: list[tuple[int, int, int]] = []  # rank, start, size

    def count(self) -> int:
        for start in range(self._end):
            self._push_pair(start)
        parts = self._end
        while self._pairs:
            _, start, size = heapq.heappop(self._pairs)
            if self._is_current(start, size):
                self._merge(start, size)
                parts -= 1
        return parts

    def _is_current(self, start: int, size: int) -> bool:
        """Whether neither part of a pair has been merged since."""
        after = self._next[start]
        return (
            self._sizes[start] > 0
            and after < self._end
            and self._sizes[start] + self._sizes[after] == size
        )

    def _merge(self, start: int, size: int) -> None:
        after = self._next[start]
        self._keys[start] = self._join_keys(start, after)
        self._sizes[start], self._sizes[after] = size, 0
        self._next[start] = following = self._next[after]
        if following < self._end:
            self._previous[following] = start
        if self._previous[start] >= 0:
            self._push_pair(self._previous[start])
        self._push_pair(start)

    def _push_pair(self, start: int) -> None:
        after = self._next[start]
        if after == self._end:
            return
        size = self._sizes[start] + self._sizes[after]
        if size >= len(self._ranks.powers):
            return
        rank = self._ranks.find(self._join_keys(start, after))
        if rank is not None:
            heapq.heappush(self._pairs, (rank, start, size))

    def _join_keys(self, start: int, after: int) -> int:
        power = self._ranks.powers[self._sizes[start]]
        return (self._keys[start] + power * self._keys[after]) & MASK


def hash_bytes(content: bytes) -> int:
    """Hash bytes by a polynomial, so that the hash of two joined parts follows from theirs."""
    key = 0
    for byte in reversed(content):
        key = (key * BASE + byte + 1) & MASK
    return key


def load_ranks(encoding: str) -> TokenRanks:
    """Return the ranks of an encoding that the package ships, which is not imported.

    Raises:
        ModuleNotFoundError: If the package is not installed.
    """
    package = importlib.util.find_spec(PACKAGE)
    folders = package.submodule_search_locations if package else None
    if not folders:
        raise ModuleNotFoundError(f"no module named {PACKAGE!r}")
    return build_ranks(Path(folders[0], "data", f"{encoding}.tiktoken.gz").read_bytes())


def build_ranks(content: bytes) -> TokenRanks:
    """Build the table from a gzipped file of lines of token (in base64) and rank, ascending."""
    import numpy as np

    powers = [pow(BASE, exponent, MASK + 1) for exponent in range(MAX_TOKEN_BYTES + 1)]
    factors = np.array(powers, dtype=np.uint64)
    lines = BytesIO(gzip.decompress(content))
    hashed, longest = [], 0
    # In chunks: objects of all tokens at once would leave 30 MB to the process.
    while tokens := [a2b_base64(line.split()[0]) for line in islice(lines, CHUNK_TOKENS)]:
        sizes = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        starts = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum())) - np.repeat(starts, sizes)
        terms = np.frombuffer(b"".join(tokens), dtype=np.uint8) + np.uint64(1)
        hashed.append(np.add.reduceat(terms * factors[places], starts))
        longest = max(longest, int(sizes.max()))
    keys = np.concatenate(hashed)
    order = np.argsort(keys)
    return TokenRanks(
        keys=memoryview(keys[order]),  # type: ignore[arg-type]
        ranks=memoryview(order.astype(np.uint32)),  # type: ignore[arg-type]
        powers=powers[: longest + 1],
    )
