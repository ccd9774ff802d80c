"""Read a tool's parameters for binding: types, words, allowed values."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway_project.foundation import canonical, schema_normalise
from graph.data_flow.words import split_name, split_raw_name
from graph.suggestion.binding.tasks import WorkflowTool
from graph.suggestion.binding.vocabulary import (
    CARD_PHRASES,
    IDENTIFIER_ENDINGS,
    KEY_QUALIFIERS,
    KEY_WORDS,
    PRIVATE_NUMBER_WORDS,
    SECRET_NAME_WORDS,
    Words,
    normalize_words,
)

MAX_PARAMETERS = 60
"""Limit of parameters bound per tool; the required ones first."""
MAX_CACHED = 2_048
MAX_DESCRIPTION = 300
"""Characters of a parameter's description that are read."""
MAX_CHOICES = 60
_BRANCH_KEYWORDS: Final = ("anyOf", "oneOf", "allOf")
_NON_WORD: Final = re.compile(r"[\W_]+")
_PLAIN_KEY_WORDS: Final = normalize_words(
    ["redis", "hash", "field", "stream", "sorted", "store", "cache", "press", "keyboard"]
)
"""Words of descriptions of keys in a store, or on a keyboard."""
_DOCUMENTED: Final = (
    r"^[ \t]{{0,20}}(?:[-*][ \t]+)?[`'\"]?{}[`'\"]?[ \t]*(?:\([^()\n]{{0,80}}\)[ \t]*)?"
    r"(?::|-|\u2013)[ \t]+(?P<text>\S[^\n]*)"
)
"""A line about a parameter in a tool's description."""
MAX_ABOUT = 8_000
"""Characters of a tool's description that are searched for its parameters."""
_NESTED: Final = re.compile(
    r"\b(?:objects|dict(?:ionar(?:y|ies)|s)?|2d|two-dimensional)\b|[{]|\[\s*\[|\b(?:list|array)s?"
    r" of (?:list|array|tuple)s?\b",
    re.IGNORECASE,
)
"""In the description of a list whose items are no single values."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolParameter:
    """A parameter of a tool.

    Attributes:
        name: As in the schema.
        pointer: JSON pointer to it in the arguments.
        schema: Normalised; a `True` schema becomes an empty one.
        types: JSON types without null, including those of branches and references; empty if any
            type is allowed.
        item_types: The same for the items of an array.
        format: As in JSON Schema; may be empty.
        description: The first `MAX_DESCRIPTION` characters; may be empty.
        is_required: Whether it is required.
        has_default: Whether the schema has a default.
        default: The default.
        members: Members of its enumeration; empty without one.
        name_words: Words of its name.
        is_identifier: Whether it holds an identifier issued by a server.
        is_private: Whether it holds a secret or a private number such as that of a card.
    """

    name: str
    pointer: str
    schema: Mapping[str, Any]
    types: frozenset[str]
    item_types: frozenset[str]
    format: str
    description: str
    is_required: bool
    has_default: bool
    default: Any
    members: tuple[Any, ...]
    name_words: Words
    is_identifier: bool
    is_private: bool

    @property
    def is_number(self) -> bool:
        """Whether it takes numbers but no text."""
        return bool(self.types & {"number", "integer"}) and "string" not in self.types

    @property
    def is_boolean(self) -> bool:
        """Whether it takes booleans only."""
        return self.types == {"boolean"}

    @property
    def is_text(self) -> bool:
        """Whether it takes a text."""
        return not self.types or "string" in self.types

    @property
    def is_array(self) -> bool:
        """Whether it takes a list but no single value."""
        return "array" in self.types and not self.types & {"string", "number", "integer"}

    @property
    def takes_values(self) -> bool:
        """Whether it takes a single value or a list of values, other than booleans and objects."""
        if self.is_boolean or self.types == {"object"} or self.types == {"null"}:
            return False
        return not self.is_array or not self.item_types or self.item_types != {"object"}


@dataclass(frozen=True, kw_only=True, eq=False)
class ArgumentSchema:
    """The arguments of a tool.

    Attributes:
        root: The normalised schema.
        key: Cache key of its compiled form.
        parameters: By name, in the order of the schema; required ones first if there are more
            than `MAX_PARAMETERS`.
        required: Names of required arguments; some may be missing from `parameters`.
    """

    root: Mapping[str, Any]
    key: str
    parameters: Mapping[str, ToolParameter]
    required: tuple[str, ...]


_schema_cache: OrderedDict[str, ArgumentSchema] = OrderedDict()
_schema_cache_lock = threading.Lock()


def load_schema(tool: WorkflowTool) -> ArgumentSchema:
    """Return a tool's argument schema, cached."""
    key = f"binding:{tool.definition_hash or _digest(tool.input_schema, tool.description)}"
    with _schema_cache_lock:
        if key in _schema_cache:
            _schema_cache.move_to_end(key)
            return _schema_cache[key]
    argument_schema = _read_schema(tool.input_schema, key, tool.description)
    with _schema_cache_lock:
        _schema_cache[key] = argument_schema
        if len(_schema_cache) > MAX_CACHED:
            _schema_cache.popitem(last=False)
    return argument_schema


def root_parameter(pointer: str) -> str:
    """Return the name of the parameter that a JSON pointer leads into; empty for the root."""
    return canonical.unescape_token(pointer[1:].partition("/")[0])


def spell_out(value: object) -> str:
    """Return a name or a member of an enumeration as words in lower case.

    Example:
        >>> spell_out("last_week"), spell_out("LastWeek"), spell_out("GBP")
        ('last week', 'last week', 'gbp')
    """
    text = str(value)
    if text.isupper():
        return " ".join(_NON_WORD.sub(" ", text.lower()).split())
    return " ".join(split_raw_name(text)) or " ".join(_NON_WORD.sub(" ", text.lower()).split())


def _digest(schema: Mapping[str, Any], about: str) -> str:
    text = json.dumps([schema, about], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read_schema(published: object, key: str, about: str) -> ArgumentSchema:
    root = schema_normalise.normalise(published)
    required = tuple(root.get("required", ()))
    fields = list((root.get("properties") or {}).items())
    if len(fields) > MAX_PARAMETERS:
        fields.sort(key=lambda field: field[0] not in required)
    parameters = {
        name: _read_parameter(
            name, part if isinstance(part, Mapping) else {}, root, name in required, about
        )
        for name, part in fields[:MAX_PARAMETERS]
        if part is not False
    }
    return ArgumentSchema(root=root, key=key, parameters=parameters, required=required)


def _read_parameter(
    name: str, part: Mapping[str, Any], root: Mapping[str, Any], is_required: bool, about: str
) -> ToolParameter:
    views = list(_iterate_subschemas(part, root))
    text = next((view["description"] for view in views if _has_description(view)), "")
    is_plain_key = name.lower() == "key" and _is_about_plain_keys(text[:MAX_DESCRIPTION] or about)
    text = (text or _find_documented(name, about))[:MAX_DESCRIPTION]
    ending = split_raw_name(name)[-1:]
    return ToolParameter(
        name=name,
        pointer=f"/{canonical.escape_token(name)}",
        schema=part,
        types=_schema_types(views),
        item_types=_array_item_types(views, root) or _described_item_types(text),
        format=next((view["format"] for view in views if "format" in view), ""),
        description=text,
        is_required=is_required,
        has_default=any("default" in view for view in views),
        default=next((view["default"] for view in views if "default" in view), None),
        members=_enumeration_members(views),
        name_words=normalize_words([*split_raw_name(name), *split_name(name)]),
        is_identifier=not normalize_words(ending).isdisjoint(IDENTIFIER_ENDINGS)
        or name.lower().endswith("id"),
        is_private=is_private_name(name) and not is_plain_key,
    )


def _find_documented(name: str, about: str) -> str:
    r"""Return what a tool's description says of a parameter on a line of its own.

    Servers made from functions often describe their parameters only there, under "Args:".

    Example:
        >>> _find_documented("sheet", "Read cells. Args:\n    sheet (str): The name of the tab")
        'The name of the tab'
    """
    match = re.search(_DOCUMENTED.format(re.escape(name)), about[:MAX_ABOUT], re.MULTILINE)
    return match["text"].strip() if match else ""


def is_private_name(name: str) -> bool:
    """Whether a name is that of a secret or of a private number."""
    words = normalize_words([*split_raw_name(name), *split_name(name)])
    is_card = any(card <= words for card in CARD_PHRASES)
    return is_card or bool(words & PRIVATE_NUMBER_WORDS) or _is_secret(words)


def _is_secret(words: Words) -> bool:
    """Whether words name a secret; "key" or "token" only alone or with a qualifier."""
    keys = words & KEY_WORDS
    return bool(words & SECRET_NAME_WORDS) or bool(
        keys and (words & KEY_QUALIFIERS or words == keys)
    )


def _is_about_plain_keys(text: str) -> bool:
    """Whether a text speaks of keys of a store or of a keyboard; any others may be secrets."""
    words = normalize_words(re.findall(r"[a-z]+", text.lower()))
    is_plain = "key" in words and bool(words & _PLAIN_KEY_WORDS)
    return is_plain and not words & (SECRET_NAME_WORDS | KEY_QUALIFIERS)


def _iterate_subschemas(
    part: Mapping[str, Any], root: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield a subschema, its branches and its references, each once."""
    waiting, seen = [part], set[int]()
    while waiting and len(seen) < MAX_CHOICES:
        view = waiting.pop(0)
        if id(view) in seen:
            continue
        seen.add(id(view))
        yield view
        waiting.extend(
            branch
            for key in _BRANCH_KEYWORDS
            for branch in view.get(key, ())
            if isinstance(branch, Mapping)
        )
        target = _resolve_reference(view.get("$ref"), root)
        if target is not None:
            waiting.append(target)


def _resolve_reference(reference: object, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    target: Any = root
    for step in reference[2:].split("/"):
        name = canonical.unescape_token(step)
        target = target.get(name) if isinstance(target, Mapping) else None
    return target if isinstance(target, Mapping) else None


def _has_description(view: Mapping[str, Any]) -> bool:
    return isinstance(view.get("description"), str) and bool(view["description"].strip())


def _schema_types(views: list[Mapping[str, Any]]) -> frozenset[str]:
    types: set[str] = set()
    for view in views:
        declared = view.get("type", ())
        types.update((declared,) if isinstance(declared, str) else declared)
        if "type" not in view:
            types.update(_iterate_value_types(view.get("enum", ())))
            types.update(_iterate_value_types([view["const"]] if "const" in view else ()))
    return frozenset(types - {"null"})


def _iterate_value_types(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, bool):
            yield "boolean"
        elif isinstance(value, str):
            yield "string"
        elif isinstance(value, int | float):
            yield "number"


def _array_item_types(views: list[Mapping[str, Any]], root: Mapping[str, Any]) -> frozenset[str]:
    items = [view["items"] for view in views if isinstance(view.get("items"), Mapping)]
    return _schema_types([inner for item in items for inner in _iterate_subschemas(item, root)])


def _described_item_types(description: str) -> frozenset[str]:
    """Return the item types of a list without a schema of its items, if its text tells them."""
    return frozenset({"object"}) if _NESTED.search(description) else frozenset()


def _enumeration_members(views: list[Mapping[str, Any]]) -> tuple[Any, ...]:
    for view in views:
        if isinstance(view.get("enum"), list):
            return tuple(one for one in view["enum"][:MAX_CHOICES] if one is not None)
        items = view.get("items")
        if isinstance(items, Mapping) and isinstance(items.get("enum"), list):
            return tuple(items["enum"][:MAX_CHOICES])
    constants = [view["const"] for view in views if "const" in view]
    return tuple(constants) if len(constants) > 1 else ()
