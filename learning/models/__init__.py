"""Tables of what is learned: tools, the episodic memory, episodes, predictions, thresholds."""

from learning.models.episodes import UnlearnedEpisode
from learning.models.events import EpisodicEvent, EventSpool, IntentVector
from learning.models.experience import Contribution, ToolExperience
from learning.models.thresholds import AdaptiveThreshold, ThresholdChange
from learning.models.totals import PredictionTotal

__all__ = [
    "AdaptiveThreshold",
    "Contribution",
    "EpisodicEvent",
    "EventSpool",
    "IntentVector",
    "PredictionTotal",
    "ThresholdChange",
    "ToolExperience",
    "UnlearnedEpisode",
]
