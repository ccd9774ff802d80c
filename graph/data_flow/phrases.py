"""Read from a tool's name and description what it does, and to what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile
from typing import Final, NamedTuple

from graph.data_flow.vocabulary import (
    ACCOUNT,
    ACTS,
    ATTRIBUTES,
    FILLERS,
    LEADING_ACTS,
    STOPS,
    WRAPPERS,
    Act,
)
from graph.data_flow.words import Term, canonical, raw_words, singular, split, term

MAX_TEXT = 600
MAX_DOCUMENT = 6_000
"""Characters of a tool's description in which its parameters are looked for."""
MAX_TERMS = 4
MAX_PHRASE = 4
"""Words of a noun phrase, counted from its noun."""
_SENTENCE: Final = re.compile(r"[.:;!?](?:\s|$)|\n\s*\n|\n\s*[-*]|\bArgs\b")
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-'_.][^\W_]+)*|[,()/]")
_RETURNS: Final = re.compile(r"\breturns?:? (?:back )?(.{3,160})", re.IGNORECASE | re.DOTALL)
_OF: Final = re.compile(
    r"\b(id|ids|identifier|uuid|name|title|url|uri|link|path|slug|code|key|token|handle"
    r"|symbol|email|username|guid)s?(?: address| code)? (?:of|for) ((?:[^\W_]+[ '-]?){1,6})",
    re.IGNORECASE,
)
_LETS: Final = re.compile(
    r"^\W*(?:(?:this |an? |the )?(?:tool|api|endpoint|function)\b.{0,40}?\bto|"
    r"(?:allows?|lets?|enables?)\b.{0,40}?\bto)\s+",
    re.IGNORECASE | re.DOTALL,
)
_PARAMETER: Final = re.compile(
    r"^[ \t]*(?:[-*] )?[`'\"]?([A-Za-z_]\w{0,60})[`'\"]?"
    r"(?: ?\([^()\n]{0,80}\))? ?:[ \t]*(.{0,300})$",
    re.MULTILINE,
)
_PARTICLES: Final = frozenset({"for", "up", "about", "back"})
_WHOSE: Final = frozenset({"of", "about", "for", "on"})
_COUNTS: Final = frozenset({"number"})
_AND: Final = frozenset({",", "or", "and", "/"})
_NAMESPACE: Final = re.compile(r"[./:]|__")


class Deed(NamedTuple):
    """What a tool does, and to what.

    Attributes:
        act: What it does.
        terms: What to, the likeliest first.
        family: Words of its name that stand before what it does.
    """

    act: Act | None
    terms: tuple[Term, ...]
    family: tuple[str, ...]


@lru_cache(maxsize=65_536)
def read(name: str, description: str, server: str) -> Deed:
    """Read what a tool does and to what from its name, else from how its description begins.

    Example:
        >>> read("SkyScrapperSearchAirport", "", "flights").terms
        (Term(thing=('airport',), attribute=''),)
        >>> read("get_all", "Returns the list of users in the workspace.", "chat").terms
        (Term(thing=('user',), attribute=''),)
    """
    act, noun, family = _of_name(name)
    said, phrases = _of_text(description)
    own = frozenset(split(server))
    found: dict[Term, None] = {}
    for words in (noun, *phrases, *_returned(description)):
        found.update(dict.fromkeys(one for one in _terms(words) if one.thing))
    others = tuple(one for one in found if not own.issuperset(one.thing))
    return Deed(act or said, (others or tuple(found))[:MAX_TERMS], family)


def named_thing(description: str) -> tuple[str, ...]:
    """Return what a description like "ID of the author whose books…" speaks of.

    Example:
        >>> named_thing("Unique Spotify ID of the artist for which to retrieve albums.")
        ('artist',)
    """
    match = _OF.search(description[:MAX_TEXT])
    return _phrase(_TOKEN.findall(match.group(2))) if match else ()


def described(description: str) -> dict[str, str]:
    r"""Return what a description says of single parameters, one a line, by their names.

    Example:
        >>> described("Ends it.\n\nArgs:\n    pid: Process ID from start_process")
        {'Args': '', 'pid': 'Process ID from start_process'}
    """
    return dict(_PARAMETER.findall(description[:MAX_DOCUMENT]))


def _of_name(name: str) -> tuple[Act | None, tuple[str, ...], tuple[str, ...]]:
    """Return what a name says is done, to what, and the words before that."""
    spaces = _NAMESPACE.split(name)
    words = split(spaces[-1])
    space = tuple(word for part in spaces[:-1] for word in split(part))
    place = next(
        (i for i, word in enumerate(words) if word in (ACTS if i else LEADING_ACTS)), None
    )
    if place is None and not {"log", "in"} <= set(words):
        return None, _until_stop(words), space
    act = LEADING_ACTS[words[place]] if place is not None else Act.SIGN_IN
    if act is Act.GET and _is_many(spaces[-1]):
        act = Act.SEARCH
    if act is Act.SIGN_IN or place is None:
        return Act.SIGN_IN, (), (*space, *(w for w in words if w not in ACCOUNT))
    if words[place] == "resolve" and words[-1] in ATTRIBUTES:
        act = Act.SEARCH  # resolve_library_id, but not resolve_ticket
    after = _until_stop(words[place + 1 :])
    if after:
        return act, after, (*space, *words[:place])
    return act, tuple(w for w in words[:place] if w not in ACTS), space


def _is_many(name: str) -> bool:
    """Tell whether a name speaks of several things: `get_users`, `fetchAllOrders_by_day`."""
    noun = ""
    for word in raw_words(name):
        if word in STOPS:
            break
        if word == "all":
            return True
        noun = word
    return noun not in WRAPPERS and singular(noun) != noun and singular(noun) not in WRAPPERS


def _until_stop(words: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for word in words:
        if word in STOPS:
            break
        if word not in FILLERS:
            kept.append(word)
    return tuple(kept)


def _of_text(description: str) -> tuple[Act | None, list[tuple[str, ...]]]:
    """Return what the first sentence says is done, and its objects."""
    first = _SENTENCE.split(description.strip()[:MAX_TEXT], maxsplit=1)[0]
    tokens = _TOKEN.findall(_LETS.sub("", first))
    for place, token in enumerate(tokens[:2]):
        word = _verb(token.lower())
        if word is not None:
            act = Act.GET if word == "return" else LEADING_ACTS[word]
            return act, list(_objects(tokens[place + 1 :]))
    return None, []


def _verb(token: str) -> str | None:
    """Return the verb that a form of it belongs to."""
    for form in (token, token.removesuffix("s"), token.removesuffix("es")):
        if form in LEADING_ACTS:
            return form
    return None


def _objects(tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the noun phrases after a verb, up to three of them."""
    rest = list(dropwhile(lambda token: token.lower() in _PARTICLES, tokens))
    for _ in range(3):
        end = next((i for i, t in enumerate(rest) if t.lower() in STOPS or t in ",()/"), len(rest))
        words, stop = _phrase(rest[:end]), rest[end].lower() if end < len(rest) else ""
        rest = rest[end + 1 :]
        if words and stop in _WHOSE and words[-1] in WRAPPERS:
            continue
        if words and stop == "of" and words[-1] in ATTRIBUTES - _COUNTS:
            yield from ((*thing, words[-1]) for thing in _objects(rest))
            return
        if words:
            yield words
        if stop not in _AND or (rest and _verb(rest[0].lower())):
            return  # it does something else as well


def _returned(description: str) -> Iterator[tuple[str, ...]]:
    """Yield what a description says is returned."""
    match = _RETURNS.search(description[: 4 * MAX_TEXT])
    if match:
        text = _SENTENCE.split(match.group(1), maxsplit=1)[0]
        tokens = [token for token in _TOKEN.findall(text) if token.lower() not in FILLERS]
        if len(tokens) > 2 and tokens[1].lower() == "to" and tokens[0].lower() in ATTRIBUTES:
            tokens[1] = "of"  # the path to the file
        yield from _objects(tokens)


def _phrase(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a noun phrase without what only fills it."""
    kept: list[str] = []
    for token in tokens:
        low = token.lower().removesuffix("'s")
        if low in STOPS:
            break
        if low in FILLERS:
            continue
        parts = split(token) if any(c.isupper() for c in token[1:]) or "_" in token else None
        kept.extend(parts or canonical(low))
    return tuple(kept[-MAX_PHRASE:])


def _terms(words: tuple[str, ...]) -> Iterator[Term]:
    """Yield what a noun phrase may stand for: itself, without a wrapper, as an attribute."""
    words = words[-MAX_PHRASE:]
    while len(words) > 1 and words[-1] in WRAPPERS:
        words = words[:-1]
    if words and words[-1] not in WRAPPERS:
        yield term(words)
