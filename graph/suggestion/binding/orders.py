"""Decide whether a request orders a tool to change what a value names.

A tool that changes something takes a value by the rules of plain statements only from an order: no
question, no report of what happened, nothing that is taken back. One that may destroy something
takes only what is named directly behind its verb.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.protection import (
    is_scope_parameter,
    is_workspace_parameter,
    may_destroy,
)
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.intent.masks import QUOTED
from tools.operator_verbs import find_operator_verbs

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.steps import BindingStep
    from graph.suggestion.binding.values import StatedValue

_CHANGING_LIST: Final = (
    "add append apply approve archive assign ban block book broadcast buy call cancel change "
    "clear clone close comment commit convert copy create deploy disable drop edit enable execute "
    "export fork forward grant import insert install invite kill launch like link lock log mark "
    "merge mint modify move mute open order pay pause place post publish purge push put react "
    "record reject remove rename replace reply reset resize restart restore resume retry revoke "
    "rotate run save scan schedule sell send set share sign split start stop submit subscribe "
    "swap sync tag toggle transfer trigger turn undo unlock unsubscribe update upload write"
)
_CHANGING: Final = frozenset(_CHANGING_LIST.split())
"""Words of a tool's name by which it may change something, beside those of operators."""
_READING: Final = frozenset(["get", "list", "find", "search", "count", "describe", "read", "show"])
_CONJUNCTIONS: Final = frozenset(["and", "or", "then"])
"""Between two verbs of a tool's name; without them those behind a reading one are nouns."""
_TAKEN_BACK_LIST: Final = (
    "undo revert restore recover unarchive bring cancel rückgängig deshaz 撤销"
)
_TAKEN_BACK: Final = frozenset(_TAKEN_BACK_LIST.split())
"""First words of a request that takes something back, unless the tool's name has them too."""
_POLITE: Final = re.compile(
    r"\W*(?:(?:please|bitte|por favor|ok|hey|now|then)\W+)*"
    r"(?P<asked>(?:can|could|would|will|kannst|könntest|puedes|podrías)\s+(?:you|du)?\b\s*"
    r"(?:please\b)?\s*)?",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(
    r"(?:do|does|did|is|are|was|were|has|have|had|should|shall|may|am|why|who|whose|which|what|when"
    r"|where|how|if|whether|wer|was|wie|warum|wieso|wann|welche\w*|ist|sind|hat|wurde\w*|wenn|falls"
    r"|qué|quién|cuándo|cómo|por qué|cuál|fue|si)\b|[谁什怎为哪]|如果",
    re.IGNORECASE,
)
_NEGATION: Final = re.compile(
    r"\b(?:not|never|no|don['’]?t|doesn['’]?t|didn['’]?t|won['’]?t|hands off|instead"  # noqa: RUF001
    r"|nicht|kein\w*|nie|nunca|jamás)\b|[不别勿]",
    re.IGNORECASE,
)
_REPORT: Final = re.compile(
    r"\b(?:was|were|been|got|wurden?|worden|fue(?:ron)?|sido)\b", re.IGNORECASE
)
_ENDS_ASKING: Final = re.compile(r"[?？]\s*$")  # noqa: RUF001
_ALTERNATIVE: Final = re.compile(r"\b(?:or|oder|o)\s+[\w#./-]*\d", re.IGNORECASE)
_RELATION_LIST: Final = (
    "of by who whom whose that which what after before next near behind beside besides than from "
    "in on with without for about to at under over like as asked version item s von vom bei nach "
    "neben aus mit de del por con tras desde que quien"
)
_RELATION: Final = frozenset(_RELATION_LIST.split())
"""Words between the verb and a value by which the value is not what is acted on."""
_RELATIVE: Final = frozenset(["that", "which", "what", "whatever", "who", "whose", "whom", "by"])
"""Those by which a value is not what any tool changes."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_OWN_RULES: Final = frozenset({ValueKind.PATH, ValueKind.QUOTED, ValueKind.EMAIL, ValueKind.URL})
"""Kinds of values whose rules read what stands before them."""
_ANOTHER_AFTER: Final = re.compile(
    r"['’]s\b|\s*(?:to|through|until|till|bis|hasta|a|days?|weeks?|months?|years?|hours?|minutes?"  # noqa: RUF001
    r"|percent|of|tage?|días?|links?|asked|depends)\b|\s*[-–]\s*\d",  # noqa: RUF001
    re.IGNORECASE,
)


def is_ordered(
    step: BindingStep, parameter: ToolParameter, value: StatedValue, *, part: str, start: int
) -> bool:
    """Whether a tool may take a value from a request, by what it does and how it is asked.

    Args:
        step: The step.
        parameter: The parameter that would take the value.
        value: The value.
        part: The part of the intent that asks for the step.
        start: Where the part begins in the intent.
    """
    words = frozenset(split_raw_name(step.tool.name))
    destroys = may_destroy(step)
    changes = destroys or may_change(step.tool.name)
    if step.is_read_only or not changes:
        return True
    begin, is_polite = _find_order(part)
    if not _is_order(part[begin:], words, is_polite=is_polite):
        return False
    span = max(0, value.start - start), max(0, value.end - start)
    has_rules = value.kind in _OWN_RULES or span == (0, len(part))
    if has_rules:
        return True
    before = {word.lower() for word in _WORD.findall(part, begin, span[0])}
    if (
        not destroys
        or is_scope_parameter(step, parameter)
        or is_workspace_parameter(step, parameter)
    ):
        return before.isdisjoint(_RELATIVE)
    return before.isdisjoint(_RELATION) and _ANOTHER_AFTER.match(part, span[1]) is None


def may_change(name: str) -> bool:
    """Whether a tool's name says that it may change something.

    Example:
        >>> may_change("archive_list"), may_change("list_archive"), may_change("list_and_archive")
        (True, False, True)
    """
    words = split_raw_name(name)
    if words[:1] and words[0] in _READING and _CONJUNCTIONS.isdisjoint(words):
        return bool(find_operator_verbs(name))
    return bool(_CHANGING.intersection(words) or find_operator_verbs(name))


def _find_order(part: str) -> tuple[int, bool]:
    """Return where the order begins, and whether it is asked for politely: "could you …?"."""
    polite = _POLITE.match(part)
    return (polite.end(), polite["asked"] is not None) if polite else (0, False)


def _is_order(order: str, tool_words: frozenset[str], *, is_polite: bool) -> bool:
    plain = QUOTED.sub(" ", order)
    first = _WORD.search(plain)
    word = first[0].lower() if first else ""
    return not (
        (word in _TAKEN_BACK and word not in tool_words)
        or _QUESTION.match(plain)
        or _NEGATION.search(plain)
        or _REPORT.search(plain)
        or _ALTERNATIVE.search(plain)
        or (not is_polite and _ENDS_ASKING.search(plain))
    )
