"""Builds what follows the suggestions of a process to their outcome."""

from __future__ import annotations

from gateway_project.foundation.sealing import Sealer
from learning.memory.capture import Capture
from learning.predictions.record import RecordDependencies
from learning.predictions.recorder import PredictionRecorder
from tools import token_count


def make_predictions(*, sealer: Sealer, capture: Capture) -> PredictionRecorder:
    """Return the recorder of a process's predictions.

    Args:
        sealer: Makes keyed digests of workflows.
        capture: Records events of the memory.
    """
    return PredictionRecorder(
        RecordDependencies(
            digest=sealer.digest,
            count_tokens=token_count.count_tokens,
            record_event=capture.record,
        )
    )
