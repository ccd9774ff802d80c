"""Tables of what is learned: experience with tools, episodes, and the episodic memory."""

from learning.models.episodes import UnlearnedEpisode
from learning.models.events import EpisodicEvent, EventSpool, IntentVector
from learning.models.experience import ToolExperience

__all__ = ["EpisodicEvent", "EventSpool", "IntentVector", "ToolExperience", "UnlearnedEpisode"]
