"""Parse which servers a user trusts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

TRUST_ALL = "all"
TRUST_NONE = "none"


@dataclass(frozen=True, kw_only=True)
class TrustChoices:
    """The user's trust decisions.

    Attributes:
        trusted: Servers to trust.
        withdrawn: Servers to stop trusting; other servers are unchanged.
        unknown: Words that name no known server.
    """

    trusted: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()

    def decision_for(self, name: str) -> bool | None:
        """Return whether to trust a server; None leaves it unchanged."""
        if name in self.trusted:
            return True
        return False if name in self.withdrawn else None


def parse_trust(texts: Iterable[str], names: Collection[str]) -> TrustChoices:
    """Parse names, `all` and `none`, separated by commas or spaces.

    `none` withdraws trust from every server that is not named as well.
    """
    words = [word for text in texts for word in _split_words(text, names)]
    known_names = frozenset(names)
    trusted = known_names if TRUST_ALL in words else known_names & set(words)
    return TrustChoices(
        trusted=trusted,
        withdrawn=known_names - trusted if TRUST_NONE in words else frozenset(),
        unknown=tuple(
            dict.fromkeys(w for w in words if w not in {TRUST_ALL, TRUST_NONE, *known_names})
        ),
    )


def _split_words(text: str, names: Collection[str]) -> Iterator[str]:
    """Split a text into words; a server's name may itself contain commas and spaces."""
    if text.strip() in names:
        yield text.strip()
        return
    for part in map(str.strip, text.split(",")):
        yield from [part] if part in names else part.split()
