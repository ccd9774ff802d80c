"""An argument found by binding, before validation against the schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway_project.foundation.references import escape_literals
from graph.suggestion.binding.steps import BindingSource
from graph.suggestion.binding.values import StatedValue


@dataclass(frozen=True, kw_only=True)
class BoundArgument:
    """An argument with its source.

    Attributes:
        value: The unescaped literal, or the reference.
        source: Its source.
        evidence: Reason, in plain words.
        confidence: Probability that it is right, in [0, 1].
        source_step: Id of the step that a reference leads to; empty for literals.
        stated: The stated value it was made from; None for other sources.
    """

    value: Any
    source: BindingSource
    evidence: str
    confidence: float
    source_step: str = ""
    stated: StatedValue | None = None

    def to_argument(self) -> Any:
        """Return the form for a task's arguments, with literals escaped."""
        return self.value if self.source_step else escape_literals(self.value)
