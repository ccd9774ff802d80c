"""Tell which values steer where a call goes: places (URL, path, recipient) and texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tools.name_words import split_name_words

MAX_KEYS: Final = 10
MAX_KEY_CHARS: Final = 300
"""Of the keys on the way to a value; one with more counts as a place or a text."""

_LOCATOR: Final = re.compile(
    r"[/\\@]|\.\.|^\s*[~.]|\w\.[^\W\d]{2,}|^\s*[a-z][a-z0-9+.-]*:\S|localhost"
    r"|\d{1,3}(?:\.\d{1,3}){3}|:[0-9a-f]*:|%[0-9a-f]{2}",
    re.IGNORECASE,
)
"""Something in a text that reads as a URL, host, path or e-mail address, rather once too often."""
_PLACES: Final = (
    "url urls uri uris link links href host hosts hostname domain domains ip address addresses "
    "path paths file files filename directory dir folder folders cwd root email emails mail to cc "
    "bcc recipient recipients endpoint origin proxy server webhook callback redirect location "
    "destination target source site website homepage webpage fqdn dns dst dest src remote peer "
    "gateway dsn phone"
)
_TEXTS: Final = (
    "query queries q search keyword keywords term terms text message content contents body prompt "
    "question comment note description title subject sql command code script expression pattern "
    "filter phrase sentence caption html markdown payload instruction instructions reason"
)
_STEERING_WORDS: Final = frozenset(f"{_PLACES} {_TEXTS}".split())
"""Words in the names of parameters that take a place or a text, such as `host_name`."""
_IDS: Final = (
    "id ids uid uuid guid sha hash key number no num index type kind status state count limit "
    "offset size version date time format order sort mode level"
)
_IDENTIFYING_WORDS: Final = frozenset(_IDS.split())
"""Last words of the names of parameters that take neither, such as `file_id`."""


def is_locator(value: object) -> bool:
    """Whether a text holds something like a URL, host, path or e-mail address.

    Example:
        >>> [is_locator(text) for text in ("see a.example", "/etc", "7 apples", 7)]
        [True, True, False, False]
    """
    return isinstance(value, str) and _LOCATOR.search(value) is not None


def is_steering(keys: Sequence[str], value: object) -> bool:
    """Whether a value is or holds a place or a text, by its form or by the keys on the way to it.

    Example:
        >>> is_steering(["options"], {"unit": "metric"}), is_steering(["options"], {"to": "bob"})
        (False, True)
    """
    if isinstance(value, Mapping):
        return any(is_steering([*keys, key], inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return any(is_steering(keys, inner) for inner in value)
    return is_locator(value) or takes_place_or_text(keys, is_text=isinstance(value, str))


def takes_place_or_text(keys: Sequence[str], *, is_text: bool) -> bool:
    """Whether a value is a place or a text, by the keys on the way to it.

    A text is one if any word of a key says so, unless the last word says that it is an id. A
    number is one only by the last word of its own key.

    Args:
        keys: From the outermost object to the value; empty: it has no name.
        is_text: Whether the value is a text.

    Example:
        >>> takes_place_or_text(["host_name"], is_text=True)
        True
        >>> takes_place_or_text(["file", "id"], is_text=True)
        False
    """
    if len(keys) > MAX_KEYS or sum(map(len, keys)) > MAX_KEY_CHARS:
        return True
    *outer, name = map(_split_key, keys or ("",))
    if name and name[-1] in _STEERING_WORDS:
        return True
    if not is_text or (name and name[-1] in _IDENTIFYING_WORDS):
        return False
    return any(map(_has_steering_word, (*outer, name)))


def _split_key(key: str) -> tuple[str, ...]:
    return tuple(word.rstrip("0123456789") for word in split_name_words(key))


def _has_steering_word(words: tuple[str, ...]) -> bool:
    is_id = bool(words) and words[-1] in _IDENTIFYING_WORDS
    return not is_id and not _STEERING_WORDS.isdisjoint(words)
