"""Load the presets of thresholds that the configuration states."""

from __future__ import annotations

from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from learning.memory.context import describe_context, hash_context
from learning.thresholds.named import parse_presets
from learning.thresholds.policy import Presets


def load_presets(config: Config) -> Presets:
    """Return the presets of the installation by hash of the domain.

    Raises:
        ValueError: If the setting is malformed.
    """
    if not config.threshold_presets:
        return {}
    sealer = sealing.load_or_create_sealer(config.home)

    def hash_domain(name: str) -> int:
        return hash_context(describe_context(domain=name), sealer.digest).domain

    return parse_presets(config.threshold_presets, hash_domain)
