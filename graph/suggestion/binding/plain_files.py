"""Bind the files that a tool reads and writes: "join a.mp4 and b.mp4 into c.mp4"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.plain_statement import PlainStatement, takes_texts
from graph.suggestion.binding.value_patterns import FILE_NAME, ValueKind
from graph.suggestion.binding.vocabulary import (
    FILE_WORDS,
    FOLDER_WORDS,
    PATH_WORDS,
    normalize_words,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.values import StatedValue

_OUTPUT_WORDS: Final = normalize_words(["output", "out"])
_WRITTEN: Final = re.compile(
    r"(?:\b(?:(?:in)?to|as|called|named|result|output|wri?te|save(?:\s+it)?"
    r"|(?:name|call)(?:\s+(?:it|this|that|the\s+\w+))?|nach|als|como)"
    r"(?:\s+(?:the\s+)?(?:file|folder|directory|Datei))?)[\s:]+[\"'`]?$",
    re.IGNORECASE,
)
"""Directly before a path that is written."""
_MADE: Final = re.compile(
    r"^\W*(?:make|build|create|produce|generate|render)\s+[\"'`]?$", re.IGNORECASE
)
_MADE_FROM: Final = re.compile(r"[\"'`]?\s+(?:out\s+of|from)\b", re.IGNORECASE)
"""Around a path: "make a.pdf out of b.md"."""
_IN_FOLDER: Final = re.compile(r"\b(?:in(?:to)?|under|inside)\s+[\"'`]?$", re.IGNORECASE)
MAX_LEAD_CHARS: Final = 40
"""Characters before a path that are read for whether it is written."""
_ENDING: Final = re.compile(r"[\s_-]*(?:\d|[ab])$", re.IGNORECASE)
"""What tells like parameters apart: `pdf_path1`, `path_b`."""
_FILE_KINDS: Final = {
    "video": "mp4 mkv avi mov webm",
    "audio": "mp3 wav flac ogg m4a aac",
    "image": "png jpg jpeg gif svg webp bmp tiff",
    "picture": "png jpg jpeg gif svg webp bmp tiff",
    "subtitle": "srt vtt ass",
    "document": "doc docx odt pdf",
}
"""By word of a parameter's name, extensions of the files it takes."""


def bind_files(statement: PlainStatement) -> None:
    """Bind the file that is written, and two files that are read, if nothing is left to choose."""
    paths = statement.list_values(ValueKind.PATH)
    outputs = statement.find_open(_takes_output)
    outputs = [p for p in outputs if p.is_required] or outputs
    if len(outputs) == 1:
        read = statement.find_open(_takes_input, required=True)
        is_any_left = len(paths) > max(1, len(read))
        written = [
            path for path in paths if is_any_left and _is_written(statement, path, outputs[0])
        ]
        if len(written) == 1:
            path = written[0]
            statement.bind(outputs, path.text, path.span, ValueKind.PATH)
            paths = [other for other in paths if other is not path]
    inputs = statement.find_open(_takes_input, required=True)
    if len(paths) == len(inputs) == 2 and not any(parameter.is_array for parameter in inputs):
        _bind_pair(statement, inputs, paths)


def _takes_output(parameter: ToolParameter) -> bool:
    words = parameter.name_words
    return (
        parameter.is_text
        and not parameter.members
        and bool(words & _OUTPUT_WORDS)
        and bool(words & (PATH_WORDS | normalize_words(["name"])))
    )


def _takes_input(parameter: ToolParameter) -> bool:
    takes_text = parameter.is_text or takes_texts(parameter)
    is_path = bool(parameter.name_words & FILE_WORDS) and not parameter.name_words & _OUTPUT_WORDS
    return takes_text and not parameter.members and is_path


def _is_written(statement: PlainStatement, path: StatedValue, output: ToolParameter) -> bool:
    """Whether a request says that it writes a path."""
    start = max(statement.start, path.start - MAX_LEAD_CHARS)
    if output.name_words & FOLDER_WORDS:
        is_folder = FILE_NAME.fullmatch(path.text) is None
        return is_folder and _IN_FOLDER.search(statement.text, start, path.start) is not None
    if FILE_NAME.fullmatch(path.text) is None:
        return False
    if _MADE.search(statement.text[statement.start : path.start]):
        return _MADE_FROM.match(statement.text, path.end) is not None
    return _WRITTEN.search(statement.text, start, path.start) is not None


def _bind_pair(
    statement: PlainStatement, inputs: Sequence[ToolParameter], paths: Sequence[StatedValue]
) -> None:
    """Bind two files to two like parameters in order, or to those that name their kinds."""
    stems = {_ENDING.sub("", _first_word(p)) for p in inputs}
    families = {frozenset(p.name_words) for p in inputs}
    kinds = [[p for p in inputs if _is_of_kind(p, path)] for path in paths]
    if all(len(found) == 1 for found in kinds) and kinds[0] != kinds[1]:
        pairs = [(found[0], path) for found, path in zip(kinds, paths, strict=True)]
    elif sorted(map(len, kinds)) == [0, 1]:
        named = next(found[0] for found in kinds if found)
        other = next(parameter for parameter in inputs if parameter is not named)
        if any(other.name_words & normalize_words([kind]) for kind in _FILE_KINDS):
            return
        pairs = [
            (named if found else other, path) for found, path in zip(kinds, paths, strict=True)
        ]
    elif len(stems) == 1 or len(families) == 1:
        pairs = list(zip(inputs, paths, strict=True))
    else:
        return
    for parameter, path in pairs:
        statement.bind([parameter], path.text, path.span, ValueKind.PATH)


def _first_word(parameter: ToolParameter) -> str:
    words = [_ENDING.sub("", word) for word in split_raw_name(parameter.name)]
    return " ".join(word for word in words if word)


def _is_of_kind(parameter: ToolParameter, path: StatedValue) -> bool:
    extension = path.text.rpartition(".")[2].lower()
    return any(
        extension in extensions.split() and normalize_words([kind]) & parameter.name_words
        for kind, extensions in _FILE_KINDS.items()
    ) or bool(normalize_words([extension]) & parameter.name_words)
