"""What a suggestion is made from, and what it is: a workflow that can be run as returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graph.topology import Topology

if TYPE_CHECKING:
    from graph.binding.learned import Knowledge
    from graph.binding.model import BindingModel
    from graph.binding.steps import Binding, Needed
    from graph.explain import Path
    from graph.intent.reading import Reading
    from graph.ranking.rank import RankedSet
    from graph.record import Metric
    from graph.relations import Relation


@dataclass(frozen=True, kw_only=True, slots=True)
class SuggestTool:
    """A tool as a suggestion needs to know it.

    Attributes:
        pk: Primary key.
        tool: Canonical id, server:tool.
        name: Its name at the server.
        description: As pinned.
        input_schema: JSON Schema of the arguments, as pinned.
        definition_hash: SHA-256 of the pinned definition.
        is_read_only: Whether its trusted server says that it only reads.
        is_destructive: Whether it may destroy or do what cannot be undone, by what its server says
            of it or by words in its name.
        is_trusted: Whether its server is.
        is_usable: Whether the caller may call it now.
        obstacle: Why not; empty where there is no reason to tell.
        trouble: Why its server cannot be relied on right now; empty if it can.
        instead: Ids of tools that may do instead, asked for where it is in trouble.
    """

    pk: int
    tool: str
    name: str
    description: str
    input_schema: Mapping[str, Any]
    definition_hash: str = ""
    is_read_only: bool = False
    is_destructive: bool = False
    is_trusted: bool = True
    is_usable: bool = True
    obstacle: str = ""
    trouble: str = ""
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """What somebody wants done.

    Attributes:
        reading: The intent, read.
        parameters: Values that the caller gives by name.
    """

    reading: Reading
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """What is known where a suggestion is made, all as its caller may see it.

    Attributes:
        tool: A tool by primary key; None where the caller may not know of it.
        topology: The relations around the ranked tools; a copy of its own where other threads
            change the graph.
        metrics: Each tool's place in the shared graph, by primary key.
        binding: Model of which stated value belongs to a parameter; None: as shipped.
        knowledge: What past runs bound parameters to; None: nothing is known.
        unranked: Why the tools were not ranked but only found by words; empty if they were.
    """

    tool: Callable[[int], SuggestTool | None]
    topology: Topology = field(default_factory=Topology)
    metrics: Mapping[int, Metric] = field(default_factory=dict)
    binding: BindingModel | None = None
    knowledge: Knowledge | None = None
    unranked: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One call of a workflow.

    Attributes:
        id: Unique in the workflow.
        tool: Primary key.
        name: Canonical id of the tool.
        arguments: Values, and references to the results of other tasks.
        depends_on: Ids of the tasks that must be done before.
        is_required: Whether it was not ranked but is what a ranked tool cannot do without.
    """

    id: str
    tool: int
    name: str
    arguments: Mapping[str, Any]
    depends_on: tuple[str, ...] = ()
    is_required: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """Another workflow that was considered.

    Attributes:
        tools: Primary keys in run order.
        confidence: That this is the right set of tools, in [0, 1].
    """

    tools: tuple[int, ...]
    confidence: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What past runs speak for a suggestion, in numbers.

    Attributes:
        history: Past intents that the ranking learned from.
        counted: Their runs that succeeded, a few of each at most.
        similar: Of the nearest past intents, those that are similar.
        same_tools: Of these, those that were served by the suggested tools.
        successes: Runs of these that succeeded.
        failures: Runs of these that did not.
        nearest: Similarity of the nearest past intent, in [-1, 1]; None without history.
    """

    history: int = 0
    counted: int = 0
    similar: int = 0
    same_tools: int = 0
    successes: int = 0
    failures: int = 0
    nearest: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Suggestion:
    """A workflow for an intent; without tasks where no tool fits.

    Attributes:
        tasks: In an order in which they can run one after another.
        order: Ids of all tasks in that order; `depends_on` holds what execution must wait for.
        confidence: Calibrated probability that the ranked tools are the right set, in [0, 1].
        ranked: The set the tasks stand for; None where nothing was ranked.
        bindings: Where each bound argument comes from, by task.
        needs_input: What is required and not known, by task.
        alternatives: Other sets, the likeliest first.
        evidence: What past runs say.
        paths: How tools of the workflow lead to one another, direct or by way of others.
        broken: Dependencies that the order goes against, each the weakest of a cycle.
        explanation: Why this workflow, in short sentences.
        warnings: What to know before it is run.
    """

    tasks: tuple[Task, ...] = ()
    order: tuple[str, ...] = ()
    confidence: float = 0.0
    ranked: RankedSet | None = None
    bindings: Mapping[str, tuple[Binding, ...]] = field(default_factory=dict)
    needs_input: Mapping[str, tuple[Needed, ...]] = field(default_factory=dict)
    alternatives: tuple[Alternative, ...] = ()
    evidence: Evidence = Evidence()
    paths: tuple[Path, ...] = ()
    broken: tuple[Relation, ...] = ()
    explanation: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
