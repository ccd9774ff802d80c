"""Read the parameters of a tool as binding needs them: types, words, allowed values."""

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
from graph.binding.steps import BindTool
from graph.binding.vocabulary import (
    CARDS,
    ENDS_IN_IDENTITY,
    PRIVATE,
    SECRET_KEYS,
    SECRET_KINDS,
    SECRETS,
    STOP,
    Words,
    meaning,
)
from graph.data_flow.words import raw_words, split

MAX_PARAMETERS = 60
"""Parameters of one tool that values are looked for; the required ones first."""
MAX_CACHED = 2_048
MAX_DESCRIPTION = 300
"""Characters of a parameter's description whose words count."""
MAX_NEAR = 120
"""Characters of it that say what kind of value is meant."""
MAX_CHOICES = 60
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_NO_WORD: Final = re.compile(r"[\W_]+")
_LISTING: Final = re.compile(
    r"(?:one of|allowed values?|options?(?: are)?|possible values?|either|can be|values?:|"
    r"e\.g\.,?|such as|\[?enum\]?:)[:\s]*([^.]{3,300})",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"['\"`]([^'\"`]{1,40})['\"`]")


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameter:
    """A parameter of a tool.

    Attributes:
        name: As in the schema.
        pointer: JSON pointer to it in the arguments.
        schema: Normalised; `True` where anything goes is an empty one here.
        types: JSON types without null, those of its branches and references included; empty
            where anything goes.
        item_types: The same of the items of an array.
        format: As in JSON Schema; may be empty.
        description: As far as its words count; may be empty.
        is_required: Whether it must be given.
        has_default: Whether the schema gives a default.
        default: What that is.
        members: Values it is limited to; empty if it is not.
        choices: Values that its description lists, in lower case; it may take others.
        words: Of its name.
        all_words: Of its name and of the start of its description.
        described: Further words of its description.
        is_identifier: Whether it holds what only a server knows.
        is_secret: Whether it holds a secret.
        is_private: Whether it does, or holds a number such as that of a card.
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
    choices: frozenset[str]
    words: Words
    all_words: Words
    described: Words
    is_identifier: bool
    is_secret: bool
    is_private: bool

    @property
    def is_number(self) -> bool:
        """Whether it takes a number and no text."""
        return bool(self.types & {"number", "integer"}) and "string" not in self.types

    @property
    def is_boolean(self) -> bool:
        """Whether it takes nothing but true or false."""
        return self.types == {"boolean"}

    @property
    def is_text(self) -> bool:
        """Whether it takes a text."""
        return not self.types or "string" in self.types

    @property
    def is_array(self) -> bool:
        """Whether it takes a list, and no single value."""
        return "array" in self.types and not self.types & {"string", "number", "integer"}

    @property
    def takes_values(self) -> bool:
        """Whether a single value or a list of them may stand there."""
        if self.is_boolean or self.types == {"object"} or self.types == {"null"}:
            return False
        return not self.is_array or not self.item_types or self.item_types != {"object"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Schema:
    """The arguments of a tool.

    Attributes:
        root: Normalised.
        key: Under which its compiled form is kept.
        parameters: By name, in the order of the schema, the required ones first where there are
            too many.
        required: Names that must be given; a few may not be among the parameters.
    """

    root: Mapping[str, Any]
    key: str
    parameters: Mapping[str, Parameter]
    required: tuple[str, ...]


_kept: OrderedDict[str, Schema] = OrderedDict()
_lock = threading.Lock()


def schema_of(tool: BindTool) -> Schema:
    """Return a tool's arguments, read once and kept."""
    key = f"binding:{tool.definition_hash or _digest(tool.input_schema)}"
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    made = _read(tool.input_schema, key)
    with _lock:
        _kept[key] = made
        if len(_kept) > MAX_CACHED:
            _kept.popitem(last=False)
    return made


def first_name(pointer: str) -> str:
    """Return the name of the parameter that a JSON pointer leads into; empty for the root."""
    return canonical.unescape(pointer[1:].partition("/")[0])


def written(value: object) -> str:
    """Return a name or a member of an enumeration as words in lower case.

    Example:
        >>> written("last_week"), written("LastWeek"), written("GBP")
        ('last week', 'last week', 'gbp')
    """
    text = str(value)
    if text.isupper():
        return " ".join(_NO_WORD.sub(" ", text.lower()).split())
    return " ".join(raw_words(text)) or " ".join(_NO_WORD.sub(" ", text.lower()).split())


def _digest(schema: Mapping[str, Any]) -> str:
    text = json.dumps(schema, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(published: object, key: str) -> Schema:
    root = schema_normalise.normalise(published).schema
    required = tuple(root.get("required", ()))
    fields = list((root.get("properties") or {}).items())
    if len(fields) > MAX_PARAMETERS:
        fields.sort(key=lambda field: field[0] not in required)
    parameters = {
        name: _parameter(name, part if isinstance(part, Mapping) else {}, root, name in required)
        for name, part in fields[:MAX_PARAMETERS]
        if part is not False
    }
    return Schema(root=root, key=key, parameters=parameters, required=required)


def _parameter(
    name: str, part: Mapping[str, Any], root: Mapping[str, Any], is_required: bool
) -> Parameter:
    views = list(_views(part, root))
    text = next((view["description"] for view in views if _has_text(view)), "")
    text = text[:MAX_DESCRIPTION]
    words = meaning([*raw_words(name), *split(name)])
    found = [word.lower() for word in re.findall(r"[^\W_]+", text)]
    near = [word.lower() for word in re.findall(r"\w+", text[:MAX_NEAR])]
    ending = raw_words(name)[-1:]
    types = _types(views)
    return Parameter(
        name=name,
        pointer=f"/{canonical.escape(name)}",
        schema=part,
        types=types,
        item_types=_item_types(views, root),
        format=next((view["format"] for view in views if "format" in view), ""),
        description=text,
        is_required=is_required,
        has_default=any("default" in view for view in views),
        default=next((view["default"] for view in views if "default" in view), None),
        members=_members(views),
        choices=frozenset(_choices(text)),
        words=words,
        all_words=words | meaning(near),
        described=meaning(word for word in found if word not in STOP and not word.isdigit())
        - words,
        is_identifier=not meaning(ending).isdisjoint(ENDS_IN_IDENTITY)
        or name.lower().endswith("id"),
        is_secret=(not types or "string" in types) and _is_secret(words),
        is_private=is_private_name(name),
    )


def is_private_name(name: str) -> bool:
    """Whether a name is one of a secret, or of a number that is nobody else's."""
    words = meaning([*raw_words(name), *split(name)])
    is_card = any(card <= words for card in CARDS)
    return is_card or bool(words & PRIVATE) or _is_secret(words)


def _is_secret(words: Words) -> bool:
    """Whether a name is one of a secret; of a key or a token, where it says of what kind."""
    keys = words & SECRET_KEYS
    return bool(words & SECRETS) or bool(keys and (words & SECRET_KINDS or words == keys))


def _views(part: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a part with its branches and what it refers to, each once."""
    waiting, seen = [part], set[int]()
    while waiting and len(seen) < MAX_CHOICES:
        view = waiting.pop(0)
        if id(view) in seen:
            continue
        seen.add(id(view))
        yield view
        waiting.extend(
            branch
            for key in _BRANCHES
            for branch in view.get(key, ())
            if isinstance(branch, Mapping)
        )
        target = _target(view.get("$ref"), root)
        if target is not None:
            waiting.append(target)


def _target(reference: object, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    place: Any = root
    for step in reference[2:].split("/"):
        name = canonical.unescape(step)
        place = place.get(name) if isinstance(place, Mapping) else None
    return place if isinstance(place, Mapping) else None


def _has_text(view: Mapping[str, Any]) -> bool:
    return isinstance(view.get("description"), str) and bool(view["description"].strip())


def _types(views: list[Mapping[str, Any]]) -> frozenset[str]:
    found: set[str] = set()
    for view in views:
        given = view.get("type", ())
        found.update((given,) if isinstance(given, str) else given)
        if "type" not in view:
            found.update(_types_of_values(view.get("enum", ())))
            found.update(_types_of_values([view["const"]] if "const" in view else ()))
    return frozenset(found - {"null"})


def _types_of_values(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, bool):
            yield "boolean"
        elif isinstance(value, str):
            yield "string"
        elif isinstance(value, int | float):
            yield "number"


def _item_types(views: list[Mapping[str, Any]], root: Mapping[str, Any]) -> frozenset[str]:
    items = [view["items"] for view in views if isinstance(view.get("items"), Mapping)]
    return _types([inner for item in items for inner in _views(item, root)])


def _members(views: list[Mapping[str, Any]]) -> tuple[Any, ...]:
    for view in views:
        if isinstance(view.get("enum"), list):
            return tuple(one for one in view["enum"][:MAX_CHOICES] if one is not None)
        items = view.get("items")
        if isinstance(items, Mapping) and isinstance(items.get("enum"), list):
            return tuple(items["enum"][:MAX_CHOICES])
    constants = [view["const"] for view in views if "const" in view]
    return tuple(constants) if len(constants) > 1 else ()


def _choices(description: str) -> list[str]:
    """Return what a description lists as possible values, in lower case."""
    found = _LISTING.search(description)
    if not found:
        return []
    quoted = _QUOTED.findall(found[1])
    if len(quoted) > 1:
        return [text.lower() for text in quoted[:MAX_CHOICES]]
    parts = [part.strip(" ()") for part in re.split(r",|\bor\b|\band\b|/|\|", found[1])]
    if len(parts) < 2:
        return []
    return [p.lower() for p in parts if 0 < len(p) < 25 and len(p.split()) <= 3][:20]
