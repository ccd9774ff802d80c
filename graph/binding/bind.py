"""Bind the arguments of a workflow's tasks, each with where it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graph.binding import model as models
from graph.binding import parameters as given_parameters
from graph.binding import references, switches
from graph.binding.features import grid
from graph.binding.found import Found
from graph.binding.learned import NOTHING, Knowledge, habitual
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

if TYPE_CHECKING:
    from graph.binding.model import BindingModel
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
        elsewhere = {(n, name) for n, found in enumerate(self.found) for name in found}
        chosen = literals(
            self.steps,
            compared=compared,
            probabilities=model.probabilities(compared),
            least=self.least,
            without=elsewhere | self.habits.keys(),
        )
        for (place, name), one in chosen.items():
            self.found[place][name] = one

    def take_rest(self, place: int) -> None:
        """Take from past runs, other tasks and the schema what is still missing of a step."""
        tool = self.steps[place].tool.pk
        for parameter in self._open(place):
            one = (
                self._habit(place, parameter)
                or self._switch(parameter)
                or habitual(tool, parameter.name, self.knowledge)
                or self._flow(place, parameter)
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


def _default(parameter: Parameter) -> Found | None:
    """Return the default of a required parameter, or the only value it may have."""
    if not parameter.is_required:
        return None
    if parameter.has_default:
        return Found(
            value=parameter.default,
            source=Source.DEFAULT,
            evidence="the schema's default",
            confidence=1.0,
        )
    only = parameter.schema.get("const", parameter.members[0] if parameter.members else None)
    if only is None or ("const" not in parameter.schema and len(parameter.members) > 1):
        return None
    return Found(
        value=only,
        source=Source.DEFAULT,
        evidence="the only value that its schema allows",
        confidence=1.0,
    )
