"""What is bound, and what binding says about it: values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Source(StrEnum):
    """Where an argument came from."""

    USER = "user"
    LITERAL = "literal"
    LEARNED = "learned"
    REFERENCE = "ref"
    DEFAULT = "default"


@dataclass(frozen=True, kw_only=True)
class BindTool:
    """What binding reads of a tool.

    Attributes:
        pk: Primary key.
        tool: Canonical id, by which a caller may address its parameters.
        name: As its server calls it.
        description: May be empty.
        input_schema: As published; it is normalised here.
        definition_hash: Under which its compiled schema is kept; empty: not kept.
        is_trusted: Whether its server is; secrets that an intent states are given to no other.
    """

    pk: int
    tool: str
    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    definition_hash: str = ""
    is_trusted: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """A task whose arguments are wanted.

    Attributes:
        id: Of the task; unique among the steps.
        tool: What it calls.
        shares: `(c,)` in (0, 1]; per clause of the intent, how near the tool is to it beside the
            best of all tools: `Ranking.clause_shares`. None where no vectors are at hand.
        is_read_only: Whether the tool is known to only read. What may do more is never given just
            any item of a list, nor what the intent keeps from harm (see `guard`).
    """

    id: str
    tool: BindTool
    shares: NDArray[np.float32] | None = None
    is_read_only: bool = False


class FieldPair(NamedTuple):
    """A field of one tool's result that feeds an argument of another.

    Attributes:
        output: JSON pointer into the result; `*` stands for any item. Empty where only texts say
            that the value is there: then the order is known and the argument is not.
        input: JSON pointer into the arguments.
        confidence: That it is so, in [0, 1].
    """

    output: str
    input: str
    confidence: float


Feeds = Callable[[int, int], Sequence[FieldPair]]
"""Says by which fields one tool feeds another; both by primary key, the giver first."""


def no_feeds(source: int, target: int) -> Sequence[FieldPair]:  # noqa: ARG001 - see Feeds
    """Say that nothing is known to feed anything."""
    return ()


class Least(NamedTuple):
    """Probability from which on a stated value is bound, in [0, 1]."""

    optional: float = 0.45
    required: float = 0.3


@dataclass(frozen=True, kw_only=True)
class Binding:
    """An argument that was found.

    Attributes:
        pointer: JSON pointer into the arguments.
        source: Where it came from.
        evidence: Why, in plain words.
        confidence: In [0, 1].
    """

    pointer: str
    source: Source
    evidence: str
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Needed:
    """A required argument that nobody could find.

    Attributes:
        pointer: JSON pointer into the arguments.
        name: Of the parameter.
        description: As the tool's schema gives it; may be empty.
        schema: Of the parameter, normalised.
        why: What was looked for and missing, in plain words.
    """

    pointer: str
    name: str
    description: str
    schema: Mapping[str, Any]
    why: str


@dataclass(frozen=True, kw_only=True)
class BoundStep:
    """A task with what is known of its arguments.

    Attributes:
        id: Of the task.
        arguments: Literals, and references `{"$ref": task, "pointer": "/…"}`.
        bindings: One for each argument, in the order of the schema.
        needs_input: What is required and missing; empty if the task could run.
        refs: Ids of the steps it takes values from; they must run before it.
        after: Ids of further steps that must run before it, though which of them gives the value,
            or where in its result, is not known.
    """

    id: str
    arguments: Mapping[str, Any]
    bindings: tuple[Binding, ...] = ()
    needs_input: tuple[Needed, ...] = ()
    refs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
