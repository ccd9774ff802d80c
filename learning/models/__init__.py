"""Tables of what is learned: experience with tools, and the episodic memory."""

from learning.models.events import EpisodicEvent, EventSpool, IntentVector
from learning.models.experience import ToolExperience

__all__ = ["EpisodicEvent", "EventSpool", "IntentVector", "ToolExperience"]
