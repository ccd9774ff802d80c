"""Classify how dangerous calls of a tool are, by its annotations, name and inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tools.executable_input import ExecutableInput, ExecutableKind
from tools.name_words import split_name_words


class Danger(StrEnum):
    """Danger class: the worst that a call may do, in ascending order."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"
    DANGEROUS = "dangerous"

    @property
    def may_destroy(self) -> bool:
        """Whether a call may destroy something, or do worse."""
        return self in {Danger.DESTRUCTIVE, Danger.DANGEROUS}


SEVERITY = {danger: rank for rank, danger in enumerate(Danger)}


@dataclass(frozen=True, kw_only=True)
class DangerPattern:
    """A curated pattern of one word or several consecutive words.

    Attributes:
        pattern: Such as `delete` or `send email`; `^run` counts as a first word only, for
            verbs that are as often nouns.
        danger: Class of a matching tool.
        reason: In plain words.
        by_admin: Whether an admin of this installation added it.
    """

    pattern: str
    danger: Danger
    reason: str = ""
    by_admin: bool = False


@dataclass(frozen=True, kw_only=True)
class DangerVerdict:
    """A danger class with its reasons.

    Attributes:
        danger: The class.
        reasons: In plain words, the deciding one first.
        veto_reasons: What rules out speculation: a curated operation matches, also in disguise,
            or it executes its input. In plain words.
        destructive_by: Who declares it destructive: its `server`, trusted or not, or an `admin`;
            empty if nobody, and for all other classes.
        is_set: Whether an admin set the class for this tool.
    """

    danger: Danger
    reasons: tuple[str, ...]
    veto_reasons: tuple[str, ...] = ()
    destructive_by: str = ""
    is_set: bool = False

    @property
    def vetoed(self) -> bool:
        """Whether it may never be speculated on, whatever is granted."""
        return bool(self.veto_reasons)


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
"""Nouns that tool names join to a verb, as in deletefile."""
LEADING = "^"
MAX_CHARS = 50_000
"""Of a name or a title; tools with longer texts need a person's approval in any case."""
_READ_VERBS = frozenset(["get", "list", "find", "search", "count", "describe", "read", "show"])
_CONJUNCTIONS = frozenset(["and", "or", "then"])
_NOUN_PATTERNS = frozenset(
    ["bill", "charge", "payment", "payout", "purchase", "refund", "transfer", "trash"]
)
"""Pattern words that are both verb and noun in the same form."""
_LONGEST_OBJECT = max(map(len, OBJECTS))


def _is_read_only_name(words: tuple[str, ...]) -> bool:
    return words[0] in _READ_VERBS and _CONJUNCTIONS.isdisjoint(words)


def inflect_word(word: str) -> frozenset[str]:
    """Return a verb or noun with its regular English inflections.

    Example:
        >>> sorted(inflect_word("delete"))
        ['delete', 'deleted', 'deletes', 'deleting', 'deletion']
        >>> "dropped" in inflect_word("drop") and "applies" in inflect_word("apply")
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
    if _is_consonant_doubled(word):
        forms |= {f"{word}{word[-1]}ed", f"{word}{word[-1]}ing"}
    return frozenset(forms)


def _is_consonant_doubled(word: str) -> bool:
    """Whether the last consonant doubles before a suffix, as in drop, dropping."""
    return (
        len(word) <= 6
        and word[-1] not in "aeiouwxy"
        and word[-2] in "aeiou"
        and word[-3] not in "aeiou"
    )


class DangerMatcher:
    """Finds the curated operations that a name or title matches; built once, then O(words).

    A pattern's words must be consecutive and in order. A word also matches when joined to a
    common object (`deletefile`), and a phrase when written as one word (`sendemail`). A leading
    pattern matches its plain form only, as a first word: `run_query` is an imperative,
    `runs_list` is not.

    Example:
        >>> send = DangerPattern(pattern="send email", danger=Danger.DANGEROUS)
        >>> run = DangerPattern(pattern="^run", danger=Danger.WRITE)
        >>> matcher = DangerMatcher([send, run])
        >>> [found.pattern for found in matcher.find_matches("mail_sendEmails")]
        ['send email']
        >>> [found.pattern for found in matcher.find_matches("runQuery", "List runs")]
        ['^run']
        >>> matcher.find_matches("send_fast_email")
        ()
    """

    def __init__(self, operations: Iterable[DangerPattern]) -> None:
        self._by_first: dict[str, list[_PatternEntry]] = {}
        self._longest = 0
        self._verbs: dict[str, str] = {}
        for rank, operation in enumerate(operations):
            self._add(rank, operation)

    def _add(self, rank: int, operation: DangerPattern) -> None:
        plain = split_name_words(operation.pattern)
        if not plain:
            return
        leading = operation.pattern.lstrip().startswith(LEADING)
        first, *rest = [frozenset({w}) if leading else inflect_word(w) for w in plain]
        entry = _PatternEntry(rank=rank, operation=operation, leading=leading, rest=tuple(rest))
        self._longest = max(self._longest, len(rest))
        for form in first:
            self._by_first.setdefault(form, []).append(entry)
        if not rest and not leading:
            present = (form for form in first if not form.endswith(("ed", "ing", "ion")))
            self._verbs.update(dict.fromkeys(present, operation.pattern))
        if rest:
            joined = _PatternEntry(rank=rank, operation=operation, leading=leading, rest=())
            for form in rest[-1]:
                self._by_first.setdefault("".join(plain[:-1]) + form, []).append(joined)

    def has_form(self, word: str) -> bool:
        """Whether a word is a form of a pattern of one word, also joined to a common object."""
        entries = (*self._by_first.get(word, ()), *self._match_compound(word))
        return any(not entry.rest for entry in entries)

    def find_verb(self, word: str) -> str:
        """Return the pattern of which a word is a form that says what somebody does.

        Patterns that are as often nouns do not count.

        Example:
            >>> matcher = DangerMatcher([DangerPattern(pattern="clear", danger=Danger.WRITE)])
            >>> matcher.find_verb("clears"), matcher.find_verb("cleared")
            ('clear', '')
        """
        return self._verbs.get(word, "")

    def find_matches(
        self, name: str, title: str = "", server: str = "", *, only_reads: bool = False
    ) -> tuple[DangerPattern, ...]:
        """Return the matching operations, in the order they were passed to the matcher.

        A prefix equal to the server's name is skipped, so that git_commit of the server git
        counts as the verb commit.

        Args:
            name: Of the tool.
            title: Of the tool.
            server: Its server's name.
            only_reads: Whether a trusted source declares it read-only. Then words after a read
                verb count as nouns: `list_payments` moves no money.
        """
        found: dict[int, DangerPattern] = {}
        prefix = split_name_words(server)
        for text in (name, title):
            words = split_name_words(text[:MAX_CHARS])
            if prefix and len(words) > len(prefix) and words[: len(prefix)] == prefix:
                words = words[len(prefix) :]
            for at in range(len(words)):
                as_noun = only_reads and at > 0 and _is_read_only_name(words)
                found.update(self._match_at(words, at, as_noun=as_noun))
        return tuple(operation for _, operation in sorted(found.items(), key=lambda pair: pair[0]))

    def _match_at(
        self, words: tuple[str, ...], at: int, *, as_noun: bool
    ) -> Iterable[tuple[int, DangerPattern]]:
        word, following = words[at], words[at + 1 : at + 1 + self._longest]
        entries = self._by_first.get(word, ())
        if as_noun:
            entries = [entry for entry in entries if not entry.is_noun(word)]
        for entry in (*entries, *self._match_compound(word)):
            if (at == 0 or not entry.leading) and entry.matches_rest(following):
                yield entry.rank, entry.operation

    def _match_compound(self, word: str) -> Iterable[_PatternEntry]:
        for cut in range(max(_MIN_STEM, len(word) - _LONGEST_OBJECT), len(word) - 1):
            if word[cut:] in OBJECTS:
                yield from (e for e in self._by_first.get(word[:cut], ()) if not e.rest)


@dataclass(frozen=True, kw_only=True)
class _PatternEntry:
    rank: int
    operation: DangerPattern
    leading: bool
    rest: tuple[frozenset[str], ...]

    def is_noun(self, word: str) -> bool:
        """Whether a word that matches a one-word pattern can be a noun or a participle.

        An admin's pattern counts at any position.
        """
        pattern = self.operation.pattern
        if self.operation.by_admin or " " in pattern:
            return False
        return word != pattern or word in _NOUN_PATTERNS

    def matches_rest(self, following: tuple[str, ...]) -> bool:
        """Whether the rest of the pattern matches the following words."""
        return len(following) >= len(self.rest) and all(
            word in forms for word, forms in zip(following, self.rest, strict=False)
        )


def classify(
    matched: Iterable[DangerPattern],
    *,
    annotations: Mapping[str, Any],
    trusted: bool,
    override: Danger | None = None,
    runs: ExecutableInput | None = None,
    disguises: Iterable[str] = (),
) -> DangerVerdict:
    """Classify a tool.

    Annotations of a trusted server are believed; those of any other can only raise the class.
    Without annotations it is `write`. A curated match raises the class to its own. A tool that
    executes code or commands from its input is dangerous even if a trusted server declares it
    read-only: no server can guarantee that for arbitrary commands. For SQL it can, by a read-only
    transaction. An admin's override decides the class but not the veto.

    Args:
        matched: Curated operations that its name or title matches.
        annotations: Its server's hints.
        trusted: Whether a person trusts the server.
        override: The class set by an admin.
        runs: The parameter whose value it executes.
        disguises: Dangerous words that its name may hide, in plain words. They count for the veto
            alone.

    Example:
        >>> classify([], annotations={"readOnlyHint": True}, trusted=True).danger.value
        'read'
        >>> classify([], annotations={"readOnlyHint": True}, trusted=False).danger.value
        'write'
    """
    operations = tuple(matched)
    danger, reason = _danger_from_annotations(annotations, trusted=trusted)
    reasons = [reason]
    veto_reasons: list[str] = []
    for operation in operations:
        note = f"its name says {operation.pattern.lstrip(LEADING)!r}"
        note += f": {operation.reason}" if operation.reason else ""
        veto_reasons.append(note)
        if SEVERITY[operation.danger] > SEVERITY[danger]:
            danger = operation.danger
            reasons.insert(0, note)
        else:
            reasons.append(note)
    if runs is not None and not (danger is Danger.READ and runs.kind is ExecutableKind.SQL):
        danger = Danger.DANGEROUS
        note = f"it takes {runs.kind.value} in its parameter {runs.parameter!r}"
        reasons.insert(0, note)
        veto_reasons.insert(0, note)
    if override is not None:
        danger = override
        reasons.insert(0, f"an admin set it to {override.value}")
    by_admin = override is not None or any(
        operation.by_admin and operation.danger is Danger.DESTRUCTIVE for operation in operations
    )
    by_server = _is_destructive(annotations, trusted=trusted)
    by = "admin" if by_admin else "server" if by_server else ""
    return DangerVerdict(
        danger=danger,
        reasons=tuple(reasons),
        veto_reasons=(*veto_reasons, *disguises),
        destructive_by=by if danger is Danger.DESTRUCTIVE else "",
        is_set=override is not None,
    )


def is_call_repeatable(
    annotations: Mapping[str, Any],
    *,
    trusted: bool,
    danger_override: Danger | None = None,
    override: bool | None = None,
) -> bool:
    """Whether a call with an unknown outcome may be repeated.

    The tool must be read-only or idempotent, by the word of an admin or of a trusted server. If
    an admin set its danger class, that decides whether it only reads.

    Args:
        annotations: Its server's hints.
        trusted: Whether a person trusts the server.
        danger_override: The danger class set by an admin.
        override: An admin's decision on repeating itself.

    Example:
        >>> is_call_repeatable({"readOnlyHint": True}, trusted=True)
        True
        >>> is_call_repeatable({"idempotentHint": True}, trusted=False)
        False
    """
    if override is not None:
        return override
    if danger_override is not None:
        is_read_only = danger_override is Danger.READ
    else:
        is_read_only = trusted and annotations.get("readOnlyHint") is True
    return is_read_only or (trusted and annotations.get("idempotentHint") is True)


def _is_destructive(annotations: Mapping[str, Any], *, trusted: bool) -> bool:
    """Whether the annotations declare it destructive.

    That is believed of every server, since it only makes calls safer; a declaration that it only
    reads outweighs it for a trusted server alone.
    """
    only_reads = trusted and annotations.get("readOnlyHint") is True
    return annotations.get("destructiveHint") is True and not only_reads


def _danger_from_annotations(
    annotations: Mapping[str, Any], *, trusted: bool
) -> tuple[Danger, str]:
    read_only = annotations.get("readOnlyHint") is True
    if read_only and trusted:
        return Danger.READ, "its trusted server declares it read-only"
    if _is_destructive(annotations, trusted=trusted):
        return Danger.DESTRUCTIVE, "its server declares it destructive"
    if read_only:
        return Danger.WRITE, "its server declares it read-only but is not trusted"
    if trusted and annotations.get("readOnlyHint") is False:
        return Danger.WRITE, "its trusted server declares that it writes"
    return Danger.WRITE, "no trusted source says that it only reads"
