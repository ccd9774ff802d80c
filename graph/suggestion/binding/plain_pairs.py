"""Bind pairs of texts that a request states: an old and a new one, a key and its value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.plain_statement import has_name, plain_name
from graph.suggestion.binding.protected_values import PROTECTING_PHRASE
from graph.suggestion.binding.value_patterns import QUOTE, ValueKind
from graph.suggestion.binding.vocabulary import VAGUE_WORDS, normalize_words

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement
    from graph.suggestion.binding.schemas import ToolParameter

_WORD: Final = r"[^\s,;\"'`/，。]{0,59}[^\s,;:\"'`/，。.!?]"  # noqa: RUF001 - as typed
_CHINESE_WORD: Final = r"[^\s,;\"'`/，。里的]{1,60}?"  # noqa: RUF001 - as typed
_KIND_OF_TEXT: Final = r"(?:(?:the\s+)?(?:word|text|phrase|string)|das Wort|la palabra)\s+"
_PAIR_END: Final = (
    r"(?=[.,;!?，。]*\s*$|[,，]?\s*在"  # noqa: RUF001 - as typed
    r"|,?\s+(?:in(?!\s+(?:\d|an?\s|half\b))|inside|within|throughout|everywhere|on|im|überall|en)\b)"
)
"""What follows a new text without quotation marks: the end, or a place."""
_NOT_FURTHER: Final = rf"(?!\s*(?:,|and|und|y)\s*{QUOTE})"
"""After a quoted new text, no second pair."""
_FROM_WORDS: Final = normalize_words(["source", "src", "from", "old", "current", "original"])
_INTO_WORDS: Final = normalize_words(["destination", "dst", "dest", "to", "new", "target"])
_BETWEEN_ENDS: Final = re.compile(rf"{QUOTE}\s+(?:as|(?:in)?to|als|nach|como|a)\s+{QUOTE}")


def _match_text(name: str, word: str) -> str:
    """Return a pattern of a quoted text, where single quotes may be apostrophes, or of a word."""
    in_double = r"[^\"“”「」«»]"
    in_single = r"[^\"'`“”‘’「」«»]|(?<=\w)['’](?=\w)"  # noqa: RUF001 - as typed
    quoted = rf"(?(double_{name}){in_double}|(?:{in_single})){{1,400}}"
    opening = rf"(?:(?P<double_{name}>[\"“「«])|(?={QUOTE}).)"
    return rf"(?:{opening}(?P<{name}_quoted>{quoted}){QUOTE}(?!\w)|(?P<{name}>{word}))"


def _compile_pair(
    before: str, between: str, first: str, last: str, *, word: str = _WORD
) -> re.Pattern[str]:
    old = _match_text(first, word)
    new = _match_text(last, _WORD + _PAIR_END)
    kind = rf"(?:{_KIND_OF_TEXT})?"
    return re.compile(rf"{before}{old}\s*{between}\s*{kind}{new}{_NOT_FURTHER}", re.IGNORECASE)


_REPLACEMENTS: Final = (
    *(
        _compile_pair(before, between, "old", "new")
        for before, between in (
            (rf"\b(?:replace|substitute|swap)\s+(?:{_KIND_OF_TEXT})?", r"\b(?:with|by|for)\b"),
            (
                rf"\b(?:change|correct|turn)\s+(?:{_KIND_OF_TEXT}|(?={QUOTE}))",
                r"\b(?:in)?to\b",
            ),
            (rf"\bersetze?\s+(?:{_KIND_OF_TEXT})?", r"\bdurch\b"),
            (rf"\b(?:cambia|reemplaza|sustituye)\s+(?:{_KIND_OF_TEXT})?", r"\bpor\b"),
            (rf"\bcambia\s+(?:{_KIND_OF_TEXT}|(?={QUOTE}))", r"\ba\b"),
        )
    ),
    _compile_pair(
        r"\b(?:every|each|all|any)\s+",
        r"\b(?:should\s+(?:become|be)|becomes?|to\s+be)\b",
        "old",
        "new",
    ),
    _compile_pair("把", "(?:替换|改|换)[成为]", "old", "new", word=_CHINESE_WORD),
)
"""Of verbs that also change a title or a status, an old text needs quotation marks or a noun."""
_OLD_WORDS: Final = normalize_words(["old", "find", "search", "original"])
_NEW_WORDS: Final = normalize_words(["new", "replace", "replacement"])
_ASSIGNMENT: Final = _compile_pair(
    r"\bset\s+(?:(?:the\s+)?(?:key|variable|setting|option|field)\s+)?",
    r"(?:\bto\b|=)",
    "key",
    "value",
)
"""In "set the key greeting to hello"."""
_KEY_NAMES: Final = frozenset({"key", "name", "variable", "setting", "option"})
_VALUE_NAMES: Final = frozenset({"value", "element", "item", "member"})


def bind_replacement(statement: PlainStatement) -> None:
    """Bind "change colour to color" to an old and a new text, also of a list of edits."""
    matches = [match for pattern in _REPLACEMENTS for match in pattern.finditer(statement.part)]
    if len(matches) != 1 or _is_protected(statement, matches[0]):
        return
    match = matches[0]
    ends = [_read_text(match, group) for group in ("old", "new")]
    if _has_vague_end(ends):
        return
    texts = statement.find_open(lambda p: p.is_text and not p.members, required=True)
    named = [[p for p in texts if p.name_words & words] for words in (_OLD_WORDS, _NEW_WORDS)]
    if all(len(parameters) == 1 for parameters in named) and named[0] != named[1]:
        for parameters, (text, group) in zip(named, ends, strict=True):
            statement.bind(parameters, text, statement.span_of(match, group), ValueKind.PHRASE)
        return
    lists = statement.find_open(lambda p: _find_edit_fields(p) is not None, required=True)
    fields = _find_edit_fields(lists[0]) if len(lists) == 1 else None
    if fields is not None:
        edit = dict(zip(fields, (text for text, _ in ends), strict=True))
        statement.bind(lists, [edit], statement.span_of(match), ValueKind.PHRASE)


def _is_protected(statement: PlainStatement, match: re.Match[str]) -> bool:
    """Whether the rest of the part limits what a match asks for: "but not in chapter 2"."""
    rest = f"{statement.part[: match.start()]} {statement.part[match.end() :]}"
    return PROTECTING_PHRASE.search(rest) is not None


def _read_text(match: re.Match[str], group: str) -> tuple[str, str]:
    """Return a stated text and the group that holds it."""
    quoted = f"{group}_quoted"
    return (match[quoted], quoted) if match[quoted] is not None else (match[group], group)


def _has_vague_end(ends: Sequence[tuple[str, str]]) -> bool:
    """Whether one of two texts without quotation marks is no text itself."""
    return any(
        text.lower() in VAGUE_WORDS for text, group in ends if not group.endswith("_quoted")
    )


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


def bind_assignment(statement: PlainStatement) -> None:
    """Bind "set the key greeting to hello", or the only quoted text, to what the tool stores."""
    values = statement.find_open(
        lambda p: not p.is_number and plain_name(p) in _VALUE_NAMES, required=True
    )
    if len(values) != 1:
        return
    match = _ASSIGNMENT.search(statement.part)
    if match is not None:
        _bind_assigned(statement, match, values)
        return
    quoted = statement.list_values(ValueKind.QUOTED)
    if len(quoted) == 1:
        span = quoted[0].span
        statement.bind(values, quoted[0].value, span, ValueKind.QUOTED)


def _bind_assigned(
    statement: PlainStatement, match: re.Match[str], values: Sequence[ToolParameter]
) -> None:
    """Bind a key together with its value; of several names, "key" is the key."""
    keys = statement.find_open(has_name(_KEY_NAMES), required=True)
    keys = [parameter for parameter in keys if plain_name(parameter) == "key"] or keys
    ends = [_read_text(match, group) for group in ("key", "value")]
    if len(keys) != 1 or _has_vague_end(ends):
        return
    for parameters, (text, group) in zip((keys, values), ends, strict=True):
        statement.bind(parameters, text, statement.span_of(match, group), ValueKind.QUOTED)


def bind_quoted_ends(statement: PlainStatement) -> None:
    """Bind "duplicate 'May' as 'June'" to the name of the source and of the target."""
    quoted = statement.list_values(ValueKind.QUOTED)
    if len(quoted) != 2 or not _BETWEEN_ENDS.fullmatch(
        statement.text, quoted[0].end, quoted[1].start
    ):
        return
    texts = statement.find_open(lambda p: p.is_text and not p.members and not p.is_identifier)
    texts = [p for p in texts if p.is_required]
    ends = [[p for p in texts if p.name_words & words] for words in (_FROM_WORDS, _INTO_WORDS)]
    if all(len(parameters) == 1 for parameters in ends) and ends[0] != ends[1]:
        for parameters, value in zip(ends, quoted, strict=True):
            statement.bind(parameters, value.value, value.span, ValueKind.QUOTED)
