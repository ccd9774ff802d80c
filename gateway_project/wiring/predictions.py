"""Builds what follows the suggestions of a process to their outcome."""

from __future__ import annotations

from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from gateway_project.wiring.thresholds import Thresholds
from learning.memory.capture import Capture
from learning.predictions.record import RecordDependencies
from learning.predictions.recorder import PredictionRecorder
from tools import token_count


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
