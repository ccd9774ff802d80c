"""Bind the arguments of a workflow's tasks, each with its source and confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding import parameters as given_parameters
from graph.suggestion.binding import references
from graph.suggestion.binding.guard import make_guard
from graph.suggestion.binding.knowledge import (
    EMPTY_KNOWLEDGE,
    BindingKnowledge,
    habitual_value,
    is_too_long_to_reuse,
)
from graph.suggestion.binding.references import AmbiguousReference, BindingHabit
from graph.suggestion.binding.schemas import ArgumentSchema, ToolParameter, load_schema
from graph.suggestion.binding.settle import settle_step
from graph.suggestion.binding.shared_values import SharedValues
from graph.suggestion.binding.statements import ParameterRow, bind_statements
from graph.suggestion.binding.tasks import (
    BindingSource,
    BoundArgument,
    FeedLookup,
    SuggestedTask,
    find_no_feeds,
)
from graph.suggestion.binding.vocabulary import normalize_words
from graph.suggestion.intent.orders import Order

if TYPE_CHECKING:
    from graph.suggestion.binding.guard import BindingGuard
    from graph.suggestion.intent.reading import IntentReading
    from tools.embed.reader import ReadStatements


def bind_arguments(
    steps: Sequence[SuggestedTask],
    *,
    reading: IntentReading,
    parameters: Mapping[str, Any] | None = None,
    knowledge: BindingKnowledge = EMPTY_KNOWLEDGE,
    feeds: FeedLookup = find_no_feeds,
    read: ReadStatements | None = None,
) -> tuple[SuggestedTask, ...]:
    """Bind the arguments of tasks from all sources.

    Sources in order of precedence: the caller's parameters; values stated in the intent, unless
    past runs took the argument from another task; past runs; values stated for another task that
    are meant here as well; data flow from other tasks; for required arguments, the schema's
    default. Every literal is valid for its schema.

    Args:
        steps: In an order they may run in: references lead to earlier ones only.
        reading: The prepared intent.
        parameters: By name, "task.name" or "tool.name"; see `parameters`.
        knowledge: Counts from the scope's past runs.
        feeds: Looks up the fields of one tool that feed another.
        read: Reads which arguments the intent states; None: nothing is read.

    Returns:
        One for each step, in order.

    Raises:
        ParameterError: If a parameter has the wrong type; the message names the field.
    """
    caller_values = given_parameters.place_parameters(steps, parameters or {})
    search = _BindingSearch(
        steps=steps,
        reading=reading,
        knowledge=knowledge,
        feeds=feeds,
        guard=make_guard(steps, reading=reading, knowledge=knowledge),
        read=read,
    )
    search.apply_caller_values(caller_values)
    search.apply_stated_values()
    for position in range(len(steps)):
        search.apply_other_sources(position)
    return tuple(
        settle_step(
            replace(step, is_denied=search.guard.orders[position] is Order.DENIED),
            schema,
            found=search.found_arguments[position],
            ambiguous=search.ambiguous_references[position],
        )
        for position, (step, schema) in enumerate(zip(steps, search.schemas, strict=True))
    )


@dataclass(kw_only=True)
class _BindingSearch:
    """State of the search: arguments found so far, by position of the step and parameter name."""

    steps: Sequence[SuggestedTask]
    reading: IntentReading
    knowledge: BindingKnowledge
    feeds: FeedLookup
    schemas: list[ArgumentSchema] = field(init=False)
    found_arguments: list[dict[str, BoundArgument]] = field(init=False)
    ambiguous_references: list[dict[str, AmbiguousReference]] = field(init=False)
    habits: dict[ParameterRow, BindingHabit] = field(default_factory=dict)
    guard: BindingGuard
    read: ReadStatements | None
    shared: SharedValues = field(init=False)

    def __post_init__(self) -> None:
        self.schemas = [load_schema(step.tool) for step in self.steps]
        self.found_arguments = [{} for _ in self.steps]
        self.ambiguous_references = [{} for _ in self.steps]
        self.shared = SharedValues(
            steps=self.steps,
            schemas=self.schemas,
            text=self.reading.text,
            found_arguments=self.found_arguments,
            guard=self.guard,
        )

    def apply_caller_values(self, caller_values: Mapping[str, Mapping[str, Any]]) -> None:
        """Bind the caller's parameters and look up habits of past runs for the rest."""
        for position, step in enumerate(self.steps):
            for name, value in caller_values.get(step.id, {}).items():
                self.found_arguments[position][name] = BoundArgument(
                    value=value,
                    source=BindingSource.USER,
                    evidence="provided by the caller",
                    confidence=1.0,
                )
            for parameter in self._unbound_parameters(position):
                habit = references.find_habit(self.steps, position, parameter, self.knowledge)
                if habit is not None:
                    self.habits[position, parameter.name] = habit

    def apply_stated_values(self) -> None:
        """Bind values stated in the intent, before past runs."""
        if self.read is None:
            return
        statements = bind_statements(
            [self._place(step) for step in self.steps],
            self.schemas,
            text=self.reading.text,
            forbidden=self.guard.protected_spans,
            found=self.found_arguments,
            read=self.read,
        )
        for (position, name), argument in statements.items():
            parameter = self.schemas[position].parameters[name]
            if self.guard.is_possible(
                position, parameter, argument
            ) and not self.shared.means_earlier_place(position, name, argument):
                self.found_arguments[position][name] = argument
                self.habits.pop((position, name), None)

    def _place(self, step: SuggestedTask) -> SuggestedTask:
        """Return a step with the only clause that shares most words with its tool's name.

        So the values of several tasks whose requests are unknown are told apart.
        """
        clauses = self.reading.clauses
        if step.request is not None or len(self.steps) < 2 or len(clauses) < 2:
            return step
        names = normalize_words(split_raw_name(step.tool.name))
        counts = [len(names & normalize_words(one.text.lower().split())) for one in clauses]
        if not max(counts) or counts.count(max(counts)) > 1:
            return step
        place = counts.index(max(counts))
        starts = [*(one.start for one in clauses), len(self.reading.text)]
        return replace(step, request=(starts[place], starts[place + 1]))

    def apply_other_sources(self, position: int) -> None:
        """Bind a step's remaining arguments from past runs, other tasks and the schema."""
        if self.guard.orders[position] is Order.DENIED:
            return
        tool = self.steps[position].tool
        producers = {step.tool.pk for step in self.steps[:position]}
        fed = {pair.input for producer in producers for pair in self.feeds(producer, tool.pk)}
        for parameter in self._unbound_parameters(position):
            argument = (
                self._find_habitual(position, parameter)
                or habitual_value(tool, parameter, self.knowledge)
                or self.shared.find(position, parameter)
                or (
                    self._find_data_flow(position, parameter) if parameter.pointer in fed else None
                )
                or _find_default(parameter)
            )
            if isinstance(argument, BoundArgument):
                self.found_arguments[position][parameter.name] = argument
            elif argument is not None:
                self.ambiguous_references[position][parameter.name] = argument

    def _unbound_parameters(self, position: int) -> list[ToolParameter]:
        parameters = self.schemas[position].parameters
        found = self.found_arguments[position]
        return [parameter for name, parameter in parameters.items() if name not in found]

    def _find_habitual(
        self, position: int, parameter: ToolParameter
    ) -> BoundArgument | AmbiguousReference | None:
        habit = self.habits.get((position, parameter.name))
        if habit is None:
            return None
        return references.apply_habit(
            self.steps,
            position,
            parameter=parameter,
            habit=habit,
            introduced=self._find_introducing_words,
        )

    def _find_data_flow(
        self, position: int, parameter: ToolParameter
    ) -> BoundArgument | AmbiguousReference | None:
        return references.find_data_flow_reference(
            self.steps,
            position,
            parameter=parameter,
            feeds=self.feeds,
            introduced=self._find_introducing_words,
        )

    def _find_introducing_words(self, step: str) -> frozenset[str]:
        position = next(n for n, one in enumerate(self.steps) if one.id == step)
        found = self.found_arguments[position].values()
        values = [one.stated for one in found if one.stated is not None]
        return references.find_introducing_words(values, self.reading.text)


def _find_default(parameter: ToolParameter) -> BoundArgument | None:
    """Return the default of a required parameter, or its only allowed value."""
    if not parameter.is_required:
        return None
    if parameter.has_default and not is_too_long_to_reuse(parameter.default):
        return BoundArgument(
            value=parameter.default,
            source=BindingSource.DEFAULT,
            evidence="the schema's default",
            confidence=1.0,
        )
    only = parameter.schema.get("const", parameter.members[0] if parameter.members else None)
    is_free = "const" not in parameter.schema and len(parameter.members) > 1
    if only is None or is_free or is_too_long_to_reuse(only):
        return None
    return BoundArgument(
        value=only,
        source=BindingSource.DEFAULT,
        evidence="the only value its schema allows",
        confidence=1.0,
    )
