"""Policies and presets by the names that settings and commands use."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from learning.thresholds.adaptive import AdaptivePolicy
from learning.thresholds.policy import (
    MAX_THRESHOLD,
    MIN_THRESHOLD,
    FixedPolicy,
    Preset,
)

ThresholdPolicy = AdaptivePolicy | FixedPolicy
"""Decides thresholds from resolved predictions, shadow predictions included."""
POLICY_NAMES: Final = "adaptive, or fixed:T with a threshold T such as 0.92"
COMPARED_POLICIES: Final = ("adaptive", "fixed:0.85", "fixed:0.92")
"""What a backtest compares unless told otherwise."""
PRESET_FORM: Final = "DOMAIN=INITIAL or DOMAIN=INITIAL:LOWEST-HIGHEST"
_NUMBER: Final = r"([01](?:\.\d{1,6})?)"
_PRESET: Final = re.compile(rf"([^=]+)={_NUMBER}(?::{_NUMBER}-{_NUMBER})?")


def make_policy(name: str) -> ThresholdPolicy:
    """Return the policy of a name.

    Raises:
        ValueError: If there is none.

    Example:
        >>> make_policy("fixed:0.85").name
        'fixed:0.85'
    """
    if name == "adaptive":
        return AdaptivePolicy()
    kind, _, threshold = name.partition(":")
    if kind == "fixed" and re.fullmatch(_NUMBER, threshold) and _is_in_bounds(float(threshold)):
        return FixedPolicy(float(threshold))
    raise ValueError(
        f"no policy {name!r}; there are {POLICY_NAMES}, from {MIN_THRESHOLD:g} to "
        f"{MAX_THRESHOLD:g}"
    )


def parse_presets(text: str, hash_domain: Callable[[str], int]) -> dict[int, Preset]:
    """Return the presets of a setting.

    Raises:
        ValueError: If it is malformed or a threshold is out of bounds.

    Example:
        >>> parse_presets("files=0.85, payments=0.94:0.9-0.95", len)[8]
        Preset(initial=0.94, lowest=0.9, highest=0.95)
    """
    parts = [part.strip() for part in text.split(",")]
    return dict(_parse_preset(part, hash_domain) for part in parts if part)


def _parse_preset(part: str, hash_domain: Callable[[str], int]) -> tuple[int, Preset]:
    match = _PRESET.fullmatch(part)
    if match is None:
        raise ValueError(f"{part!r} is not of the form {PRESET_FORM}")
    domain, initial, lowest, highest = match.groups()
    preset = Preset(
        initial=float(initial),
        lowest=float(lowest or MIN_THRESHOLD),
        highest=float(highest or MAX_THRESHOLD),
    )
    if not (_is_in_bounds(preset.lowest) and _is_in_bounds(preset.highest)):
        raise ValueError(f"{part!r} is not within {MIN_THRESHOLD:g} and {MAX_THRESHOLD:g}")
    return hash_domain(domain.strip()), preset


def _is_in_bounds(threshold: float) -> bool:
    return MIN_THRESHOLD <= threshold <= MAX_THRESHOLD
