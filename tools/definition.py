"""A tool as its server defines it: hash, difference, and the rule that pins it."""

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
    """What a server says of one tool.

    Attributes:
        name: Name at the server.
        title: Display name, may be empty.
        description: May be empty.
        input_schema: JSON Schema of the arguments.
        output_schema: JSON Schema of the structured result, if declared.
        annotations: Hints such as readOnlyHint; untrusted.
    """

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """SHA-256 over every field; equal for definitions that differ in key order only."""
        return canonical.digest(
            {
                "name": self.name,
                "title": self.title,
                "description": self.description,
                "input_schema": self.input_schema,
                "output_schema": self.output_schema,
                "annotations": self.annotations,
            }
        )


def launch_hash(launch: Mapping[str, Any]) -> str:
    """SHA-256 of how a server is reached: transport, command, arguments, folder, address.

    Environment and headers are left out: they hold secrets, which change without changing the
    server.

    Example:
        >>> a = launch_hash({"transport": "stdio", "command": "git", "args": [], "cwd": ""})
        >>> a == launch_hash({"command": "git", "transport": "stdio", "args": [], "cwd": ""})
        True
    """
    reached = {key: launch.get(key) for key in _LAUNCH_FIELDS}
    reached |= {key: launch[key] for key in _REMOTE_FIELDS if launch.get(key)}
    return canonical.digest(reached)


def differences(old: Definition, new: Definition) -> tuple[str, ...]:
    """Name the fields in which two definitions differ.

    Example:
        >>> differences(Definition(name="a"), Definition(name="a", title="A"))
        ('title',)
    """
    fields = ("name", "title", "description", "input_schema", "output_schema", "annotations")
    return tuple(
        name
        for name in fields
        if canonical.dumps(getattr(old, name)) != canonical.dumps(getattr(new, name))
    )


def next_state(*, state: str | None, known_hash: str | None, new_hash: str, auto: bool) -> str:
    """Decide the state of a tool that its server lists now.

    Args:
        state: State so far; None if the tool was never seen.
        known_hash: Hash of the pinned definition; None if none was approved.
        new_hash: Hash of what is listed now.
        auto: Whether tools seen for the first time are approved at once.

    Returns:
        `active` where the pinned definition stands (or is pinned now), `pending` where a person
        must approve it first, `quarantined` where it changed since.

    Example:
        >>> next_state(state=None, known_hash=None, new_hash="a", auto=True)
        'active'
        >>> next_state(state="active", known_hash="a", new_hash="b", auto=True)
        'quarantined'
        >>> next_state(state="quarantined", known_hash="a", new_hash="a", auto=True)
        'active'
    """
    if known_hash is not None:
        return "active" if known_hash == new_hash else "quarantined"
    if state in (None, "active") and auto:
        return "active"
    return "pending"


_SURROGATE = re.compile(r"[\ud800-\udfff\x00]")


def storable(value: Any) -> Any:
    r"""Replace what PostgreSQL cannot hold (NUL, lone surrogates) by U+FFFD, at any depth.

    Example:
        >>> storable({"a": ["x\x00y"]})
        {'a': ['x\ufffdy']}
    """
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return value
