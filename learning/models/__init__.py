"""Tables of what is learned: experience with tools, and outcomes of predictions."""

from learning.models.experience import ToolExperience
from learning.models.totals import PredictionTotal

__all__ = ["PredictionTotal", "ToolExperience"]
