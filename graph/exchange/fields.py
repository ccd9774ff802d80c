"""Read the fields of one row of a file, noting everything that is wrong with them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, Final

from graph.exchange.document import BELONGS_TO, Stated, StatedEvidence, shown
from graph.relations import OF_A_TEAM, Kind, Source

MAX_ID: Final = 1_000
MAX_WORD: Final = 30
MAX_REASON: Final = 10_000
MAX_VERSION: Final = 100
MAX_ORIGIN: Final = 200
MAX_TEAM: Final = 200
MAX_COUNT: Final = 1e15
MAX_SECONDS: Final = 1e10
MAX_EVIDENCE: Final = 1_000
MAX_FIELDS: Final = 1_000
MAX_POINTER: Final = 2_000

EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""There was no tool before."""

KINDS: Final[Mapping[str, Kind]] = {kind.value: kind for kind in Kind}
SOURCES: Final[Mapping[str, Source]] = {source.value: source for source in Source}
PREREQUISITE: Final = re.compile(r".+_depends_on")
"""Types of public data sets: what they start from is the prerequisite of what they lead to."""
RELATION_FIELDS: Final = frozenset(
    {
        *("source", "target", "kind", "type", "required", "confidence", "reason", "version"),
        *("deprecated_at", "rejected", "evidence"),
    }
)
EVIDENCE_FIELDS: Final = frozenset(
    {
        *("source", "confidence", "successes", "failures", "seconds", "fields", "origin"),
        *("team", "last_seen_at"),
    }
)
_JOINTS: Final = re.compile(r"[\s\-]+|(?<=[a-z])(?=[A-Z])")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


class Fields:
    """One object of a file, taken apart field by field.

    Attributes:
        wrong: What is wrong with it, in plain words.
    """

    def __init__(self, row: Mapping[str, Any], wrong: list[str], place: str = "") -> None:
        self._row = row
        self._place = place
        self.wrong = wrong

    def complain(self, key: str, expected: str) -> None:
        """Note that a field is not as expected."""
        self.wrong.append(f"{self._place}{key} {expected}")

    def text(self, key: str, *, longest: int, required: bool = False) -> str:
        """Return a text; empty if there is none."""
        value = self._row.get(key)
        if value is None or value == "":
            if required:
                self.complain(key, "is missing")
            return ""
        if not isinstance(value, str):
            self.complain(key, f"must be a text, not {shown(value)}")
        elif len(value) > longest:
            self.complain(key, f"has {len(value):,} characters; at most {longest:,} are allowed")
        elif _UNSTORABLE.search(value):
            self.complain(key, "holds a character that cannot be stored (NUL, half a surrogate)")
        else:
            return value
        return ""

    def number(self, key: str, *, most: float) -> float | None:
        """Return a number from 0 to a bound; None if there is none."""
        value = self._row.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.complain(key, f"must be a number, not {shown(value)}")
        elif not 0 <= value <= most:
            self.complain(key, f"must be a number from 0 to {most:g}, not {shown(value)}")
        else:
            return float(value)
        return None

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._row.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.complain(key, f"must be true or false, not {shown(value)}")
            return default
        return value

    def moment(self, key: str) -> datetime | None:
        """Return a time; one without a zone is UTC."""
        value = self._row.get(key)
        if value is None:
            return None
        try:
            at = datetime.fromisoformat(value)
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            self.complain(key, f"must be a date as in 2026-11-22, not {shown(value)}")
            return None
        if at < EARLIEST:
            self.complain(key, f"must be a date from {EARLIEST:%Y} on, not {shown(value)}")
            return None
        return at

    def day(self, key: str) -> date | None:
        """Return a day."""
        at = self.moment(key)
        return None if at is None else at.date()

    def word(self, key: str, known: Collection[str], *, called: str = "") -> str:
        """Return one of a few known words, however it is spelt; empty if it is none of them."""
        value = self._row.get(key)
        if value is None or value == "":
            self.complain(called or key, f"is missing; expected one of {', '.join(known)}")
            return ""
        spelt = normal(value) if isinstance(value, str) else ""
        if spelt in known:
            return spelt
        near = _nearest(spelt[:MAX_WORD], tuple(known))
        hint = f"did you mean {near}? Expected" if near else "expected"
        self.complain(
            called or key, f"{shown(value)} is unknown; {hint} one of {', '.join(known)}"
        )
        return ""

    def objects(self, key: str, *, most: int) -> list[Mapping[str, Any]]:
        """Return a list of objects; empty if there is none."""
        value = self._row.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.complain(key, "must be a list of objects")
            return []
        if len(value) > most:
            self.complain(key, f"has {len(value):,} entries; at most {most:,} are allowed")
            return []
        return value


@lru_cache(maxsize=1_000)
def _nearest(word: str, known: tuple[str, ...]) -> str:
    return next(iter(difflib.get_close_matches(word, known, n=1)), "")


def normal(word: str) -> str:
    """Spell a word as kinds and sources are spelt.

    Example:
        >>> normal(" Depends-On"), normal("OFTEN_USED WITH"), normal("dependsOn")
        ('depends_on', 'often_used_with', 'depends_on')
    """
    return _JOINTS.sub("_", word.strip()).lower()


def is_filing(row: Mapping[str, Any]) -> bool:
    """Whether a row files a tool under a category and states no relation."""
    return _spelt(row) == BELONGS_TO


def relation(row: Mapping[str, Any], *, line: int, wrong: list[str]) -> Stated | None:
    """Read a relation.

    Args:
        row: Its fields by name; a field of None counts as absent.
        line: Where it stands.
        wrong: Takes what is wrong with it.

    Returns:
        The relation; None if anything is wrong.
    """
    before = len(wrong)
    fields = Fields(row, wrong)
    kind, turned = _kind(row, fields)
    source = fields.text("source", longest=MAX_ID, required=True)
    target = fields.text("target", longest=MAX_ID, required=True)
    if source and source == target:
        wrong.append(f"{shown(source)} stands on both ends; a relation is between two tools")
    required = fields.flag("required", default=True)
    stated = Stated(
        source=target if turned else source,
        target=source if turned else target,
        kind=kind or Kind.DEPENDS_ON,
        required=required or kind is not Kind.DEPENDS_ON,
        confidence=fields.number("confidence", most=1),
        reason=fields.text("reason", longest=MAX_REASON),
        version=fields.text("version", longest=MAX_VERSION),
        deprecated_at=fields.day("deprecated_at"),
        rejected=fields.flag("rejected", default=False),
        evidence=_all_evidence(fields),
        line=line,
    )
    return stated if len(wrong) == before else None


def feeds_parameter(row: Mapping[str, Any]) -> bool:
    """Whether a type of a public data set says that the prerequisite gives a parameter its value.

    Example:
        >>> feeds_parameter({"type": "PARAMETER_DIRECTLY_DEPENDS_ON"})
        True
    """
    return _spelt(row).startswith("parameter_")


def data_flow(dependency: Stated) -> Stated:
    """Return the `provides` that goes with a dependency for the value of a parameter."""
    return replace(
        dependency,
        source=dependency.target,
        target=dependency.source,
        kind=Kind.PROVIDES,
        required=True,
    )


def _spelt(row: Mapping[str, Any]) -> str:
    """Return the kind of a row as kinds are spelt; empty if it has none."""
    value = row.get("type") if row.get("kind") is None else row["kind"]
    return normal(value) if isinstance(value, str) else ""


def _kind(row: Mapping[str, Any], fields: Fields) -> tuple[Kind | None, bool]:
    """Return the kind, and whether source and target stand the other way round."""
    if row.get("kind") is not None and row.get("type") is not None:
        fields.wrong.append("kind and type both stand there; give one")
        return None, False
    key = "kind" if row.get("type") is None else "type"
    value = row.get(key)
    if isinstance(value, str) and PREREQUISITE.fullmatch(normal(value)):
        return Kind.DEPENDS_ON, True
    return KINDS.get(fields.word(key, KINDS)), False


def _all_evidence(fields: Fields) -> tuple[StatedEvidence, ...]:
    found: dict[tuple[Source, str], StatedEvidence] = {}
    for number, row in enumerate(fields.objects("evidence", most=MAX_EVIDENCE), start=1):
        item = _evidence(Fields(row, fields.wrong, f"evidence {number}: "))
        if item is None:
            continue
        if (item.source, item.team) in found:
            fields.complain("evidence", f"of the source {item.source} stands there twice")
        found[item.source, item.team] = item
    return tuple(found.values())


def _evidence(fields: Fields) -> StatedEvidence | None:
    before = len(fields.wrong)
    source = SOURCES.get(fields.word("source", SOURCES))
    team = fields.text("team", longest=MAX_TEAM)
    if team and source is not None and source not in OF_A_TEAM:
        known = " or ".join(sorted(OF_A_TEAM))
        fields.complain("team", f"only what is {known} has one, and this is {source}")
    item = StatedEvidence(
        source=source or Source.IMPORTED,
        confidence=fields.number("confidence", most=1),
        successes=fields.number("successes", most=MAX_COUNT) or 0.0,
        failures=fields.number("failures", most=MAX_COUNT) or 0.0,
        seconds=fields.number("seconds", most=MAX_SECONDS),
        fields=_flows(fields),
        origin=fields.text("origin", longest=MAX_ORIGIN),
        team=team,
        last_seen_at=fields.moment("last_seen_at"),
    )
    return item if len(fields.wrong) == before else None


def _flows(fields: Fields) -> tuple[Mapping[str, str], ...]:
    flows = []
    for flow in fields.objects("fields", most=MAX_FIELDS):
        ends = Fields(flow, fields.wrong, "fields: ")
        keys = [key for key in ("output", "input") if key in flow]  # an output may be unknown
        flows.append({key: ends.text(key, longest=MAX_POINTER) for key in keys})
    return tuple(flows)
