"""Finds the parameter through which a tool receives code or commands to execute.

Tool names say little: `start_process`, `browser_evaluate` and `call_aws` execute any input, and no
list of verbs covers them all. Their parameters say more. The texts are the server's own, so this
protects against surprises by honest servers; it does not detect a lying one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from tools.name_words import split_name_words


class ExecutableKind(StrEnum):
    """Kind of an executable input; the value completes "it takes …"."""

    COMMAND = "a command to run"
    CODE = "code to run"
    SQL = "a database statement that may write"
    PROCESS_INPUT = "input for a running process"
    IMAGE = "a container image to run"


@dataclass(frozen=True, kw_only=True)
class ExecutableInput:
    """A parameter whose value is executed.

    Attributes:
        parameter: Its name.
        kind: Kind of its value.
    """

    parameter: str
    kind: ExecutableKind


@dataclass(frozen=True, kw_only=True)
class _ToolTexts:
    """The parts of a tool's texts that tell its purpose."""

    words: tuple[str, ...]
    purpose: str
    description: str

    def has_word(self, vocabulary: frozenset[str]) -> bool:
        return not vocabulary.isdisjoint(self.words)

    @property
    def is_examining(self) -> bool:
        """Whether its verb says that it only examines its input."""
        runs = self.has_word(_RUN_VERBS) or _PURPOSE_BY_RUNNING.search(self.purpose)
        return self.has_word(_EXAMINE_VERBS) and not runs

    @property
    def is_console_writer(self) -> bool:
        """Whether it sends its input to a terminal or a process."""
        consoles = self.has_word(_CONSOLE_NOUNS) or _CONSOLE.search(self.purpose)
        return self.has_word(_SEND_VERBS) and bool(consoles)

    @property
    def is_interpreter(self) -> bool:
        """Whether its name consists only of names of interpreters."""
        return bool(self.words) and _INTERPRETERS.issuperset(self.words)


@dataclass(frozen=True, kw_only=True)
class _TextParameter:
    """A parameter that takes free text, or a list of texts."""

    name: str
    words: tuple[str, ...]
    text: str
    required: bool


_MAX_DEPTH: Final = 4
_MAX_PARAMETERS: Final = 500
_MAX_PARTS: Final = 32
_MAX_TEXT: Final = 2000
"""Characters of a description that are read; the purpose is at its start."""
_MAX_PURPOSE: Final = 300


def _split_vocabulary(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RUN_VERBS: Final = _split_vocabulary("run runs execute executes exec eval evaluate spawn launch")
_EXAMINE_VERBS: Final = _split_vocabulary(
    "analyse analyze check compare convert count describe diff document explain fetch find "
    "format generate get highlight inspect lint list lookup parse preview review search show "
    "suggest summarize translate validate view"
)
_COMMAND_NOUNS: Final = _split_vocabulary("command commands cmd cmds cmdline commandline argv")
_CODE_NOUNS: Final = _split_vocabulary("code script scripts snippet javascript")
_CODE_QUALIFIERS: Final = _split_vocabulary(
    "applescript bash js javascript jxa lua node php powershell py python r ruby shell snippet "
    "source sql typescript"
)
_TEXT_NOUNS: Final = _split_vocabulary("content source text body string snippet block")
_EXPRESSION_NOUNS: Final = _split_vocabulary(
    "expression expressions function program source content"
)
_STATEMENT_NOUNS: Final = _split_vocabulary(
    "sql ddl query queries statement statements cypher migration"
)
_KEYSTROKE_NOUNS: Final = _split_vocabulary("input text keys keystrokes data content line chars")
_SEND_VERBS: Final = _split_vocabulary("send write type interact input feed")
_CONSOLE_NOUNS: Final = _split_vocabulary("process terminal shell repl tty pty tmux")
_STARTING: Final = _split_vocabulary("run create start launch spawn")
_COMBINING: Final = _split_vocabulary("$ref anyOf oneOf allOf")
_NESTING: Final = _COMBINING | {"properties", "items"}
_CONTAINERS: Final = _split_vocabulary("container containers pod pods docker deployment")
_COMMAND_TEXTS: Final = _split_vocabulary("line string text")
_INTERPRETED: Final = _split_vocabulary("input cell statements statement source text line lines")
# Last words of parameter names to examine; all others count as harmless, whatever their texts say.
_LAST_WORDS: Final = frozenset({"image"}).union(
    _COMMAND_NOUNS,
    _COMMAND_TEXTS,
    _CODE_NOUNS,
    _TEXT_NOUNS,
    _EXPRESSION_NOUNS,
    _INTERPRETED,
    _STATEMENT_NOUNS,
    _KEYSTROKE_NOUNS,
)

_INTERPRETERS: Final = _split_vocabulary("python ipython repl node ruby bash shell powershell")
_CONSOLE = re.compile(r"\b(tmux|terminal|shell|tty|pty|repl|console pane)\b", re.IGNORECASE)
_PURPOSE_BY_RUNNING = re.compile(
    r"\b(by|and|then) (running|executing|evaluating|runs?|executes?|evaluates?) (it|the|them)\b",
    re.IGNORECASE,
)
_RUNS = re.compile(r"\b(run|runs|running|execut(e|es|ed|ing|ion)|invoked?)\b", re.IGNORECASE)
_RUNS_OR_EVALUATES = re.compile(
    _RUNS.pattern + r"|\b(eval|evaluat(e|es|ed|ing)|interpreted)\b", re.IGNORECASE
)
_SHELL = re.compile(
    r"\b(shell|bash|powershell|terminal|ssh|cli|command[- ]line|kubectl)\b", re.IGNORECASE
)
_LANGUAGE = re.compile(
    r"\b(javascript|typescript|js|python|ruby|lua|perl|php|apple ?script|jxa|elisp|code|scripts?|"
    r"playwright|node\.?js)\b|=>",
    re.IGNORECASE,
)
_SQL = re.compile(r"\b((?-i:SQL)|\w*sql|cypher|ddl|dml)\b", re.IGNORECASE)
_SELECTS = re.compile(r"\bselect\b", re.IGNORECASE)
_WRITES_SQL = re.compile(
    r"\b(insert|update|delete|create|drop|alter|merge|ddl|dml|any|write)\b", re.IGNORECASE
)
_READS_ONLY = re.compile(
    r"\bread[- ]?only\b|\bselect[- ]only\b|\bonly (execute |run |allow )?selects?\b"
    r"|\bselect (statements|queries) only\b",
    re.IGNORECASE,
)
_NATURAL_LANGUAGE = re.compile(r"natural language|plain english|\bquestion\b", re.IGNORECASE)
_STATES = re.compile(r"\b(statements?|appl(y|ied|ies)|perform)\b", re.IGNORECASE)


def find_executable_input(
    name: str, description: str, input_schema: Mapping[str, Any]
) -> ExecutableInput | None:
    """Return the parameter whose value a tool executes, or None.

    A parameter counts by its name and its description: `query` if described as SQL that is
    executed, `code` if it is code to run. One with a fixed set of values, or an optional one of a
    tool for another purpose, does not count.

    Args:
        name: Of the tool.
        description: Of the tool.
        input_schema: JSON Schema of its arguments; references into itself are followed.

    Example:
        >>> sql = {"properties": {"query": {"type": "string", "description": "SQL to execute"}}}
        >>> find_executable_input("write_query", "", sql).kind.name
        'SQL'
        >>> find_executable_input("search_docs", "", {"properties": {"query": {}}}) is None
        True
    """
    text = description.strip()[:_MAX_TEXT]
    tool: _ToolTexts | None = None  # built lazily: few tools have such a parameter
    for parameter in _iterate_parameters(input_schema, text):
        tool = tool or _ToolTexts(
            words=split_name_words(name), purpose=_first_sentence(text), description=text
        )
        kind = _classify_parameter(tool, parameter)
        if kind is not None:
            return ExecutableInput(parameter=parameter.name, kind=kind)
    return None


def _first_sentence(description: str) -> str:
    """Return the first sentence of a description."""
    return re.split(r"(?<=[.!?])\s|\n", description[:_MAX_PURPOSE], maxsplit=1)[0]


def _classify_parameter(tool: _ToolTexts, parameter: _TextParameter) -> ExecutableKind | None:
    last = parameter.words[-1]
    if last in _COMMAND_NOUNS or (
        last in _COMMAND_TEXTS and not _COMMAND_NOUNS.isdisjoint(parameter.words[-2:])
    ):
        return ExecutableKind.COMMAND if _is_command(tool, parameter) else None
    if last == "image" and tool.has_word(_STARTING) and tool.has_word(_CONTAINERS):
        return ExecutableKind.IMAGE
    if last in _KEYSTROKE_NOUNS and tool.is_console_writer:
        return ExecutableKind.PROCESS_INPUT
    if tool.is_interpreter and last in _INTERPRETED and parameter.required:
        return ExecutableKind.CODE
    if last in _STATEMENT_NOUNS and _is_sql(tool, parameter):
        return ExecutableKind.SQL
    return ExecutableKind.CODE if _is_code(tool, parameter) else None


def _is_command(tool: _ToolTexts, parameter: _TextParameter) -> bool:
    if _RUNS.search(parameter.text) and not tool.is_examining:
        return True
    runs = tool.has_word(_RUN_VERBS | _CONSOLE_NOUNS) or _RUNS.search(tool.purpose)
    if tool.is_examining:
        return False
    return bool(runs or (parameter.required and _SHELL.search(f"{parameter.text} {tool.purpose}")))


def _is_code(tool: _ToolTexts, parameter: _TextParameter) -> bool:
    *qualifiers, last = parameter.words
    named = last in _CODE_NOUNS and (
        last != "code" or not qualifiers or not _CODE_QUALIFIERS.isdisjoint(qualifiers)
    )
    named = named or (last in _TEXT_NOUNS and not _CODE_NOUNS.isdisjoint(qualifiers))
    if not named and last not in _EXPRESSION_NOUNS:
        return False
    purpose = f"{' '.join(tool.words)} {tool.purpose}"
    if not named and not _LANGUAGE.search(f"{purpose} {parameter.text}"):
        return False
    says_run = _RUNS if tool.is_examining else _RUNS_OR_EVALUATES
    if says_run.search(purpose) and not tool.is_examining:
        return True
    return parameter.required and bool(says_run.search(parameter.text))


def _is_sql(tool: _ToolTexts, parameter: _TextParameter) -> bool:
    text = f"{' '.join(tool.words)} {tool.purpose} {parameter.text}"
    if not (_SQL.search(text) or "sql" in parameter.words) or _NATURAL_LANGUAGE.search(
        parameter.text
    ):
        return False
    if tool.is_examining or _is_read_only(tool, parameter):
        return False
    runs = _RUNS.search(text) or _STATES.search(text) or _WRITES_SQL.search(text)
    return bool(runs or "query" in tool.words)


def _is_read_only(tool: _ToolTexts, parameter: _TextParameter) -> bool:
    """Whether the texts say that a statement can only read."""
    reads_by_name = "read" in tool.words and "write" not in tool.words
    if reads_by_name or _READS_ONLY.search(f"{tool.description} {parameter.text}"):
        return True
    text = f"{tool.purpose} {parameter.text}"
    return bool(_SELECTS.search(text)) and not _WRITES_SQL.search(text)


def _iterate_parameters(schema: Mapping[str, Any], description: str) -> Iterator[_TextParameter]:
    """Yield the free-text parameters of a schema to examine, outer ones first."""
    found = 0
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    for node, depth in waiting:
        for part in _list_schema_parts(node, schema):
            required = part.get("required")
            properties = part.get("properties")
            items = list(properties.items()) if isinstance(properties, Mapping) else []
            for name, below in items:
                found += 1
                if found > _MAX_PARAMETERS:
                    return
                words = split_name_words(name)
                if words and words[-1] in _LAST_WORDS and _is_free_text(below, schema):
                    yield _TextParameter(
                        name=name,
                        words=words,
                        text=_collect_parameter_text(name, below, description),
                        required=isinstance(required, list) and name in required,
                    )
                if depth < _MAX_DEPTH and _can_nest(below):
                    waiting.append((below, depth + 1))
            if depth < _MAX_DEPTH and "items" in part:
                waiting.append((part["items"], depth + 1))


def _can_nest(node: Any) -> bool:
    return isinstance(node, Mapping) and not _NESTING.isdisjoint(node)


def _list_schema_parts(node: Any, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the first parts of a schema; bounded, since references can multiply endlessly."""
    if isinstance(node, Mapping) and _COMBINING.isdisjoint(node):
        return [node]
    return list(islice(_iterate_resolved(node, schema), _MAX_PARTS))


def _iterate_resolved(
    node: Any, schema: Mapping[str, Any], depth: int = 0
) -> Iterator[Mapping[str, Any]]:
    """Yield a schema, the schemas it refers to, and its alternatives."""
    if not isinstance(node, Mapping) or depth > _MAX_DEPTH:
        return
    yield node
    reference = node.get("$ref")
    if isinstance(reference, str):
        yield from _iterate_resolved(_resolve_reference(reference, schema), schema, depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        alternatives = node.get(keyword)
        for alternative in alternatives if isinstance(alternatives, list) else ():
            yield from _iterate_resolved(alternative, schema, depth + 1)


def _resolve_reference(reference: str, schema: Mapping[str, Any]) -> Any:
    container, _, name = reference.removeprefix("#/").partition("/")
    schemas = schema.get(container)
    if not reference.startswith("#/") or not isinstance(schemas, Mapping):
        return None
    return schemas.get(name)


def _is_free_text(node: Any, schema: Mapping[str, Any]) -> bool:
    parts = _list_schema_parts(node, schema)
    if any("enum" in part or "const" in part for part in parts):
        return False
    if any(_has_type(part, "string") for part in parts):
        return True
    listed = [part["items"] for part in parts if "items" in part]
    if listed:
        return any(
            _has_type(p, "string") for item in listed for p in _list_schema_parts(item, schema)
        )
    return node is True or not any({"type", "properties", "$ref"} & part.keys() for part in parts)


def _has_type(part: Mapping[str, Any], name: str) -> bool:
    declared = part.get("type")
    return declared == name or (isinstance(declared, list) and name in declared)


def _collect_parameter_text(name: str, node: Any, description: str) -> str:
    """Return a parameter's description: from its schema, or from a list in the tool's."""
    own = node.get("description") if isinstance(node, Mapping) else None
    if isinstance(own, str) and own.strip():
        return own[:_MAX_TEXT]
    line = (
        rf"^[ \t*@-]*(?:param[ \t]+)?`?{re.escape(name)}`?[ \t]*+(?:\([^)\n]*\)[ \t]*+)?[:-](.*)$"
    )
    found = re.search(line, description, re.MULTILINE)
    return found.group(1) if found else ""
