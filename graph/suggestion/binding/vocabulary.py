"""Words that link stated values to parameters.

All words are normalised by `graph.data_flow.words`. The lists are short on purpose: the model
weighs them, and one word too many binds a value that should have been asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from graph.data_flow.words import canonicalize_word

Words = frozenset[str]


@lru_cache(maxsize=65_536)
def normalize_word(word: str) -> Words:
    """Normalise a word to its singular and canonical spelling; a compound yields several words."""
    return frozenset(canonicalize_word(word))


def normalize_words(words: Iterable[str]) -> Words:
    """Normalise words to singular and canonical spelling.

    Example:
        >>> sorted(normalize_words(["repos", "files"]))
        ['file', 'repository']
    """
    return frozenset[str]().union(*map(normalize_word, words))


def _split_words(text: str) -> Words:
    return frozenset(text.split())


def _normalized_set(text: str) -> Words:
    return normalize_words(text.split())


def _normalized_table(rows: Mapping[str, str]) -> Mapping[str, Words]:
    return {key: _normalized_set(words) for key, words in rows.items()}


STOP_WORDS: Final = _split_words(
    "a an the of to in on at for with by from and or is are be this that it its as i me my you "
    "your we our please can could would want need like will do does have has s t if not no so "
    "then also just any all some into about"
)
"""Words that are never values, in lower case."""


SECRET_NAME_WORDS: Final = _normalized_set(
    "password passwd passphrase secret credential pin apikey"
)
"""Words of parameters that hold secrets."""
KEY_WORDS: Final = _normalized_set("token key")
"""Words of parameters that hold secrets if alone or with one of `KEY_QUALIFIERS`."""
KEY_QUALIFIERS: Final = _normalized_set("api access secret private auth bearer refresh")
PRIVATE_NUMBER_WORDS: Final = _normalized_set("cvv cvc ssn otp iban")
"""Further words of parameters that hold private numbers."""
CARD_PHRASES: Final = (_normalized_set("card number"), _normalized_set("credit card"))
"""Combinations of words of parameters that hold private numbers."""

PREPOSITIONS: Final = _normalized_table(
    {
        "from": "from origin source start departure base pickup sender",
        "to": "to destination target end receiver recipient arrival",
        "in": "in location city place country region language currency state area year timezone",
        "at": "at location place time address price",
        "by": "by author artist user director",
        "named": "name title",
        "called": "name title",
        "titled": "title name",
        "for": "for query name topic keyword user",
        "on": "on date day platform topic",
        "of": "name title value amount query",
        "with": "message content text body password",
        "between": "start origin from number",
        "and": "end second b destination",
        "using": "method key password",
        "about": "query topic keyword",
        "into": "destination target currency language",
    }
)
"""By the word before a value, words of the parameters that it introduces."""


FILE_WORDS: Final = _normalized_set("file path directory")
FOLDER_WORDS: Final = _normalized_set("repository directory folder workspace root cwd")
PATH_WORDS: Final = FILE_WORDS | FOLDER_WORDS
"""Words of parameters that take a path of any kind; `filename` is read as "file name"."""
WORKSPACE_WORDS: Final = _normalized_set("repository workspace root cwd")
"""Words of parameters that name where a tool works."""
SCOPE_WORDS: Final = _normalized_set("namespace account project space sheet vault database board")
"""Words of parameters that name the part of a product in which a tool works."""
PAID_FROM_WORDS: Final = _normalized_set("account")
PAYING_WORDS: Final = _normalized_set(
    "pay payment send transfer wire remit withdraw deposit debit charge refund buy sell trade "
    "purchase invest"
)
"""Words of tools that act on an account rather than work in one."""
DESTRUCTIVE_WORDS: Final = _normalized_set(
    "delete remove rm rmdir unlink erase drop destroy wipe purge truncate clear clean discard "
    "prune uninstall terminate kill revoke reset overwrite write replace move mv"
)
"""Words of names of tools that may delete or overwrite something."""
REMOVAL_WORDS: Final = _normalized_set(
    "delete remove rm rmdir unlink erase drop destroy wipe purge clear clean discard prune trash"
)
"""Words of removal, treated as synonyms in an intent."""
RANK_WORDS: Final = _split_words("last first top latest newest oldest recent most next best")
"""Words next to a result count: "the last 3 commits"."""
SETTING_WORDS: Final = _normalized_set("set update change edit modify adjust patch configure")
"""First words of tools that change something which exists into what their arguments say."""
TARGET_WORDS: Final = _normalized_set("room zone device city country person user")
"""Words of parameters that say what is changed, not into what."""
IDENTIFIER_ENDINGS: Final = _normalized_set("id key token handle uuid identifier")

_NUMBER_NAMES: Final = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS: Final = {word: number for number, word in enumerate(_NUMBER_NAMES.split())}
MULTIPLIERS: Final = {"k": 10**3, "thousand": 10**3, "million": 10**6, "billion": 10**9}

CURRENCIES: Final = {
    "us dollar": "USD",
    "american dollar": "USD",
    "canadian dollar": "CAD",
    "australian dollar": "AUD",
    "dollar": "USD",
    "euro": "EUR",
    "british pound": "GBP",
    "pound sterling": "GBP",
    "pound": "GBP",
    "japanese yen": "JPY",
    "yen": "JPY",
    "yuan": "CNY",
    "indian rupee": "INR",
    "rupee": "INR",
    "swiss franc": "CHF",
}
"""ISO 4217 codes by common currency names."""
