"""A tool's definition: hash, comparison, and the pinning rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway_project.foundation import canonical

_LAUNCH_FIELDS = ("transport", "command", "args", "cwd")
_REMOTE_FIELDS = ("url",)


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A tool as its server lists it.

    Attributes:
        name: Name at the server.
        title: Display name, may be empty.
        description: May be empty.
        input_schema: JSON Schema of the arguments.
        output_schema: JSON Schema of the structured result, if declared.
        annotations: Hints such as readOnlyHint; untrusted.
        extras: All other members by their names in the protocol, such as `_meta` and `icons`;
            None: not known, since it was pinned before they counted.
    """

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    extras: Mapping[str, Any] | None = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """SHA-256 of all fields; independent of key order."""
        return canonical.hash_json(self.as_document())

    @property
    def former_hash(self) -> str:
        """The hash by the formula of pins made before the extras counted."""
        document = self.as_document()
        del document["extras"]
        return canonical.hash_json(document)

    def as_document(self) -> dict[str, Any]:
        """Return all fields as one JSON document."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": self.annotations,
            "extras": self.extras or {},
        }


def identify(listed: Definition, *, pinned: Definition, pinned_hash: str) -> str:
    """Return the hash of a listed definition, or that of the pinned one if it is the same.

    A pin keeps the hash that it was made with, since grants, approvals and observed results refer
    to it. One of the former formula stands for a definition that this formula cannot tell from
    it, with its extras; as long as those are not known, for any.

    Example:
        >>> old, new = Definition(name="a", extras=None), Definition(name="a", extras={"_meta": 1})
        >>> identify(new, pinned=old, pinned_hash=old.former_hash) == old.former_hash
        True
        >>> known = Definition(name="a", extras={})
        >>> identify(new, pinned=known, pinned_hash=old.former_hash) == new.hash
        True
    """
    if pinned_hash != listed.hash and pinned_hash == listed.former_hash:
        extras = canonical.dumps(make_storable(listed.extras or {}))
        if pinned.extras is None or canonical.dumps(pinned.extras) == extras:
            return pinned_hash
    return listed.hash


_EMBEDDED_PICTURE = re.compile(r"data:image/[\w.+-]+;base64,")


def cut_picture(address: str) -> str:
    """Return the address of an icon without the data of an embedded picture.

    Example:
        >>> cut_picture("data:image/png;base64,iVBO"), cut_picture("https://a.example/i.png")
        ('data:image/png;base64,', 'https://a.example/i.png')
    """
    found = _EMBEDDED_PICTURE.match(address)
    return found[0] if found else address


def launch_hash(launch: Mapping[str, Any]) -> str:
    """SHA-256 of a server's transport, command, arguments, folder and address.

    Environment and headers are excluded: they contain secrets, which change without changing the
    server.

    Example:
        >>> a = launch_hash({"transport": "stdio", "command": "git", "args": [], "cwd": ""})
        >>> a == launch_hash({"command": "git", "transport": "stdio", "args": [], "cwd": ""})
        True
    """
    fields = {key: launch.get(key) for key in _LAUNCH_FIELDS}
    fields |= {key: launch[key] for key in _REMOTE_FIELDS if launch.get(key)}
    return canonical.hash_json(fields)


def find_differing_fields(old: Definition, new: Definition) -> tuple[str, ...]:
    """Return the names of the fields in which two definitions differ.

    Example:
        >>> find_differing_fields(Definition(name="a"), Definition(name="a", title="A"))
        ('title',)
    """
    before, after = old.as_document(), new.as_document()
    return tuple(
        name for name in before if canonical.dumps(before[name]) != canonical.dumps(after[name])
    )


def decide_next_state(
    *, state: str | None, known_hash: str | None, new_hash: str, auto: bool
) -> str:
    """Decide the state of a tool that its server lists now.

    Args:
        state: Previous state; None: the tool is new.
        known_hash: Hash of the pinned definition; None: none is pinned.
        new_hash: Hash of the listed definition.
        auto: Whether tools seen for the first time are approved automatically.

    Returns:
        `active` if the listed definition is the pinned one (or is pinned now), `pending` if a
        person must approve it first, `quarantined` if it differs from the pinned one.

    Example:
        >>> decide_next_state(state=None, known_hash=None, new_hash="a", auto=True)
        'active'
        >>> decide_next_state(state="active", known_hash="a", new_hash="b", auto=True)
        'quarantined'
        >>> decide_next_state(state="quarantined", known_hash="a", new_hash="a", auto=True)
        'active'
    """
    if known_hash is not None:
        return "active" if known_hash == new_hash else "quarantined"
    if state in (None, "active") and auto:
        return "active"
    return "pending"


_SURROGATE = re.compile(r"[\ud800-\udfff\x00]")


def make_storable(value: Any) -> Any:
    r"""Replace characters that PostgreSQL cannot store (NUL, lone surrogates) by U+FFFD, deeply.

    Example:
        >>> make_storable({"a": ["x\x00y"]})
        {'a': ['x\ufffdy']}
    """
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {make_storable(key): make_storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_storable(item) for item in value]
    return value
