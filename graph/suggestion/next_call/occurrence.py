"""Where a session has seen a value, the value as a choice for an argument, and calls of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Source = tuple[str, int, str]
"""Kind (`result`, `argument`, `planned` or `stated`), tool, and path, argument name or shape."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a session has seen a value.

    Attributes:
        source: Where values of this sort come from.
        step: Position of the call or statement in the session.
        items: Position in each list on the way.
        siblings: How many values this source has at this step.
        number: Number of the value.
        near: Stems of parameter names that stood before it, in a statement.
    """

    source: Source
    step: int
    items: tuple[int, ...]
    siblings: int
    number: int
    near: frozenset[str] = frozenset()


@dataclass(slots=True)
class Choice:
    """A value for one argument.

    Attributes:
        name: Name of the parameter.
        number: Number of the value in the session; None: a value of the schema.
        position: Position among the values of the schema; None: a value of the session.
        occurrence: Where the value was seen; None for a value of the schema.
        share: Estimate of how likely this is the value, given that the tool is called.
        similarity: How well names fit, in [0, 1].
        fits_shape: Whether the value looks like the examples: 1, 0, or 0.5 without examples.
        observed: Past calls that the estimate rests on.
    """

    name: str
    number: int | None
    position: int | None
    occurrence: Occurrence | None
    share: float
    similarity: float
    fits_shape: float
    observed: float


class Candidate(NamedTuple):
    """A call that may come next, by numbers."""

    tool: int
    choices: tuple[Choice, ...]
    share: float
