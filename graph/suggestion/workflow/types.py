"""Types of the suggestion: its inputs, and a workflow that can be run as returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graph.topology import Topology

if TYPE_CHECKING:
    from graph.explain import ToolPath
    from graph.record import GraphMetric
    from graph.suggestion.binding.knowledge import BindingKnowledge
    from graph.suggestion.binding.tasks import SuggestedTask, WorkflowTool
    from graph.suggestion.ranking.rank import RankedSet
    from tools.embed.reader import ReadStatements


@dataclass(frozen=True, kw_only=True, eq=False)
class SuggestionContext:
    """Tools, relations and models for a suggestion, limited to what its caller may see.

    Attributes:
        find_tool: Looks up a tool by primary key; None if it is hidden from the caller.
        topology: The relations around the ranked tools.
        metrics: Graph metrics of each tool in the shared graph, by primary key.
        knowledge: Values that past runs bound to parameters; None: no history.
        read: Reads which arguments the intent states; None: they are weighed by their form alone.
        unranked_reason: Why the tools were found by words alone; empty if they were ranked.
    """

    find_tool: Callable[[int], WorkflowTool | None]
    topology: Topology = field(default_factory=Topology)
    metrics: Mapping[int, GraphMetric] = field(default_factory=dict)
    knowledge: BindingKnowledge | None = None
    read: ReadStatements | None = None
    unranked_reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SuggestionEvidence:
    """Counts of past runs that support a suggestion.

    Attributes:
        past_intent_count: Past intents that the ranking learned from.
        counted_runs: Their successful runs, capped per intent.
        similar_count: Similar intents among the nearest past ones.
        same_tools_count: Similar intents that were served by exactly the suggested tools.
        successes: Successful runs of the latter.
        failures: Failed runs of the latter.
        nearest_similarity: Similarity of the nearest past intent, in [-1, 1]; None without
            history.
        context_count: Earlier suggestions in the same context whose outcome is known; those that
            nobody judged count less.
        context_successes: Of these, the right ones.
    """

    past_intent_count: int = 0
    counted_runs: int = 0
    similar_count: int = 0
    same_tools_count: int = 0
    successes: int = 0
    failures: int = 0
    nearest_similarity: float | None = None
    context_count: float = 0.0
    context_successes: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Suggestion:
    """A workflow for an intent; without tasks where no tool fits.

    Attributes:
        tasks: In an order in which they can run one after another; `depends_on` holds what
            execution must wait for.
        confidence: Calibrated probability that the ranked tools are the right set, in [0, 1].
        ranked_set: The ranked set behind the tasks; None if no set was chosen.
        alternatives: Other sets that were considered, the likeliest first; all confidences
            together, with its own, are at most 1.
        evidence: Counts of supporting past runs.
        paths: Paths between tools of the workflow, direct or through other tools.
        explanation: Reasons for this workflow, in short sentences.
        warnings: Caveats to know before running it.
        uncovered: Parts of the intent that ask for something no task does, verbatim.
        conditions: Words by which the intent makes a task depend on what cannot be checked.
    """

    tasks: tuple[SuggestedTask, ...] = ()
    confidence: float = 0.0
    ranked_set: RankedSet | None = None
    alternatives: tuple[RankedSet, ...] = ()
    evidence: SuggestionEvidence = SuggestionEvidence()
    paths: tuple[ToolPath, ...] = ()
    explanation: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all required arguments have a value."""
        return not any(task.needs_input for task in self.tasks)
