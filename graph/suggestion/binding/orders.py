"""Decide whether a request orders a tool to change what a value names.

A tool that changes something takes a value by the rules of plain statements only from an order: no
question, no report of what happened, nothing that is taken back. One that may destroy something
takes only what is named directly behind its verb.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.protection import (
    ANOTHER_BEFORE,
    MAX_LEAD_CHARS,
    is_scope_parameter,
    is_workspace_parameter,
    may_destroy,
)
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import DESTRUCTIVE_WORDS, normalize_word, normalize_words
from graph.suggestion.intent.clauses import split_sentences
from graph.suggestion.intent.masks import QUOTED
from graph.suggestion.intent.orders import Order, read_order, waits_or_quotes
from graph.suggestion.intent.requests import split_requests
from tools.disguised_names import find_operator_verbs
from tools.translate import detect_language

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.tasks import SuggestedTask
    from graph.suggestion.binding.values import StatedValue
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.intent.requests import StatedRequest

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
_ASKED: Final = frozenset(["convert", "execute", "log", "run", "scan", "sign"])
"""Those by which it may as well only tell something: "what time is it there?"."""
_GRAVE_LIST: Final = (
    "approve ban block buy cancel deploy disable grant kill merge pay publish purchase reboot "
    "restart revoke sell shutdown stop submit terminate transfer withdraw"
)
_GRAVE: Final = frozenset(_GRAVE_LIST.split())
"""First words of tools whose effects are hard to take back, beside those that destroy."""
_READING: Final = frozenset(["get", "list", "find", "search", "count", "describe", "read", "show"])
_CONJUNCTIONS: Final = frozenset(["and", "or", "then"])
"""Between two verbs of a tool's name; without them those behind a reading one are nouns."""
_TAKEN_BACK_LIST: Final = (
    "undo revert restore recover unarchive bring cancel rückgängig deshaz défais 撤销"
)
_ENDING: Final = frozenset(["stop", "abort", "kill", "terminate"])
"""Words of tools that also cancel."""
_TAKEN_BACK: Final = frozenset(_TAKEN_BACK_LIST.split())
"""First words of a request that takes something back, unless the tool's name has them too."""
_POLITE: Final = re.compile(
    r"\W*(?:(?:please|bitte|por favor|s['’]il (?:te|vous) pla[iî]t|stp|svp|ok|hey|now|then)\W+)*"  # noqa: RUF001
    r"(?P<asked>(?:can|could|would|will|kannst|könntest|puedes|podrías)\s+(?:you|du)?\b\s*"
    r"(?:please\b)?\s*|(?:est-ce\s+que\s+)?(?:tu\s+(?:peux|pourrais)|vous\s+(?:pouvez|pourriez)"
    r"|(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous)\b\s*)?",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(
    r"(?:do|does|did|is|are|was|were|has|have|had|should|shall|may|am|why|who|whose|which|what|when"
    r"|where|how|if|whether|wer|was|wie|warum|wieso|wann|welche\w*|ist|sind|hat|wurde\w*|wenn|falls"
    r"|qué|quién|cuándo|cómo|por qué|cuál|fue|si|pourquoi|quand|qui|quel\w*|où|combien|est|sont"
    r"|a-t|as-tu|ont|avez-vous|faut-il|comment (?:je|tu|elle|nous|vous|puis|peut|faire|se"
    r"|supprimer|effacer|envoyer|fermer))\b|s['’]ils?\b(?! (?:te|vous) pla)|[谁什怎为哪]|如果",  # noqa: RUF001
    re.IGNORECASE,
)
_NEGATION: Final = re.compile(
    r"\b(?:not|never|no|don['’]?t|doesn['’]?t|didn['’]?t|won['’]?t|hands off|instead"  # noqa: RUF001
    r"|nicht|kein\w*|nie|nunca|jamás|pas|jamais|aucune?|rien)\b|[不别勿]",
    re.IGNORECASE,
)
_FORBIDDEN: Final = re.compile(
    r"\W*(?:(?:please|bitte|por favor)\s+)?(?:(?:don['’]?t|do\s+not|never|no|nie|nunca|jamás)\b"  # noqa: RUF001
    r"(?!\s+(?:have|like|need|use|want)\b)|(?:surtout,?\s+)?n(?:e\s+|['’])(?:[^\s,;.]+\s+){0,4}?"  # noqa: RUF001
    r"(?:pas|jamais|plus|rien|aucune?)\b|surtout\s+pas\b|jamais\b|évite[rz]?\b|[不别勿])",
    re.IGNORECASE,
)
"""Beginning of what is not to be done, and no reason: "don't need it"."""
_REPORT: Final = re.compile(
    r"\b(?:was|were|been|got|wurden?|worden|fue(?:ron)?|sido|été|étai(?:t|ent)|vient de)\b",
    re.IGNORECASE,
)
_REASON: Final = re.compile(
    r"[,;:.!—–，。；]\s|\b(?:because|since|as it|which|weil|denn|porque|ya que|puesto que"  # noqa: RUF001
    r"|parce qu\w*|puisqu\w*|car(?=\s+(?:ils?|elles?|je|on|nous|le|la|les)\b))\b|因为",
    re.IGNORECASE,
)
"""Beginning of what gives the reason of an order, or goes on: "…, I don't need it"."""
_RETRACTION: Final = re.compile(
    r"[,;.?!—–，。；？]\s*(?:(?:oder|or|o|ach|oh|ou|ah)\s+)?(?:no|nope|not|wait|never\s?mind|actually"  # noqa: RUF001
    r"|scratch|on second thoughts?|rather|nein|nicht|doch|lieber|vergiss|mejor|olvídalo"
    r"|non|pas|attend(?:s|ez)|plutôt|en fait|laisse(?:z)? tomber|oublie(?:z)?|算了|还是|不[了要])"
    r"(?![^\W_]|\s+longer|\s+more|\s+need|\s+use)",
    re.IGNORECASE,
)
"""Behind an order, what takes it back: "…, no wait"."""
_ENDS_ASKING: Final = re.compile(r"[?？]\s*$")  # noqa: RUF001
_ALTERNATIVE: Final = re.compile(r"\b(?:or|oder|o|ou)\s+(?:\w+\s+)?[\w#./-]*\d", re.IGNORECASE)
_RELATION_LIST: Final = (
    "of by who whom whose that which what after before next near behind beside besides than from "
    "in on with without for about to at under over like as asked version s von vom bei nach "
    "neben aus mit de del por con tras desde que quien du des par avec après avant depuis dans "
    "sur sous chez comme à au aux qui dont"
)
_RELATION: Final = frozenset(_RELATION_LIST.split())
"""Words between the verb and a value by which the value is not what is acted on."""
_PUTTING: Final = normalize_words(["write", "replace", "move", "mv", "overwrite"])
_RELATIVE_LIST: Final = (
    "that which what whatever who whose whom by if unless falls wenn qui dont si"
)
_RELATIVE: Final = frozenset(_RELATIVE_LIST.split())
"""Those by which a value is not what any tool changes."""
_FROM: Final = frozenset(["from", "von", "aus", "vom", "de", "desde", "du", "depuis"])
_TO_LIST: Final = "to into onto as nach zu zum als al hacia como à au aux vers"
_TO: Final = frozenset(_TO_LIST.split())
LEAD_WORDS: Final = 4
"""Words before a value that may say whether it is taken from or given to."""
_GIVING: Final = normalize_words(
    ["from", "source", "src", "sender", "origin", "payer", "account", "old"]
)
"""Words of parameters that take what something comes from: who pays is not who is paid."""
_TAKING: Final = normalize_words(
    ["destination", "target", "dest", "to", "receiver", "recipient", "new"]
)
"""The same of what something goes to."""
_BREAK_LIST: Final = (
    "if unless when but not except keep without falls wenn aber nicht außer ohne si pero salvo no "
    "mais sauf sans pas hormis excepté quand"
)
_BREAKS: Final = frozenset(_BREAK_LIST.split())
"""Words between the values of a list by which not all of them are acted on."""
_WORD: Final = re.compile(r"[^\W\d_]+")
MAX_CHARS_BEFORE: Final = 200
"""Characters before a value that are read for such words."""
_OWN_RULES: Final = frozenset({ValueKind.PATH, ValueKind.QUOTED, ValueKind.EMAIL, ValueKind.URL})
"""Kinds of values whose rules read what stands before them."""
_ANOTHER_AFTER: Final = re.compile(
    r"['’]s\b|\s*(?:to|through|until|till|bis|hasta|a|à|au|jusqu"  # noqa: RUF001
    r"|jours?|heures?|mois|semaines?|ans|days?|weeks?|months?|years?|hours?|minutes?"
    r"|percent|of|tage?|días?|links?|asked|depends)\b|\s*[-–]\s*\d",  # noqa: RUF001
    re.IGNORECASE,
)


def read_task_order(step: SuggestedTask, reading: IntentReading) -> Order:
    """Tell whether an intent orders a task.

    What may destroy something, or is hard to take back, needs a plain order; nothing else does.

    Args:
        step: The task.
        reading: The intent.
    """
    names = split_raw_name(step.tool.name)
    if step.is_read_only or not is_grave(step):
        return Order.PLAIN
    words = frozenset(split_raw_name(step.tool.tool))
    verbs = {
        one
        for one in names
        if one in _GRAVE or not DESTRUCTIVE_WORDS.isdisjoint(normalize_word(one))
    }
    orders = set()
    for start, one in _iterate_requests(step, reading):
        order = read_order(one, verbs=verbs | {*names[:1]}, words=words)
        is_order = _is_order(one.text, words, is_polite=True)
        if order is Order.PLAIN and not is_order:
            order = Order.DENIED
        if waits_or_quotes(reading.text, start) or _FORBIDDEN.match(one.text):
            order = Order.DENIED
        orders.add(order)
    return next(one for one in Order if one in orders)


def is_grave(step: SuggestedTask) -> bool:
    """Whether a tool may destroy something, or its effects are hard to take back."""
    return may_destroy(step) or not _GRAVE.isdisjoint(split_raw_name(step.tool.name)[:1])


def _iterate_requests(
    step: SuggestedTask, reading: IntentReading
) -> Iterator[tuple[int, StatedRequest]]:
    """Yield the requests that may ask for a step with their starts, sentence by sentence."""
    first, last = step.request or (0, len(reading.text))
    part = reading.text[first:last]
    language = detect_language(reading.text)
    for sentence in split_sentences(part):
        for one in split_requests(part[sentence.start : sentence.end], language):
            yield first + sentence.start + one.start, one


def find_unordered(step: SuggestedTask, reading: IntentReading) -> list[tuple[int, int]]:
    """Return the spans of the requests that order nothing of a task that may change something."""
    if not _needs_order(step):
        return []
    return [
        (start, start + len(one.text))
        for start, one in _iterate_requests(step, reading)
        if _is_denied(step, one, start, reading) or _find_begin(step, one.text) is None
    ]


def _needs_order(step: SuggestedTask) -> bool:
    """Whether a tool changes something, and nobody calls it to be told something."""
    is_asked = not _ASKED.isdisjoint(split_raw_name(step.tool.name)) and not may_destroy(step)
    return not step.is_read_only and _may_change(step) and not is_asked


def _is_denied(
    step: SuggestedTask, request: StatedRequest, start: int, reading: IntentReading
) -> bool:
    """Whether a request waits, quotes, forbids, asks or reports what a step does."""
    names, words = ({*split_raw_name(name)} for name in (step.tool.name, step.tool.tool))
    return (
        waits_or_quotes(reading.text, start)
        or _FORBIDDEN.match(request.text) is not None
        or read_order(request, verbs=names, words=words) is Order.DENIED
    )


def is_ordered(
    step: SuggestedTask, parameter: ToolParameter, value: StatedValue, *, part: str, start: int
) -> bool:
    """Whether a tool may take a value from a request, by what it does and how it is asked.

    Args:
        step: The step.
        parameter: The parameter that would take the value.
        value: The value.
        part: The part of the intent that asks for the step.
        start: Where the part begins in the intent.
    """
    if step.is_read_only or not _may_change(step):
        return True
    begin = _find_begin(step, part)
    if begin is None:
        return False
    return _is_object(step, parameter, _read_place(value, part, start=start, begin=begin))


class _Place(NamedTuple):
    """Where a request states a value: the words before it, and whether others rule it out."""

    before: frozenset[str]
    lead: str = ""
    goes_on_to: bool = False
    has_rules: bool = False
    is_of_another: bool = False
    is_excluded: bool = False


def _read_place(value: StatedValue, part: str, *, start: int, begin: int) -> _Place:
    first, end = max(0, value.start - start), max(0, value.end - start)
    words = _WORD.findall(part.lower(), max(begin, first - MAX_CHARS_BEFORE), first)
    inside = _WORD.findall(QUOTED.sub(" ", part[first:end]).lower())
    return _Place(
        before=frozenset(words[:1] + words[2:] if words[1:2] == ["that"] else words),
        has_rules=value.kind in _OWN_RULES or (first, end) == (0, len(part)),
        lead=next((one for one in reversed(words[-LEAD_WORDS:]) if one in _FROM | _TO), ""),
        goes_on_to=not _TO.isdisjoint(
            _WORD.findall(part.lower(), end, end + MAX_LEAD_CHARS)[:LEAD_WORDS]
        ),
        is_of_another=_ANOTHER_AFTER.match(part, end) is not None,
        is_excluded=ANOTHER_BEFORE.search(part, max(0, first - MAX_LEAD_CHARS), first) is not None
        or (isinstance(value.value, list) and not _BREAKS.isdisjoint(inside)),
    )


def _is_object(step: SuggestedTask, parameter: ToolParameter, place: _Place) -> bool:
    """Whether a tool that may change something acts on, or takes, what is stated at a place."""
    if _is_other_end(step, parameter, place):
        return False
    if place.has_rules and not may_destroy(step):
        return True
    if place.is_excluded and may_destroy(step):
        return False
    is_place = is_scope_parameter(step, parameter) or is_workspace_parameter(step, parameter)
    if place.has_rules or is_place or not _removes(step):
        return place.before.isdisjoint(_RELATIVE)
    return place.before.isdisjoint(_RELATION) and not place.is_of_another


def _is_other_end(step: SuggestedTask, parameter: ToolParameter, place: _Place) -> bool:
    """Whether a value is where something goes and the parameter where it comes from, or so."""
    gives = bool(parameter.name_words & _GIVING)
    takes = bool(parameter.name_words & _TAKING)
    return (
        (gives and place.lead in _TO)
        or (takes and place.lead not in _TO and place.goes_on_to)
        or (place.lead in _FROM and is_grave(step) and not gives)
    )


def _removes(step: SuggestedTask) -> bool:
    """Whether a tool may do more harm than to put something in the place of something else."""
    words = normalize_words(split_raw_name(step.tool.name)) & DESTRUCTIVE_WORDS
    return not words <= _PUTTING if words else step.tool.is_destructive


def _may_change(step: SuggestedTask) -> bool:
    return may_destroy(step) or may_change(step.tool.name)


def _find_begin(step: SuggestedTask, part: str) -> int | None:
    """Return where the order of a part begins; None if it is none."""
    begin, is_polite = _find_order(part)
    words = frozenset(split_raw_name(step.tool.name))
    return begin if _is_order(part[begin:], words, is_polite=is_polite) else None


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
    harmless = {"cancel"} if tool_words & _ENDING else set()
    harmless |= set() if "back" in plain.lower() else {"bring"}
    main = _REASON.split(plain, maxsplit=1)[0]
    return not (
        (word in _TAKEN_BACK and word not in tool_words | harmless)
        or _QUESTION.match(plain)
        or _NEGATION.search(main)
        or _REPORT.search(main)
        or _RETRACTION.search(plain)
        or _ALTERNATIVE.search(plain)
        or (not is_polite and _ENDS_ASKING.search(plain))
    )
