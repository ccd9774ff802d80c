"""Builds the thresholds of a process, and what follows its suggestions to their outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from gateway_project.readiness import NotReady
from gateway_project.use_cases.load_presets import load_presets
from learning.memory.capture import Capture
from learning.prediction import ResolvedPrediction
from learning.predictions.record import RecordDependencies
from learning.predictions.recorder import PredictionRecorder
from learning.threshold_cache import ThresholdCache
from learning.thresholds.named import make_policy
from learning.thresholds.policy import Presets, ThresholdPolicy
from tools import token_count


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """The thresholds of a process.

    Attributes:
        cache: Thresholds in force.
        policy: The policy in force.
        presets: Presets by hash of the domain.
    """

    cache: ThresholdCache
    policy: ThresholdPolicy
    presets: Presets

    def learn(self, resolved: Sequence[ResolvedPrediction]) -> None:
        """Recompute thresholds from newly resolved predictions, in their transaction; blocking."""
        from learning import outcomes  # noqa: PLC0415 - not before a prediction is resolved
        from learning.store import thresholds  # noqa: PLC0415

        rules = thresholds.ThresholdRules(
            policy=self.policy, presets=self.presets, load_resolved=outcomes.load_resolved
        )
        thresholds.record_resolved(resolved, rules=rules, at=datetime.now(UTC))


def make_thresholds(config: Config) -> Thresholds:
    """Return the thresholds of a process.

    Raises:
        NotReady: If the policy or a preset is malformed.
    """
    try:
        policy = make_policy(config.threshold_policy)
        presets = load_presets(config)
    except ValueError as error:
        raise NotReady("configuration", f"thresholds: {error}") from None
    return Thresholds(cache=ThresholdCache(presets), policy=policy, presets=presets)


def make_predictions(
    config: Config, *, sealer: Sealer, capture: Capture, thresholds: Thresholds
) -> PredictionRecorder:
    """Return the recorder of a process's predictions.

    Args:
        config: Of the installation.
        sealer: Makes keyed digests of workflows.
        capture: Records events of the memory.
        thresholds: The thresholds that learn from outcomes.
    """
    return PredictionRecorder(
        RecordDependencies(
            digest=sealer.digest,
            count_tokens=token_count.count_tokens,
            record_event=capture.record,
            episode_sealer=sealing.load_or_create_sealer(config.home, name=sealing.PAYLOADS)
            if config.memory
            else None,
        ),
        learn=thresholds.learn,
    )
