"""The tools and the tasks of a suggested workflow, and what binding says of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from gateway_project.foundation.references import escape_literals

if TYPE_CHECKING:
    from graph.suggestion.binding.values import StatedValue


class BindingSource(StrEnum):
    """Source of an argument."""

    USER = "user"
    LITERAL = "literal"
    LEARNED = "learned"
    REFERENCE = "ref"
    DEFAULT = "default"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowTool:
    """A tool as the suggestion reads it: its definition, and what one caller may do with it.

    Made for each suggestion from a `tools.catalogue.CatalogueTool`, which everybody shares.

    Attributes:
        pk: Primary key.
        tool: Canonical id, by which a caller may address its parameters.
        name: Its name at the server.
        description: May be empty.
        input_schema: As published; binding normalises it.
        definition_hash: Cache key of its schema; empty: a digest of the schema is used.
        is_trusted: Whether its server is trusted; only trusted servers receive stated secrets.
        is_destructive: Whether its effects may be destructive or irreversible, by its server's
            annotations or by words in its name.
        is_read_only: Whether its trusted server declares it read-only.
        obstacle: Why the caller may not call it now; empty if it may.
        problem: Why its server is unreliable at the moment; empty if it is not.
        alternative_ids: Ids of substitute tools, looked up if its server has a problem.
    """

    pk: int
    tool: str
    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    definition_hash: str = ""
    is_trusted: bool = True
    is_destructive: bool = False
    is_read_only: bool = False
    obstacle: str = ""
    problem: str = ""
    alternative_ids: tuple[str, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether the caller may call it now."""
        return not self.obstacle

    @property
    def server(self) -> str:
        """Name of its server."""
        return self.tool.partition(":")[0]


class FieldPair(NamedTuple):
    """A field of one tool's result that feeds an argument of another.

    Attributes:
        output: JSON pointer into the result; `*` matches any item. Empty if only texts say that
            the result contains the value: then only the order of the tasks follows.
        input: JSON pointer into the arguments.
        confidence: Probability that the fields match, in [0, 1].
    """

    output: str
    input: str
    confidence: float


FeedLookup = Callable[[int, int], Sequence[FieldPair]]
"""Returns the fields by which one tool feeds another; both by primary key, the producer first."""


def find_no_feeds(source: int, target: int) -> Sequence[FieldPair]:  # noqa: ARG001 - a FeedLookup
    """Return no pairs: the lookup without data flow."""
    return ()


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


@dataclass(frozen=True, kw_only=True)
class MissingArgument:
    """A required argument without a value.

    Attributes:
        pointer: JSON pointer into the arguments; empty: they as a whole.
        description: From the tool's schema; may be empty.
        schema: Normalised schema of the parameter.
        reason: Why no value was found, in plain words.
    """

    pointer: str
    description: str
    schema: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, kw_only=True, eq=False)
class SuggestedTask:
    """One call of a suggested workflow: first its tool, then with its arguments and its order.

    Attributes:
        id: Unique in the workflow.
        tool: The tool it calls.
        request: Start and end of the part of the intent that asks for it; None: unknown.
        bindings: Bound arguments by name, in the order of the schema.
        needs_input: Missing required arguments; empty if it could run.
        wait_for: Ids of tasks, beside `references`, that must run before it, because one of them
            may provide a value, though it is unknown which one or where in its result.
        depends_on: Ids of the tasks that must finish first.
        is_denied: Whether it may change something, and the intent only asks or tells of it.
    """

    id: str
    tool: WorkflowTool
    request: tuple[int, int] | None = None
    bindings: Mapping[str, BoundArgument] = field(default_factory=dict)
    needs_input: tuple[MissingArgument, ...] = ()
    wait_for: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    is_denied: bool = False

    @property
    def is_read_only(self) -> bool:
        """Whether its tool is known to be read-only.

        Other tools never receive an arbitrary item of a list, nor values that the intent protects
        (see `guard`).
        """
        return self.tool.is_read_only

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """Literals, and references `{"$ref": task, "pointer": "/…"}`."""
        return {name: bound.to_argument() for name, bound in self.bindings.items()}

    @property
    def references(self) -> tuple[str, ...]:
        """Ids of the tasks it takes values from; they must run before it."""
        sources = (bound.source_step for bound in self.bindings.values())
        return tuple(dict.fromkeys(task for task in sources if task))
