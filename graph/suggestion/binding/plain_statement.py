"""What a request states for one task, as the rules of plain statements read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.orders import is_ordered
from graph.suggestion.binding.stated_values import find_unquoted_kind
from graph.suggestion.binding.value_patterns import SECRET, ValueKind
from graph.suggestion.binding.values import StatedValue

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ArgumentSchema, ToolParameter
    from graph.suggestion.binding.steps import BindingStep
    from graph.suggestion.binding.vocabulary import Words


@dataclass(kw_only=True, eq=False)
class PlainStatement:
    """A step with the part of the intent that asks for it, and what rules bound so far.

    Attributes:
        step: The step.
        schema: Its parameters.
        text: The whole intent.
        start: Start of the part that asks for the step.
        end: End of that part.
        values: Values stated in the part, none of which is protected.
        forbidden: Spans of protected values.
        found: Bound values by parameter name.
    """

    step: BindingStep
    schema: ArgumentSchema
    text: str
    start: int
    end: int
    values: Sequence[StatedValue]
    forbidden: Sequence[tuple[int, int]]
    found: dict[str, StatedValue] = field(default_factory=dict)

    @property
    def span(self) -> tuple[int, int]:
        """The place of that part in the intent: start and end."""
        return self.start, self.end

    @property
    def part(self) -> str:
        """The part of the intent."""
        return self.text[self.start : self.end]

    def find_open(
        self, accepts: Callable[[ToolParameter], bool], *, required: bool = False
    ) -> list[ToolParameter]:
        """Return the unbound parameters that a test accepts; private ones never."""
        return [
            parameter
            for name, parameter in self.schema.parameters.items()
            if name not in self.found
            and not parameter.is_private
            and (parameter.is_required or not required)
            and accepts(parameter)
        ]

    def bind(
        self,
        parameters: Sequence[ToolParameter],
        value: Any,
        span: tuple[int, int],
        kind: ValueKind,
    ) -> None:
        """Bind a value if exactly one parameter may take it and it is neither taken nor protected.

        What is read from the whole part, such as the choice that an idiom means, is no place.
        """
        start, end = span
        places = [one.span for one in self.found.values()]
        taken = [*self.forbidden, *(place for place in places if place != self.span)]
        is_whole = span == self.span
        is_forbidden = any(
            first < end and start < last for first, last in (self.forbidden if is_whole else taken)
        )
        text = self.text[start:end]
        if len(parameters) != 1 or is_forbidden or SECRET.fullmatch(text):
            return
        stated = StatedValue(text=text, value=value, kind=kind, start=start, end=end)
        if is_ordered(self.step, parameters[0], stated, part=self.part, start=self.start):
            self.found[parameters[0].name] = stated

    def list_values(self, kind: ValueKind) -> list[StatedValue]:
        """Return the values of a kind in the part, in the order of the text, once each.

        Paths also in quotation marks, without which a path may not contain spaces.
        """
        find_kind = find_unquoted_kind if kind is ValueKind.PATH else _kind_of
        ordered = sorted((one for one in self.values if find_kind(one) is kind), key=_start_of)
        kept: list[StatedValue] = []
        for one in ordered:
            if not kept or one.start >= kept[-1].end:
                kept.append(one)
        return kept

    def span_of(self, match: re.Match[str], group: str | int = 0) -> tuple[int, int]:
        """Return the span of a match in the part as one of the text."""
        return self.start + match.start(group), self.start + match.end(group)


def _kind_of(value: StatedValue) -> ValueKind:
    return value.kind


def _start_of(value: StatedValue) -> int:
    return value.start


def has_name(*names: frozenset[str]) -> Callable[[ToolParameter], bool]:
    """Return a test for a text parameter whose name is one of these."""
    listed = frozenset[str]().union(*names)
    return lambda p: p.is_text and not p.members and plain_name(p) in listed


def mentions(words: Words) -> Callable[[ToolParameter], bool]:
    """Return a test for a text parameter whose name contains one of these words."""
    return lambda p: p.is_text and bool(p.name_words & words)


def is_number(parameter: ToolParameter) -> bool:
    """Whether a parameter takes numbers but no text."""
    return parameter.is_number


def takes_texts(parameter: ToolParameter) -> bool:
    """Whether a parameter takes a list of texts."""
    return parameter.is_array and (not parameter.item_types or "string" in parameter.item_types)


def plain_name(parameter: ToolParameter) -> str:
    """Return a parameter's name in lower case, with its words joined by underscores."""
    return "_".join(split_raw_name(parameter.name))
