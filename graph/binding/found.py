"""What was found for an argument, before it is judged by the schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graph.binding.steps import Source
from graph.binding.values import StatedValue
from graph.references import escaped


@dataclass(frozen=True, kw_only=True)
class Found:
    """An argument with where it came from.

    Attributes:
        value: The literal, not yet escaped; of a reference, the reference.
        source: Where it came from.
        evidence: Why, in plain words.
        confidence: In [0, 1].
        giver: Id of the step that a reference leads to; empty for literals.
        stated: The value of the intent it was made from.
    """

    value: Any
    source: Source
    evidence: str
    confidence: float
    giver: str = ""
    stated: StatedValue | None = None

    def argument(self) -> Any:
        """Return it as it stands in a task's arguments."""
        return self.value if self.giver else escaped(self.value)
