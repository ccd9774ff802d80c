"""Load glossaries: the English words for everyday words of other languages, by family.

A glossary is a text file in `tools/glossaries/`, named by its language; see docs/search.md for its
format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final, Literal, NamedTuple, get_args

import Stemmer

Language = str
"""ISO 639 code of a language that has a glossary."""
Role = Literal["words", "verbs", "things"]

FOLDER: Final = resources.files("tools").joinpath("glossaries")
SECTIONS: Final = (*get_args(Role), "forms")
PREFIX_MARK: Final = "|"
"""Follows the prefix of a separable verb: "an|legen"."""
MAX_KNOWN_WORDS: Final = 4_096
"""Looked-up words that a glossary remembers."""
MIN_COMPOUND_CHARS: Final = 8
MIN_PART_CHARS: Final = 4
_LINKS: Final = ("", "s", "n", "en", "es", "e")
"""Letters between the parts of a German compound."""
MAX_LINK_CHARS: Final = max(map(len, _LINKS))
_VERB_ENDINGS: Final = ("t", "st", "te", "ten", "et", "test", "est")
_GERMAN_LETTERS: Final = (("ß", "ss"), ("ae", "a"), ("oe", "o"), ("ue", "u"))
ELISION: Final = r"(?<!\w)(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu)['’](?=\w)"  # noqa: RUF001
"""A French word without its vowel, before the one it leans on: "l'image"."""
_ELISION: Final = re.compile(ELISION, re.IGNORECASE)
_PRONOUNS: Final = re.compile(
    r"(?<!^rendez)(?:-(?:moi|toi|lui|leur|nous|vous|les?|la|en|y|t|je|tu|ils?|elles?|on))+$"
)
"""French pronouns behind a verb: "envoie-les-moi", "peux-tu"."""
_CLITICS: Final = re.compile(r"(?:me|te|se|nos)?(?:l[oae]s?|me|te|se|nos)$")


class GlossaryEntry(NamedTuple):
    """The English for a word or a phrase; empty if it is only polite, or has no equivalent."""

    english: str
    role: Role


@dataclass(frozen=True, kw_only=True, eq=False)
class Glossary:
    """The glossary of a language.

    Attributes:
        language: Its language.
        exact: Entry of each word and phrase, in lower case, as written in the file.
        folded: The same without accents and umlauts.
        stems: Entry of each stem.
        phrases: Stems of the phrases of several words, and their entries, the longest first, by
            first stem.
        separable: Entry of each separable verb, by stem of its base and by prefix.
        forms: Base of each irregular form, both folded.
        longest: Number of characters of the longest entry.
    """

    language: Language
    exact: Mapping[str, GlossaryEntry]
    folded: Mapping[str, GlossaryEntry]
    stems: Mapping[str, GlossaryEntry]
    phrases: Mapping[str, tuple[tuple[tuple[str, ...], GlossaryEntry], ...]]
    separable: Mapping[str, Mapping[str, GlossaryEntry]]
    forms: Mapping[str, str]
    longest: int
    _known: dict[str, GlossaryEntry | None] = field(default_factory=dict)

    def find(self, word: str) -> GlossaryEntry | None:
        """Return the entry of a word in any of its forms."""
        word = word.lower()
        entry = self.exact.get(word)
        if entry is not None or self.language == "zh":
            return entry
        if word not in self._known:
            if len(self._known) >= MAX_KNOWN_WORDS:
                self._known.clear()
            self._known[word] = self._find_form(fold(word, self.language))
        return self._known[word]

    def stem(self, word: str) -> str:
        """Return the stem of a word, that of its base if it is irregular."""
        folded = fold(word, self.language)
        return stem(self.forms.get(folded, folded), self.language)

    def _find_form(self, folded: str) -> GlossaryEntry | None:
        entry = self.folded.get(folded) or self.stems.get(self.stem(folded))
        if entry is not None:
            return entry
        if self.language == "es":
            return self._find_singular(folded) or self._find_with_clitics(folded)
        if self.language == "fr":
            return self._find_singular(folded) or self._find_participle(folded)
        if self.language != "de":
            return None
        for base in self._list_german_bases(folded):
            entry = self.folded.get(base) or self.stems.get(self.stem(base))
            if entry is not None:
                return entry
        return self._find_compound(folded)

    def _find_singular(self, folded: str) -> GlossaryEntry | None:
        """Return the entry of a plural whose stem is not that of its singular: "tareas"."""
        entry = self.folded.get(folded.removesuffix("s"))
        return entry if entry is not None and entry.role == "things" else None

    def _find_participle(self, folded: str) -> GlossaryEntry | None:
        """Return the entry of a feminine participle, which the stemmer leaves whole: "ajoutée"."""
        base = folded.removesuffix("s").removesuffix("e")
        return self.stems.get(self.stem(base)) if base.endswith("e") else None

    def _find_with_clitics(self, folded: str) -> GlossaryEntry | None:
        base = _CLITICS.sub("", folded)
        if base == folded or len(base) < 2:
            return None
        entry = self.folded.get(base) or self.stems.get(self.stem(base))
        return entry if entry is not None and entry.role == "verbs" else None

    def _list_german_bases(self, folded: str) -> Iterator[str]:
        """Yield infinitives of which a word may be a form: "zeigt", "geloscht", "anzulegen"."""
        yield from _list_infinitives(folded)
        for head in self._separable_heads:
            if folded.startswith(head) and len(folded) > len(head) + 2:
                prefix, base = head[:-2], folded.removeprefix(head)
                yield prefix + base
                yield prefix + self.forms.get(f"ge{base}", base)
                yield from (prefix + one for one in _list_infinitives(base))

    @cached_property
    def _separable_heads(self) -> tuple[str, ...]:
        """Separable prefixes before "ge" and "zu", the longest first."""
        prefixes = {prefix for verbs in self.separable.values() for prefix in verbs}
        heads = (prefix + middle for prefix in prefixes for middle in ("ge", "zu"))
        return tuple(sorted(heads, key=lambda head: (-len(head), head)))

    def _find_compound(self, folded: str) -> GlossaryEntry | None:
        """Return the joined entries of a compound's parts, the longest last part first."""
        # Two entries and a link are no longer; the time grows with the square of the length.
        if not MIN_COMPOUND_CHARS <= len(folded) <= 2 * self.longest + MAX_LINK_CHARS:
            return None
        for at in range(MIN_PART_CHARS - 1, len(folded) - MIN_PART_CHARS + 1):
            last = self._find_noun(folded[at:])
            if last is None:
                continue
            for link in _LINKS:
                first = folded[:at].removesuffix(link)
                noun = self._find_noun(first) if len(first) + len(link) == at else None
                if noun is not None:
                    return GlossaryEntry(f"{noun.english} {last.english}", "things")
        return None

    def _find_noun(self, folded: str) -> GlossaryEntry | None:
        if len(folded) < MIN_PART_CHARS - 1:
            return None
        entry = self.folded.get(folded) or self.stems.get(stem(folded, self.language))
        return entry if entry is not None and entry.role == "things" else None


def _list_infinitives(folded: str) -> Iterator[str]:
    for word in (folded, folded.removeprefix("ge")):
        for ending in _VERB_ENDINGS:
            if word.endswith(ending) and len(word) > len(ending) + 2:
                yield f"{word.removesuffix(ending)}en"


def fold(word: str, language: Language) -> str:
    """Return a word in lower case without accents and umlauts, however they are written.

    A French one also without the pronouns behind it.

    Example:
        >>> fold("Größe", "de"), fold("loeschen", "de"), fold("Envíame", "es")
        ('grosse', 'loschen', 'enviame')
        >>> fold("Crée-la", "fr")
        'cree'
    """
    folded = word.lower()
    if not folded.isascii():
        decomposed = unicodedata.normalize("NFD", folded)
        folded = "".join(c for c in decomposed if not unicodedata.combining(c))
    if language == "de":
        for written, plain in _GERMAN_LETTERS:
            folded = folded.replace(written, plain)
    if language == "fr":
        folded = folded.replace("’", "'").replace("œ", "oe")  # noqa: RUF001 - as typed
        folded = _PRONOUNS.sub("", folded)
    return folded


def stem(folded: str, language: Language) -> str:
    """Return the stem of a folded word; of a language without a stemmer, the word itself."""
    stemmer = _load_stemmer(language)
    return folded if stemmer is None else str(stemmer.stemWord(folded))


@cache
def _load_stemmer(language: Language) -> Any:
    try:
        return Stemmer.Stemmer(language, 0)
    except KeyError:
        return None


@cache
def list_languages() -> tuple[Language, ...]:
    """Return the languages that have a glossary."""
    names = (file.name for file in FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".txt") for name in names if name.endswith(".txt")))


@cache
def load_glossary(language: Language) -> Glossary:
    """Return the glossary of a language."""
    forms: dict[str, str] = {}
    entries: list[tuple[str, GlossaryEntry]] = []
    for section, head, words in read_families(language):
        if section == "forms":
            forms |= {fold(word, language): fold(head, language) for word in words}
        else:
            entries += ((word, GlossaryEntry(head, section)) for word in words)
    return _index_entries(language, entries, forms)


def read_families(
    language: Language,
) -> Iterator[tuple[Role | Literal["forms"], str, list[str]]]:
    """Yield section, head and words of each line of a glossary.

    Raises:
        ValueError: If a line is outside a section, or is no family.
    """
    section = None
    for line in FOLDER.joinpath(f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = next(one for one in SECTIONS if line == f"[{one}]")
        elif line and not line.startswith("#"):
            head, colon, words = line.partition(":")
            if section is None or not colon:
                raise ValueError(f"not a family of words: {line}")
            yield section, head.strip(), [word.strip() for word in words.split(",")]


@cache
def load_english_words() -> frozenset[str]:
    """Return the English words of all glossaries: they show no other language."""
    heads = (
        head
        for language in list_languages()
        for section, head, _ in read_families(language)
        if section != "forms"
    )
    return frozenset(word for head in heads for word in head.lower().split())


def _index_entries(
    language: Language, entries: Iterable[tuple[str, GlossaryEntry]], forms: dict[str, str]
) -> Glossary:
    exact: dict[str, GlossaryEntry] = {}
    folded: dict[str, GlossaryEntry] = {}
    stems: dict[str, GlossaryEntry] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], GlossaryEntry]]] = {}
    separable: dict[str, dict[str, GlossaryEntry]] = {}
    for written, entry in entries:
        word = written.replace(PREFIX_MARK, "")
        exact[word] = entry
        parts = [fold(part, language) for part in _ELISION.sub(r"\g<0> ", word).split()]
        stemmed = tuple(stem(forms.get(part, part), language) for part in parts)
        if len(parts) > 1:
            phrases.setdefault(stemmed[0], []).append((stemmed, entry))
            continue
        folded.setdefault(parts[0], entry)
        if entry.role != "words":
            stems.setdefault(stemmed[0], entry)
        prefix, mark, base = written.partition(PREFIX_MARK)
        if mark:
            verbs = separable.setdefault(stem(fold(base, language), language), {})
            verbs[fold(prefix, language)] = entry
    return Glossary(
        language=language,
        exact=exact,
        folded=folded,
        stems=stems,
        phrases={
            key: tuple(sorted(found, key=lambda one: -len(one[0])))
            for key, found in phrases.items()
        },
        separable=separable,
        forms=forms,
        longest=max(map(len, exact)),
    )
