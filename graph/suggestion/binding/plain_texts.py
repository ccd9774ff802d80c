"""Bind texts and names that a request introduces: "titled 'X'", "saying that …", "called X"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.arguments import DATE_WORDS, NOT_CONVERTIBLE, convert_value
from graph.suggestion.binding.plain_names import SPOKEN_NAMES
from graph.suggestion.binding.plain_statement import has_name, plain_name, takes_texts
from graph.suggestion.binding.protected_values import PROTECTING_PHRASE
from graph.suggestion.binding.value_patterns import QUOTE, ValueKind
from graph.suggestion.binding.values import are_listed
from graph.suggestion.binding.vocabulary import (
    LONG_TEXT_WORDS,
    PATH_WORDS,
    STOP_WORDS,
    VAGUE_WORDS,
    normalize_word,
    normalize_words,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.values import StatedValue

Accepts = Callable[["ToolParameter"], bool]

_LABEL: Final = re.compile(
    r"(?P<label>[^\W\d_]{2,20})\s*(?::|=|\bis\b|\bas\b|\bof\b|\bfor\b)?\s*(?:on\s+)?"
    rf"{QUOTE}?$"
)
"""Directly before a value: "subject 'Invoice'", "due on 2026-12-01"."""
_LABEL_BEHIND: Final = re.compile(
    rf"{QUOTE}?\s+as\s+(?:(?:the|its|an?)\s+)?(?P<label>[^\W\d_]{{2,20}})"
)
_CALL_IT: Final = re.compile(
    rf"\b(?:call|name|title)\s+(?:it|this|that|the\s+\w+)\s+{QUOTE}?$", re.IGNORECASE
)
_NOUN_BEHIND: Final = re.compile(rf"{QUOTE}\s+(?P<label>tab|sheet|worksheet|folder|board|list)\b")
"""Behind a quoted name, the noun that it belongs to: "the 'Rent' tab"."""
MAX_LABEL_CHARS: Final = 60
"""Characters before a value that are read for its label."""
_TITLES: Final = ("title", "summary", "subject", "name", "heading")
_NAMES: Final = ("name", "title", "summary", "label")
_TEXTS: Final = ("text", "message", "body", "content", "comment", "description", "note")
_SPOKEN_LABELS: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("titled", "title", "headed", "titel", "título", "titulado"), _TITLES),
    **dict.fromkeys(("subject", "betreff", "asunto"), ("subject", "title", "summary")),
    **dict.fromkeys(("called", "named", "namens", "llamado", "llamada"), _NAMES),
    **dict.fromkeys(("saying", "says", "say", "reading", "texto", "diciendo"), _TEXTS),
    **dict.fromkeys(("message", "nachricht", "mensaje", "text", "body", "inhalt"), _TEXTS),
    **dict.fromkeys(("content", "contenido", "comment", "kommentar", "comentario"), _TEXTS),
}
"""What words before a text say that it is; of the parameters called so, the first counts."""
_NAMING_LABELS: Final = frozenset(
    ["titled", "headed", "titulado", "called", "named", "namens", "llamado", "llamada"]
)
"""Of these, words that also tell which thing the tool changes."""
_CREATING_LIST: Final = (
    "create add make new open start insert post publish register schedule send write save "
    "generate draw plot render build upload draft compose log submit record book"
)
_CREATING: Final = normalize_words(_CREATING_LIST.split())
_FINDING: Final = normalize_words(["search", "find", "query", "lookup", "ask", "rank", "grep"])
_FREE_TEXTS_LIST: Final = (
    "name title subject summary label heading query pattern term keyword keywords question prompt"
)
_FREE_TEXTS: Final = frozenset(_FREE_TEXTS_LIST.split())
"""Last words of parameters that take any text."""
_RENAMING: Final = normalize_words(["rename", "copy", "duplicate", "clone", "move"])
_SAYING: Final = re.compile(
    r"\b(?:saying|(?:that|which)\s+says?|telling\s+(?:them|him|her|us|everyone)|diciendo)\b"
    r"\s*:?\s*(?:(?:that|que)\s+)?(?P<said>[^\s\"'`“‘「«].*)",  # noqa: RUF001 - as typed
    re.IGNORECASE | re.DOTALL,
)
_WITH_TEXT: Final = re.compile(
    r"(?:\b(?:with\s+(?:the\s+|a\s+)?(?:message|text|comment|content|body|note|words)"
    r"|mit\s+(?:dem|der)\s+(?:Text|Nachricht|Inhalt|Kommentar)"
    r"|con\s+(?:el\s+)?(?:texto|mensaje|contenido|comentario))\b|内容[是为]?)"
    r"\s*:?\s*(?P<said>[^\s\"'`“‘「«].*)",  # noqa: RUF001 - as typed
    re.IGNORECASE | re.DOTALL,
)
"""Words without quotation marks, up to the end of the intent."""
_DESCRIBED: Final = re.compile(
    r"(?:what|when|how|why|where|who|whether|about|something)\b", re.IGNORECASE
)
"""Beginning of what describes a text without stating it: "saying what changed"."""
_SOURCE: Final = re.compile(
    r"(?:of|from|in|to|like|that|which|you|being|says|saying|is|der|des|von|vom|aus|de|del)\b",
    re.IGNORECASE,
)
"""Beginning of what tells where the text is: "with the content of /tmp/b.txt"."""
_REFERENCE: Final = re.compile(r"(?<!\w)(?:\w+://|[~.]?/\w|[\w.-]+/[\w.-]+#\d)")
_FURTHER: Final = re.compile(
    r"[;\n]|\b(?:before|after|afterwards|once|until|then)\b|并|然后", re.IGNORECASE
)
"""What may begin a further request inside a text without quotation marks."""
_PLACE: Final = re.compile(
    r"\b(?:in|on|to|into|under)\s+(?:the\s+|my\s+)?(?P<noun>[^\W\d_]{2,20})\s+\w"
)
MAX_SAID_CHARS: Final = 400
_CALLED: Final = re.compile(
    r"\b(?P<noun>[^\W\d_]{2,20})\s+(?:called|named|namens|llamad[oa])\s+"
    r"(?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*)*|\w(?:[\w.-]*\w)?)"
    r"(?=[.,;!?]*\s*$|[,;.]\s|\s+(?:in|on|to|for|from|with|under|at|and|inside|into|within|due"
    r"|saying|im|mit|für|en|con|para|y|und)\b)"
    r"|(?:名为|名叫|叫做)(?P<chinese>[^\s的里,;\"，。]{1,60}?)(?=[的\s,;，。]|$)",  # noqa: RUF001 - as typed
)
"""A name and the noun that it belongs to. A name of several words is capitalised or quoted."""
_NOT_OBJECT: Final = re.compile(
    r"[,;]|\b(?:in|on|to|for|from|with|of|at|like|as|after|because|if|auf|für|von|en|para|de)\s"
)
"""Between a verb and a noun, what shows that the noun is not the verb's object."""


def bind_labelled(statement: PlainStatement) -> None:
    """Bind "titled 'Login'" or "due 2026-12-01" to the parameter that the word before calls."""
    for value in (
        *statement.list_values(ValueKind.QUOTED),
        *statement.list_values(ValueKind.DATE),
    ):
        for label in _read_labels(statement, value):
            _bind_value(statement, label, value)


def _read_labels(statement: PlainStatement, value: StatedValue) -> list[str]:
    """Return the word that calls a value, before it or, with "as", behind it.

    "Replace" is no label: what follows it is the old text.
    """
    start = max(statement.start, value.start - MAX_LABEL_CHARS)
    before = _LABEL.search(statement.text, start, value.start)
    behind = _LABEL_BEHIND.match(statement.text, value.end, statement.end)
    if _CALL_IT.search(statement.text, start, value.start):
        return ["called"]
    noun = _NOUN_BEHIND.match(statement.text, value.end, statement.end)
    labels = [match["label"].lower() for match in (behind, before, noun) if match is not None]
    return [label for label in labels if label != "replace"]


def _bind_value(statement: PlainStatement, label: str, value: StatedValue) -> None:
    meanings = (*_SPOKEN_LABELS.get(label, ()), *SPOKEN_NAMES.get(label, "").split())
    for words in map(normalize_word, (label, *meanings)):
        called = _find_preferred(statement, partial(_is_called, words=words, value=value))
        if label in _NAMING_LABELS:
            called = [parameter for parameter in called if _may_be_called(statement, parameter)]
        if len(called) > 1:
            called = [parameter for parameter in called if parameter.name_words <= words]
            if len(called) != 1:
                return
        if called:
            converted = convert_value(called[0], value)
            if converted is not NOT_CONVERTIBLE:
                statement.bind(called, converted, value.span, value.kind)
            return
    if value.kind is ValueKind.QUOTED and _is_object(statement, label):
        is_own = partial(_is_own_name, statement=statement, noun=normalize_word(label))
        own = statement.find_open(is_own, required=True)
        statement.bind(own, value.value, value.span, value.kind)


def _is_object(statement: PlainStatement, label: str) -> bool:
    """Whether the tool is named after what a word calls: "the page 'Retro'" of `create_page`."""
    words = normalize_words(split_raw_name(statement.step.tool.name)[1:])
    return bool(normalize_word(label) & words)


def _is_called(parameter: ToolParameter, *, words: frozenset[str], value: StatedValue) -> bool:
    is_date = value.kind is ValueKind.DATE
    takes_date = parameter.format.startswith("date") or bool(
        parameter.name_and_description_words & DATE_WORDS
    )
    return (
        bool(parameter.name_words & words)
        and (parameter.is_text or (takes_texts(parameter) and not is_date))
        and not parameter.members
        and takes_date == is_date
        and not (parameter.name_words & PATH_WORDS or parameter.is_identifier)
    )


def _find_preferred(statement: PlainStatement, accepts: Accepts) -> list[ToolParameter]:
    """Return the required parameters that a test accepts, else the optional ones."""
    return statement.find_open(accepts, required=True) or statement.find_open(accepts)


def bind_said(statement: PlainStatement) -> None:
    """Bind "saying that the button does nothing" to the text that the tool writes.

    Without quotation marks, only the end of the intent ends what is said.
    """
    match = _SAYING.search(statement.part) or _WITH_TEXT.search(statement.part)
    if match is None or statement.text[statement.end :].strip(" .!?") or '"' in match["said"]:
        return
    said = match["said"].rstrip(". \n")
    if not 0 < len(said) <= MAX_SAID_CHARS or not _is_stated(match, said):
        return
    for name in _TEXTS:
        called = _find_preferred(statement, has_name(frozenset({name})))
        if called:
            start = statement.start + match.start("said")
            if not _names_place(statement, said, besides=called):
                statement.bind(called, said, (start, start + len(said)), ValueKind.PHRASE)
            return


def _is_stated(match: re.Match[str], said: str) -> bool:
    """Whether a text is stated itself, not described, nor taken from elsewhere."""
    is_source = match.re is _WITH_TEXT and (_SOURCE.match(said) or _REFERENCE.search(said))
    return not (_DESCRIBED.match(said) or _FURTHER.search(said) or is_source)


def _names_place(
    statement: PlainStatement, said: str, *, besides: Sequence[ToolParameter]
) -> bool:
    """Whether a text without quotation marks holds "on channel news", which the tool requires."""
    needed = frozenset[str]().union(
        *(p.name_words for p in statement.find_open(lambda p: p not in besides, required=True))
    )
    before = statement.part.partition(said)[0].lower()
    nouns = (match["noun"].lower() for match in _PLACE.finditer(said))
    return any(normalize_word(noun) & needed and noun not in before for noun in nouns)


def bind_called(statement: PlainStatement) -> None:
    """Bind "a sheet named Hotels" to the only name that the tool requires, or takes."""
    matches = list(_CALLED.finditer(statement.part))
    if len(matches) != 1 or PROTECTING_PHRASE.search(statement.part, 0, matches[0].start()):
        return
    match = matches[0]
    group = "name" if match["noun"] else "chinese"
    noun = normalize_word((match["noun"] or "").lower())
    if match[group].lower() in VAGUE_WORDS or not _is_object_called(statement, match, noun):
        return
    is_own = partial(_is_own_name, statement=statement, noun=noun)
    called = _find_preferred(statement, lambda p: is_own(p) and _may_be_called(statement, p))
    statement.bind(called, match[group], statement.span_of(match, group), ValueKind.NAME)


def _is_object_called(
    statement: PlainStatement, match: re.Match[str], noun: frozenset[str]
) -> bool:
    """Whether a name belongs to what the tool makes, not to "the card" it makes a list on."""
    is_of_tool = bool(noun & normalize_words(_head_of(statement.step.tool.name)[-1:]))
    return is_of_tool or not _NOT_OBJECT.search(statement.part, 0, match.start())


def _head_of(tool: str) -> list[str]:
    """Return the words of a tool's name before its first preposition."""
    words = split_raw_name(tool)
    place = next((at for at, word in enumerate(words) if word in STOP_WORDS), len(words))
    return words[:place]


def _may_be_called(statement: PlainStatement, parameter: ToolParameter) -> bool:
    """Whether "titled 'Login'" may state a parameter's value, not only what the tool changes."""
    verbs = normalize_words(split_raw_name(statement.step.tool.name))
    if statement.step.is_read_only or verbs & _CREATING:
        return True
    is_new = "new" in split_raw_name(parameter.name)
    return parameter.is_required and not is_new and not verbs & _RENAMING


def _is_own_name(
    parameter: ToolParameter, *, statement: PlainStatement, noun: frozenset[str]
) -> bool:
    """Whether a parameter is the name of what the tool makes or changes."""
    words = plain_name(parameter).split("_")
    rest = normalize_words(word for word in words[:-1] if word not in ("new", "display"))
    known = normalize_words(split_raw_name(statement.step.tool.name)) | noun
    return (
        parameter.is_text
        and not parameter.members
        and words[-1] in _NAMES
        and rest <= known
        and not parameter.name_words & PATH_WORDS
    )


def bind_quoted(statement: PlainStatement) -> None:
    """Bind the only quoted text that no label explains to the only text that is required."""
    taken = [value.span for value in statement.found.values()]
    stated = statement.list_values(ValueKind.QUOTED)
    quoted = [value for value in stated if value.span not in taken]
    parameters = statement.find_open(
        lambda p: (
            p.is_text
            and not (p.members or p.is_identifier)
            and bool(p.name_words & LONG_TEXT_WORDS)
        ),
        required=True,
    )
    if len(quoted) == 1 and not (len(stated) > 1 and _calls_parameter(statement, quoted[0])):
        statement.bind(parameters, quoted[0].value, quoted[0].span, ValueKind.QUOTED)


def bind_quoted_list(statement: PlainStatement) -> None:
    """Bind the only quoted texts, if they are one list, to the only list of texts required."""
    quoted = statement.list_values(ValueKind.QUOTED)
    lists = statement.find_open(lambda p: takes_texts(p) and not p.members, required=True)
    texts = statement.find_open(lambda p: p.is_text and not p.is_identifier, required=True)
    if len(quoted) < 2 or len(lists) != 1 or texts:
        return
    if all(are_listed(statement.text, first, then) for first, then in pairwise(quoted)):
        span = (quoted[0].start, quoted[-1].end)
        statement.bind(lists, [value.value for value in quoted], span, ValueKind.LIST)


def bind_only_text(statement: PlainStatement) -> None:
    """Bind the only quoted text to the only text that a making or finding tool requires."""
    quoted = statement.list_values(ValueKind.QUOTED)
    verbs = normalize_words(split_raw_name(statement.step.tool.name))
    if len(quoted) != 1 or not (statement.step.is_read_only or verbs & (_CREATING | _FINDING)):
        return
    texts = statement.find_open(lambda p: p.is_text and not p.members, required=True)
    if len(texts) == 1 and _is_free_text(statement, texts[0]):
        value = quoted[0]
        statement.bind(texts, value.value, value.span, ValueKind.QUOTED)


def _is_free_text(statement: PlainStatement, parameter: ToolParameter) -> bool:
    """Whether a parameter takes any text; the name of a thing, only of the one that is made."""
    words = plain_name(parameter).split("_")
    if words[-1] not in _FREE_TEXTS:
        return False
    made = normalize_words(_head_of(statement.step.tool.name))
    return words[-1] not in _NAMES or normalize_words(words[:-1]) <= made


def _calls_parameter(statement: PlainStatement, value: StatedValue) -> bool:
    """Whether the word before a value calls a parameter that takes no such text."""
    words = frozenset[str]().union(*map(normalize_word, _read_labels(statement, value)))
    return any(
        parameter.name_words & words and not parameter.name_words & LONG_TEXT_WORDS
        for parameter in statement.schema.parameters.values()
    )
