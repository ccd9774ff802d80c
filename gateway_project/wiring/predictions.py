"""Builds what follows the suggestions of a process to their outcome."""

from __future__ import annotations

from gateway_project.foundation.sealing import Sealer
from gateway_project.wiring.thresholds import Thresholds
from learning.memory.capture import Capture
from learning.predictions.record import RecordDependencies
from learning.predictions.recorder import PredictionRecorder
from tools import token_count


def make_predictions(
    *, sealer: Sealer, capture: Capture, thresholds: Thresholds
) -> PredictionRecorder:
    """Return the recorder of a process's predictions.

    Args:
        sealer: Makes keyed digests of workflows.
        capture: Records events of the memory.
        thresholds: The thresholds that learn from outcomes.
    """
    return PredictionRecorder(
        RecordDependencies(
            digest=sealer.digest,
            count_tokens=token_count.count_tokens,
            record_event=capture.record,
        ),
        learn=thresholds.learn,
    )
