"""Configuration documents: what they may hold, read and checked, written in a stable order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from gateway_project.configuration import sections
from gateway_project.configuration.sections import (
    REQUIRED,
    SECTIONS,
    Field,
    Section,
    Unfit,
    escape_step,
)
from gateway_project.foundation.text import shorten
from graph.relations import RelationKind

FORMAT: Final = "foregate-configuration"
VERSION: Final = 1
MAX_BYTES: Final = 8 * 1024 * 1024
MAX_ENTRIES: Final = 100_000
"""Entries of one section."""
MAX_PROBLEMS: Final = 20
"""Problems that are listed; further ones are counted."""
MAX_POINTER: Final = 300

Key = tuple[str, ...]
"""What an entry is found by: the name, or the fields named in `Section.key`."""
Entry = Mapping[str, Any]
"""All fields of an entry, those with default values included."""
Document = Mapping[str, Mapping[Key, Entry]]
"""Entries by section and key; a section that is missing is left alone."""


class Problem(NamedTuple):
    """Something wrong with a document.

    Attributes:
        path: JSON Pointer; empty: the document as a whole.
        message: What would be right; never repeats a value.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or '/'}: {self.message}"


class InvalidConfiguration(ValueError):
    """A document that cannot be applied; nothing was stored.

    Attributes:
        problems: The first `MAX_PROBLEMS`.
        count: Number of all problems.
    """

    code = "invalid_configuration"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems[:MAX_PROBLEMS])
        self.count = len(problems)
        more = f" (and {self.count - 1:,} more)" if self.count > 1 else ""
        super().__init__(f"{self.problems[0]}{more}")


_HEAD: Final = ("format", "version")
_NEEDS_ESCAPE: Final = re.compile(
    "[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


def read_document(content: bytes) -> Document:
    """Read a document from a file.

    Args:
        content: JSON in UTF-8.

    Raises:
        InvalidConfiguration: If it is too large, is not JSON, or is not a valid document.
    """
    if len(content) > MAX_BYTES:
        raise _refuse(f"has more than {MAX_BYTES // 1024**2} MiB")
    try:
        value = json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=_build_unique_object,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError:
        raise _refuse("is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise _refuse(f"is not JSON: {error.msg} (line {error.lineno})") from None
    except Unfit as error:
        raise _refuse(str(error)) from None
    except RecursionError:
        raise _refuse("is nested too deeply") from None
    except ValueError:  # from int(), of more digits than Python converts
        raise _refuse("has a number with too many digits") from None
    return parse_document(value)


def parse_document(value: Any) -> Document:
    """Check a parsed document and fill in defaults.

    Raises:
        InvalidConfiguration: If it is not a valid document.
    """
    if not isinstance(value, dict):
        raise _refuse("must be a JSON object")
    problems: list[Problem] = []
    if value.get("format", FORMAT) != FORMAT:
        problems.append(Problem("/format", f"must be {FORMAT!r}"))
    if value.get("version") != VERSION or isinstance(value.get("version"), bool):
        problems.append(Problem("/version", f"must be {VERSION}"))
    for name in sections.closed(value, (*_HEAD, *SECTIONS)):
        known = ", ".join(SECTIONS)
        problems.append(Problem(_shorten(escape_step(name)), f"unknown; there are {known}"))
    document = {
        name: _read_section(section, value[name], f"/{name}", problems)
        for name, section in SECTIONS.items()
        if name in value
    }
    if problems:
        raise InvalidConfiguration(problems)
    return document


def write_document(document: Document) -> str:
    """Return a document as text: JSON in a stable order, without default values."""
    text = json.dumps(to_json(document), indent=2, ensure_ascii=False)
    return _NEEDS_ESCAPE.sub(_escape_character, text) + "\n"


def to_json(document: Document) -> dict[str, Any]:
    """Return a document as JSON, without default values.

    Example:
        >>> team = {"approve_from": "dangerous", "requires_second_person": False}
        >>> to_json({"teams": {("ops",): team}})
        {'format': 'foregate-configuration', 'version': 1, 'teams': {'ops': {}}}
    """
    written: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    for name, section in SECTIONS.items():
        if name not in document:
            continue
        entries = sorted(document[name].items())
        if section.key:
            written[name] = [
                _omit_defaults(section.key, dict(zip(section.key, key, strict=True)))
                | _omit_defaults(section.fields, entry)
                for key, entry in entries
            ]
        else:
            written[name] = {
                key[0]: _omit_defaults(section.fields, entry) for key, entry in entries
            }
    return written


def find_pointer(document: Document, section: str, key: Key) -> str:
    """Return the JSON Pointer of an entry in the document it was read from; O(entries)."""
    if key not in document.get(section, {}):
        return f"/{section}"
    if not SECTIONS[section].key:
        return _shorten(f"/{section}{escape_step(key[0])}")
    return f"/{section}/{list(document[section]).index(key)}"


def find_dangling(whole: Document, wanted: Document) -> list[Problem]:
    """Return references to teams, categories and servers that do not exist.

    Args:
        whole: All that would be stored.
        wanted: The document that the problems point into.
    """
    names = {section: {key[0] for key in entries} for section, entries in whole.items()}
    return [
        Problem(
            find_pointer(wanted, section, key) + (f"/{name}" if name else ""),
            f"names an entry that is not in {target}",
        )
        for section, entries in whole.items()
        for key, entry in entries.items()
        for name, value, target in _list_references(SECTIONS[section], key, entry)
        if value and value not in names[target]
    ]


def _list_references(
    section: Section, key: Key, entry: Entry
) -> Iterator[tuple[str, str | None, str]]:
    """Yield the names of other entries in an entry: its field, the name and its section."""
    if section.names:
        yield "", key[0], section.names
    values = {**dict(zip(section.key, key, strict=False)), **entry}
    for name, one in (*section.key.items(), *section.fields.items()):
        if one.refers_to:
            yield name, values[name], one.refers_to


def _read_section(
    section: Section, value: Any, path: str, problems: list[Problem]
) -> dict[Key, Entry]:
    if not isinstance(value, list if section.key else dict):
        form = "a list" if section.key else "an object of entries by name"
        problems.append(Problem(path, f"must be {form}"))
        return {}
    if len(value) > MAX_ENTRIES:
        problems.append(Problem(path, f"must have at most {MAX_ENTRIES:,} entries"))
        return {}
    entries: dict[Key, Entry] = {}
    seen: set[Key] = set()
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        place = path + _shorten(escape_step(step))
        read = _read_item(section, step, item, place, problems)
        if read is None:
            continue
        key, entry = read
        # The database knows patterns regardless of case.
        unique = (key[0].upper(),) if section is SECTIONS["dangerous_operations"] else key
        if unique in seen:
            problems.append(Problem(place, "is there twice"))
        seen.add(unique)
        entries[key] = entry
    return entries


def _read_item(
    section: Section, step: str | int, item: Any, place: str, problems: list[Problem]
) -> tuple[Key, Entry] | None:
    """Return an entry with its key; None if anything is wrong with it."""
    before = len(problems)
    key = _read_key(section, step, item, place, problems)
    entry = _read_entry(section, item, place, problems)
    if len(problems) > before:
        return None
    if section is SECTIONS["relations"]:
        key, entry = _settle_relation(key, entry)
        if key[0] == key[-1]:
            problems.append(Problem(place, "a relation is between two different tools"))
    return key, _settle_server(entry, item) if section is SECTIONS["servers"] else entry


def _read_key(
    section: Section, step: str | int, item: Any, place: str, problems: list[Problem]
) -> Key:
    if section.key:
        values = _read_fields(section.key, item, place, problems)
        return tuple(values.get(name, "") for name in section.key)
    try:
        return (section.name(step),)
    except Unfit as error:
        problems.append(Problem(place, str(error)))
        return ("",)


def _read_entry(section: Section, item: Any, place: str, problems: list[Problem]) -> Entry:
    if not isinstance(item, dict):
        problems.append(Problem(place, "must be an object"))
        return {}
    known = (*section.key, *section.fields)
    for name in sections.closed(item, known):
        pointer = place + _shorten(escape_step(name))
        problems.append(Problem(pointer, f"unknown; there are {', '.join(known)}"))
    return _read_fields(section.fields, item, place, problems)


def _read_fields(
    known: Mapping[str, Field], item: Any, place: str, problems: list[Problem]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, one in known.items():
        if not isinstance(item, dict):
            break
        if name not in item:
            if one.default is REQUIRED:
                problems.append(Problem(place, f"{name} is missing"))
            values[name] = one.default
            continue
        try:
            values[name] = one.read(item[name])
        except Unfit as error:
            problems.append(Problem(f"{place}/{name}{_shorten(error.path)}", str(error)))
    return values


def _settle_relation(key: Key, entry: Entry) -> tuple[Key, Entry]:
    """Return a relation in the one form that it is stored in."""
    source, kind, target = key
    source, target = RelationKind(kind).settle_ends(source, target)
    settled = dict(entry)
    if kind != RelationKind.DEPENDS_ON.value:
        settled["required"] = True
    if settled["rejected"]:
        settled |= {"confidence": 1.0, "fields": []}
    return (source, kind, target), settled


def _settle_server(entry: Entry, item: Mapping[str, Any]) -> Entry:
    """Calls of local servers are free unless the document says otherwise."""
    if "price_per_call" not in item and entry["transport"] == "stdio":
        return {**entry, "price_per_call": "0"}
    return entry


def _omit_defaults(known: Mapping[str, Field], entry: Entry) -> dict[str, Any]:
    is_local = entry.get("transport") == "stdio"
    written = {}
    for name, one in known.items():
        default = "0" if name == "price_per_call" and is_local else one.default
        if entry[name] != default:
            written[name] = entry[name]
    return written


def _build_unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) < len(pairs):
        raise Unfit("has an object in which a name is given twice")
    return built


def _refuse_constant(_: str) -> Any:
    raise Unfit("has NaN or Infinity, which is not JSON")


def _refuse(message: str) -> InvalidConfiguration:
    return InvalidConfiguration([Problem("", f"the document {message}")])


def _escape_character(found: re.Match[str]) -> str:
    encoded = json.dumps(found[0])
    return encoded[1:-1] if encoded[1] == "\\" else f"\\u{ord(found[0]):04x}"


def _shorten(pointer: str) -> str:
    return shorten(pointer, MAX_POINTER).encode("utf-8", "backslashreplace").decode()
