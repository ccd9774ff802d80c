"""Patterns of schemas, matched in bounded time by an engine without backtracking.

The engine takes time proportional to the length of the text times the size of the pattern with
its repetitions expanded, and blocks all other threads. So both are bounded beforehand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

MAX_PATTERN_LENGTH: Final = 1_000
MAX_BUILD_UNITS: Final = 60_000
"""Units of work to build a pattern's automaton: some 24 ms at 0.4 µs each."""
MAX_MATCH_WORK: Final = 1_000_000
"""Atoms times characters of one match: some 20 ms at 20 ns each, the worst measured."""
WORK_PER_STEP: Final = 200
UNITS_PER_STEP: Final = 10

_UNICODE_CLASS_UNITS: Final = 400
"""Units of a Unicode class such as `\\w`: hundreds of ranges."""
_DIGIT_CLASS_UNITS: Final = 40
_CHARACTER_CLASS_UNITS: Final = 8
_PIECE: Final = re.compile(
    r"(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<repeat>\{(\d{1,6})(?:,(\d{0,6}))?\})"
    r"|(?P<open>\()|(?P<close>\))"
    r"|(?P<atom>\\[pP](?:\{[^}]*\}|.)|\\.|.)",
    re.DOTALL,
)
_UNICODE_CLASSES: Final = re.compile(r"\\[wWpPbB]")
_IGNORES_CASE: Final = re.compile(r"\(\?[a-zA-Z-]*i")


class _PatternSize:
    """Size of a pattern, or of one of its groups, with repetitions expanded."""

    def __init__(self) -> None:
        self.atoms, self.units = 0, 0
        self.last = (0, 0)

    def add(self, atoms: int, units: int) -> None:
        self.atoms += atoms
        self.units += units
        self.last = (atoms, units)

    def repeat(self, times: int) -> None:
        atoms, units = self.last
        self.add(atoms * (times - 1), units * (times - 1))
        self.last = (atoms * times, units * times)


def measure_pattern(pattern: str) -> tuple[int, int]:
    """Return the atoms of a pattern with its repetitions expanded, and the work to build it.

    Example:
        >>> measure_pattern("^[a-z]{1,20}$"), measure_pattern("(ab{3}){10}")
        ((22, 162), (40, 40))
    """
    open_groups = [_PatternSize()]
    for piece in _PIECE.finditer(pattern):
        here = open_groups[-1]
        match piece.lastgroup:
            case "open":
                open_groups.append(_PatternSize())
            case "close" if len(open_groups) > 1:
                inner = open_groups.pop()
                open_groups[-1].add(inner.atoms, inner.units)
            case "repeat":
                here.repeat(max(int(piece[3]), int(piece[4] or 0), 1))
            case _:
                here.add(1, _count_units(piece[0]))
    while len(open_groups) > 1:
        inner = open_groups.pop()
        open_groups[-1].add(inner.atoms, inner.units)
    return open_groups[0].atoms, open_groups[0].units


def _count_units(piece: str) -> int:
    if _UNICODE_CLASSES.search(piece):
        return _UNICODE_CLASS_UNITS
    if "\\d" in piece or "\\D" in piece:
        return _DIGIT_CLASS_UNITS
    return _CHARACTER_CLASS_UNITS if piece == "." or piece[0] in "[\\" else 1


@dataclass(frozen=True, kw_only=True)
class CompiledPattern:
    """A compiled pattern.

    Attributes:
        atoms: Its size with repetitions expanded.
        engine: Matches it; None if it is left to the server.
    """

    atoms: int
    engine: SchemaValidator | None

    def estimate_match_steps(self, text: str) -> int:
        """Return an upper bound of the steps of a match."""
        if self.engine is None:
            return 1
        return 1 + min(self.atoms * len(text), MAX_MATCH_WORK) // WORK_PER_STEP

    def is_match(self, text: str) -> bool | None:
        """Whether the pattern matches anywhere in a text; None if it is left to the server.

        It is if the pattern needs backtracking or is too large, if the match could take too long,
        or if the text contains an unpaired surrogate.
        """
        if self.engine is None or self.atoms * len(text) > MAX_MATCH_WORK or not _is_unicode(text):
            return None
        return self.engine.isinstance_python(text)


def estimate_build_steps(pattern: str) -> int:
    """Return the steps that compiling a pattern takes."""
    return (
        1 + min(measure_pattern(pattern)[1], MAX_BUILD_UNITS) // UNITS_PER_STEP
        if _is_short(pattern)
        else 1
    )


@lru_cache(maxsize=512)
def build_pattern(pattern: str) -> CompiledPattern:
    """Compile a pattern.

    Example:
        >>> letters = build_pattern("^a+$")
        >>> letters.is_match("aaa"), letters.is_match("ab"), build_pattern("(?=a)").is_match("a")
        (True, False, None)
    """
    atoms, units = measure_pattern(pattern) if _is_short(pattern) else (1, MAX_BUILD_UNITS + 1)
    engine = None
    # If case is ignored, each class takes twice the work.
    if (2 * units if _IGNORES_CASE.search(pattern) else units) <= MAX_BUILD_UNITS:
        try:
            core = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
            engine = SchemaValidator(core)
        except SchemaError:  # the engine supports neither look-around nor backreferences
            engine = None
    return CompiledPattern(atoms=max(atoms, 1), engine=engine)


def _is_short(pattern: str) -> bool:
    return len(pattern) <= MAX_PATTERN_LENGTH


def _is_unicode(text: str) -> bool:
    """Whether a text has no unpaired surrogates, which JSON allows and UTF-8 does not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
