"""Read what a request says about what other requests state: "it", "there", the same scope."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.protected_values import (
    PROTECTING_PHRASE,
    TRAILING_PROTECTION,
    fill_spans,
)
from graph.suggestion.binding.protection import may_destroy
from graph.suggestion.binding.vocabulary import (
    PATH_WORDS,
    SCOPE_WORDS,
    STOP_WORDS,
    Words,
    normalize_word,
    normalize_words,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.tasks import BoundArgument, SuggestedTask, WorkflowTool

_EXISTS: Final = r"(?:is|are|was|were|will|be|been)"
_PRONOUN: Final = re.compile(
    r"\b(?:it|them|(?:that|this)(?:\s+(?:same\s+)?(?P<noun>[^\W\d_]+))?|ihn"
    r"|(?:lies|öffne|zeige?|lösche?|schicke?|sende|kopiere?|speichere?) (?:es|sie))\b"
    r"|\b\w{0,20}[áéíóú]\w{0,20}[ae]l[oa]s?\b|\b[^\W\d_]{1,20}(?:e|s|ez)-l(?:es?|a)(?![\w-])|它(?!的)",
    re.IGNORECASE,
)
"""In Spanish the end of an accented imperative, "léelo", in French behind it: "lis-le"."""
_PART_PRONOUN: Final = re.compile(r"\b(?:darin|damit|davon|dedans|dessus)\b|它的", re.IGNORECASE)
"""A part of the thing, or an aside: nothing that a destructive tool may act on."""
_AFTER_PRONOUN_LIST: Final = (
    "please now again too also as by for from in into on onto to with and or then"
)
_AFTER_PRONOUN: Final = frozenset(_AFTER_PRONOUN_LIST.split())
"""Words behind "that" and "this" that are no nouns of theirs."""
_FILE_NOUNS: Final = normalize_words(["file", "document"])
_REMOVE_IN_CHINESE: Final = re.compile("[删移清]除")
"""Contains the character of "except"."""
_THERE: Final = re.compile(
    r"\b(?:there|dort|dorthin|allí|ahí|(?<!-)là(?:-bas|-dedans)?)\b|那里|那儿|那边", re.IGNORECASE
)
_BEFORE_EXISTENCE: Final = re.compile(rf"\b{_EXISTS}\s+$", re.IGNORECASE)
_AFTER_EXISTENCE: Final = re.compile(
    rf"\s+(?:{_EXISTS}|has|have|had|may|might|can|could|must|should|would|seems?|exists?)\b"
    r"|['’](?:s|re|ll|d)\b",  # noqa: RUF001 - as typed
    re.IGNORECASE,
)
MAX_SPACE: Final = 12
"""Characters before "there" that are read for "is there"."""
_CONTRAST: Final = re.compile(
    r"\b(?:but|far from|away from|outside|elsewhere|nowhere|else|aber|sondern|außerhalb|pero|sino"
    r"|fuera|mais|ailleurs|hors)\b",
    re.IGNORECASE,
)
_OTHER: Final = re.compile(
    r"\b(?:(?:an)?others?|different|all|every\w*|each|any\w*|ander\w*|alle\w*|jede\w*|überall"
    r"|otr[oa]s?|tod[oa]s?|cada|autres?|tou(?:s|te|tes|t)|chaque)\b",
    re.IGNORECASE,
)
"""Words of a request for another scope, or for several."""
_GRAMMAR: Final = STOP_WORDS - {"not", "no", "all", "any", "some", "if"}
"""Words that say nothing about which thing is meant."""
_BOUND: Final = "\ufffc"
"""Replaces a bound value in a request."""
_PREPOSITION: Final = (
    r"(?:in|from|of|for|on|at|to|into|inside|within|under|im|aus|von|vom|für|auf|bei|zu|nach"
    r"|en|de|del|desde|para|dans|pour|sur|du|chez|sous|vers)"
)
_DETERMINER: Final = r"(?:(?:the|an?|my|our|den|dem|der|la|el|les?)\s+)?"
_UNBOUND_PHRASE: Final = re.compile(
    rf"\b{_PREPOSITION}\s+(?!{_DETERMINER}(?:[^\W\d_]+\s+)?[\"'`#]?{_BOUND})"
    r"(?!(?:it|them|these|those)\b)[^\W_]",
    re.IGNORECASE,
)
"""A preposition whose noun is not bound, such as "in staging"."""
_LABELLED_NAME: Final = re.compile(
    rf"\b(?:of|for|von|für|de|del|du)\s+{_DETERMINER}[^\W\d_]+\s+(?=[^\W_-]*[\d_-])[\w.-]+",
    re.IGNORECASE,
)
"""What a request is about: "of pod cart-1"; a scope only if its noun is one."""
_SCOPE_REFERENCE: Final = re.compile(
    rf"\b{_PREPOSITION}\s+it\b|\b(?:{_PREPOSITION}\s+)?(?:(?:the\s+)?same|that|this|cet?|cette|l[ea]\s+même)\s+"
    r"(?P<noun>[^\W\d_]+)",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+")


def says_there(text: str, start: int, end: int) -> bool:
    """Whether a request calls the place named before "there", and does not exclude it."""
    return any(_is_reference(text, start, match) for match in _THERE.finditer(text, start, end))


def refers_back(text: str, step: SuggestedTask, parameter: ToolParameter) -> bool:
    """Whether a step's request refers to what an earlier one is about, and does not exclude it.

    "That file" refers to no issue; a tool that only reads may take it for one.
    """
    start, end = step.request or (0, 0)
    nouns = _list_nouns(step, parameter)
    patterns = (_PRONOUN,) if may_destroy(step) else (_PRONOUN, _PART_PRONOUN)
    return says_there(text, start, end) or any(
        (step.is_read_only or _fits_noun(match, nouns))
        and not _is_excluded(text, start, match.start())
        for pattern in patterns
        for match in pattern.finditer(text, start, end)
    )


def _list_nouns(step: SuggestedTask, parameter: ToolParameter) -> Words:
    """Return words for what a parameter of a step's tool takes."""
    files = _FILE_NOUNS if parameter.name_words & PATH_WORDS else frozenset[str]()
    return parameter.name_words | normalize_words(split_raw_name(step.tool.name)) | files


def _fits_noun(match: re.Match[str], nouns: Words) -> bool:
    """Whether a pronoun has no noun behind it, or one of these."""
    noun: str | None = match.groupdict().get("noun")
    if noun is None or noun.lower() in _AFTER_PRONOUN:
        return True
    return not normalize_word(noun.lower()).isdisjoint(nouns)


def excludes_anything(part: str, *, bound: Sequence[tuple[int, int]]) -> bool:
    """Whether a request says "not", "except" and the like outside of its bound values."""
    rest = _REMOVE_IN_CHINESE.sub("", fill_spans(part, bound, _BOUND))
    return any(one.search(rest) for one in (PROTECTING_PHRASE, TRAILING_PROTECTION, _CONTRAST))


def _is_reference(text: str, start: int, there: re.Match[str]) -> bool:
    """Whether "there" means a place; "is there" and "there are" only say that something exists."""
    lead = max(start, there.start() - MAX_SPACE)
    return not (
        _BEFORE_EXISTENCE.search(text, lead, there.start())
        or _AFTER_EXISTENCE.match(text, there.end())
        or _is_excluded(text, start, there.start())
    )


def _is_excluded(text: str, start: int, end: int) -> bool:
    return any(one.search(text, start, end) for one in (PROTECTING_PHRASE, _CONTRAST))


def refers_to_scope(text: str, start: int, end: int, parameter: ToolParameter) -> bool:
    """Whether a request says "there", "in it" or "in the same project" for a scope."""
    return says_there(text, start, end) or any(
        _names_scope(match, parameter) and not _is_excluded(text, start, match.start())
        for match in _SCOPE_REFERENCE.finditer(text, start, end)
    )


def leaves_scope_open(
    part: str, parameter: ToolParameter, *, bound: Sequence[tuple[int, int]], bound_words: Words
) -> bool:
    """Whether a request neither states another scope for a parameter nor excludes one.

    Args:
        part: The request.
        parameter: Of the scope.
        bound: Spans of the values in it that other parameters take.
        bound_words: Words of the names of these parameters.
    """
    rest = _blank_references(fill_spans(part, bound, _BOUND), parameter)
    scope_words = (SCOPE_WORDS | parameter.name_words) - bound_words
    return not (
        any(one.search(rest) for one in (PROTECTING_PHRASE, _CONTRAST, _OTHER))
        or _UNBOUND_PHRASE.search(_LABELLED_NAME.sub("", rest))
        or any(normalize_word(word.lower()) & scope_words for word in _WORD.findall(rest))
    )


def is_fully_read(
    part: str,
    tool: WorkflowTool,
    parameter: ToolParameter,
    *,
    bound: Sequence[tuple[int, int]],
    bound_words: Words,
) -> bool:
    """Whether a request has no words but bound values and those of its tool and of grammar.

    "Restart the staging pod cart-1" has one that may be a scope. For the arguments, see
    `leaves_scope_open`.
    """
    rest = _blank_references(fill_spans(part, bound, _BOUND), parameter)
    known = normalize_words(split_raw_name(tool.name)) | bound_words
    return all(
        word in _GRAMMAR or normalize_word(word) & known for word in _WORD.findall(rest.lower())
    )


def find_namesake(
    found: Mapping[str, BoundArgument],
    parameters: Mapping[str, ToolParameter],
    parameter: ToolParameter,
) -> BoundArgument | None:
    """Return what an earlier step takes for a parameter of this name, or for its plural.

    Args:
        found: Arguments of the earlier step.
        parameters: Of its tool.
        parameter: Of the later step's tool.
    """
    if parameter.name in found:
        return found[parameter.name]
    same = [
        one
        for name, one in found.items()
        if name in parameters and parameters[name].name_words == parameter.name_words
    ]
    if len(same) != 1 or not parameter.is_text or parameter.members:
        return None
    value = same[0].value
    only = value[0] if isinstance(value, list) and len(value) == 1 else value
    return replace(same[0], value=only) if isinstance(only, str) else None


def _blank_references(part: str, parameter: ToolParameter) -> str:
    """Remove "there" and "in the same project", which state no other scope."""
    rest = _SCOPE_REFERENCE.sub(
        lambda match: "" if _names_scope(match, parameter) else match[0], part
    )
    return _THERE.sub("", rest)


def _names_scope(match: re.Match[str], parameter: ToolParameter) -> bool:
    noun = match["noun"]
    words = SCOPE_WORDS | parameter.name_words | {"one"}
    return noun is None or bool(normalize_word(noun.lower()) & words)
