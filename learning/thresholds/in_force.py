"""The thresholds in force: computed ones, overrides and presets, looked up by context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from learning.memory.context import ContextKey
from learning.thresholds.policy import DEFAULT_PRESET, Presets


class ThresholdScope(NamedTuple):
    """What a stored threshold applies to.

    Attributes:
        team: Primary key; None: callers without a team.
        domain: Hash of the domain; None: any other domain.
        context: Hash of the context; None: any other context of the domain.
    """

    team: int | None
    domain: int | None
    context: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredThreshold:
    """A threshold as stored.

    Attributes:
        override: As set by an administrator; None: not overridden.
        is_suspended: Whether the policy suspends speculation.
    """

    threshold: float
    override: float | None = None
    is_suspended: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdInForce:
    """The threshold that applies to an intent.

    Attributes:
        value: Confidence from which to speculate, in [0, 1].
        is_suspended: Nothing is speculated, whatever its confidence.
    """

    value: float
    is_suspended: bool = False

    @property
    def required_confidence(self) -> float | None:
        """Its value; None: speculation is suspended."""
        return None if self.is_suspended else self.value

    def admits(self, confidence: float) -> bool:
        """Return whether a prediction of this confidence would be speculated."""
        return not self.is_suspended and confidence >= self.value


@dataclass(frozen=True, slots=True)
class ThresholdTable:
    """All thresholds of an installation; immutable."""

    stored: Mapping[ThresholdScope, StoredThreshold] = field(default_factory=dict)
    presets: Presets = field(default_factory=dict)

    def find(self, team: int | None, key: ContextKey) -> ThresholdInForce:
        """Return the threshold in force for a team's intent.

        The narrowest override comes first. Otherwise it is the computed threshold of the context,
        else of its domain, else the preset of the domain, else the team's threshold for anything
        else, else the default.
        """
        narrow = [
            self.stored[scope]
            for scope in (
                ThresholdScope(team, key.domain, key.context),
                ThresholdScope(team, key.domain, None),
            )
            if scope in self.stored
        ]
        general = self.stored.get(ThresholdScope(team, None, None))
        for one in (*narrow, general):
            if one is not None and one.override is not None:
                return ThresholdInForce(value=one.override)
        preset = self.presets.get(key.domain)
        chosen = narrow[0] if narrow else (None if preset else general)
        if chosen is None:
            return ThresholdInForce(value=(preset or DEFAULT_PRESET).initial)
        return ThresholdInForce(value=chosen.threshold, is_suspended=chosen.is_suspended)


def find_default_threshold(team: int | None, key: ContextKey) -> ThresholdInForce:
    """Return the threshold of anything without evidence, presets and overrides."""
    return ThresholdTable().find(team, key)
