"""What was found for an argument, before it is judged by the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from graph.binding.steps import Source
from graph.binding.values import StatedValue

_MARKS: Final = ({"$ref", "pointer"}, {"$literal"}, {"$item"})


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


def escaped(value: Any) -> Any:
    """Return a literal such that nothing in it is taken for a reference.

    Example:
        >>> escaped({"a": [{"$item": "/x"}]})
        {'a': [{'$literal': {'$item': '/x'}}]}
    """
    if isinstance(value, Mapping):
        if set(value) in _MARKS:
            return {"$literal": value}
        return {name: escaped(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [escaped(item) for item in value]
    return value


def reference_in(value: object) -> tuple[str, str] | None:
    """Return task and pointer of a reference; None of anything else."""
    if isinstance(value, Mapping) and set(value) == {"$ref", "pointer"}:
        return str(value["$ref"]), str(value["pointer"])
    return None
