"""Whom a person trusts, from the words they say it in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

ALL = "all"
NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What was said about each server.

    Attributes:
        trusted: Servers to trust.
        withdrawn: Servers to trust no longer; of all others nothing was said.
        unknown: Words that name no server.
    """

    trusted: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()

    def of(self, name: str) -> bool | None:
        """Return whether a server is to be trusted; None leaves it as it is."""
        if name in self.trusted:
            return True
        return False if name in self.withdrawn else None


def choose(said: Iterable[str], names: Collection[str]) -> Choice:
    """Understand names, `all` and `none`, separated by commas or spaces.

    `none` withdraws trust from every server that is not named beside it.
    """
    words = [word for text in said for word in _words(text, names)]
    known = frozenset(names)
    trusted = known if ALL in words else known & set(words)
    return Choice(
        trusted=trusted,
        withdrawn=known - trusted if NONE in words else frozenset(),
        unknown=tuple(dict.fromkeys(w for w in words if w not in {ALL, NONE, *known})),
    )


def _words(text: str, names: Collection[str]) -> Iterator[str]:
    """Split a text; a server's name may itself hold commas and spaces."""
    if text.strip() in names:
        yield text.strip()
        return
    for part in map(str.strip, text.split(",")):
        yield from [part] if part in names else part.split()
