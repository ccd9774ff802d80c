"""What a call of a tool may do, judged from its annotations and from words in its name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Danger(StrEnum):
    """Worst that a call may do, from harmless to curated as dangerous."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"
    DANGEROUS = "dangerous"


SEVERITY = {danger: rank for rank, danger in enumerate(Danger)}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A curated pattern: a word, or several that follow each other.

    Attributes:
        pattern: Such as `delete` or `send email`; `^run` counts as a first word only, for
            verbs that are as often nouns.
        danger: Class of a tool that matches.
        reason: Why, in plain words.
        by_admin: Whether an admin of this installation put it there.
    """

    pattern: str
    danger: Danger
    reason: str = ""
    by_admin: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A danger class and what led to it.

    Attributes:
        danger: The class.
        reasons: Plain words, the deciding one first.
        vetoed: Whether a curated operation matches, which rules out speculation.
        destructive_by: Who says that it destroys, where that can be relied on: `server` if it is
            trusted, `admin`; else empty, and of all that is not destructive.
    """

    danger: Danger
    reasons: tuple[str, ...]
    vetoed: bool
    destructive_by: str = ""


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAK = re.compile(r"[^a-z0-9]+")
HIDDEN = ("Mn", "Cf")
"""Unicode categories that a reader does not see as letters: combining marks, format controls."""
_MIN_STEM = 3
_OBJECTS = (
    "account accounts all app apps branch bucket channel collection comment comments container "
    "containers content data database db dir directory dirs document documents edge edges email "
    "emails entity entities event events file files folder folders group groups image images "
    "index item items key keys line lines mail message messages node nodes object objects order "
    "orders page pages post posts process project record records repo repository row rows "
    "service site table tables task tasks ticket tickets user users volume"
)
OBJECTS = frozenset(_OBJECTS.split())
"""Nouns that names of tools write together with a verb, as in deletefile."""
LEADING = "^"


def words(text: str) -> tuple[str, ...]:
    """Split a name into lower-case words: camelCase, snake_case, kebab-case.

    Compatibility forms, accents and invisible characters are folded away first, so that they
    cannot hide a word.

    Example:
        >>> words("repo.deleteFile_v2")
        ('repo', 'delete', 'file', 'v2')
        >>> words("HTTPServer-restart")
        ('http', 'server', 'restart')
    """
    normal = "".join(
        char
        for char in unicodedata.normalize("NFKD", text)
        if unicodedata.category(char) not in HIDDEN
    )
    spaced = _CAMEL.sub(" ", normal)
    return tuple(word for word in _BREAK.split(spaced.lower()) if word)


def inflections(word: str) -> frozenset[str]:
    """Return a verb or noun with its regular English inflections.

    Example:
        >>> sorted(inflections("delete"))
        ['delete', 'deleted', 'deletes', 'deleting', 'deletion']
        >>> "dropped" in inflections("drop") and "applies" in inflections("apply")
        True
    """
    forms = {word, f"{word}s", f"{word}ed", f"{word}ing"}
    if len(word) < _MIN_STEM:
        return frozenset({word})
    if word.endswith("e"):
        stem = word[:-1]
        forms = {word, f"{word}s", f"{word}d", f"{stem}ing"}
        if word.endswith("te"):
            forms.add(f"{stem}ion")
    elif word.endswith("y") and word[-2] not in "aeiou":
        stem = word[:-1]
        forms = {word, f"{stem}ies", f"{stem}ied", f"{word}ing"}
    elif word.endswith(("s", "sh", "ch", "x", "z")):
        forms |= {f"{word}es"}
    if _doubles(word):
        forms |= {f"{word}{word[-1]}ed", f"{word}{word[-1]}ing"}
    return frozenset(forms)


def _doubles(word: str) -> bool:
    """Whether the last consonant doubles before a suffix, as in drop, dropping."""
    return (
        len(word) <= 6
        and word[-1] not in "aeiouwxy"
        and word[-2] in "aeiou"
        and word[-3] not in "aeiou"
    )


class Matcher:
    """Finds the curated operations that a name or title matches; built once, then O(words).

    A pattern's words must stand in order and side by side. A word also matches where it is
    written together with a common object (`deletefile`), and a phrase where its words are
    written as one (`sendemail`). A leading pattern matches its plain form only, as a first word:
    `run_query` is an order, `runs_list` is not.

    Example:
        >>> send = Operation(pattern="send email", danger=Danger.DANGEROUS)
        >>> run = Operation(pattern="^run", danger=Danger.WRITE)
        >>> matcher = Matcher([send, run])
        >>> [found.pattern for found in matcher.matching("mail_sendEmails")]
        ['send email']
        >>> [found.pattern for found in matcher.matching("runQuery", "List runs")]
        ['^run']
        >>> matcher.matching("send_fast_email")
        ()
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_first: dict[str, list[_Entry]] = {}
        for rank, operation in enumerate(operations):
            self._add(rank, operation)

    def _add(self, rank: int, operation: Operation) -> None:
        plain = words(operation.pattern)
        if not plain:
            return
        leading = operation.pattern.lstrip().startswith(LEADING)
        first, *rest = [frozenset({w}) if leading else inflections(w) for w in plain]
        entry = _Entry(rank=rank, operation=operation, leading=leading, rest=tuple(rest))
        for form in first:
            self._by_first.setdefault(form, []).append(entry)
        if rest:
            joined = _Entry(rank=rank, operation=operation, leading=leading, rest=())
            for form in rest[-1]:
                self._by_first.setdefault("".join(plain[:-1]) + form, []).append(joined)

    def matching(self, name: str, title: str = "", server: str = "") -> tuple[Operation, ...]:
        """Return the operations that match, in the order they were given.

        A server's own name at the start of its tools' names is passed over, so that git_commit
        of the server git is an order to commit.
        """
        found: dict[int, Operation] = {}
        own = words(server)
        for text in (name, title):
            present = words(text)
            if own and len(present) > len(own) and present[: len(own)] == own:
                present = present[len(own) :]
            for place in range(len(present)):
                found.update(self._at(present, place))
        return tuple(operation for _, operation in sorted(found.items(), key=lambda pair: pair[0]))

    def _at(self, present: tuple[str, ...], place: int) -> Iterable[tuple[int, Operation]]:
        word, following = present[place], present[place + 1 :]
        for entry in (*self._by_first.get(word, ()), *self._in_compound(word)):
            if (place == 0 or not entry.leading) and entry.goes_on(following):
                yield entry.rank, entry.operation

    def _in_compound(self, word: str) -> Iterable[_Entry]:
        for cut in range(_MIN_STEM, len(word) - 1):
            if word[cut:] in OBJECTS:
                yield from (e for e in self._by_first.get(word[:cut], ()) if not e.rest)


@dataclass(frozen=True, kw_only=True)
class _Entry:
    rank: int
    operation: Operation
    leading: bool
    rest: tuple[frozenset[str], ...]

    def goes_on(self, following: tuple[str, ...]) -> bool:
        """Whether the rest of the pattern is what follows."""
        return len(following) >= len(self.rest) and all(
            word in forms for word, forms in zip(following, self.rest, strict=False)
        )


def classify(
    matched: Iterable[Operation],
    *,
    annotations: Mapping[str, Any],
    trusted: bool,
    override: Danger | None = None,
) -> Verdict:
    """Judge a tool.

    The annotations of a trusted server are believed; those of any other may only raise the
    class. Nothing said counts as `write`. A curated match raises the class to its own. An
    admin's override decides the class but not the veto.

    Args:
        matched: Curated operations that its name or title matches.
        annotations: Hints of its server.
        trusted: Whether a person trusts the server.
        override: An admin's verdict.

    Example:
        >>> classify([], annotations={"readOnlyHint": True}, trusted=True).danger.value
        'read'
        >>> classify([], annotations={"readOnlyHint": True}, trusted=False).danger.value
        'write'
    """
    found = tuple(matched)
    danger, reason = _annotated(annotations, trusted=trusted)
    reasons = [reason]
    vetoed = False
    for operation in found:
        vetoed = True
        note = f"its name says {operation.pattern.lstrip(LEADING)!r}"
        note += f": {operation.reason}" if operation.reason else ""
        if SEVERITY[operation.danger] > SEVERITY[danger]:
            danger = operation.danger
            reasons.insert(0, note)
        else:
            reasons.append(note)
    if override is not None:
        danger = override
        reasons.insert(0, f"an admin set it to {override.value}")
    by_admin = override is not None or any(
        operation.by_admin and operation.danger is Danger.DESTRUCTIVE for operation in found
    )
    by = "admin" if by_admin else "server" if trusted and _destroys(annotations) else ""
    return Verdict(
        danger=danger,
        reasons=tuple(reasons),
        vetoed=vetoed,
        destructive_by=by if danger is Danger.DESTRUCTIVE else "",
    )


def repeatable(
    annotations: Mapping[str, Any],
    *,
    trusted: bool,
    danger_override: Danger | None = None,
    override: bool | None = None,
) -> bool:
    """Whether a call may be made again when nobody knows how the first ended.

    That takes a tool that only reads, or whose second call changes nothing more; and the word of
    an admin or of a trusted server for it. An admin's verdict on the danger decides whether it
    only reads.

    Args:
        annotations: Hints of its server.
        trusted: Whether a person trusts the server.
        danger_override: An admin's verdict on the danger.
        override: An admin's verdict on just this.

    Example:
        >>> repeatable({"readOnlyHint": True}, trusted=True)
        True
        >>> repeatable({"idempotentHint": True}, trusted=False)
        False
    """
    if override is not None:
        return override
    if danger_override is not None:
        reads = danger_override is Danger.READ
    else:
        reads = trusted and annotations.get("readOnlyHint") is True
    return reads or (trusted and annotations.get("idempotentHint") is True)


def _destroys(annotations: Mapping[str, Any]) -> bool:
    """Whether the annotations themselves say that it destroys."""
    return (
        annotations.get("destructiveHint") is True and annotations.get("readOnlyHint") is not True
    )


def _annotated(annotations: Mapping[str, Any], *, trusted: bool) -> tuple[Danger, str]:
    read_only = annotations.get("readOnlyHint") is True
    if read_only and trusted:
        return Danger.READ, "its trusted server calls it read-only"
    if _destroys(annotations):
        return Danger.DESTRUCTIVE, "its server calls it destructive"
    if read_only:
        return Danger.WRITE, "its server calls it read-only but is not trusted"
    if trusted and annotations.get("readOnlyHint") is False:
        return Danger.WRITE, "its trusted server says that it writes"
    return Danger.WRITE, "nothing trusted says that it only reads"
