"""How often results of calls made ahead were those of the same calls made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

NEEDED: Final = 3
"""Agreements before a result is served."""
KEPT_AGES: Final = NEEDED
"""How often an age must have agreed: what is the same after two seconds need not be after a
minute."""
AGE_FACTOR: Final = 2.0
"""Factor by which a served result may be older than that, since no two pauses of a client are
alike."""


class AgreementKey(NamedTuple):
    """What is counted together.

    Attributes:
        tool: Primary key.
        definition_hash: Of the definition that was called.
        launch_hash: Of the command or address of its server when that was approved.
        team: Primary key of the callers' team; None: callers without a team.
    """

    tool: int
    definition_hash: str
    launch_hash: str
    team: int | None


class AgreementCounts(NamedTuple):
    """How compared results turned out.

    Attributes:
        agreed: Results that were the same.
        disagreed: Results that were not.
        ages_s: The greatest ages of those that agreed, at most `KEPT_AGES`, in seconds.
    """

    agreed: int = 0
    disagreed: int = 0
    ages_s: tuple[float, ...] = ()

    @property
    def has_earned(self) -> bool:
        """Whether results may be served at all."""
        return self.agreed >= NEEDED and not self.disagreed

    @property
    def served_age_s(self) -> float:
        """Greatest age of a result that is served, in seconds."""
        return AGE_FACTOR * min(self.ages_s) if len(self.ages_s) >= KEPT_AGES else 0.0

    def add(self, *, agreed: bool, age_s: float) -> AgreementCounts:
        """Return the counts with one more result."""
        if not agreed:
            return self._replace(disagreed=self.disagreed + 1)
        ages = sorted((*self.ages_s, age_s), reverse=True)[:KEPT_AGES]
        return self._replace(agreed=self.agreed + 1, ages_s=tuple(ages))


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """A result made ahead that was compared.

    Attributes:
        key: What it is counted for.
        agreed: Whether the call made again was answered alike.
        age_s: Age of the result when the call was requested, in seconds.
    """

    key: AgreementKey
    agreed: bool
    age_s: float
