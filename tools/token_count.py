"""Counts the tokens of a text in a model's context, offline.

The tokenizer is o200k_base, the newest one with published ranks. Claude's own is not public, so
all counts are those of this stand-in and comparable with each other. Loading it takes 0.1 s, so
counts are stored with each definition, and a process that only reads them never loads it.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools import token_ranks
from tools.token_ranks import TokenRanks

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
    return token_ranks.load_ranks(ENCODING)
