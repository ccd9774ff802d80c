"""Tables of what is learned from use."""

from learning.models.episodes import UnlearnedEpisode
from learning.models.experience import ToolExperience

__all__ = ["ToolExperience", "UnlearnedEpisode"]
