"""Bind what a request names: "namespace shop", "PR 90", "by bike", "rent 900, food 400"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.plain_statement import has_name, mentions, takes_texts
from graph.suggestion.binding.protection import may_destroy
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import (
    FILE_WORDS,
    IDENTIFIER_WORDS,
    LONG_TEXT_WORDS,
    PATH_WORDS,
    STOP_WORDS,
    normalize_word,
    normalize_words,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement
    from graph.suggestion.binding.schemas import ToolParameter

_GENERIC_WORDS: Final = IDENTIFIER_WORDS | normalize_words(
    ["name", "number", "list", "index", "type", "value", "query", "user", "to", "from"]
)
_MEASURES_LIST: Final = "date time day at amount price currency title description summary subject"
_MEASURE_WORDS: Final = normalize_words(_MEASURES_LIST.split())
"""Words of parameters whose values have a form of their own, or are texts."""
_FOLDERS: Final = normalize_words(["directory", "folder", "root"])
_KIND_ENDINGS: Final = [["type"], ["kind"], ["mode"], ["format"], ["status"], ["level"]]
"""Ends of names of parameters that take no thing's name: in "link A-1", A-1 is no link type."""
SPOKEN_NAMES: Final[Mapping[str, str]] = {
    "pr": "pull",
    "host": "hostname",
    "server": "hostname",
    "mail": "email",
    "message": "email",
    "post": "message",
    "invite": "event",
    "invitation": "event",
    "meeting": "event",
    "appointment": "event",
    "booking": "event appointment reservation",
    "ticket": "issue",
    "case": "ticket issue",
    "card": "task",
    "job": "task",
    "to-do": "task",
    "item": "task",
    "row": "item record",
    "room": "channel",
    "label": "tag",
    "heading": "section",
    "offer": "estimate",
    "quote": "estimate",
    "app": "application",
    "picture": "image",
    "tab": "sheet",
    "file": "spreadsheet document",
    "repo": "repository",
}
"""Everyday words for things, and how parameters call them."""
_TOKEN: Final = r"(?:#?[\w][\w.:@-]*|\{[\w-]+\})"  # noqa: S105 - a pattern
_NAMED: Final = re.compile(
    rf"(?<![\w.-])(?=(?P<noun>[A-Za-z]{{2,20}})\s+(?:called\s+|named\s+)?"
    rf"(?P<value>{_TOKEN}(?:(?:\s*,\s*|\s+and\s+){_TOKEN})*))"
)
_LISTED: Final = re.compile(r"\s*,\s*|\s+and\s+")
_LAST: Final = re.compile(r"\s*(?:$|[,.?!;]|(?:and|to|then)\b)")
"""What follows a plain word that is a name."""
_PLACE_BEFORE: Final = re.compile(
    r"(?:\b(?:in|into|from|to|on|onto|of|at|within|for)\s+(?:[A-Z]\w*\s+)?|,\s+)$"
)
_PLACE_BEHIND: Final = re.compile(r"\s*:|\s+(?:for|in|into|on|from|with|at|by)\b")
_HYPHENATED: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)+")
_CODE: Final = re.compile(
    r"#?(?=[\w.:-]*\d)[\w.:-]+|\{(?=[\w-]*\d)[\w-]+\}|[A-Z][A-Z0-9_]+|[a-z]+_[a-z_]+"
)
_ADVERBS_LIST: Final = (
    "now today tonight tomorrow yesterday again here there up down off out back instead first "
    "soon asap too once everywhere"
)
_ADVERBS: Final = frozenset(_ADVERBS_LIST.split())
"""Words behind a noun that name nothing."""
_KEYBOARD: Final = re.compile(
    r"\b(?:press|hit|push|drück\w*|pulsa|presiona)\s+(?:the\s+|die\s+|la\s+)?(?P<key>Enter|Escape|Tab"
    r"|Space|Backspace|Delete|Home|End|PageUp|PageDown|Arrow(?:Up|Down|Left|Right)|F\d{1,2}"
    r"|(?:(?:Control|Shift|Alt|Meta)\+)+\w+)\b(?!\s+(?:button|link|icon|tab|menu))"
)
"""A key of a keyboard by its name in the UI Events specification."""
_PLAIN_WORD: Final = re.compile(r"[A-Za-z][\w-]*")
_CODED_NAME: Final = re.compile(r"(?=[\w.:-]*[A-Za-z])(?=[\w.:-]*[\d_.:-])[\w.:-]+")
_INTRODUCED: Final = re.compile(r"\b(?:called|named)\s+$")
MAX_BEFORE_NOUN: Final = 20
"""Characters before a noun that are read for a place."""
_PLACED: Final = re.compile(r"\b(?:in|into|from|to|on|onto|of|at)\s+(?:(?:the|my|our)\s+)?$")
_QUALIFIED: Final = re.compile(r"\b(?:the|my|our)\s+(?P<value>[a-z][\w-]*)\s+(?P<noun>[a-z]+)\b")
CELLS: Final = re.compile(r"(?<![\w:])\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?(?![\w:])")
_CELL_NAMES: Final = frozenset(
    {"range", "cell", "cells", "cell_range", "data_range", "range_address", "start_cell", "at"}
)
_EMOJI: Final = re.compile(r"[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?")
_DURATION: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?\s?[wdhm](?!\w)")
_PERSON: Final = re.compile(r"\b(?:to|for)\s+@?(?P<name>[a-z]+[._][\w.]*\w|[A-Z][a-z]+)(?!\w)")
_BRANCH_TOKEN: Final = re.compile(
    r"\bto\s+(?:the\s+)?(?P<name>(?=[\w./-]*[\d/-])[A-Za-z][\w./-]*\w|main|master|develop)(?!\w)"
)
_PAIR: Final = re.compile(
    r"(?P<label>[^\W\d_](?:[^\W\d_]|[ '-](?=[^\W\d_])){0,30})[\s:=]+"
    r"(?P<number>-?\d+(?:\.\d+)?)(?=\s*(?:[,;\uff0c\u3001]|and\b|$))"
)
_MIN_PAIRS: Final = 2


def bind_named(statement: PlainStatement) -> None:
    """Bind "namespace shop", "PR 90" or "mails 7 and 8" to the parameter called like the noun."""
    for match in _NAMED.finditer(statement.part):
        if match["noun"].lower() in STOP_WORDS:
            continue
        parameters = _find_called(statement, match["noun"])
        if len(parameters) == 1:
            _bind_values(statement, parameters[0], match)


def _find_called(statement: PlainStatement, noun: str) -> list[ToolParameter]:
    """Return the parameters called like a noun, else like what it means in everyday words."""
    exact = statement.find_open(partial(_is_called, nouns=normalize_word(noun.lower())))
    called = exact or statement.find_open(partial(_is_called, nouns=read_noun(noun)))
    is_object = bool(
        read_noun(noun) & normalize_words(split_raw_name(statement.step.tool.name)[1:])
    )
    return called or statement.find_open(
        lambda p: is_object and p.name.lower() == "id", required=True
    )


def _bind_values(
    statement: PlainStatement, parameter: ToolParameter, match: re.Match[str]
) -> None:
    listed = _LISTED.split(match["value"])
    named = [value.rstrip(".:,") for value in (listed if parameter.is_array else listed[:1])]
    is_last = _ends_name(statement, match, match.start("value") + len(listed[0]))
    is_last = is_last and not (parameter.is_identifier and may_destroy(statement.step))
    values = [value for value in named if _may_be_name(value, parameter, is_last=is_last)]
    if not values or (parameter.is_number and not values[0].lstrip("#").isdigit()):
        return
    start = statement.part.index(values[0], match.start("value"))
    end = statement.part.index(values[-1], start) + len(values[-1])
    texts = [value.lstrip("#") for value in values]
    takes_numbers = parameter.is_number or _takes_numbers(parameter)
    if takes_numbers and not all(text.isdigit() for text in texts):
        return
    read = [int(text) if takes_numbers else text for text in texts]
    value = read if parameter.is_array else read[0]
    statement.bind(
        [parameter], value, (statement.start + start, statement.start + end), ValueKind.CODE
    )


def _ends_name(statement: PlainStatement, match: re.Match[str], end: int) -> bool:
    """Whether a plain word is the end of a phrase, or of a place: "in collection songs for …".

    In "is table locked in prod", no preposition stands before the noun.
    """
    if _LAST.match(statement.part, end):
        return True
    noun = match.start("noun")
    is_placed = (
        _PLACE_BEFORE.search(statement.part, max(0, noun - MAX_BEFORE_NOUN), noun) is not None
    )
    is_over = _PLACE_BEHIND.match(statement.part, end) is not None
    return is_placed and is_over and not may_destroy(statement.step)


def read_noun(word: str) -> frozenset[str]:
    """Return the normalized words by which parameters call what a noun means."""
    lower = word.lower()
    singular = lower.removesuffix("s")
    spoken = SPOKEN_NAMES.get(lower) or SPOKEN_NAMES.get(singular) or ""
    return normalize_word(lower) | normalize_words(spoken.split())


def _takes_numbers(parameter: ToolParameter) -> bool:
    kinds = parameter.item_types
    return parameter.is_array and bool(kinds) and kinds <= {"number", "integer"}


def _is_called(parameter: ToolParameter, *, nouns: frozenset[str]) -> bool:
    words = parameter.name_words - _GENERIC_WORDS
    takes_list = takes_texts(parameter) or _takes_numbers(parameter)
    takes = parameter.is_text or parameter.is_number or takes_list
    is_text = parameter.name_words & LONG_TEXT_WORDS and not parameter.is_identifier
    is_place = parameter.name_words & (FILE_WORDS if _is_workspace_id(parameter) else PATH_WORDS)
    is_name = bool(words & nouns) and _is_head(parameter, nouns) and not (is_text or is_place)
    is_measure = bool(parameter.name_words & _MEASURE_WORDS) and not parameter.is_identifier
    is_kind = split_raw_name(parameter.name)[-1:] in _KIND_ENDINGS
    is_kind = is_kind and not parameter.is_number
    return takes and not (parameter.members or is_measure or is_kind) and is_name


def _is_workspace_id(parameter: ToolParameter) -> bool:
    """Whether a workspace, by its name or description, is an account's and no folder."""
    folder = parameter.name_and_description_words & (FILE_WORDS | _FOLDERS)
    return "workspace" in parameter.name_words and not folder


def _is_head(parameter: ToolParameter, nouns: frozenset[str]) -> bool:
    """Whether a noun calls the thing itself: "worksheet", not "workbook", of `workbookSheetId`."""
    words = [word for word in split_raw_name(parameter.name) if not _is_generic(word)]
    return not words or not parameter.is_identifier or bool(_heads_of(words) & nouns)


def _is_generic(word: str) -> bool:
    return word != "list" and bool(normalize_word(word) & (_GENERIC_WORDS | {"slug", "gid"}))


def _heads_of(words: list[str]) -> frozenset[str]:
    """Return the words for the thing: the last, or "pull" of "pull request"."""
    last = normalize_word(words[-1])
    return last | normalize_word(words[0]) if words[-1] == "request" else last


def _may_be_name(value: str, parameter: ToolParameter, *, is_last: bool) -> bool:
    """Whether a token is a code, or a plain word for a parameter that names something."""
    if _CODE.fullmatch(value):
        return True
    is_compound = _HYPHENATED.fullmatch(value) is not None
    is_plain = value.islower() and not parameter.is_identifier
    if parameter.is_number or not (is_last and (is_plain or is_compound)):
        return False
    if value in _ADVERBS or value.endswith("ly"):
        return False
    if normalize_word(value.lower()) & (parameter.name_words | _GENERIC_WORDS):
        return False
    return _PLAIN_WORD.fullmatch(value) is not None and value.lower() not in STOP_WORDS


def bind_kinds(statement: PlainStatement) -> None:
    """Bind "pod cart-1" or "the web deployment" to `name`, and the kind if it is a choice."""
    names = statement.find_open(lambda p: p.is_text and p.name == "name")
    kinds = _read_kinds(statement)
    if len(names) != 1 or not (kinds or names[0].is_required):
        return
    match = _find_only_named(statement, names[0], kinds.keys())
    if match is None:
        return
    value = _read_name(match)
    start = statement.start + match.start("value")
    statement.bind(names, value, (start, start + len(value)), ValueKind.NAME)
    noun = match["noun"].lower()
    if noun in kinds:
        parameter, member = kinds[noun]
        statement.bind([parameter], member, statement.span_of(match, "noun"), ValueKind.WORD)


def _read_name(match: re.Match[str]) -> str:
    return _LISTED.split(match["value"])[0].rstrip(".:,")


def _find_only_named(
    statement: PlainStatement, name: ToolParameter, kinds: Collection[str]
) -> re.Match[str] | None:
    """Return where the part names the only thing of a kind that the tool works on.

    Of a tool that may do more than read, an adjective, as in "the old pod", is no name, and a
    part that speaks of things of two kinds may mean either.
    """
    described = {word.lower() for word in re.findall(r"[A-Za-z]+", name.description)}
    described = (described - STOP_WORDS - {"name"}) | set(kinds)
    if not statement.step.is_read_only:
        words = re.findall(r"[A-Za-z]+", statement.part.lower())
        stated = {word.removesuffix("s") for word in words if word in kinds}
        if len(stated) > 1:
            return None
    objects = _find_objects(statement) - STOP_WORDS if name.is_required else frozenset[str]()
    named = list(_iterate_named(statement, _NAMED, described, objects=objects))
    if not statement.step.is_read_only:
        return _find_only(named)
    return _find_only(named or _iterate_named(statement, _QUALIFIED, described))


def _find_only(matches: Iterable[re.Match[str]]) -> re.Match[str] | None:
    by_name = {_read_name(match): match for match in matches}
    return next(iter(by_name.values())) if len(by_name) == 1 else None


def _iterate_named(
    statement: PlainStatement,
    pattern: re.Pattern[str],
    described: Collection[str],
    *,
    objects: Collection[str] = (),
) -> Iterator[re.Match[str]]:
    """Yield where a noun that is described, or an object at the end, stands beside a name."""
    for match in pattern.finditer(statement.part):
        value, noun = _read_name(match), match["noun"].lower()
        is_last = _LAST.match(statement.part, match.start("value") + len(value)) is not None
        known = {*described, *objects} if is_last else {*described}
        is_no_name = value.lower() in known | _ADVERBS or noun in statement.schema.parameters
        if noun in known and not is_no_name and _is_name(statement, match, value):
            yield match


def _is_name(statement: PlainStatement, match: re.Match[str], value: str) -> bool:
    """Whether a token is a name; for a tool that may do more than read, surely one.

    Such a tool takes a plain word only behind "called" or, unless it destroys something, behind a
    place: "to the list jobs".
    """
    is_word = _PLAIN_WORD.fullmatch(value) is not None and value.lower() not in STOP_WORDS
    if statement.step.is_read_only:
        return is_word or _CODE.fullmatch(value) is not None
    if _CODED_NAME.fullmatch(value) and not _DURATION.fullmatch(value):
        return True
    noun, name = match.start("noun"), match.start("value")
    is_introduced = _INTRODUCED.search(statement.part, noun, name) is not None
    is_placed = not may_destroy(statement.step) and bool(
        _PLACED.search(statement.part, max(0, noun - MAX_BEFORE_NOUN), noun)
    )
    is_last = _LAST.match(statement.part, name + len(value)) is not None
    return is_word and not value.endswith("ly") and (is_introduced or (is_placed and is_last))


def _read_kinds(statement: PlainStatement) -> dict[str, tuple[ToolParameter, str]]:
    """Return the kinds of things that the tool tells apart, listed or told by examples."""
    parameters = statement.find_open(lambda p: p.is_text and "type" in p.name_words)
    kinds = {
        str(member).lower(): (parameter, member)
        for parameter in parameters
        for member in parameter.members
        if isinstance(member, str)
    }
    for parameter in parameters:
        if not parameter.members:
            named = {word for choice in parameter.choices for word in (choice, choice.rstrip("s"))}
            kinds |= {word: (parameter, word) for word in named if word.isalpha()}
    return kinds


def _find_objects(statement: PlainStatement) -> frozenset[str]:
    """Return the words of the first sentence about a tool, which calls what it works on."""
    sentence = re.split(r"[.\n]", statement.step.tool.description.strip(), maxsplit=1)[0]
    return frozenset(word.lower() for word in re.findall(r"[A-Za-z]{3,20}", sentence))


def bind_forms(statement: PlainStatement) -> None:
    """Bind cells, durations, people and branches, which their form or place gives away."""
    tool = set(re.findall(r"[a-z]+", statement.step.tool.name.lower()))
    _bind_only(statement, CELLS, has_name(_CELL_NAMES))
    spent = has_name(frozenset({"time_spent", "duration", "time_spent_text"}))
    _bind_only(statement, _DURATION, spent)
    _bind_only(statement, _EMOJI, has_name(frozenset({"emoji", "reaction"})))
    people = mentions(normalize_words(["assignee", "reviewer"]))
    _bind_only(statement, _PERSON, people, "name")
    if tool & {"press", "key", "keyboard"}:
        _bind_only(statement, _KEYBOARD, has_name(frozenset({"key", "keys"})), "key")
    if tool & {"checkout", "switch"}:
        _bind_only(
            statement, _BRANCH_TOKEN, has_name(frozenset({"branch", "branch_name"})), "name"
        )


def _bind_only(
    statement: PlainStatement,
    pattern: re.Pattern[str],
    accepts: Callable[[ToolParameter], bool],
    group: str | int = 0,
) -> None:
    matches = list(pattern.finditer(statement.part))
    if len(matches) == 1:
        match = matches[0]
        statement.bind(
            statement.find_open(accepts),
            match[group],
            statement.span_of(match, group),
            ValueKind.CODE,
        )


def bind_items(statement: PlainStatement) -> None:
    """Bind "rent 900, food 400" or the only quoted text to the only required list of objects."""
    lists = statement.find_open(lambda p: p.is_array and p.item_types == {"object"}, required=True)
    if len(lists) != 1:
        return
    fields = _read_fields(lists[0])
    texts = [name for name, kind in fields if kind == "string"]
    numbers = [name for name, kind in fields if kind in ("number", "integer")]
    if len(texts) == 1 and len(numbers) == 1 and len(fields) == len(texts) + len(numbers):
        pairs = list(_PAIR.finditer(statement.part))
        if len(pairs) >= _MIN_PAIRS:
            items = [
                {texts[0]: pair["label"].strip(), numbers[0]: _read_number(pair["number"])}
                for pair in pairs
            ]
            span = (statement.start + pairs[0].start(), statement.start + pairs[-1].end())
            statement.bind(lists, items, span, ValueKind.PHRASE)
    quoted = statement.list_values(ValueKind.QUOTED)
    if len(texts) == 1 and len(fields) == 1 and len(quoted) == 1:
        value = quoted[0]
        statement.bind(lists, [{texts[0]: value.value}], value.span, ValueKind.QUOTED)


def _read_number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _read_fields(parameter: ToolParameter) -> list[tuple[str, str]]:
    """Return the required fields of a list's items with their types."""
    items = parameter.schema.get("items")
    if not isinstance(items, Mapping):
        return []
    properties, required = items.get("properties"), items.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return []
    return list(_iterate_fields(properties, required))


def _iterate_fields(
    properties: Mapping[str, Any], required: list[Any]
) -> Iterator[tuple[str, str]]:
    for name in required:
        part = properties.get(name)
        kind = part.get("type") if isinstance(part, Mapping) else None
        yield str(name), kind if isinstance(kind, str) else ""
