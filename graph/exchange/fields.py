"""Read the fields of one row of a file, noting everything that is wrong with them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, Final

from graph.exchange.document import BELONGS_TO, StatedEvidence, StatedRelation, quote_value
from graph.relations import TEAM_SOURCES, EvidenceSource, RelationKind

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

EARLIEST_DATE: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""There was no tool before."""

KINDS: Final[Mapping[str, RelationKind]] = {kind.value: kind for kind in RelationKind}
SOURCES: Final[Mapping[str, EvidenceSource]] = {source.value: source for source in EvidenceSource}
DEPENDS_ON_TYPE: Final = re.compile(r".+_depends_on")
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
_WORD_BOUNDARY: Final = re.compile(r"[\s\-]+|(?<=[a-z])(?=[A-Z])")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


class RecordFields:
    """One object of a file, taken apart field by field."""

    def __init__(self, row: Mapping[str, Any], wrong: list[str], place: str = "") -> None:
        self._row = row
        self._place = place
        self.wrong = wrong

    def report_problem(self, key: str, expected: str) -> None:
        """Note that a field is not as expected."""
        self.wrong.append(f"{self._place}{key} {expected}")

    def read_text(self, key: str, *, longest: int, required: bool = False) -> str:
        """Return a text; empty if there is none."""
        value = self._row.get(key)
        if value is None or value == "":
            if required:
                self.report_problem(key, "is missing")
            return ""
        if not isinstance(value, str):
            self.report_problem(key, f"must be a string, not {quote_value(value)}")
        elif len(value) > longest:
            self.report_problem(
                key, f"has {len(value):,} characters; at most {longest:,} are allowed"
            )
        elif _UNSTORABLE.search(value):
            self.report_problem(
                key, "holds a character that cannot be stored (NUL, unpaired surrogate)"
            )
        else:
            return value
        return ""

    def read_number(self, key: str, *, most: float) -> float | None:
        """Return a number from 0 to a bound; None if there is none."""
        value = self._row.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.report_problem(key, f"must be a number, not {quote_value(value)}")
        elif not 0 <= value <= most:
            self.report_problem(
                key, f"must be a number from 0 to {most:g}, not {quote_value(value)}"
            )
        else:
            return float(value)
        return None

    def read_flag(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._row.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.report_problem(key, f"must be true or false, not {quote_value(value)}")
            return default
        return value

    def read_datetime(self, key: str) -> datetime | None:
        """Return a time; one without a zone is UTC."""
        value = self._row.get(key)
        if value is None:
            return None
        try:
            at = datetime.fromisoformat(value)
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            self.report_problem(key, f"must be a date as in 2026-11-22, not {quote_value(value)}")
            return None
        if at < EARLIEST_DATE:
            self.report_problem(
                key, f"must be a date from {EARLIEST_DATE:%Y} on, not {quote_value(value)}"
            )
            return None
        return at

    def read_date(self, key: str) -> date | None:
        """Return a day."""
        at = self.read_datetime(key)
        return None if at is None else at.date()

    def read_choice(self, key: str, known: Collection[str]) -> str:
        """Return one of a few known words, however it is spelt; empty if it is none of them."""
        value = self._row.get(key)
        if value is None or value == "":
            self.report_problem(key, f"is missing; expected one of {', '.join(known)}")
            return ""
        spelt = normalize_kind(value) if isinstance(value, str) else ""
        if spelt in known:
            return spelt
        near = _closest_word(spelt[:MAX_WORD], tuple(known))
        hint = f"did you mean {near}? Expected" if near else "expected"
        self.report_problem(
            key, f"{quote_value(value)} is unknown; {hint} one of {', '.join(known)}"
        )
        return ""

    def read_objects(self, key: str, *, most: int) -> list[Mapping[str, Any]]:
        """Return a list of objects; empty if there is none."""
        value = self._row.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.report_problem(key, "must be a list of objects")
            return []
        if len(value) > most:
            self.report_problem(key, f"has {len(value):,} entries; at most {most:,} are allowed")
            return []
        return value


@lru_cache(maxsize=1_000)
def _closest_word(word: str, known: tuple[str, ...]) -> str:
    return next(iter(difflib.get_close_matches(word, known, n=1)), "")


def normalize_kind(word: str) -> str:
    """Spell a word as kinds and sources are spelt.

    Example:
        >>> (normalize_kind(" Depends-On"), normalize_kind("OFTEN_USED WITH"),
        ...  normalize_kind("dependsOn"))
        ('depends_on', 'often_used_with', 'depends_on')
    """
    return _WORD_BOUNDARY.sub("_", word.strip()).lower()


def is_category_row(row: Mapping[str, Any]) -> bool:
    """Whether a row files a tool under a category and states no relation."""
    return _row_kind(row) == BELONGS_TO


def read_relation(row: Mapping[str, Any], *, line: int, wrong: list[str]) -> StatedRelation | None:
    """Read a relation.

    Args:
        row: Its fields by name; a field of None counts as absent.
        line: Where it stands.
        wrong: Takes what is wrong with it.
    """
    before = len(wrong)
    fields = RecordFields(row, wrong)
    kind, turned = _read_kind(row, fields)
    source = fields.read_text("source", longest=MAX_ID, required=True)
    target = fields.read_text("target", longest=MAX_ID, required=True)
    if source and source == target:
        wrong.append(f"{quote_value(source)} is on both ends; a relation is between two tools")
    required = fields.read_flag("required", default=True)
    stated = StatedRelation(
        source=target if turned else source,
        target=source if turned else target,
        kind=kind or RelationKind.DEPENDS_ON,
        required=required or kind is not RelationKind.DEPENDS_ON,
        confidence=fields.read_number("confidence", most=1),
        reason=fields.read_text("reason", longest=MAX_REASON),
        version=fields.read_text("version", longest=MAX_VERSION),
        deprecated_at=fields.read_date("deprecated_at"),
        rejected=fields.read_flag("rejected", default=False),
        evidence=_read_all_evidence(fields),
        line=line,
    )
    return stated if len(wrong) == before else None


def is_parameter_source(row: Mapping[str, Any]) -> bool:
    """Whether a type of a public data set says that the prerequisite gives a parameter its value.

    Example:
        >>> is_parameter_source({"type": "PARAMETER_DIRECTLY_DEPENDS_ON"})
        True
    """
    return _row_kind(row).startswith("parameter_")


def read_data_flow(dependency: StatedRelation) -> StatedRelation:
    """Return the `provides` that goes with a dependency for the value of a parameter."""
    return replace(
        dependency,
        source=dependency.target,
        target=dependency.source,
        kind=RelationKind.PROVIDES,
        required=True,
    )


def _row_kind(row: Mapping[str, Any]) -> str:
    value = row.get("type") if row.get("kind") is None else row["kind"]
    return normalize_kind(value) if isinstance(value, str) else ""


def _read_kind(row: Mapping[str, Any], fields: RecordFields) -> tuple[RelationKind | None, bool]:
    """Return the kind, and whether source and target stand the other way round."""
    if row.get("kind") is not None and row.get("type") is not None:
        fields.wrong.append("kind and type are both given; keep one")
        return None, False
    key = "kind" if row.get("type") is None else "type"
    value = row.get(key)
    if isinstance(value, str) and DEPENDS_ON_TYPE.fullmatch(normalize_kind(value)):
        return RelationKind.DEPENDS_ON, True
    return KINDS.get(fields.read_choice(key, KINDS)), False


def _read_all_evidence(fields: RecordFields) -> tuple[StatedEvidence, ...]:
    found: dict[tuple[EvidenceSource, str], StatedEvidence] = {}
    for number, row in enumerate(fields.read_objects("evidence", most=MAX_EVIDENCE), start=1):
        item = _read_evidence(RecordFields(row, fields.wrong, f"evidence {number}: "))
        if item is None:
            continue
        if (item.source, item.team) in found:
            fields.report_problem("evidence", f"of the source {item.source} is given twice")
        found[item.source, item.team] = item
    return tuple(found.values())


def _read_evidence(fields: RecordFields) -> StatedEvidence | None:
    before = len(fields.wrong)
    source = SOURCES.get(fields.read_choice("source", SOURCES))
    team = fields.read_text("team", longest=MAX_TEAM)
    if team and source is not None and source not in TEAM_SOURCES:
        known = " or ".join(sorted(TEAM_SOURCES))
        fields.report_problem("team", f"only what is {known} has one, and this is {source}")
    item = StatedEvidence(
        source=source or EvidenceSource.IMPORTED,
        confidence=fields.read_number("confidence", most=1),
        successes=fields.read_number("successes", most=MAX_COUNT) or 0.0,
        failures=fields.read_number("failures", most=MAX_COUNT) or 0.0,
        seconds=fields.read_number("seconds", most=MAX_SECONDS),
        fields=_read_data_flows(fields),
        origin=fields.read_text("origin", longest=MAX_ORIGIN),
        team=team,
        last_seen_at=fields.read_datetime("last_seen_at"),
    )
    return item if len(fields.wrong) == before else None


def _read_data_flows(fields: RecordFields) -> tuple[Mapping[str, str], ...]:
    flows = []
    for flow in fields.read_objects("fields", most=MAX_FIELDS):
        ends = RecordFields(flow, fields.wrong, "fields: ")
        keys = [key for key in ("output", "input") if key in flow]  # an output may be unknown
        flows.append({key: ends.read_text(key, longest=MAX_POINTER) for key in keys})
    return tuple(flows)
