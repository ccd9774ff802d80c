"""The difference between two configuration documents, and what applying it gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from gateway_project.configuration.document import Document, Entry, Key
from gateway_project.configuration.sections import SECTIONS
from gateway_project.foundation.text import shorten

MAX_SHOWN: Final = 80
"""Characters of a value that a line shows."""
SECRET_FIELDS: Final = frozenset({"env", "headers", "oauth_client_secret"})
"""Fields whose values no line shows."""
_SIGNS: Final = {"added": "+", "changed": "~", "removed": "-"}


@dataclass(frozen=True, kw_only=True)
class Change:
    """An entry that differs between two documents.

    Attributes:
        section: Name of its section.
        key: What it is found by.
        before: The entry; None: it is added.
        after: The entry; None: it is removed.
    """

    section: str
    key: Key
    before: Entry | None
    after: Entry | None

    @property
    def kind(self) -> Literal["added", "changed", "removed"]:
        """What happens to the entry."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    @property
    def changed_fields(self) -> tuple[str, ...]:
        """Names of the fields that differ; empty if the entry is added or removed."""
        if self.before is None or self.after is None:
            return ()
        return tuple(name for name in self.after if self.before.get(name) != self.after[name])

    @property
    def subject(self) -> str:
        """The entry in words, such as `server git`."""
        return f"{SECTIONS[self.section].word} {_describe_key(self.section, self.key)}"

    def describe(self) -> str:
        """Return the change in one line, without secrets.

        Example:
            >>> Change(section="servers", key=("git",), before={"trusted": False},
            ...        after={"trusted": True}).describe()
            '~ server git: trusted false → true'
        """
        line = f"{_SIGNS[self.kind]} {self.subject}"
        if self.before is None or self.after is None:
            return line
        parts = [
            _describe_field(name, self.before.get(name), self.after[name])
            for name in self.changed_fields
        ]
        return f"{line}: {', '.join(parts)}"

    def to_json(self) -> dict[str, Any]:
        """Return the change for a report, without secrets."""
        return {
            "change": self.kind,
            "section": self.section,
            "subject": self.subject,
            "fields": list(self.changed_fields),
            "line": self.describe(),
        }


def find_changes(before: Document, after: Document) -> tuple[Change, ...]:
    """Return the changes that turn one document into another, by section and key.

    Sections that `after` lacks are left alone. O(entries · log(entries)).

    Args:
        before: Whole document.
        after: What is wanted.
    """
    return tuple(
        change
        for section in SECTIONS
        if section in after
        for change in _compare_section(section, before.get(section, {}), after[section])
    )


def apply_changes(document: Document, changes: Iterable[Change]) -> Document:
    """Return a document with changes applied: `find_changes` inverted.

    Example:
        >>> a, b = {"teams": {}}, {"teams": {("ops",): {"approve_from": "write"}}}
        >>> apply_changes(a, find_changes(a, b)) == b
        True
    """
    applied = {section: dict(entries) for section, entries in document.items()}
    for change in changes:
        entries = applied.setdefault(change.section, {})
        if change.after is None:
            entries.pop(change.key, None)
        else:
            entries[change.key] = change.after
    return applied


def _compare_section(
    section: str, before: Mapping[Key, Entry], after: Mapping[Key, Entry]
) -> Iterator[Change]:
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old != new:
            yield Change(section=section, key=key, before=old, after=new)


def _describe_key(section: str, key: Key) -> str:
    if section == "relations":
        source, kind, target = key
        return f"{source} → {target} ({kind})"
    if section == "grants":
        tool, team = key
        return f"{tool} for team {team}" if team else tool
    return key[0]


def _describe_field(name: str, before: Any, after: Any) -> str:
    if name not in SECRET_FIELDS:
        return f"{name} {_show(before)} → {_show(after)}"
    if not isinstance(after, Mapping) or not isinstance(before, Mapping) or "sealed" in after:
        return f"{name} changed"
    differing = sorted(
        item for item in before.keys() | after.keys() if before.get(item) != after.get(item)
    )
    return ", ".join(
        f"{name} {item} {_describe_presence(item in before, item in after)}" for item in differing
    )


def _describe_presence(was: bool, will_be: bool) -> str:
    if was and will_be:
        return "changed"
    return "added" if will_be else "removed"


def _show(value: Any) -> str:
    shown = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return shorten(shown, MAX_SHOWN)
