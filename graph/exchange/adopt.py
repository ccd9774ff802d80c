"""Decide what of a file's relation counts here, and what it changes of what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from graph.exchange.document import Stated, StatedEvidence
from graph.record import Record, Said
from graph.relations import Source

CERTAIN: Final = 1.0
"""Confidence of a relation that a file just states."""
SIGNED: Final = frozenset({Source.CURATED, Source.IMPORTED})
"""Sources whose evidence comes from somebody, which is the file where it does not say."""


class Left(StrEnum):
    """Why a relation of a file is left out."""

    OBSERVED = "observed"
    REJECTION = "rejection"
    REJECTED_HERE = "rejected here"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How far a file is believed.

    Attributes:
        origin: What the file is called.
        as_curated: Whether an admin vouches for it: what it calls curated or derived from schemas
            counts as that, what it just states counts as curated, and its rejections hold.
        team: Primary key of the team that takes over what the file's team observed or saw in
            results; None: that, and what anybody observed, is left out.
        now: When it is imported.
    """

    origin: str
    as_curated: bool
    team: int | None
    now: datetime


def adopt(
    stated: Stated, *, source: int, target: int, terms: Terms, stored: Record | None
) -> Record | Left:
    """Turn a relation of a file into what is to be stored of it.

    Args:
        stated: As the file has it.
        source: Primary key of the tool it starts from.
        target: Primary key of the tool it leads to.
        terms: How far the file is believed.
        stored: What is stored of the same relation.

    Returns:
        The relation with what is new to be said of it, maybe nothing; or why it is left out.
    """
    if stated.rejected and not terms.as_curated:
        return Left.REJECTION
    if stored is not None and stored.rejected and not stated.rejected:
        return Left.REJECTED_HERE
    evidence = [item for item in stated.evidence if _counts(item, terms)]
    if stated.evidence and not evidence and not stated.rejected:
        return Left.OBSERVED
    known = {(said.source, said.team): said for said in stored.said} if stored else {}
    said = _vouched(evidence, terms) if terms.as_curated else _imported(evidence, terms, known)
    if not stated.evidence and not stated.rejected:
        said = [_plain(stated, terms)]
    return Record(
        source=source,
        target=target,
        kind=stated.kind,
        required=stated.required,
        rejected=stated.rejected,
        reason=stated.reason,
        version=stated.version,
        deprecated_at=stated.deprecated_at,
        said=tuple(said),
    )


def merged(stored: Record, new: Record) -> Record:
    """Return what is stored of a relation once something new is said of it.

    What describes it is taken over unless a person's word stands against a word that is none.
    Evidence takes the place of what the same source said for the same team.
    """
    said = {(item.source, item.team): item for item in stored.said}
    for item in new.said:
        before = said.get((item.source, item.team))
        if before is None or not _same(before, item):
            said[item.source, item.team] = item
    together = replace(stored, said=tuple(said.values()), rejected=stored.rejected or new.rejected)
    if not new.said and not new.rejected:
        return together
    if _is_curated(stored) and not (_is_curated(new) or new.rejected):
        return together
    return replace(
        together,
        required=new.required,
        reason=new.reason,
        version=new.version,
        deprecated_at=new.deprecated_at,
    )


def _counts(item: StatedEvidence, terms: Terms) -> bool:
    return terms.team is not None or not _is_a_teams(item)


def _is_a_teams(item: StatedEvidence) -> bool:
    return item.source is Source.OBSERVED or bool(item.team)


def _plain(stated: Stated, terms: Terms) -> Said:
    sure = CERTAIN if stated.confidence is None else stated.confidence
    source = Source.CURATED if terms.as_curated else Source.IMPORTED
    return _said(StatedEvidence(source=source, confidence=sure), terms)


def _vouched(evidence: Iterable[StatedEvidence], terms: Terms) -> list[Said]:
    return [_said(item, terms) for item in evidence]


def _imported(
    evidence: Iterable[StatedEvidence],
    terms: Terms,
    known: Mapping[tuple[Source, int | None], Said],
) -> list[Said]:
    """Take what teams know of their own as it is, and all else as one word of the file.

    What is stored already just as the file has it is not said again.
    """
    said, words = [], []
    for item in evidence:
        own = _said(item, terms)
        if _is_a_teams(item):
            said.append(own)
        elif item.source is Source.IMPORTED:
            words.append(own)
        elif (before := known.get((own.source, None))) is None or not _same_word(before, own):
            words.append(replace(own, source=Source.IMPORTED, origin=terms.origin))
    return [*said, _strongest(words, terms)] if words else said


def _strongest(words: list[Said], terms: Terms) -> Said:
    if len(words) == 1:
        return words[0]
    best = max(words, key=lambda said: said.confidence or 0.0)
    fields = tuple({str(field): field for said in words for field in said.fields}.values())
    return replace(best, origin=terms.origin, fields=fields)


def _said(item: StatedEvidence, terms: Terms) -> Said:
    return Said(
        source=item.source,
        team=terms.team if item.team else None,
        origin=item.origin or (terms.origin if item.source in SIGNED else ""),
        confidence=item.confidence,
        successes=item.successes,
        failures=item.failures,
        seconds=item.seconds,
        fields=item.fields,
        last_seen=min(item.last_seen_at or terms.now, terms.now),
    )


def _same_word(one: Said, other: Said) -> bool:
    return (one.confidence, one.fields) == (other.confidence, other.fields)


def _same(one: Said, other: Said) -> bool:
    """Say whether two words are the same; when something was said last is no part of it."""
    is_observed = one.source is Source.OBSERVED
    return replace(other, last_seen=one.last_seen) == one and (
        not is_observed or one.last_seen == other.last_seen
    )


def _is_curated(record: Record) -> bool:
    return any(said.source is Source.CURATED for said in record.said)
