"""Find dangerous words in names that hide them: look-alike letters, digits, joined words.

What this finds rules out that a tool is called ahead of a request, and nothing else: it does not
change the tool's danger class.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from tools import hidden_text
from tools.danger import LEADING, MAX_CHARS, DangerMatcher
from tools.name_words import split_camel_case, split_name_words
from tools.word_lists import load_word_lists

IsVerb = Callable[[str], bool]
"""Whether a word is a form of a verb on the curated list."""

_VISIBLE_MARKS: Final = frozenset({"html_comment", "blob", "encoded_text", "pushed_out_of_sight"})
_LOOKALIKES: Final = str.maketrans(
    # Cyrillic, Greek and others, as in the confusables of Unicode TR39.
    "аеорсухіјѕԁԛԝһӏѵгпиАВЕКМНОРСТУХІЈЅԌԚԜҺӀαεικνορτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳɑɡɩꞵաոսօքցհı",
    "aeopcyxijsdqwhlvrnuABEKMHOPCTYXIJSGQWHlaeikvoptuxyABEZHIKMNOPTYXcjagibwnuopghi",
)
_DIGIT_LETTERS: Final = str.maketrans("0134578", "oleastb")
_LETTERS: Final = re.compile(r"[a-z]{2,}")
_PREFIXES: Final = (
    "un", "re", "de", "dis", "auto", "bulk", "mass", "force", "soft", "hard", "multi", "batch",
    "pre", "over", "self", "super", "sub", "do", "quick", "fast", "safe", "silent", "async",
)  # fmt: skip
_ADVERBS: Final = frozenset(
    [
        "auto", "automatically", "bulk", "mass", "force", "batch", "multi", "quick", "quickly",
        "fast", "safe", "safely", "silent", "silently", "soft", "hard", "async", "do", "please",
        "try", "maybe", "now", "just",
    ]
)  # fmt: skip
_JOINTS: Final = ("and", "then", "or", "plus", "with")
_CONJUNCTIONS: Final = frozenset(["and", "then", "or"])
_READ_VERBS: Final = (
    "get", "list", "find", "read", "fetch", "check", "search", "show", "view", "query", "scan",
    "lookup", "load", "count", "test", "select", "peek", "look",
)  # fmt: skip
_JOINED: Final = re.compile("|".join([*_PREFIXES, *_READ_VERBS]))
_READ_AND: Final = re.compile(f"({'|'.join(_READ_VERBS)})({'|'.join(_JOINTS)})(?=.)")
_SPELLED_OUT: Final = re.compile(r"(?<![^\W_])[^\W\d_](?:[\W_][^\W\d_]){2,}(?![^\W_])")
"""Three or more single letters in a row: `d-e-l-e-t-e`."""
_OWN_WORDS: Final = frozenset({"design", "designs", "recall", "recalls", "disclose"})
"""Words that only look like a prefix before a verb."""
_MIN_VERB_CHARS: Final = 2
_EAST_ASIAN: Final = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "LATIN"}
)
"""Scripts that are usually written without spaces between them (TR39, "highly restrictive")."""


def explain_disguises(
    name: str, title: str, server: str, *, matcher: DangerMatcher, only_reads: bool = False
) -> tuple[str, ...]:
    """Explain which dangerous words a tool's name and title may hide, in plain words.

    Args:
        name: Of the tool.
        title: Of the tool.
        server: Its server's name, which is skipped at the beginning of the name.
        matcher: For the curated operations.
        only_reads: As for `DangerMatcher.find_matches`.
    """
    reasons: list[str] = []
    for kind, text in (("name", name[:MAX_CHARS]), ("title", title[:MAX_CHARS])):
        reasons += [f"in its {kind}, {reason}" for reason in find_disguises(text)]
        find_matches = partial(matcher.find_matches, server=server, only_reads=only_reads)
        readings = list_readings(text, is_verb=matcher.has_form)
        found = {match.pattern for reading in readings for match in find_matches(reading)}
        found -= {match.pattern for match in find_matches(text)} if found else found
        reasons += [
            f"its {kind} can be read as {word.lstrip(LEADING)!r}" for word in sorted(found)
        ]
        verbs = [*find_foreign_verbs(text), *_find_operator_verbs(text)]
        reasons += [
            f"its {kind} says {verb!r}, a verb of writing" for verb in dict.fromkeys(verbs)
        ]
    return tuple(reasons)


def _find_operator_verbs(text: str) -> Iterator[str]:
    """Yield verbs of operators in a text and in its other readings."""
    for reading in (text, *list_readings(text, is_verb=is_operator_verb)):
        yield from find_operator_verbs(reading)


def find_disguises(text: str) -> tuple[str, ...]:
    r"""Explain in which ways a name or title could hide a word from a reader.

    Example:
        >>> find_disguises("get_weather")
        ()
        >>> find_disguises("d\u0435lete_file")
        ("the word 'd\u0435lete' mixes Latin and Cyrillic letters",)
    """
    if text.isascii() and text.isprintable():
        return ()
    hidden = {mark.kind for mark in hidden_text.find_hidden_marks(text)} - _VISIBLE_MARKS
    reasons = [f"it has hidden characters ({', '.join(sorted(hidden))})"] if hidden else []
    unknown: set[str] = set()
    for word in re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKC", text)):
        scripts = _list_scripts(word)
        if len(scripts) > 1 and not _EAST_ASIAN.issuperset(scripts):
            names = " and ".join(sorted(map(str.capitalize, scripts), reverse=True))
            reasons.append(f"the word {hidden_text.reveal_hidden(word)!r} mixes {names} letters")
        unknown |= scripts - KNOWN_SCRIPTS
    if unknown:
        listed = ", ".join(sorted(map(str.capitalize, unknown)))
        reasons.append(f"it is written in a script without a list of dangerous words ({listed})")
    return tuple(reasons)


def list_readings(text: str, *, is_verb: IsVerb) -> tuple[str, ...]:
    """Return other readings of a name, in which words on the curated list stand alone.

    Args:
        text: A name or a title.
        is_verb: Tells the words of the list.

    Example:
        >>> list_readings("undelete_file", is_verb=lambda word: word == "delete")
        ('un delete file', 'delete file')
    """
    readings = dict.fromkeys(_iterate_readings(text, is_verb))
    return tuple(reading for reading in readings if reading)


def _iterate_readings(text: str, is_verb: IsVerb) -> Iterator[str]:
    if not text.isascii():
        yield _fold_lookalikes(text)
    words = split_name_words(text if text.isascii() else _fold_lookalikes(text))
    spelled_out = _SPELLED_OUT.sub(lambda found: re.sub(r"[\W_]", "", found[0]), text)
    if spelled_out != text:
        yield spelled_out
    if any(not word.isalpha() for word in words):
        spelled = [word.translate(_DIGIT_LETTERS) if _has_letter(word) else word for word in words]
        yield " ".join(spelled)
        words = tuple(part for word in words for part in _LETTERS.findall(word))
        yield " ".join(words)
    yield from _iterate_imperatives(words, is_verb)


def _iterate_imperatives(words: tuple[str, ...], is_verb: IsVerb) -> Iterator[str]:
    """Yield what follows a prefix, a conjunction, an adverb or a noun, if it is a verb."""
    for at, word in enumerate(words):
        for parts in _split_joined(word, is_verb):
            yield " ".join((*words[:at], *parts, *words[at + 1 :]))
            yield " ".join((*words[:at], parts[-1], *words[at + 1 :]))
        if word in _CONJUNCTIONS and is_verb("".join(words[at + 1 : at + 2])):
            yield " ".join(words[at + 1 :])  # `list_then_sync`
    rest = _drop_adverbs(words)
    if rest and len(rest) < len(words) and is_verb(rest[0]):
        yield " ".join(rest)
    if len(rest) > 1 and rest[0] not in _READ_VERBS and is_verb(rest[1]):
        yield " ".join(rest[1:])  # `git_push`: a noun before an imperative


def _fold_lookalikes(text: str) -> str:
    """Replace letters that look like Latin ones, in words that then are Latin throughout."""
    normal = unicodedata.normalize("NFKC", text)
    return re.sub(r"[^\W_]+", lambda found: _fold_word(found[0]), normal)


def _fold_word(word: str) -> str:
    folded = word.translate(_LOOKALIKES)
    plain = unicodedata.normalize("NFKD", folded).encode("ascii", "ignore").decode()
    return plain if len(plain) == len(folded) else word


def _has_letter(word: str) -> bool:
    return any(char.isalpha() for char in word)


def _split_joined(word: str, is_verb: IsVerb) -> Iterator[tuple[str, ...]]:
    """Yield the ways to split a word before a verb: `undelete`, `getanddestroy`."""
    if not _JOINED.match(word) or word in _OWN_WORDS:
        return
    for prefix in _PREFIXES:
        verb = word.removeprefix(prefix)
        if verb != word and len(verb) >= _MIN_VERB_CHARS and is_verb(verb):
            yield (prefix, verb)
    joined = _READ_AND.match(word)
    if joined is not None and is_verb(word[joined.end() :]):
        yield (joined[1], joined[2], word[joined.end() :])


def _drop_adverbs(words: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(words)
    while listed and listed[0] in _ADVERBS:
        listed = listed[1:]
    return listed


def _list_scripts(word: str) -> set[str]:
    return {unicodedata.name(char, "UNKNOWN").split()[0] for char in word}


KNOWN_SCRIPTS: Final = frozenset(
    {
        "LATIN", "CYRILLIC", "GREEK", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL",
        "ARABIC", "HEBREW", "DEVANAGARI", "THAI",
    }
)  # fmt: skip
"""Scripts for which some verbs are listed, by the first word of a letter's Unicode name."""
_UNDECOMPOSED: Final = str.maketrans(
    {"ł": "l", "ø": "o", "ı": "i", "đ": "d", "æ": "ae", "ð": "d", "þ": "th", "œ": "oe"}
)
_UNSPACED: Final = "unspaced"
"""Begins the headings of languages without spaces between words."""
_MIN_CHARS: Final = 3
"""Of the shortest verb that is written with spaces around it."""
_INVISIBLE: Final = ("Mn", "Cf")
_WORD: Final = re.compile(r"[^\W\d_]+")


def find_foreign_verbs(text: str) -> tuple[str, ...]:
    """Return the words of a name that are verbs of writing in other languages than English.

    The list covers the most common verbs of the most common languages; a name without a match is
    not proven harmless. Accents are ignored, and so is the spelling of a word's ending.

    Example:
        >>> find_foreign_verbs("datei_löschen"), find_foreign_verbs("文件删除")
        (('loschen',), ('删除',))
        >>> find_foreign_verbs("get_weather")
        ()
    """
    words = list_folded_words(text)
    found = [word for word in words if len(word) >= _MIN_CHARS and _VERB.fullmatch(word)]
    if not text.isascii():
        found += [match[0] for match in _UNSPACED_VERB.finditer(_fold(text))]
    return tuple(dict.fromkeys(found))


def list_folded_words(text: str) -> tuple[str, ...]:
    """Split a name of any script into case-folded words without accents and digits.

    Example:
        >>> list_folded_words("УдалитьФайл_2")
        ('удалить', 'фаил')
    """
    if text.isascii():
        return tuple(_WORD.findall(split_camel_case(text).lower()))
    normal = unicodedata.normalize("NFKC", text)
    spaced = "".join(
        f" {char}" if char.isupper() and at and normal[at - 1].islower() else char
        for at, char in enumerate(normal)
    )
    return tuple(_WORD.findall(_fold(spaced)))


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    visible = "".join(char for char in decomposed if unicodedata.category(char) not in _INVISIBLE)
    return unicodedata.normalize("NFC", visible).translate(_UNDECOMPOSED)


def _compile_verbs(*, unspaced: bool) -> re.Pattern[str]:
    """Return a pattern of the verbs of all languages that put spaces between words, or do not."""
    lists = load_word_lists("foreign_verbs").items()
    stems = " ".join(text for name, text in lists if name.startswith(_UNSPACED) is unspaced)
    patterns = [
        re.escape(_fold(stem.removesuffix("*"))) + (r"\w*" if stem.endswith("*") else "")
        for stem in dict.fromkeys(stems.split())
    ]
    return re.compile("|".join(patterns))


_VERB: Final = _compile_verbs(unspaced=False)
_UNSPACED_VERB: Final = _compile_verbs(unspaced=True)


_LISTS: Final = load_word_lists("operator_verbs")
_COMMANDS, _VERBS, _NOUNS, _ADJECTIVES, _READ_WORDS = (
    frozenset(_LISTS[name].split())
    for name in ("commands", "verbs", "nouns", "adjectives", "read verbs")
)
_PHRASES: Final = tuple(
    (frozenset(verbs.split()), frozenset(objects.split()))
    for verbs, _, objects in (line.partition(":") for line in _LISTS["phrases"].splitlines())
)


def find_operator_verbs(text: str) -> tuple[str, ...]:
    """Return the words of a name or title that are verbs of writing where they stand.

    The list covers public servers for Git, Kubernetes, clouds, databases, mail, payment and
    homes; a name without a match is not proven harmless.

    Example:
        >>> find_operator_verbs("mv_file"), find_operator_verbs("analyze_and_backup")
        (('mv',), ('backup',))
        >>> find_operator_verbs("get_backup_status"), find_operator_verbs("backup_list")
        ((), ())
    """
    words = split_name_words(text)
    found = [word for at, word in enumerate(words) if _is_command(words, at)]
    for at in range(len(words)):
        if _is_imperative(words, at):
            found += _list_verbs(words, at)
    return tuple(dict.fromkeys(found))


def is_operator_verb(word: str) -> bool:
    """Whether a single word is on the list."""
    return word in _VERBS or word in _COMMANDS


def _is_command(words: tuple[str, ...], at: int) -> bool:
    if words[at] not in _COMMANDS:
        return False
    is_spanish = words[at] == "del"  # `lista_del_mes`
    return at in (0, len(words) - 1) or (not is_spanish and _is_imperative(words, at))


def _is_imperative(words: tuple[str, ...], at: int) -> bool:
    """Whether a word stands where a name has its verb."""
    if at == 0 or words[at - 1] in _CONJUNCTIONS:
        return True
    return at == 1 and words[0] not in _READ_WORDS and words[0] not in _ADJECTIVES


def _list_verbs(words: tuple[str, ...], at: int) -> list[str]:
    word, following = words[at], words[at + 1 : at + 2]
    phrases = [
        f"{word} {following[0]}"
        for verbs, objects in _PHRASES
        if following and word in verbs and following[0] in objects
    ]
    is_noun = bool(following) and following[0] in _NOUNS
    return [*([word] if word in _VERBS and not is_noun else []), *phrases]
