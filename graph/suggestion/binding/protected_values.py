"""Find the values that an intent protects: "not", "keep", "everything but", "untouched"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.values import extract_values

if TYPE_CHECKING:
    from graph.suggestion.binding.values import StatedValue
    from graph.suggestion.intent.reading import IntentReading

PROTECTING_PHRASE: Final = re.compile(
    r"\b(?:not|never|\w+n['’]t|dont|cannot|no|nor|neither|none|keep\w*|except\w*|exclud\w+|without"  # noqa: RUF001 - as typed
    r"|avoid\w*|skip\w*|leav(?:e|es|ing)(?!\s+(?:an?|this|my|your)\s+(?:\w+\s+)?(?:comment|remark|note|message|review|reply))"
    r"|preserv\w+|protect\w*|spar(?:e|ing)|ignor\w+|besides"
    r"|unless|apart from|other than|rather than|instead of"
    r"|nicht|kein\w*|nie|niemals|ohne|außer|ausser|bis auf|statt|behalt\w*|lass\w*|verschon\w*"
    r"|jamais|sauf|sans|gardez?|nunca|excepto|salvo|menos|sin|conserv\w+|mant[eé]n\w*|deja\w*"
    r"|en (?:lugar|vez) de|pas|aucune?s?|rien|hormis|hors|à part|à l['’]exception|plutôt qu\w*"  # noqa: RUF001
    r"|ni (?:à|au|aux|les?|la)|au lieu d\w*|en dehors d\w*|évit\w+|épargn\w+|préserv\w+|protég\w+"
    r"|laisse[rz]?(?!\s+(?:une?|ce|mon)\s+(?:\w+\s+)?(?:commentaire|message|note|avis|mot)))\b|[不别勿除留]|而非|而不",
    re.IGNORECASE,
)
"""Words before a value that protect it."""
TRAILING_PROTECTION: Final = re.compile(
    r"\b(?:must|should|shall|may|can|could|ought)(?:\s+\w{1,12})?(?:\s+not|\s+never|n['’]t)\b"  # noqa: RUF001 - as typed
    r"|\b(?:cannot|can['’]t|alone|untouched|intact|unchanged|stays?|remains?)\b"  # noqa: RUF001 - as typed
    r"|\b(?:nicht|nie|niemals|keinen fall|abgesehen|bleib\w*|intact[oa]s?|nunca|jamás)\b"
    r"|\b(?:pas|jamais|rest(?:e|ent|er)|intacte?s?|inchangée?s?|tranquilles?|à part)\b"
    r"|[不别勿留]|[以之]外",
    re.IGNORECASE,
)
"""Words after a value that protect it."""
_ASKS: Final = re.compile(
    r"\W*(?:why|how|what|who|where|when|which|does|did|is|are|was|can|could|warum|wieso|wie|was|ist"
    r"|por\s+qué|cómo|qué|pourquoi|quel\w*|où|est-ce)\b|\W*(?:为什么|怎么|如何)",
    re.IGNORECASE,
)
_NOT_THAT: Final = re.compile(
    r"\b(?<!i )(?:don['’]?t|do\s+not|never)\s+(?:\w+\s+){1,2}(?:it|them|this|that|there)\b"  # noqa: RUF001
    r"|\b(?:ihn|sie|es|das|den)\s+(?:\w+\s+){0,2}(?:nicht|nie\w*|keinesfalls)\b"
    r"|\bno\s+(?:l[oa]s?)\b"
    r"|\bn(?:e\s+|['’])(?:(?:les?|la|y)\s+|l['’])?[^\W\d_]+\s+(?:\w+\s+)?"  # noqa: RUF001
    r"(?:pas|jamais)\b|别|不要|勿",
    re.IGNORECASE,
)
"""Behind an address: "… is phishing, do not open it"."""
_SENTENCE_END: Final = re.compile(r"[.!?;]\s+|[\n。！？；]")  # noqa: RUF001 - as typed
MAX_SENTENCE_CHARS: Final = 300
"""Characters before and after an address that are read for such words."""
_BUT_BEFORE: Final = re.compile(
    r"\bbut(?:\s+(?:for|the|my|our|a|file|folder|directory)){0,3}[\s:]+[\"'`“]?$",
    re.IGNORECASE,
)
"""Before a path, "but" protects it: "everything but /srv/keep.txt"."""
_ALL_BUT_BEFORE: Final = re.compile(
    r"\b(?:everything|everyone|anything|nothing|all|every)\b(?:\s+\w+){0,2}\s+but(?:\s+\w+){0,3}"
    r"\s+[\"'`“]?$",
    re.IGNORECASE,
)
"""Before any value, "everything but" protects it."""
MAX_BUT_CHARS: Final = 40
"""Characters before a value that are read for "but"."""
_LIST_CONTINUATION: Final = re.compile(
    r"(?:the|a|an|any|all|my|our|your|or|nor|these|those)\b|[^\w\s]", re.IGNORECASE
)
"""Beginning of a clause that continues the list of the previous clause."""
_QUOTABLE_KINDS: Final = frozenset(
    {ValueKind.QUOTED, ValueKind.PATH, ValueKind.URL, ValueKind.EMAIL}
)
_NAMING_KINDS: Final = _QUOTABLE_KINDS | {ValueKind.NUMBER, ValueKind.CODE}
"""Kinds of values that name the same thing wherever they are stated."""


def find_protected_spans(reading: IntentReading) -> tuple[tuple[int, int], ...]:
    """Return the spans of values protected by "not", "keep", "except" and the like.

    A value protected once is protected wherever the intent states it.
    """
    values = extract_values(reading.text)
    quotable = (one.span for one in values if one.kind in _QUOTABLE_KINDS)
    plain = fill_spans(reading.text, quotable, " ")  # words inside quotes protect nothing
    behind = [match.start() for match in PROTECTING_PHRASE.finditer(plain)]
    before = [match.start() for match in TRAILING_PROTECTION.finditer(plain)]
    starts = [clause.start for clause in reading.clauses]
    list_starts = _list_start_clauses(reading)
    protected: list[StatedValue] = []
    for one in values:
        clause = reading.find_clause_at(one.start)
        end = starts[clause + 1] if clause + 1 < len(starts) else len(plain)
        if (
            any(list_starts[clause] <= place < one.start for place in behind)
            or any(one.end <= place < end for place in before)
            or _follows_but(plain, one)
        ):
            protected.append(one)
    keys = {one.equality_key for one in protected if one.kind in _NAMING_KINDS}
    same = (
        one
        for one in values
        if keys and any(part.equality_key in keys for part in (one, *one.parts))
    )
    return tuple({one.span: None for one in (*protected, *same)})


def is_shunned(text: str, start: int, end: int) -> bool:
    """Whether the sentence around an address says not to visit it, before it or by a pronoun.

    Args:
        text: The whole text.
        start: Where the address begins.
        end: Where it ends.
    """
    before = _SENTENCE_END.split(text[max(0, start - MAX_SENTENCE_CHARS) : start])[-1]
    after = _SENTENCE_END.split(text[end : end + MAX_SENTENCE_CHARS])[0]
    is_kept = PROTECTING_PHRASE.search(before) is not None
    return (is_kept and _ASKS.match(before) is None) or _NOT_THAT.search(after) is not None


def _follows_but(text: str, value: StatedValue) -> bool:
    """Whether "but" excludes a value; before what is no path, it mostly contrasts requests."""
    start = max(0, value.start - MAX_BUT_CHARS)
    is_path = value.kind is ValueKind.PATH or (
        value.kind is ValueKind.QUOTED and "/" in value.text
    )
    return _ALL_BUT_BEFORE.search(text, start, value.start) is not None or (
        is_path and _BUT_BEFORE.search(text, start, value.start) is not None
    )


def fill_spans(text: str, spans: Iterable[tuple[int, int]], character: str) -> str:
    """Return a text with the characters of some spans replaced by one."""
    letters = list(text)
    for start, end in spans:
        letters[start:end] = character * (end - start)
    return "".join(letters)


def _list_start_clauses(reading: IntentReading) -> list[int]:
    """Return, for each clause, the start of the clause whose list it continues; often itself."""
    list_starts: list[int] = []
    for clause in reading.clauses:
        goes_on = bool(list_starts) and _LIST_CONTINUATION.match(clause.text) is not None
        list_starts.append(list_starts[-1] if goes_on else clause.start if list_starts else 0)
    return list_starts
