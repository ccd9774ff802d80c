"""Bind the arguments of a workflow's tasks, each with where it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graph.binding import guard, references, switches
from graph.binding import model as models
from graph.binding import parameters as given_parameters
from graph.binding.features import grid
from graph.binding.found import Found
from graph.binding.learned import NOTHING, Knowledge, habitual, is_long
from graph.binding.literals import Row, literals
from graph.binding.references import Habit, Unsure
from graph.binding.schemas import Parameter, Schema, schema_of
from graph.binding.settle import settle
from graph.binding.steps import (
    Binding,
    BindTool,
    BoundStep,
    Feeds,
    FieldPair,
    Least,
    Needed,
    Source,
    Step,
    no_feeds,
)
from graph.binding.value_patterns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graph.binding.features import Grid
    from graph.binding.model import BindingModel
    from graph.binding.values import StatedValue
    from graph.intent.reading import Reading

__all__ = [
    "BindTool",
    "Binding",
    "BoundStep",
    "FieldPair",
    "Least",
    "Needed",
    "Source",
    "Step",
    "bind",
]

LEAST = Least()
ADDRESSES: Final = frozenset({Kind.PATH, Kind.URL, Kind.IP})
"""Kinds of values that tools of one server share under one name."""
SAME_NAME: Final = 0.9
"""What is left of the confidence in a value that was stated for another tool."""


def bind(  # noqa: PLR0913 - each is a source of its own
    steps: Sequence[Step],
    *,
    reading: Reading,
    parameters: Mapping[str, Any] | None = None,
    knowledge: Knowledge = NOTHING,
    feeds: Feeds = no_feeds,
    model: BindingModel | None = None,
    least: Least = LEAST,
) -> tuple[BoundStep, ...]:
    """Bind what is known of the arguments of some tasks.

    In this order: what the caller gave; what the intent states, unless past runs took the
    argument from another task; what past runs show; what other tasks give by data flow; for
    required arguments, the schema's default. Every literal is valid for its schema.

    Args:
        steps: In an order they may run in: references lead to earlier ones only.
        reading: Of the intent.
        parameters: By name, "task.name" or "tool.name"; see `parameters`.
        knowledge: Of the scope's past runs.
        feeds: Which fields of one tool feed another.
        model: None for the shipped one.
        least: Probabilities from which on a stated value is bound.

    Returns:
        One for each step, in their order.

    Raises:
        ParameterError: If a parameter has the wrong type; the message names the field.
    """
    given = given_parameters.place(steps, parameters or {})
    search = _Search(steps=steps, reading=reading, knowledge=knowledge, feeds=feeds, least=least)
    search.take_given(given)
    search.take_stated(model or models.shipped())
    for place in range(len(steps)):
        search.take_rest(place)
    return tuple(
        settle(step, schema, found=search.found[place], unsure=search.unsure[place])
        for place, (step, schema) in enumerate(zip(steps, search.schemas, strict=True))
    )


@dataclass(kw_only=True)
class _Search:
    """What has been found so far, by place of the step and name of the parameter."""

    steps: Sequence[Step]
    reading: Reading
    knowledge: Knowledge
    feeds: Feeds
    least: Least
    schemas: list[Schema] = field(init=False)
    found: list[dict[str, Found]] = field(init=False)
    unsure: list[dict[str, Unsure]] = field(init=False)
    habits: dict[Row, Habit] = field(default_factory=dict)
    compared: Grid = field(init=False)
    bars: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.schemas = [schema_of(step.tool) for step in self.steps]
        self.found = [{} for _ in self.steps]
        self.unsure = [{} for _ in self.steps]

    def take_given(self, given: Mapping[str, Mapping[str, Any]]) -> None:
        """Take what the caller gave, and note what past runs took from other tasks."""
        for place, step in enumerate(self.steps):
            for name, value in given.get(step.id, {}).items():
                self.found[place][name] = Found(
                    value=value, source=Source.USER, evidence="given by the caller", confidence=1.0
                )
            for parameter in self._open(place):
                known = references.habit(self.steps, place, parameter, self.knowledge)
                if known is not None:
                    self.habits[place, parameter.name] = known

    def take_stated(self, model: BindingModel) -> None:
        """Take what the intent states."""
        compared = grid(self.steps, reading=self.reading)
        self.compared = compared
        self.bars = guard.bars(
            self.steps,
            compared,
            reading=self.reading,
            least=self.least,
            knowledge=self.knowledge,
        )
        elsewhere = {(n, name) for n, found in enumerate(self.found) for name in found}
        chosen = literals(
            self.steps,
            compared=compared,
            probabilities=model.probabilities(compared),
            bars=self.bars,
            without=elsewhere | self.habits.keys(),
        )
        for (place, name), one in chosen.items():
            self.found[place][name] = one

    def take_rest(self, place: int) -> None:
        """Take from past runs, other tasks and the schema what is still missing of a step."""
        tool = self.steps[place].tool.pk
        givers = {step.tool.pk for step in self.steps[:place]}
        fed = {pair.input for giver in givers for pair in self.feeds(giver, tool)}
        for parameter in self._open(place):
            one = (
                self._habit(place, parameter)
                or self._switch(parameter)
                or habitual(tool, parameter, self.knowledge)
                or self._elsewhere(place, parameter)
                or (self._flow(place, parameter) if parameter.pointer in fed else None)
                or _default(parameter)
            )
            if isinstance(one, Found):
                self.found[place][parameter.name] = one
            elif one is not None:
                self.unsure[place][parameter.name] = one

    def _open(self, place: int) -> list[Parameter]:
        known = self.schemas[place].parameters
        return [one for name, one in known.items() if name not in self.found[place]]

    def _habit(self, place: int, parameter: Parameter) -> Found | Unsure | None:
        known = self.habits.get((place, parameter.name))
        if known is None:
            return None
        return references.follow(
            self.steps, place, parameter=parameter, known=known, introduced=self._introduced
        )

    def _switch(self, parameter: Parameter) -> Found | None:
        return switches.switched(parameter, self.reading.text) if parameter.is_boolean else None

    def _elsewhere(self, place: int, parameter: Parameter) -> Found | None:
        """Return the address that the intent states for a parameter of this name elsewhere.

        Of another tool of the same server: "stage a.txt and commit it, in /tmp/repo".
        """
        here = self.steps[place]
        own = here.tool
        is_safe = here.is_read_only or guard.is_place_of_work(here, parameter)
        if not parameter.is_required or not is_safe:
            return None
        for step, found in zip(self.steps, self.found, strict=True):
            one = found.get(parameter.name)
            is_near = step.tool.pk != own.pk and _server(step.tool) == _server(own)
            if not is_near or one is None or one.stated is None:
                continue
            if one.stated.kind in ADDRESSES and self._may(place, parameter, one.stated):
                return replace(one, confidence=SAME_NAME * one.confidence)
        return None

    def _may(self, place: int, parameter: Parameter, stated: StatedValue) -> bool:
        """Whether a value may be given to a parameter at all, see `guard`."""
        pairs = zip(self.compared.owners, self.compared.parameters, strict=True)
        row = next((n for n, pair in enumerate(pairs) if pair == (place, parameter)), None)
        values = self.compared.stated.values
        return row is None or bool(np.isfinite(self.bars[row, values.index(stated)]))

    def _flow(self, place: int, parameter: Parameter) -> Found | Unsure | None:
        return references.flow(
            self.steps,
            place,
            parameter=parameter,
            feeds=self.feeds,
            least=self.least,
            introduced=self._introduced,
        )

    def _introduced(self, step: str) -> frozenset[str]:
        place = next(n for n, one in enumerate(self.steps) if one.id == step)
        values = [one.stated for one in self.found[place].values() if one.stated is not None]
        return references.introduced_by(values, self.reading.text)


def _server(tool: BindTool) -> str:
    return tool.tool.partition(":")[0]


def _default(parameter: Parameter) -> Found | None:
    """Return the default of a required parameter, or the only value it may have."""
    if not parameter.is_required:
        return None
    if parameter.has_default and not is_long(parameter.default):
        return Found(
            value=parameter.default,
            source=Source.DEFAULT,
            evidence="the schema's default",
            confidence=1.0,
        )
    only = parameter.schema.get("const", parameter.members[0] if parameter.members else None)
    is_free = "const" not in parameter.schema and len(parameter.members) > 1
    if only is None or is_free or is_long(only):
        return None
    return Found(
        value=only,
        source=Source.DEFAULT,
        evidence="the only value that its schema allows",
        confidence=1.0,
    )
