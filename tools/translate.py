"""Translate wishes in other languages, word by word, into the English words of tools.

The result is a gloss, not a sentence: enough to find tools by meaning and by words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from tools.glossary import (
    ELISION,
    Glossary,
    GlossaryEntry,
    Language,
    list_languages,
    load_english_words,
    load_glossary,
)
from tools.lexemes import STOP_WORDS, split_lexemes
from tools.word_lists import load_word_lists

MAX_CHARS: Final = 2_000
"""Longer texts are not translated."""
MAX_PREFIX_DISTANCE: Final = 16
"""Words between a German verb and its separated prefix."""
MIN_HAN_CHARS: Final = 2

_HAN: Final = r"\u3400-\u4dbf\u4e00-\u9fff"
_QUOTED: Final = (
    r"\"[^\"]*+\"|“[^”]*+”|„[^“”]*+[“”]|«[^»]*+»|»[^«]*+«|「[^」]*+」|『[^』]*+』|《[^》]*+》"
    r"|`[^`]*+`|(?<!\w)'[^']*+'(?!\w)|(?<!\w)‘[^’]*+’(?!\w)"  # noqa: RUF001 - as typed
)
_TOKEN: Final = re.compile(
    rf"(?P<value>{_QUOTED}"
    r"|(?<!\w)(?:~|\.{1,2})?/[^\s,;，。、；：！？]*[^\s,;，。、；：！？.:!?)]"  # noqa: RUF001
    rf"|(?:[^\s\d/\\@_=#{_HAN},;，。、；：！？]*+[\d/\\@_=#]|[^\W\d_{_HAN}]++\.[A-Za-z0-9])"  # noqa: RUF001
    rf"(?:[^\s,;{_HAN}，。、；：！？]*[^\s,;{_HAN}，。、；：！？.:!?)])?)"  # noqa: RUF001
    rf"|(?P<han>[{_HAN}]++)"
    rf"|(?P<word>{ELISION}|[^\W\d_{_HAN}]++(?>(?:[-'’][^\W\d_{_HAN}]++)*))"  # noqa: RUF001
    r"|(?P<mark>[^\s\w])",
    re.IGNORECASE,
)
_KANA: Final = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
_CLAUSE_MARKS: Final = frozenset(".,;:!?，。、；：！？\n")  # noqa: RUF001 - CJK marks
_PLAIN_MARKS: Final = str.maketrans("，。、；：！？", ",.,;:!?", "¿¡")  # noqa: RUF001 - CJK marks
_WEAK_SIGNS, _FURTHER_ENGLISH = (
    frozenset(load_word_lists("english")[name].split())
    for name in ("weak signs", "further function words")
)
_COPULAS: Final = frozenset(["写", "写上", "写成", "写着"])
_QUESTIONS: Final = frozenset(["what", "who", "where", "when", "why", "how", "is", "are"])
_JOINERS: Final = frozenset({"and", "or"})
_SPACE_BEFORE_MARK: Final = re.compile(r"\s+([,.;:!?])")


class GlossToken(NamedTuple):
    """A part of a text, in English.

    Attributes:
        start: Index of its first character.
        end: Index after its last character.
        english: The English for it, or itself; empty if it has no equivalent.
        role: "words", "verbs" or "things" of a glossary; "" if it is unknown, "value" or "mark".
    """

    start: int
    end: int
    english: str
    role: str


def gloss_text(text: str, language: Language | None = None) -> str:
    """Return the English gloss of a text; empty if it needs none.

    Args:
        text: A wish, or a part of one.
        language: Its language, if it is known; the part of a wish may be too short to tell.

    Example:
        >>> gloss_text("Leg bitte einen Ordner namens 'Fotos' an")
        "create folder directory called named 'Fotos'"
        >>> gloss_text("Create a folder named 'Fotos'")
        ''
    """
    language = language or detect_language(text)
    return _write_gloss(text, language) if language else ""


def put_in_english(text: str, language: Language | None) -> str:
    """Return the gloss of a text of a known language; the text itself if that is English.

    Example:
        >>> put_in_english("borra la rama", "es"), put_in_english("borra la rama", None)
        ('delete the branch', 'borra la rama')
    """
    return (language and gloss_text(text, language)) or text


@lru_cache(maxsize=256)
def _write_gloss(text: str, language: Language) -> str:
    clauses = (_put_verb_first(clause) for clause in _split_clauses(gloss_tokens(text, language)))
    words = (token.english for clause in clauses for token in clause if token.english)
    return _SPACE_BEFORE_MARK.sub(r"\1", " ".join(words).translate(_PLAIN_MARKS)).strip()


@lru_cache(maxsize=256)
def detect_language(text: str) -> Language | None:
    """Return the language of a wish, if there is a glossary for it; None for English.

    Judged by the words of the glossaries that are not English, quoted text and other values left
    out.
    """
    if len(text) > MAX_CHARS:
        return None
    tokens = list(_TOKEN.finditer(text))
    han = sum(len(token[0]) for token in tokens if token.lastgroup == "han")
    words = [token[0].lower() for token in tokens if token.lastgroup == "word"]
    function_words = [word for word in words if _is_function_word(word)]
    if han >= MIN_HAN_CHARS and han > 2 * len(function_words):
        return None if _KANA.search(text) else "zh"
    weak = sum(word in _WEAK_SIGNS for word in words)
    contents = [word for word in words if word not in _WEAK_SIGNS and not _is_function_word(word)]
    strong = [word for word in contents if not _is_english(word)]
    english = [word for word in function_words if word not in _WEAK_SIGNS]
    counted = {
        one: _count_signs(strong, weak=weak, english=english, glossary=load_glossary(one))
        for one in list_languages()
        if one != "zh"
    }
    language, signs = max(
        counted.items(),
        key=lambda one: (one[1], sum(word in load_glossary(one[0]).exact for word in strong)),
    )
    # Words that tools use in every language say little, but more than a single other word.
    is_enough = signs > (len(contents) - len(strong)) / 2 or signs > 1
    return language if signs > 0 and is_enough else None


def _is_function_word(word: str) -> bool:
    return word in STOP_WORDS or word in _FURTHER_ENGLISH


def _count_signs(
    strong: Sequence[str], *, weak: int, english: Sequence[str], glossary: Glossary
) -> float:
    """Return how far the signs of a language outweigh those of English.

    Args:
        strong: Words that are not English.
        weak: Number of words that are frequent in names too.
        english: English function words, some of which the language may have too.
        glossary: Of the language.
    """
    against = 2 * sum(word not in glossary.exact for word in english)
    signs = 0.5 * weak
    if signs + len(strong) <= against:  # the usual case: nothing needs to be looked up
        return 0.0
    contents = 0.0
    for word in strong:
        entry = glossary.find(word)
        if entry is None:
            continue
        if entry.role == "words":
            signs += 1
        else:
            contents += 1 if word in glossary.exact or not word.isascii() else 0.5
    is_enough = contents >= 1 or (contents and signs) or signs > 1
    return signs + contents - against if is_enough else 0.0


@cache
def _load_english_stems() -> frozenset[str]:
    return frozenset(one for word in load_english_words() for one in split_lexemes(word))


@lru_cache(maxsize=4_096)
def _is_english(word: str) -> bool:
    return not _load_english_stems().isdisjoint(split_lexemes(word))


def gloss_tokens(text: str, language: Language) -> tuple[GlossToken, ...]:
    """Return the parts of a text in its order, with the English for each."""
    glossary = load_glossary(language)
    if language == "zh":
        return tuple(_drop_copulas(text, tuple(_iterate_chinese(text, glossary))))
    tokens = [_find_token(match, glossary) for match in _TOKEN.finditer(text)]
    return tuple(_join_separated(_join_phrases(text, tokens, glossary), text, glossary))


def _find_token(match: re.Match[str], glossary: Glossary) -> GlossToken:
    start, end = match.span()
    if match.lastgroup != "word":
        return GlossToken(start, end, match[0], match.lastgroup or "")
    entry = glossary.find(match[0])
    if entry is None:
        return GlossToken(start, end, match[0], "")
    return GlossToken(start, end, entry.english, entry.role)


def _join_phrases(text: str, tokens: Sequence[GlossToken], glossary: Glossary) -> list[GlossToken]:
    """Replace the tokens of each phrase by one."""
    stems = [
        "" if token.role in ("value", "mark") else glossary.stem(text[token.start : token.end])
        for token in tokens
    ]
    joined: list[GlossToken] = []
    at = 0
    while at < len(tokens):
        for parts, entry in glossary.phrases.get(stems[at], ()):
            if tuple(stems[at : at + len(parts)]) == parts:
                end = tokens[at + len(parts) - 1].end
                joined.append(GlossToken(tokens[at].start, end, entry.english, entry.role))
                at += len(parts)
                break
        else:
            joined.append(tokens[at])
            at += 1
    return joined


def _join_separated(
    tokens: list[GlossToken], text: str, glossary: Glossary
) -> Iterator[GlossToken]:
    """Give verbs the meaning that their separated prefix makes: "leg … an"."""
    used: set[int] = set()
    for at, token in enumerate(tokens):
        if token.role in ("value", "mark"):
            continue
        written = text[token.start : token.end]
        verbs = _find_separable(written, glossary)
        if not verbs:
            continue
        for later in range(at + 1, min(at + 1 + MAX_PREFIX_DISTANCE, len(tokens))):
            if tokens[later].role == "mark" and tokens[later].english in ".!?;":
                break
            prefix = text[tokens[later].start : tokens[later].end].lower()
            entry = verbs.get(prefix)
            if entry is not None and _ends_clause(tokens, later):
                tokens[at] = token._replace(english=entry.english, role=entry.role)
                used.add(later)
                break
    yield from (token for at, token in enumerate(tokens) if at not in used)


def _find_separable(word: str, glossary: Glossary) -> dict[str, GlossaryEntry]:
    for base in (glossary.stem(word), glossary.stem(f"{word}en")):
        if base in glossary.separable:
            return dict(glossary.separable[base])
    return {}


def _ends_clause(tokens: Sequence[GlossToken], at: int) -> bool:
    """Whether nothing of a clause follows: a preposition is followed by what it introduces."""
    if at + 1 == len(tokens):
        return True
    after = tokens[at + 1]
    return after.role == "mark" or (after.role == "words" and after.english in ("", *_JOINERS))


def _iterate_chinese(text: str, glossary: Glossary) -> Iterator[GlossToken]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "han":
            yield from _segment(text, *match.span(), glossary)
        else:
            yield GlossToken(*match.span(), match[0], match.lastgroup or "")


def _drop_copulas(text: str, tokens: Sequence[GlossToken]) -> Iterator[GlossToken]:
    """Drop verbs that only say what a field reads: "标题写 '…'" asks for no writing."""
    for at, token in enumerate(tokens):
        is_between = 0 < at < len(tokens) - 1 and tokens[at + 1].role == "value"
        before = tokens[at - 1]
        is_copula = is_between and before.role == "things" and before.end == token.start
        if not (is_copula and text[token.start : token.end] in _COPULAS):
            yield token


def _segment(text: str, start: int, end: int, glossary: Glossary) -> Iterator[GlossToken]:
    """Segment a run of characters by the longest match; unknown ones stay together."""
    unknown = start
    while start < end:
        for length in range(min(glossary.longest, end - start), 0, -1):
            entry = glossary.exact.get(text[start : start + length])
            if entry is not None:
                break
        else:
            start += 1
            continue
        if unknown < start:
            yield GlossToken(unknown, start, text[unknown:start], "")
        yield GlossToken(start, start + length, entry.english, entry.role)
        start = unknown = start + length
    if unknown < end:
        yield GlossToken(unknown, end, text[unknown:end], "")


def _split_clauses(tokens: Iterable[GlossToken]) -> Iterator[list[GlossToken]]:
    clause: list[GlossToken] = []
    for token in tokens:
        clause.append(token)
        if token.english in _JOINERS or (token.role == "mark" and token.english in _CLAUSE_MARKS):
            yield clause
            clause = []
    yield clause


def _put_verb_first(clause: list[GlossToken]) -> list[GlossToken]:
    """Move the last verb of a clause to its front, unless it begins with one or is a question."""
    content = [token for token in clause if token.english and token.role != "mark"]
    verbs = [token for token in content if token.role == "verbs"]
    if not verbs or content[0].role == "verbs" or content[0].english.split()[0] in _QUESTIONS:
        return clause
    return [verbs[-1], *(token for token in clause if token is not verbs[-1])]
