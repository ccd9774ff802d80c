"""What prediction reads of the catalogue: the parameters and words of each tool, indexed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from gateway_project.foundation.schema_normalise import normalise
from graph.suggestion.next_call.shapes import describe_value
from tools.lexemes import split_lexemes
from tools.name_words import split_camel_case, split_name_words

MAX_PARAMETERS = 24
"""Parameters of one tool that are read."""
MAX_SCHEMA_VALUES = 16
"""Values of one parameter that its schema lists."""
MAX_ABBREVIATION = 2
"""Letters of a value that a description has to explain."""
GENERIC_STEMS: Final = frozenset({"id", "name", "number", "key", "value", "code", "type"})

_QUOTED: Final = re.compile(r"'([^'\s]{1,40})'|\"([^\"\s]{1,40})\"|`([^`\s]{1,40})`")
_LISTED: Final = re.compile(
    r"(?:\[enum\]|options(?: are)?|one of|possible values(?: are)?|allowed(?: values)?)\s*:?\s*"
    r"([^.]{3,240})",
    re.IGNORECASE,
)
_GLOSS: Final = r"(?<!\w)['\"`]?{}['\"`]?\s*(?:\(|:|=|-|\bfor\b|\bmeans\b)\s*([\w ]{{2,40}})"
"""What a description says of a value: `'l' for lines`, `l: lines`, `l (lines)`."""
_NO_VALUES: Final = (None, "None", "null")
"""Defaults that say that there is none."""
_ANY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEntry:
    """A tool as `build_profiles` takes it.

    Attributes:
        tool: Its primary key.
        server: Name of its server.
        name: Its name on that server.
        input_schema: As declared, loose or not.
        is_read_only: Whether its calls are known to change nothing and may be predicted.
    """

    tool: int
    server: str
    name: str
    input_schema: Mapping[str, Any]
    is_read_only: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool.

    Attributes:
        name: As in the schema.
        stems: Stems of the words of its name.
        types: JSON types that it accepts; empty: any.
        item_types: JSON types of its items, if it is a list; empty: any.
        is_required: Whether a call must have it.
        schema_values: Values that the schema names: enumeration, default, booleans, listed words.
        default: Position of the default in `schema_values`; None: there is none.
        is_enumerated: Whether no other values than `schema_values` are accepted.
        shapes: Shapes of the examples in its description.
        value_stems: Stems of the words of each of `schema_values`.
    """

    name: str
    stems: frozenset[str]
    types: frozenset[str]
    item_types: frozenset[str]
    is_required: bool
    schema_values: tuple[Any, ...]
    default: int | None
    is_enumerated: bool
    shapes: frozenset[str]
    value_stems: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolProfile:
    """What prediction knows of a tool before any call of it.

    Attributes:
        tool: Its primary key.
        server: Name of its server.
        is_read_only: Whether its calls may be predicted.
        stems: Stems of the words of its name.
        parameters: By name.
        required: Names of the required parameters.
    """

    tool: int
    server: str
    is_read_only: bool
    stems: frozenset[str]
    parameters: Mapping[str, Parameter]
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolProfiles:
    """All tools of a catalogue, with the indexes that keep prediction fast.

    Attributes:
        tools: By primary key.
        takers: Tools with a required parameter whose name has this stem; only tools that may be
            predicted, and only stems that are not too common.
        without_parameters: By server: tools that need no argument.
        parameter_stems: Stems of all parameter names.
        reads_of_server: How many tools of each server may be predicted.
        value_stems: Stems of all values that schemas list.
    """

    tools: Mapping[int, ToolProfile]
    takers: Mapping[str, tuple[int, ...]]
    without_parameters: Mapping[str, tuple[int, ...]]
    parameter_stems: frozenset[str]
    reads_of_server: Mapping[str, int]
    value_stems: frozenset[str] = frozenset()

    def find_schema_words(self, text: str) -> frozenset[str]:
        """Return the stems of values listed in schemas that a statement names."""
        return self.value_stems.intersection(stem_words(text[:4_000]))


@lru_cache(maxsize=16_384)
def stem_name(name: str) -> frozenset[str]:
    """Return the stems of the words of a name, without digits at their ends.

    Example:
        >>> sorted(stem_name("reservationIds"))
        ['id', 'reserv']
    """
    words = (word.rstrip("0123456789") for word in split_name_words(name))
    return frozenset(stem for word in words if word for stem in split_lexemes(word))


def stem_words(text: str) -> Iterator[str]:
    """Yield the stems of the words of a text."""
    return split_lexemes(split_camel_case(text.replace("_", " ")))


def build_profiles(tools: Iterable[ToolEntry]) -> ToolProfiles:
    """Read a catalogue; deterministic, linear in its size."""
    profiles = {entry.tool: _read_tool(entry) for entry in tools}
    takers: dict[str, list[int]] = defaultdict(list)
    free: dict[str, list[int]] = defaultdict(list)
    for profile in profiles.values():
        if not profile.is_read_only:
            continue
        for stem in sorted(
            {s for name in profile.required for s in profile.parameters[name].stems}
        ):
            takers[stem].append(profile.tool)
        if not profile.required:
            free[profile.server].append(profile.tool)
    return ToolProfiles(
        tools=profiles,
        takers={stem: tuple(found) for stem, found in takers.items()},
        without_parameters={server: tuple(found) for server, found in free.items()},
        parameter_stems=frozenset(
            stem
            for profile in profiles.values()
            for parameter in profile.parameters.values()
            for stem in parameter.stems
        ),
        reads_of_server=Counter(
            profile.server for profile in profiles.values() if profile.is_read_only
        ),
        value_stems=frozenset(
            stem
            for profile in profiles.values()
            if profile.is_read_only
            for parameter in profile.parameters.values()
            for stems in parameter.value_stems
            for stem in stems
        ),
    )


def _read_tool(entry: ToolEntry) -> ToolProfile:
    schema = normalise(entry.input_schema)
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    required = set(schema.get("required", ())) if isinstance(schema, dict) else set()
    parameters = {
        name: _read_parameter(name, part if isinstance(part, dict) else {}, name in required)
        for name, part in list(properties.items())[:MAX_PARAMETERS]
    }
    return ToolProfile(
        tool=entry.tool,
        server=entry.server,
        is_read_only=entry.is_read_only and required <= parameters.keys(),
        stems=stem_name(entry.name),
        parameters=parameters,
        required=tuple(sorted(required & parameters.keys())),
    )


def _read_parameter(name: str, part: Mapping[str, Any], is_required: bool) -> Parameter:
    types = _read_types(part)
    description = str(part.get("description", ""))
    enumeration = part.get("enum")
    values = list(_list_schema_values(part, types, description))
    default = part.get("default")
    listed = tuple(values[:MAX_SCHEMA_VALUES])
    return Parameter(
        name=name,
        stems=stem_name(name),
        types=types,
        item_types=_read_types(part["items"]) if isinstance(part.get("items"), dict) else _ANY,
        is_required=is_required,
        schema_values=listed,
        default=values.index(default) if default is not None and default in values else None,
        is_enumerated=isinstance(enumeration, list) or types == {"boolean"},
        shapes=frozenset(describe_value(text) for text in _find_quoted(description))
        | frozenset(
            describe_value(text) for text in part.get("examples", ()) if isinstance(text, str)
        ),
        value_stems=tuple(
            _stem_schema_value(value, description) if isinstance(value, str) else _ANY
            for value in listed
        ),
    )


def _stem_schema_value(value: str, description: str) -> frozenset[str]:
    """Return the stems of a value; those of its explanation where it is but a letter or two."""
    if len(value) <= MAX_ABBREVIATION:
        found = re.search(_GLOSS.format(re.escape(value)), description)
        if found:
            return frozenset(stem_words(found.group(1)))
    return frozenset(stem_words(value))


def _read_types(part: Mapping[str, Any]) -> frozenset[str]:
    declared = part.get("type", ())
    return frozenset([declared] if isinstance(declared, str) else declared)


def _list_schema_values(
    part: Mapping[str, Any], types: frozenset[str], description: str
) -> Iterator[Any]:
    seen: list[Any] = []
    candidates = [part.get("default"), part.get("const")]
    candidates += part["enum"] if isinstance(part.get("enum"), list) else []
    candidates += [False, True] if "boolean" in types else []
    if not types or "string" in types:
        candidates += _list_words(description)
    for value in candidates:
        is_new = value not in _NO_VALUES and not any(
            value == other and type(value) is type(other) for other in seen
        )
        if is_new and not isinstance(value, dict | list):
            seen.append(value)
            yield value


def _list_words(description: str) -> list[str]:
    listed = _LISTED.search(description)
    if listed is None:
        return _find_quoted(description) if description.count("'") >= 4 else []
    words = re.split(r"[,\[\]\"']+|\bor\b", listed.group(1))
    return [word.strip() for word in words if 0 < len(word.strip()) <= 24]


def _find_quoted(description: str) -> list[str]:
    return [next(filter(None, groups)) for groups in _QUOTED.findall(description)][:12]
