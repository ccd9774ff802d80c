"""Parse what a tool does, and to what, from its name and description."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile
from typing import Final, NamedTuple

from graph.data_flow.vocabulary import (
    ACCOUNT_WORDS,
    ACTION_WORDS,
    ATTRIBUTES,
    FILLER_WORDS,
    LEADING_ACTION_WORDS,
    STOP_WORDS,
    WRAPPER_WORDS,
    ActionKind,
)
from graph.data_flow.words import (
    NounTerm,
    canonicalize_word,
    parse_term,
    singularize_word,
    split_name,
    split_raw_name,
)

MAX_TEXT = 600
MAX_DOCUMENT = 6_000
"""Characters of a tool's description that are searched for parameters."""
MAX_TERMS = 4
MAX_PHRASE = 4
"""Words of a noun phrase, counted from its noun."""
_SENTENCE: Final = re.compile(r"[.:;!?](?:\s|$)|\n\s*\n|\n\s*[-*]|\bArgs\b")
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-'_.][^\W_]+)*|[,()/]")
_RETURNS: Final = re.compile(r"\breturns?:? (?:back )?(.{3,160})", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE_OF: Final = re.compile(
    r"\b(id|ids|identifier|uuid|name|title|url|uri|link|path|slug|code|key|token|handle"
    r"|symbol|email|username|guid)s?(?: address| code)? (?:of|for) ((?:[^\W_]+[ '-]?){1,6})",
    re.IGNORECASE,
)
_LEADING_PHRASE: Final = re.compile(
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
_OWNER_PREPOSITIONS: Final = frozenset({"of", "about", "for", "on"})
_COUNT_WORDS: Final = frozenset({"number"})
_LIST_SEPARATORS: Final = frozenset({",", "or", "and", "/"})
_NAMESPACE: Final = re.compile(r"[./:]|__")


class ToolAction(NamedTuple):
    """What a tool does, and to what.

    Attributes:
        terms: What it acts on, likeliest first.
        family: Words of its name before the verb.
    """

    action: ActionKind | None
    terms: tuple[NounTerm, ...]
    family: tuple[str, ...]


@lru_cache(maxsize=65_536)
def read_action(name: str, description: str, server: str) -> ToolAction:
    """Parse what a tool does and to what from its name, or else its first sentence.

    Example:
        >>> read_action("SkyScrapperSearchAirport", "", "flights").terms
        (NounTerm(thing=('airport',), attribute=''),)
        >>> read_action("get_all", "Returns the list of users in the workspace.", "chat").terms
        (NounTerm(thing=('user',), attribute=''),)
    """
    action, noun, family = _parse_name(name)
    sentence_action, phrases = _parse_first_sentence(description)
    server_words = frozenset(split_name(server))
    terms: dict[NounTerm, None] = {}
    for words in (noun, *phrases, *_iterate_returned_phrases(description)):
        terms.update(dict.fromkeys(term for term in _iterate_phrase_terms(words) if term.thing))
    other_terms = tuple(term for term in terms if not server_words.issuperset(term.thing))
    return ToolAction(action or sentence_action, (other_terms or tuple(terms))[:MAX_TERMS], family)


def extract_named_thing(description: str) -> tuple[str, ...]:
    """Return the thing in a description like "ID of the author whose books…".

    Example:
        >>> extract_named_thing("Unique Spotify ID of the artist for which to retrieve albums.")
        ('artist',)
    """
    match = _ATTRIBUTE_OF.search(description[:MAX_TEXT])
    return _trim_phrase(_TOKEN.findall(match.group(2))) if match else ()


def extract_parameter_descriptions(description: str) -> dict[str, str]:
    r"""Return the descriptions of parameters in a tool's description, one per line, by name.

    Example:
        >>> text = "Ends it.\n\nArgs:\n    pid: Process ID from start_process"
        >>> extract_parameter_descriptions(text)
        {'Args': '', 'pid': 'Process ID from start_process'}
    """
    return dict(_PARAMETER.findall(description[:MAX_DOCUMENT]))


def _parse_name(name: str) -> tuple[ActionKind | None, tuple[str, ...], tuple[str, ...]]:
    """Return the action and object in a name, and the words before them."""
    spaces = _NAMESPACE.split(name)
    words = split_name(spaces[-1])
    space = tuple(word for part in spaces[:-1] for word in split_name(part))
    place = next(
        (
            i
            for i, word in enumerate(words)
            if word in (ACTION_WORDS if i else LEADING_ACTION_WORDS)
        ),
        None,
    )
    if place is None and not {"log", "in"} <= set(words):
        return None, _take_until_stop_word(words), space
    act = LEADING_ACTION_WORDS[words[place]] if place is not None else ActionKind.SIGN_IN
    if act is ActionKind.GET and _is_plural_name(spaces[-1]):
        act = ActionKind.SEARCH
    if act is ActionKind.SIGN_IN or place is None:
        return ActionKind.SIGN_IN, (), (*space, *(w for w in words if w not in ACCOUNT_WORDS))
    if words[place] == "resolve" and words[-1] in ATTRIBUTES:
        act = ActionKind.SEARCH  # resolve_library_id, but not resolve_ticket
    after = _take_until_stop_word(words[place + 1 :])
    if after:
        return act, after, (*space, *words[:place])
    return act, tuple(w for w in words[:place] if w not in ACTION_WORDS), space


def _is_plural_name(name: str) -> bool:
    """Return whether a name is about several things: `get_users`, `fetchAllOrders_by_day`."""
    noun = ""
    for word in split_raw_name(name):
        if word in STOP_WORDS:
            break
        if word == "all":
            return True
        noun = word
    return (
        noun not in WRAPPER_WORDS
        and singularize_word(noun) != noun
        and singularize_word(noun) not in WRAPPER_WORDS
    )


def _take_until_stop_word(words: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for word in words:
        if word in STOP_WORDS:
            break
        if word not in FILLER_WORDS:
            kept.append(word)
    return tuple(kept)


def _parse_first_sentence(description: str) -> tuple[ActionKind | None, list[tuple[str, ...]]]:
    """Return the action of the first sentence, and its objects."""
    first = _SENTENCE.split(description.strip()[:MAX_TEXT], maxsplit=1)[0]
    tokens = _TOKEN.findall(_LEADING_PHRASE.sub("", first))
    for place, token in enumerate(tokens[:2]):
        word = _verb_stem(token.lower())
        if word is not None:
            act = ActionKind.GET if word == "return" else LEADING_ACTION_WORDS[word]
            return act, list(_iterate_objects(tokens[place + 1 :]))
    return None, []


def _verb_stem(token: str) -> str | None:
    """Return the base form of a known verb."""
    for form in (token, token.removesuffix("s"), token.removesuffix("es")):
        if form in LEADING_ACTION_WORDS:
            return form
    return None


def _iterate_objects(tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
    rest = list(dropwhile(lambda token: token.lower() in _PARTICLES, tokens))
    for _ in range(3):
        end = next(
            (i for i, t in enumerate(rest) if t.lower() in STOP_WORDS or t in ",()/"), len(rest)
        )
        words, stop = _trim_phrase(rest[:end]), rest[end].lower() if end < len(rest) else ""
        rest = rest[end + 1 :]
        if words and stop in _OWNER_PREPOSITIONS and words[-1] in WRAPPER_WORDS:
            continue
        if words and stop == "of" and words[-1] in ATTRIBUTES - _COUNT_WORDS:
            yield from ((*thing, words[-1]) for thing in _iterate_objects(rest))
            return
        if words:
            yield words
        if stop not in _LIST_SEPARATORS or (rest and _verb_stem(rest[0].lower())):
            return  # another verb follows


def _iterate_returned_phrases(description: str) -> Iterator[tuple[str, ...]]:
    """Yield the noun phrases after "returns"."""
    match = _RETURNS.search(description[: 4 * MAX_TEXT])
    if match:
        text = _SENTENCE.split(match.group(1), maxsplit=1)[0]
        tokens = [token for token in _TOKEN.findall(text) if token.lower() not in FILLER_WORDS]
        if len(tokens) > 2 and tokens[1].lower() == "to" and tokens[0].lower() in ATTRIBUTES:
            tokens[1] = "of"  # the path to the file
        yield from _iterate_objects(tokens)


def _trim_phrase(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a noun phrase without filler words."""
    kept: list[str] = []
    for token in tokens:
        low = token.lower().removesuffix("'s")
        if low in STOP_WORDS:
            break
        if low in FILLER_WORDS:
            continue
        parts = split_name(token) if any(c.isupper() for c in token[1:]) or "_" in token else None
        kept.extend(parts or canonicalize_word(low))
    return tuple(kept[-MAX_PHRASE:])


def _iterate_phrase_terms(words: tuple[str, ...]) -> Iterator[NounTerm]:
    words = words[-MAX_PHRASE:]
    while len(words) > 1 and words[-1] in WRAPPER_WORDS:
        words = words[:-1]
    if words and words[-1] not in WRAPPER_WORDS:
        yield parse_term(words)
