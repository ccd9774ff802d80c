"""Bind texts and names that a request introduces: "titled 'X'", "saying that …", "called X"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.arguments import DATE_WORDS, NOT_CONVERTIBLE, convert_value
from graph.suggestion.binding.plain_statement import has_name, plain_name, takes_texts
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import (
    LONG_TEXT_WORDS,
    PATH_WORDS,
    normalize_word,
    normalize_words,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.values import StatedValue

Accepts = Callable[["ToolParameter"], bool]

_QUOTE: Final = r"[\"'`“”‘’「」«»]"  # noqa: RUF001 - as typed
_TEXT: Final = rf"(?:{_QUOTE}(?P<%s_quoted>[^\"`“”「」«»]{{1,400}}?){_QUOTE}(?!\w)|(?P<%s>%s))"
_LABEL: Final = re.compile(
    r"(?P<label>[^\W\d_]{2,20})\s*(?::|=|\bis\b|\bas\b|\bof\b|\bfor\b)?\s*(?:on\s+)?"
    rf"{_QUOTE}?$"
)
"""Directly before a value: "subject 'Invoice'", "due on 2026-12-01"."""
_LABEL_BEHIND: Final = re.compile(
    rf"{_QUOTE}?\s+as\s+(?:(?:the|its|an?)\s+)?(?P<label>[^\W\d_]{{2,20}})"
)
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
_SAYING: Final = re.compile(
    r"(?:\b(?:saying|(?:that|which|to)\s+says?|telling\s+(?:them|him|her|us|everyone)"
    r"|with\s+(?:the\s+|a\s+)?(?:message|text|comment|content|body|note|words)"
    r"|mit\s+(?:dem|der)\s+(?:Text|Nachricht|Inhalt|Kommentar)"
    r"|con\s+(?:el\s+)?(?:texto|mensaje|contenido|comentario)|diciendo)\b|内容[是为]?)"
    r"\s*:?\s*(?:(?:that|que)\s+)?(?P<said>[^\s\"'`“‘「«].*?)[\s.]*$",  # noqa: RUF001 - as typed
    re.IGNORECASE | re.DOTALL,
)
"""Words without quotation marks, up to the end of the intent."""
MAX_SAID_CHARS: Final = 400
_CALLED: Final = re.compile(
    r"(?:\b(?:(?P<noun>[^\W\d_]{2,20})\s+)?(?:called|named|namens|llamad[oa])\s+|名为|名叫|叫做)"
    r"(?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*)*|[\w][\w.-]*[\w]|\w)",
)
_WORD: Final = r"[^\s,;\"'`/]{1,60}"
_KIND_OF_TEXT: Final = r"(?:the\s+)?(?:(?:word|text|phrase|string|das Wort|la palabra)\s+)?"


def _compile_pair(before: str, between: str, first: str, last: str) -> re.Pattern[str]:
    old = _TEXT % (first, first, _WORD)
    new = _TEXT % (last, last, _WORD)
    return re.compile(rf"{before}{old}\s*{between}\s*{_KIND_OF_TEXT}{new}", re.IGNORECASE)


_REPLACEMENTS: Final = tuple(
    _compile_pair(before, between, "old", "new")
    for before, between in (
        (rf"\b(?:replace|substitute|swap)\s+{_KIND_OF_TEXT}", r"\b(?:with|by|for)\b"),
        (rf"\b(?:change|correct|turn)\s+{_KIND_OF_TEXT}", r"\b(?:to|into)\b"),
        (rf"\bersetze?\s+{_KIND_OF_TEXT}", r"\bdurch\b"),
        (rf"\b(?:cambia|reemplaza|sustituye)\s+{_KIND_OF_TEXT}", r"\b(?:por|a)\b"),
        ("把", "(?:替换|改|换)[成为]"),
    )
)
_OLD_WORDS: Final = normalize_words(["old", "find", "search", "original"])
_NEW_WORDS: Final = normalize_words(["new", "replace", "replacement"])
_ASSIGNMENT: Final = _compile_pair(
    r"\b(?:set|put)\s+(?:the\s+)?(?:\w+\s+)?(?:(?:key|variable|setting|option)\s+)?",
    r"(?:\b(?:to|as)\b|=)",
    "key",
    "value",
)
"""In "set the key greeting to hello"."""
_KEY_NAMES: Final = frozenset({"key", "name", "variable", "setting", "option"})
_VALUE_NAMES: Final = frozenset({"value", "element", "item", "member"})
_STATEMENT: Final = re.compile(
    r"\b(?:select\s+(?!(?:the|an?|my|our|all)\s).+?\sfrom\s.+|insert\s+into\s.+"
    r"|update\s+\S+\s+set\s.+|delete\s+from\s+(?!(?:the|my|our)\s).+"
    r"|create\s+(?:table|view|index)\s+\S+\s*(?:\(|as\b|on\b).+|with\s+\w+\s+as\s*\(.+)$",
    re.IGNORECASE | re.DOTALL,
)
_DATABASES: Final = frozenset(
    ["database", "db", "postgres", "postgresql", "mysql", "mariadb", "sqlite", "server"]
)
_STATEMENT_TAIL: Final = re.compile(
    r"\s+(?:on|in|against|via|using|with)\s+(?:the\s+|my\s+|our\s+)?(?P<place>\w+)"
    r"(?:\s+(?:database|db|server))?[\s.?!]*$"
)


def bind_labelled(one: PlainStatement) -> None:
    """Bind "titled 'Login'" or "due 2026-12-01" to the parameter that the word before calls."""
    for value in (*one.list_values(ValueKind.QUOTED), *one.list_values(ValueKind.DATE)):
        for label in _read_labels(one, value):
            _bind_value(one, label, value)


def _read_labels(one: PlainStatement, value: StatedValue) -> list[str]:
    """Return the word that calls a value, before it or, with "as", behind it."""
    before = _LABEL.search(one.text, one.start, value.start)
    behind = _LABEL_BEHIND.match(one.text, value.end, one.end)
    return [match["label"].lower() for match in (behind, before) if match is not None]


def _bind_value(one: PlainStatement, label: str, value: StatedValue) -> None:
    for words in map(normalize_word, (label, *_SPOKEN_LABELS.get(label, ()))):
        called = _find_preferred(one, partial(_is_called, words=words, value=value))
        if len(called) > 1:
            called = [parameter for parameter in called if parameter.name_words <= words]
            if len(called) != 1:
                return
        if called:
            converted = convert_value(called[0], value)
            if converted is not NOT_CONVERTIBLE:
                one.bind(called, converted, (value.start, value.end), value.kind)
            return
    if value.kind is ValueKind.QUOTED and _is_object(one, label):
        is_own = partial(_is_own_name, one=one, noun=normalize_word(label))
        own = one.find_open(is_own, required=True)
        one.bind(own, value.value, (value.start, value.end), value.kind)


def _is_object(one: PlainStatement, label: str) -> bool:
    """Whether the tool is named after what a word calls: "the page 'Retro'" of `create_page`."""
    words = normalize_words(split_raw_name(one.step.tool.name)[1:])
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


def _find_preferred(one: PlainStatement, accepts: Accepts) -> list[ToolParameter]:
    """Return the required parameters that a test accepts, else the optional ones."""
    return one.find_open(accepts, required=True) or one.find_open(accepts)


def bind_said(one: PlainStatement) -> None:
    """Bind "saying that the button does nothing" to the text that the tool writes.

    Without quotation marks, only the end of the intent ends what is said.
    """
    match = _SAYING.search(one.part)
    if match is None or one.text[one.end :].strip(" .!?") or '"' in match["said"]:
        return
    said = match["said"]
    for name in _TEXTS:
        called = _find_preferred(one, has_name(frozenset({name})))
        if called and len(said) <= MAX_SAID_CHARS:
            one.bind(called, said, one.span_of(match, "said"), ValueKind.PHRASE)
            return


def bind_called(one: PlainStatement) -> None:
    """Bind "a sheet named Hotels" to the only name that the tool requires, or takes."""
    matches = list(_CALLED.finditer(one.part))
    if len(matches) != 1:
        return
    match = matches[0]
    noun = normalize_word((match["noun"] or "").lower())
    called = _find_preferred(one, partial(_is_own_name, one=one, noun=noun))
    one.bind(called, match["name"], one.span_of(match, "name"), ValueKind.NAME)


def _is_own_name(parameter: ToolParameter, *, one: PlainStatement, noun: frozenset[str]) -> bool:
    """Whether a parameter is the name of what the tool makes or changes."""
    words = plain_name(parameter).split("_")
    rest = normalize_words(word for word in words[:-1] if word not in ("new", "display"))
    known = normalize_words(split_raw_name(one.step.tool.name)) | noun
    return (
        parameter.is_text
        and not parameter.members
        and words[-1] in _NAMES
        and rest <= known
        and not parameter.name_words & PATH_WORDS
    )


def bind_replacement(one: PlainStatement) -> None:
    """Bind "change colour to color" to an old and a new text, also of a list of edits."""
    matches = [match for pattern in _REPLACEMENTS if (match := pattern.search(one.part))]
    if len(matches) != 1:
        return
    match = matches[0]
    ends = [_read_text(match, group) for group in ("old", "new")]
    texts = one.find_open(lambda p: p.is_text and not p.members, required=True)
    named = [[p for p in texts if p.name_words & words] for words in (_OLD_WORDS, _NEW_WORDS)]
    if all(len(parameters) == 1 for parameters in named) and named[0] != named[1]:
        for parameters, (text, group) in zip(named, ends, strict=True):
            one.bind(parameters, text, one.span_of(match, group), ValueKind.PHRASE)
        return
    lists = one.find_open(lambda p: _find_edit_fields(p) is not None, required=True)
    fields = _find_edit_fields(lists[0]) if len(lists) == 1 else None
    if fields is not None:
        edit = dict(zip(fields, (text for text, _ in ends), strict=True))
        one.bind(lists, [edit], one.span_of(match), ValueKind.PHRASE)


def _read_text(match: re.Match[str], group: str) -> tuple[str, str]:
    """Return a stated text and the group that holds it."""
    quoted = f"{group}_quoted"
    return (match[quoted], quoted) if match[quoted] is not None else (match[group], group)


def _find_edit_fields(parameter: ToolParameter) -> tuple[str, str] | None:
    """Return the fields of a list's items for the old and the new text, if it requires no more."""
    items: Any = parameter.schema.get("items") if parameter.is_array else None
    required = items.get("required") if isinstance(items, Mapping) else None
    if not isinstance(required, list) or len(required) != 2:
        return None
    old, new = (
        [name for name in required if normalize_words(split_raw_name(str(name))) & words]
        for words in (_OLD_WORDS, _NEW_WORDS)
    )
    return (old[0], new[0]) if len(old) == len(new) == 1 and old != new else None


def bind_assignment(one: PlainStatement) -> None:
    """Bind "set the key greeting to hello", or the only quoted text, to what the tool stores."""
    values = one.find_open(
        lambda p: not p.is_number and plain_name(p) in _VALUE_NAMES, required=True
    )
    if len(values) != 1:
        return
    match = _ASSIGNMENT.search(one.part)
    if match is not None:
        for group, parameters in (
            ("key", one.find_open(has_name(_KEY_NAMES), required=True)),
            ("value", values),
        ):
            text, place = _read_text(match, group)
            one.bind(parameters, text, one.span_of(match, place), ValueKind.QUOTED)
        return
    quoted = one.list_values(ValueKind.QUOTED)
    if len(quoted) == 1:
        span = (quoted[0].start, quoted[0].end)
        one.bind(values, quoted[0].value, span, ValueKind.QUOTED)


def bind_statement(one: PlainStatement) -> None:
    """Bind an SQL statement that ends the intent, without the words for its database."""
    match = _STATEMENT.search(one.part)
    parameters = one.find_open(_takes_statement)
    if match is None or len(parameters) != 1 or one.text[one.end :].strip(" .!?"):
        return
    if any(
        value.start <= one.start + match.start() for value in one.list_values(ValueKind.QUOTED)
    ):
        return
    statement = match[0].rstrip(" .?!")
    server = one.step.tool.tool.partition(":")[0].lower()
    tail = _STATEMENT_TAIL.search(statement)
    if tail is not None and tail["place"].lower() in _DATABASES | {server}:
        statement = statement[: tail.start()]
    start = one.start + match.start()
    one.bind(parameters, statement, (start, start + len(statement)), ValueKind.PHRASE)


def _takes_statement(parameter: ToolParameter) -> bool:
    name = plain_name(parameter)
    described = name in ("query", "statement") and "sql" in parameter.description.lower()
    return parameter.is_text and not parameter.members and ("sql" in name.split("_") or described)


def bind_quoted(one: PlainStatement) -> None:
    """Bind the only quoted text that no label explains to the only text that is required."""
    taken = [(value.start, value.end) for value in one.found.values()]
    stated = one.list_values(ValueKind.QUOTED)
    quoted = [value for value in stated if (value.start, value.end) not in taken]
    parameters = one.find_open(
        lambda p: (
            p.is_text
            and not (p.members or p.is_identifier)
            and bool(p.name_words & LONG_TEXT_WORDS)
        ),
        required=True,
    )
    if len(quoted) == 1 and not (len(stated) > 1 and _calls_parameter(one, quoted[0])):
        one.bind(parameters, quoted[0].value, (quoted[0].start, quoted[0].end), ValueKind.QUOTED)


def _calls_parameter(one: PlainStatement, value: StatedValue) -> bool:
    """Whether the word before a value calls a parameter that takes no such text."""
    words = frozenset[str]().union(*map(normalize_word, _read_labels(one, value)))
    return any(
        parameter.name_words & words and not parameter.name_words & LONG_TEXT_WORDS
        for parameter in one.schema.parameters.values()
    )
