"""Bind the arguments of a workflow's tasks, each with its source and confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graph.suggestion.binding import earlier_requests, orders, protection, references, switches
from graph.suggestion.binding import model as models
from graph.suggestion.binding import parameters as given_parameters
from graph.suggestion.binding.arguments import NOT_CONVERTIBLE, convert_value, takes_time_zone
from graph.suggestion.binding.bound_argument import BoundArgument
from graph.suggestion.binding.defaults import find_default
from graph.suggestion.binding.features import compute_grid
from graph.suggestion.binding.knowledge import (
    EMPTY_KNOWLEDGE,
    BindingKnowledge,
    habitual_value,
)
from graph.suggestion.binding.literals import ParameterRow, choose_literals
from graph.suggestion.binding.plain_statements import bind_plain_values
from graph.suggestion.binding.references import AmbiguousReference, BindingHabit
from graph.suggestion.binding.schemas import ArgumentSchema, ToolParameter, load_schema
from graph.suggestion.binding.settle import settle_step
from graph.suggestion.binding.steps import (
    BindingSource,
    BindingStep,
    BindTool,
    BoundStep,
    FeedLookup,
    find_no_feeds,
)
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import SCOPE_WORDS, Words, normalize_words
from graph.suggestion.intent.orders import Order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graph.suggestion.binding.features import FeatureGrid
    from graph.suggestion.binding.model import BindingModel
    from graph.suggestion.binding.values import StatedValue
    from graph.suggestion.intent.reading import IntentReading

ADDRESS_KINDS: Final = frozenset({ValueKind.PATH, ValueKind.URL, ValueKind.IP})
"""Kinds of values that tools of one server share under the same parameter name."""
JUDGED_KINDS: Final = ADDRESS_KINDS | {ValueKind.QUOTED, ValueKind.EMAIL}
"""Kinds of values of which `fitting` knows for which parameters they are possible."""
_PLACE_WORDS: Final = normalize_words(["city", "location", "place", "town", "timezone"])
SAME_NAME_CONFIDENCE: Final = 0.9
"""Factor on the confidence of a value that was stated for another tool."""


def bind_arguments(  # noqa: PLR0913 - each is a source of its own
    steps: Sequence[BindingStep],
    *,
    reading: IntentReading,
    parameters: Mapping[str, Any] | None = None,
    knowledge: BindingKnowledge = EMPTY_KNOWLEDGE,
    feeds: FeedLookup = find_no_feeds,
    model: BindingModel | None = None,
    grid: FeatureGrid | None = None,
) -> tuple[BoundStep, ...]:
    """Bind the arguments of tasks from all sources.

    Sources in order of precedence: the caller's parameters; values stated in the intent, unless
    past runs took the argument from another task; past runs; data flow from other tasks; for
    required arguments, the schema's default. Every literal is valid for its schema.

    Args:
        steps: In an order they may run in: references lead to earlier ones only.
        reading: The prepared intent.
        parameters: By name, "task.name" or "tool.name"; see `parameters`.
        knowledge: Counts from the scope's past runs.
        feeds: Looks up the fields of one tool that feed another.
        model: None for the shipped one.
        grid: Features of these steps; None: computed here.

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
        grid=grid or compute_grid(steps, reading=reading),
    )
    search.apply_caller_values(caller_values)
    search.apply_stated_values(model or models.load_shipped_model())
    for position in range(len(steps)):
        search.apply_other_sources(position)
    return tuple(
        settle_step(
            step,
            schema,
            found=search.found_arguments[position],
            ambiguous=search.ambiguous_references[position],
        )
        for position, (step, schema) in enumerate(zip(steps, search.schemas, strict=True))
    )


@dataclass(kw_only=True)
class _BindingSearch:
    """State of the search: arguments found so far, by position of the step and parameter name."""

    steps: Sequence[BindingStep]
    reading: IntentReading
    knowledge: BindingKnowledge
    feeds: FeedLookup
    schemas: list[ArgumentSchema] = field(init=False)
    found_arguments: list[dict[str, BoundArgument]] = field(init=False)
    ambiguous_references: list[dict[str, AmbiguousReference]] = field(init=False)
    habits: dict[ParameterRow, BindingHabit] = field(default_factory=dict)
    grid: FeatureGrid
    protected_spans: list[tuple[int, int]] = field(default_factory=list)
    thresholds: NDArray[np.float64] = field(init=False)
    orders: list[Order] = field(init=False)

    def __post_init__(self) -> None:
        self.schemas = [load_schema(step.tool) for step in self.steps]
        self.found_arguments = [{} for _ in self.steps]
        self.ambiguous_references = [{} for _ in self.steps]
        self.orders = [orders.read_task_order(step, self.reading) for step in self.steps]

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

    def apply_stated_values(self, model: BindingModel) -> None:
        """Bind values stated in the intent."""
        self.thresholds = protection.compute_thresholds(
            self.steps, self.grid, reading=self.reading, knowledge=self.knowledge
        )
        unordered = orders.mark_unordered(self.steps, self.grid, self.reading, self.orders)
        self.thresholds[unordered] = protection.NEVER_BOUND
        self._bind_plain_values()
        bound = {(n, name) for n, found in enumerate(self.found_arguments) for name in found}
        chosen = choose_literals(
            self.steps,
            grid=self.grid,
            probabilities=model.predict_probabilities(self.grid),
            thresholds=self.thresholds,
            without=bound | self.habits.keys(),
            used_spans={
                n: [(one.stated.start, one.stated.end) for one in found.values() if one.stated]
                for n, found in enumerate(self.found_arguments)
            },
        )
        for (position, name), argument in chosen.items():
            if not self._means_earlier_place(position, name, argument):
                self.found_arguments[position][name] = argument

    def _means_earlier_place(self, position: int, name: str, argument: BoundArgument) -> bool:
        """Whether a request says "there" for a place, and the value is stated only after it."""
        request = self.steps[position].request
        if request is None or argument.stated is None or argument.stated.start < request[1]:
            return False
        parameter = self.schemas[position].parameters.get(name)
        return _is_place(parameter) and earlier_requests.says_there(self.reading.text, *request)

    def _bind_plain_values(self) -> None:
        """Bind what the intent states plainly, before past runs and what has to be weighed."""
        stated = self.grid.stated
        protected = protection.find_protected_values(stated, self.reading)
        self.protected_spans = [
            (one.start, one.end)
            for one, is_kept in zip(stated.values, protected, strict=True)
            if is_kept
        ]
        plain = bind_plain_values(
            self.steps, self.schemas, reading=self.reading, forbidden=self.protected_spans
        )
        for (position, name), argument in plain.items():
            is_bound = name in self.found_arguments[position]
            if (
                not is_bound
                and self.orders[position] is Order.PLAIN
                and self._is_possible(position, name, argument)
                and not given_parameters.find_problem(self.schemas[position], name, argument.value)
            ):
                self.found_arguments[position][name] = argument
                self.habits.pop((position, name), None)

    def apply_other_sources(self, position: int) -> None:
        """Bind a step's remaining arguments from past runs, other tasks and the schema."""
        if self.orders[position] is Order.DENIED:
            return
        tool = self.steps[position].tool
        producers = {step.tool.pk for step in self.steps[:position]}
        fed = {pair.input for producer in producers for pair in self.feeds(producer, tool.pk)}
        for parameter in self._unbound_parameters(position):
            argument = (
                self._find_habitual(position, parameter)
                or self._find_switch(position, parameter)
                or habitual_value(tool, parameter, self.knowledge)
                or self._find_shared_address(position, parameter)
                or self._find_shared_scope(position, parameter)
                or self._find_referred_value(position, parameter)
                or (
                    self._find_data_flow(position, parameter) if parameter.pointer in fed else None
                )
                or find_default(parameter)
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

    def _find_switch(self, position: int, parameter: ToolParameter) -> BoundArgument | None:
        """Return a switch that the intent sets; if the tool may write, its own request."""
        step, text = self.steps[position], self.reading.text
        own = text if step.is_read_only else text[slice(*(step.request or (0, None)))]
        return switches.read_switch(parameter, own) if parameter.is_boolean else None

    def _find_shared_address(
        self, position: int, parameter: ToolParameter
    ) -> BoundArgument | None:
        """Return an address stated for the same parameter of another tool of the server.

        Example intent: "stage a.txt and commit it, in /tmp/repo".
        """
        step = self.steps[position]
        own = step.tool
        is_safe = step.is_read_only or protection.is_workspace_parameter(step, parameter)
        others = len(self.steps) if is_safe else position
        if not parameter.is_required or not (is_safe or self._continues_work(position, parameter)):
            return None
        for other, found in zip(self.steps[:others], self.found_arguments, strict=False):
            candidate = found.get(parameter.name)
            is_near = other.tool.pk != own.pk and _server_name(other.tool) == _server_name(own)
            if not is_near or candidate is None or candidate.stated is None:
                continue
            if candidate.stated.kind in ADDRESS_KINDS and self._is_permitted(
                position, parameter, candidate.stated
            ):
                return replace(candidate, confidence=SAME_NAME_CONFIDENCE * candidate.confidence)
        return None

    def _continues_work(self, position: int, parameter: ToolParameter) -> bool:
        """Whether a request goes on with the only file that the requests before it are about.

        Example intent: "create memo.docx, add the heading 'Agenda' and a page break".
        """
        step = self.steps[position]
        if step.request is None or protection.may_replace(step):
            return False
        stated = {
            repr(found[parameter.name].value)
            for other, found in zip(self.steps[:position], self.found_arguments, strict=False)
            if _server_name(other.tool) == _server_name(step.tool) and parameter.name in found
        }
        return len(stated) == 1 and self._is_fully_read(position, parameter)

    def _find_shared_scope(self, position: int, parameter: ToolParameter) -> BoundArgument | None:
        """Return what the other tools of the server are stated to work in, if they agree.

        Example intent: "what runs in namespace shop, and show the logs of pod cart-1".
        """
        step = self.steps[position]
        if not self._may_share_scope(position, parameter):
            return None
        stated = [
            found[parameter.name]
            for other, found in zip(self.steps, self.found_arguments, strict=True)
            if other.tool.pk != step.tool.pk
            and _server_name(other.tool) == _server_name(step.tool)
            and parameter.name in found
        ]
        if not stated or len({repr(one.value) for one in stated}) > 1:
            return None
        candidate = stated[0]
        if candidate.stated is None or not self._is_permitted(
            position, parameter, candidate.stated
        ):
            return None
        return replace(candidate, confidence=SAME_NAME_CONFIDENCE * candidate.confidence)

    def _may_share_scope(self, position: int, parameter: ToolParameter) -> bool:
        """Whether a parameter may take the scope of other tools: surely the one that is meant."""
        step = self.steps[position]
        if step.request is None or not protection.is_scope_parameter(step, parameter):
            return False
        if not self._leaves_scope_open(position, parameter):
            return False
        if earlier_requests.refers_to_scope(self.reading.text, *step.request, parameter):
            return True
        if protection.may_destroy(step):
            return False
        return step.is_read_only or (
            parameter.is_required and self._is_fully_read(position, parameter)
        )

    def _is_fully_read(self, position: int, parameter: ToolParameter) -> bool:
        step = self.steps[position]
        bound, bound_words = self._find_bound_spans(position)
        return step.request is not None and earlier_requests.is_fully_read(
            self.reading.text[slice(*step.request)],
            step.tool,
            parameter,
            bound=bound,
            bound_words=bound_words,
        )

    def _leaves_scope_open(self, position: int, parameter: ToolParameter) -> bool:
        request = self.steps[position].request
        bound, bound_words = self._find_bound_spans(position)
        return request is not None and earlier_requests.leaves_scope_open(
            self.reading.text[slice(*request)], parameter, bound=bound, bound_words=bound_words
        )

    def _refers_back(self, position: int, parameter: ToolParameter) -> bool:
        """Whether a request refers to an earlier one; if it may do more than read, plainly so."""
        step = self.steps[position]
        is_ordered = self.orders[position] is Order.PLAIN
        if not (is_ordered and earlier_requests.refers_back(self.reading.text, step, parameter)):
            return False
        start, end = step.request or (0, 0)
        bound, _ = self._find_bound_spans(position)
        part = self.reading.text[start:end]
        return step.is_read_only or not earlier_requests.excludes_anything(part, bound=bound)

    def _find_bound_spans(self, position: int) -> tuple[list[tuple[int, int]], Words]:
        """Return where a request states what its step takes, and words of these parameters."""
        start, end = self.steps[position].request or (0, 0)
        named = [
            (name, one.stated)
            for name, one in self.found_arguments[position].items()
            if one.stated is not None and start <= one.stated.start and one.stated.end <= end
        ]
        parameters = self.schemas[position].parameters
        words = [parameters[name].name_words for name, _ in named if name in parameters]
        spans = [(stated.start - start, stated.end - start) for _, stated in named]
        return spans, frozenset[str]().union(*words)

    def _find_referred_value(
        self, position: int, parameter: ToolParameter
    ) -> BoundArgument | None:
        """Return the value of the same parameter of an earlier task that the request refers to.

        Example intents: "create the branch fix/login in /srv/shop and switch to it", "the weather
        in Paris, and what time is it there".
        """
        step = self.steps[position]
        if not parameter.is_required or step.request is None:
            return None
        if not self._refers_back(position, parameter):
            return None
        if bool(parameter.name_words & SCOPE_WORDS) and not self._leaves_scope_open(
            position, parameter
        ):
            return None
        for other in range(position - 1, -1, -1):
            candidate = earlier_requests.find_namesake(
                self.found_arguments[other], self.schemas[other].parameters, parameter
            )
            is_near = _server_name(self.steps[other].tool) == _server_name(step.tool)
            if is_near and candidate is not None and candidate.stated is not None:
                if self._is_protected(position, candidate.stated):
                    return None
                return replace(candidate, confidence=SAME_NAME_CONFIDENCE * candidate.confidence)
        return self._find_referred_place(position, parameter)

    def _find_referred_place(
        self, position: int, parameter: ToolParameter
    ) -> BoundArgument | None:
        """Return the only place that earlier tasks are stated to be about, if "there" means it."""
        request = self.steps[position].request
        if request is None or not _is_place(parameter):
            return None
        if not earlier_requests.says_there(self.reading.text, *request):
            return None
        stated = [
            one
            for earlier, found in zip(self.schemas[:position], self.found_arguments, strict=False)
            for name, one in found.items()
            if one.stated is not None and _is_place(earlier.parameters.get(name))
        ]
        if len({str(one.value) for one in stated}) != 1 or stated[0].stated is None:
            return None
        if self._is_protected(position, stated[0].stated):
            return None
        value = convert_value(parameter, stated[0].stated)
        if value is NOT_CONVERTIBLE or (takes_time_zone(parameter) and "/" not in str(value)):
            return None
        return replace(
            stated[0], value=value, confidence=SAME_NAME_CONFIDENCE * stated[0].confidence
        )

    def _is_possible(self, position: int, name: str, argument: BoundArgument) -> bool:
        """Whether `fitting` and `protection` allow a value that was found by its form as well.

        Values of other kinds that a rule has read are no candidates of `fitting`. What past runs
        rarely took from intents is believed only of the part that asks for the task.
        """
        stated = argument.stated
        pairs = zip(self.grid.owners, self.grid.parameters, strict=True)
        row = next(
            (n for n, (at, p) in enumerate(pairs) if (at, p.name) == (position, name)), None
        )
        if row is None or stated is None:
            return True
        place = (stated.start, stated.end, stated.kind)
        values = enumerate(self.grid.stated.values)
        columns = [n for n, one in values if (one.start, one.end, one.kind) == place]
        is_judged = stated.kind in JUDGED_KINDS
        is_located = self.steps[position].request is not None
        highest = np.finfo(np.float64).max if is_located else argument.confidence
        return all(
            self.thresholds[row, column] <= highest
            and (not is_judged or self.grid.possible[row, column])
            for column in columns
        )

    def _is_protected(self, position: int, stated: StatedValue) -> bool:
        """Whether the intent protects a value from a step, which may do more than read it.

        Unlike `_is_permitted`, this allows a value of another clause: a request that says "it"
        means one.
        """
        return not self.steps[position].is_read_only and any(
            start < stated.end and stated.start < end for start, end in self.protected_spans
        )

    def _is_permitted(self, position: int, parameter: ToolParameter, stated: StatedValue) -> bool:
        """Whether `protection` permits a value for a parameter at all."""
        pairs = zip(self.grid.owners, self.grid.parameters, strict=True)
        row = next((n for n, pair in enumerate(pairs) if pair == (position, parameter)), None)
        values = enumerate(self.grid.stated.values)
        columns = [n for n, one in values if one.start < stated.end and stated.start < one.end]
        return row is None or bool(np.isfinite(self.thresholds[row, columns]).all())

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


def _server_name(tool: BindTool) -> str:
    return tool.tool.partition(":")[0]


def _is_place(parameter: ToolParameter | None) -> bool:
    """Whether a parameter takes the name of a place, or the time zone of one."""
    return (
        parameter is not None
        and parameter.is_text
        and not parameter.members
        and bool(parameter.name_words & _PLACE_WORDS)
    )
