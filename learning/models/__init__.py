"""Tables of what is learned: tools, the episodic memory, and outcomes of predictions."""

from learning.models.events import EpisodicEvent, EventSpool, IntentVector
from learning.models.experience import ToolExperience
from learning.models.totals import PredictionTotal

__all__ = ["EpisodicEvent", "EventSpool", "IntentVector", "PredictionTotal", "ToolExperience"]
