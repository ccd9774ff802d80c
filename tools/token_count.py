"""Counts the tokens of a text in a model's context, offline.

The tokenizer is o200k_base, the newest one with published ranks. Claude's own is not public, so
all counts are those of this stand-in and comparable with each other. Loading it takes 0.1 s, so
counts are stored with each definition, and a process that only reads them never loads it.
"""

from __future__ import annotations

import functools
import gzip
import heapq
import importlib.util
import json
import re
import unicodedata
from binascii import a2b_base64
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, Final

ENCODING: Final = "o200k_base"
PIECE_CHARS: Final = 16_384
"""Characters split at a time, which holds the GIL; most definitions are shorter."""
MAX_KNOWN_PIECES: Final = 16_384
"""Pieces whose number of tokens is remembered."""
MAX_KNOWN_PIECE_CHARS: Final = 64

_UPPER, _LOWER, _CASELESS, _MARK, _DIGIT, _SPACE, _OTHER = "A", "a", "ª", "\u0300", "0", "\t", "!"
"""What stands for characters beyond ASCII while a text is split: one for each class."""
_CLASSES: Final = {
    "Lu": _UPPER, "Lt": _UPPER, "Ll": _LOWER, "Lm": _CASELESS, "Lo": _CASELESS,
    "M": _MARK, "N": _DIGIT,
}  # fmt: skip
_S = " \t\n\x0b\x0c\r"
_L = f"A-Za-z{_CASELESS}"
_U = f"A-Z{_CASELESS}{_MARK}"
_LO = f"a-z{_CASELESS}{_MARK}"
_SHORT = "(?:'(?i:s|t|re|ve|m|ll|d))?"
# The pattern of o200k_base, over the characters above.
_PIECE: Final = re.compile(
    rf"[^\r\n{_L}0-9]?[{_U}]*[{_LO}]+{_SHORT}"
    rf"|[^\r\n{_L}0-9]?[{_U}]+[{_LO}]*{_SHORT}"
    rf"|[0-9]{{1,3}}| ?[^{_S}{_L}0-9]+[\r\n/]*|[{_S}]*[\r\n]+|[{_S}]+(?![^{_S}])|[{_S}]+"
)


class _CharacterClasses(dict[int, str]):
    """The character that stands for each one, as `str.translate` takes it."""

    def __missing__(self, code: int) -> str:
        found = _classify_character(chr(code))
        if code <= 0xFFFF:  # so that no text makes it large
            self[code] = found
        return found


class _PieceCounts(dict[str, int]):
    """Number of tokens by piece."""

    def __missing__(self, piece: str) -> int:
        count = _load_ranks().count(piece.encode())
        if len(piece) <= MAX_KNOWN_PIECE_CHARS:
            if len(self) >= MAX_KNOWN_PIECES:
                self.clear()
            self[piece] = count
        return count


_CHARACTER_CLASSES: Final = _CharacterClasses()
_PIECE_COUNTS: Final = _PieceCounts()


def count_tokens(text: str) -> int:
    """Count the tokens of a text; special tokens such as <|endoftext|> count as plain text.

    A text longer than `PIECE_CHARS` is counted in parts, each of which may add a token or two.

    Example:
        >>> count_tokens("What time is it in Tokyo?")
        7
    """
    parts = (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))
    return sum(
        sum(map(_PIECE_COUNTS.__getitem__, split_pieces(part.encode("utf-8", "replace").decode())))
        for part in parts
    )


def count_definition(name: str, description: str, input_schema: Mapping[str, Any]) -> int:
    """Count the tokens of a listed tool: name, description and input schema as JSON.

    Example:
        >>> count_definition("now", "Current time.", {"type": "object"})
        17
    """
    listed = {"name": name, "description": description, "inputSchema": dict(input_schema)}
    return count_tokens(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))


def split_pieces(text: str) -> Iterator[str]:
    """Split a text into the pieces that are encoded by themselves: no token spans two.

    Example:
        >>> list(split_pieces('{"name":"Größe 1234"}'))
        ['{"', 'name', '":"', 'Größe', ' ', '123', '4', '"}']
    """
    if text.isascii() and text.isprintable():
        yield from _PIECE.findall(text)
        return
    start = 0
    for piece in _PIECE.findall(text.translate(_CHARACTER_CLASSES)):
        end = start + len(piece)
        yield text[start:end]
        start = end


def _classify_character(character: str) -> str:
    category = unicodedata.category(character)
    if character.isascii():
        return _OTHER if category == "Cc" and character not in _S else character
    if character == "ſ":  # noqa: RUF001 - the same as "s" but for its case
        return "s"
    if category[0] in "LMN":
        return _CLASSES.get(category) or _CLASSES[category[0]]
    return _SPACE if character.isspace() else _OTHER


@functools.cache
def _load_ranks() -> TokenRanks:
    return load_ranks(ENCODING)


PACKAGE: Final = "bpe_openai"
BASE: Final = 0x9E3779B97F4A7C15
"""Of the polynomial that hashes bytes: any odd number under which no two tokens collide."""
MASK: Final = 2**64 - 1
MAX_TOKEN_BYTES: Final = 255
CHUNK_TOKENS: Final = 4_096


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenRanks:
    """The rank of each token by its hash; of two adjacent pairs, the lower rank is merged first.

    The table of o200k_base takes 2.4 MB; the package that ships it takes some 70 MB to count.

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
