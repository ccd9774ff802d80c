"""Bind the paths that a request states plainly: ends of a move, a workspace, the only one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.plain_statement import PlainStatement, mentions, takes_texts
from graph.suggestion.binding.protection import is_workspace_parameter, may_be_output
from graph.suggestion.binding.value_patterns import FILE_NAME, ValueKind
from graph.suggestion.binding.vocabulary import PATH_WORDS, normalize_words

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.values import StatedValue

SOURCE_WORDS: Final = normalize_words(["source", "from", "src", "old", "input"])
TARGET_WORDS: Final = normalize_words(["destination", "target", "to", "dest", "new", "output"])
GLOB: Final = re.compile(r"(?<![\w/*.-])(?:\*\*?/)*[\w-]*\*[\w-]*(?:\.[\w*]+)+")

_SOURCE_NAMES: Final = frozenset(["input", "input_data", "image_source"])
_END_NAMES: Final = (
    SOURCE_WORDS | TARGET_WORDS | PATH_WORDS | normalize_words(["name", "location"])
)
"""Words of which the name of an end that holds a path consists."""
_NO_PATH_LIST: Final = (
    "language locale format encoding currency unit branch revision commit ref tag date time "
    "timezone account email station airport city"
)
_NO_PATH_WORDS: Final = normalize_words(_NO_PATH_LIST.split())
"""Words of a name or description that say that it holds none."""
_NO_MOVE_WORDS: Final = normalize_words(["diff", "compare", "merge", "translate"])
"""Words of tools whose source and target are no ends of a move."""
_IN_PLACE: Final = re.compile(
    r"\b(?:in|of|for|at|inside|within|under|from|repo|repository)\s+[\"'`]?$", re.IGNORECASE
)
_TO_PLACE: Final = re.compile(
    r"['\"`]?(?:\s+(?:(?:in)?to|nach|zu|in|a|en)\s+(?:the\s+)?|\s*[\u4e00-\u9fff]?[到为成]\s*)['\"`]?$",
    re.IGNORECASE,
)
"""Between two paths, in English and the languages with a glossary."""
_NOUN: Final = (
    r"\s+(?:(?:the|my|our|an?|this|that|den|dem|das|die|der|meinen)\s+)?"
    r"(?:(?:file|folder|directory|dir|path|location|Ordner|Verzeichnis|Datei|Pfad)\s*:?\s*)?"
    r"[\"'`]?$"
)
"""Between a word of direction or a verb and its path."""
_SPANISH_NOUN: Final = (
    r"\s+(?:(?:el|la|mi)\s+)?(?:(?:archivo|fichero|carpeta|directorio|ruta)\s*:?\s*)?[\"'`]?$"
)
"""The same in Spanish, where "a" is a word of direction."""
_BEFORE_TARGET: Final = re.compile(
    rf"\b(?:to|into|onto|as|nach|zu|als){_NOUN}|\b(?:a|al|como){_SPANISH_NOUN}"
    rf"|\b(?:it|them|this|that|these|those)\s+(?:in|under){_NOUN}"
    r"|\b(?:in|unter)\s+(?:den|das)\s+(?:Ordner|Verzeichnis|Pfad)\s*:?\s*[\"'`]?$",
    re.IGNORECASE,
)
"""Before a target. "The files in /srv/x" are rather what is moved, "move it in /srv/x" is not."""
_BEFORE_SOURCE: Final = re.compile(
    rf"\b(?:from|von|aus){_NOUN}|\b(?:de|del|desde){_SPANISH_NOUN}", re.IGNORECASE
)
_VERB_BEFORE: Final = re.compile(
    r"\W*(?:(?:please|then|now|and|just|bitte|dann|por favor|luego)\s+)*"
    r"(?!(?:in|at|on|under|with|using|for|per|of|by|via|at|mit|auf|bei|unter|en|con|por)\b)"
    rf"[^\W\d_]+(?:{_NOUN}|{_SPANISH_NOUN})",
    re.IGNORECASE,
)
"""The beginning of a request whose path directly follows its verb."""
MAX_LEAD_CHARS: Final = 80
"""Characters before a path that are read for its direction."""


def bind_paths(statement: PlainStatement) -> None:
    """Bind the paths of a request to the parameters that take one."""
    taken = {value.span for value in statement.found.values()}
    paths = [
        path
        for path in statement.list_values(ValueKind.PATH)
        if not GLOB.fullmatch(path.text) and path.span not in taken
    ]
    ends = _find_ends(statement, paths)
    if len(paths) == len(ends) and all(len(parameters) == 1 for parameters in ends):
        if _TO_PLACE.fullmatch(statement.text, paths[0].end, paths[1].start):
            for parameters, path in zip(ends, paths, strict=True):
                statement.bind(parameters, path.text, path.span, ValueKind.PATH)
        return
    if len(paths) == 1 and all(len(parameters) == 1 for parameters in ends):
        end = _find_end(statement, paths[0], source=ends[0][0], target=ends[1][0])
        if end is not None:
            statement.bind([end], paths[0].text, paths[0].span, ValueKind.PATH)
            return
    paths = _bind_by_extension(statement, _bind_workspace(statement, paths))
    targets = statement.find_open(
        lambda p: _takes_path(p) and not is_workspace_parameter(statement.step, p), required=True
    )
    targets = targets or statement.find_open(_takes_source, required=True)
    if len(targets) == 1 and targets[0].is_array and paths:
        span = (paths[0].start, paths[-1].end)
        statement.bind(targets, [path.text for path in paths], span, ValueKind.PATH)
    elif len(paths) == 1:
        start = paths[0].start
        targets = [
            p
            for p in targets
            if may_be_output(statement.step, p, text=statement.text, start=start)
        ]
        statement.bind(targets, paths[0].text, (start, paths[0].end), ValueKind.PATH)


def _find_ends(
    statement: PlainStatement, paths: Sequence[StatedValue]
) -> list[list[ToolParameter]]:
    """Return the parameters for source and target.

    Between two paths the target may be optional if both ends can hold a path: "unpack a.zip to b".
    """
    sources, targets = (
        statement.find_open(mentions(words), required=True)
        for words in (SOURCE_WORDS, TARGET_WORDS)
    )
    if not targets and len(paths) > 1 and sources and all(map(_can_hold_path, sources)):
        targets = statement.find_open(lambda p: mentions(TARGET_WORDS)(p) and _can_hold_path(p))
    return [sources, targets]


def _find_end(
    statement: PlainStatement, path: StatedValue, *, source: ToolParameter, target: ToolParameter
) -> ToolParameter | None:
    """Return the end of a move that the only path is, if its place says which."""
    others = [p for p in statement.find_open(_takes_path) if p not in (source, target)]
    is_move = not _NO_MOVE_WORDS & normalize_words(split_raw_name(statement.step.tool.name))
    if others or not (is_move and _can_hold_path(source) and _can_hold_path(target)):
        return None
    end = path.start - statement.start
    start = max(0, end - MAX_LEAD_CHARS)
    if _BEFORE_TARGET.search(statement.part, start, end):
        return target
    is_object = start == 0 and _VERB_BEFORE.match(statement.part, 0, end)
    return source if is_object or _BEFORE_SOURCE.search(statement.part, start, end) else None


def _can_hold_path(parameter: ToolParameter) -> bool:
    return (
        not parameter.members
        and not parameter.format
        and parameter.name_words <= _END_NAMES
        and not parameter.name_and_description_words & _NO_PATH_WORDS
    )


def _takes_path(parameter: ToolParameter) -> bool:
    takes_text = parameter.is_text or takes_texts(parameter)
    return takes_text and not parameter.members and bool(parameter.name_words & PATH_WORDS)


def _takes_source(parameter: ToolParameter) -> bool:
    """Whether a parameter takes what a tool works on, by its name or as a path described."""
    is_source = parameter.name.lower() in _SOURCE_NAMES or (
        parameter.name.lower() == "key" and "path" in parameter.description.lower()
    )
    return parameter.is_text and not parameter.members and is_source


def _bind_workspace(statement: PlainStatement, paths: list[StatedValue]) -> list[StatedValue]:
    """Bind the place where the tool works, "in /srv/shop"; return the other paths."""
    workspace = statement.find_open(
        lambda p: _takes_path(p) and is_workspace_parameter(statement.step, p)
    )
    placed = [path for path in paths if _IN_PLACE.search(statement.text, 0, path.start)]
    places = placed[-1:] or (paths if len(paths) == 1 else [])
    places = [place for place in places if not FILE_NAME.fullmatch(place.text)]
    if len(workspace) != 1 or not places:
        return paths
    place = places[0]
    statement.bind(workspace, place.text, place.span, ValueKind.PATH)
    return [path for path in paths if path is not place]


def _bind_by_extension(statement: PlainStatement, paths: list[StatedValue]) -> list[StatedValue]:
    """Bind "in.csv" to `csv_path`; return the other paths."""
    left = []
    for path in paths:
        extension = path.text.rpartition(".")[2].lower()
        named = [p for p in statement.find_open(_takes_path) if extension in p.name_words]
        if len(paths) > 1 and len(named) == 1:
            statement.bind(named, path.text, path.span, ValueKind.PATH)
        else:
            left.append(path)
    return left
