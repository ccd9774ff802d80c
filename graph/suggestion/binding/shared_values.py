"""Find what a task takes from the requests for other tasks: "it", "there", the same workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from graph.suggestion.binding import earlier_requests, protection
from graph.suggestion.binding.arguments import NOT_CONVERTIBLE, convert_value, takes_time_zone
from graph.suggestion.binding.guard import ADDRESS_KINDS
from graph.suggestion.binding.vocabulary import SCOPE_WORDS, Words, normalize_words
from graph.suggestion.intent.orders import Order

if TYPE_CHECKING:
    from graph.suggestion.binding.guard import BindingGuard
    from graph.suggestion.binding.schemas import ArgumentSchema, ToolParameter
    from graph.suggestion.binding.tasks import BoundArgument, SuggestedTask

_PLACE_WORDS: Final = normalize_words(["city", "location", "place", "town", "timezone"])
"""Words of the names of parameters that take a place, or the time zone of one."""
SHARED_FACTOR: Final = 0.9
"""Factor on the confidence of a value that was stated for another task."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedValues:
    """Finds values that the intent states for one task and means for others as well.

    Attributes:
        steps: The tasks.
        schemas: Of each step.
        text: The intent.
        found_arguments: Arguments found so far, by position and name; read at each call.
        guard: Which values a step may take.
    """

    steps: Sequence[SuggestedTask]
    schemas: Sequence[ArgumentSchema]
    text: str
    found_arguments: Sequence[Mapping[str, BoundArgument]]
    guard: BindingGuard

    def find(self, position: int, parameter: ToolParameter) -> BoundArgument | None:
        """Return the value that another task gives to a parameter; None if it gives none."""
        shared = (
            self._find_address(position, parameter)
            or self._find_scope(position, parameter)
            or self._find_referred_value(position, parameter)
        )
        if shared is None:
            return None
        return replace(shared, confidence=SHARED_FACTOR * shared.confidence)

    def means_earlier_place(self, position: int, name: str, argument: BoundArgument) -> bool:
        """Whether a request says "there" for a place, and the value is stated only after it."""
        request = self.steps[position].request
        if request is None or argument.stated is None or argument.stated.start < request[1]:
            return False
        parameter = self.schemas[position].parameters.get(name)
        return _is_place(parameter) and earlier_requests.says_there(self.text, *request)

    def _find_address(self, position: int, parameter: ToolParameter) -> BoundArgument | None:
        """Return an address stated for the same parameter of another tool of the server.

        Example intent: "stage a.txt and commit it, in /tmp/repo".
        """
        step = self.steps[position]
        is_safe = step.is_read_only or protection.is_workspace_parameter(step, parameter)
        if not parameter.is_required or not (is_safe or self._continues_work(position, parameter)):
            return None
        others = len(self.steps) if is_safe else position
        for other, candidate in self._iterate_namesakes(position, parameter, others=others):
            stated = candidate.stated
            if (
                other.tool.pk != step.tool.pk
                and stated is not None
                and stated.kind in ADDRESS_KINDS
                and self.guard.is_permitted(position, parameter, stated)
            ):
                return candidate
        return None

    def _iterate_namesakes(
        self, position: int, parameter: ToolParameter, *, others: int
    ) -> Iterator[tuple[SuggestedTask, BoundArgument]]:
        """Yield what steps of the same server take for a parameter of this name.

        Args:
            position: Of the step that the parameter belongs to.
            parameter: The parameter.
            others: Number of steps, from the first, that are looked at.
        """
        server = self.steps[position].tool.server
        for other, found in zip(self.steps[:others], self.found_arguments, strict=False):
            if other.tool.server == server and parameter.name in found:
                yield other, found[parameter.name]

    def _continues_work(self, position: int, parameter: ToolParameter) -> bool:
        """Whether a request goes on with the only file that the requests before it are about.

        Example intent: "create memo.docx, add the heading 'Agenda' and a page break".
        """
        step = self.steps[position]
        if step.request is None or protection.may_replace(step):
            return False
        before = self._iterate_namesakes(position, parameter, others=position)
        stated = {repr(argument.value) for _, argument in before}
        return len(stated) == 1 and self._is_fully_read(position, parameter)

    def _find_scope(self, position: int, parameter: ToolParameter) -> BoundArgument | None:
        """Return what the other tools of the server are stated to work in, if they agree.

        Example intent: "what runs in namespace shop, and show the logs of pod cart-1".
        """
        step = self.steps[position]
        if not self._may_share_scope(position, parameter):
            return None
        namesakes = self._iterate_namesakes(position, parameter, others=len(self.steps))
        found = [argument for other, argument in namesakes if other.tool.pk != step.tool.pk]
        if len({repr(argument.value) for argument in found}) != 1:
            return None
        stated = found[0].stated
        is_permitted = stated is not None and self.guard.is_permitted(position, parameter, stated)
        return found[0] if is_permitted else None

    def _may_share_scope(self, position: int, parameter: ToolParameter) -> bool:
        """Whether a parameter may take the scope of other tools: surely the one that is meant."""
        step = self.steps[position]
        if step.request is None or not protection.is_scope_parameter(step, parameter):
            return False
        if not self._leaves_scope_open(position, parameter):
            return False
        if earlier_requests.refers_to_scope(self.text, *step.request, parameter):
            return True
        if protection.may_destroy(step):
            return False
        return step.is_read_only or (
            parameter.is_required and self._is_fully_read(position, parameter)
        )

    def _is_fully_read(self, position: int, parameter: ToolParameter) -> bool:
        """Whether a step's request has no words that may be a scope; see `earlier_requests`."""
        step = self.steps[position]
        bound, bound_words = self._find_bound_spans(position)
        return step.request is not None and earlier_requests.is_fully_read(
            self.text[slice(*step.request)],
            step.tool,
            parameter,
            bound=bound,
            bound_words=bound_words,
        )

    def _leaves_scope_open(self, position: int, parameter: ToolParameter) -> bool:
        """Whether a step's request states no other scope; see `earlier_requests`."""
        request = self.steps[position].request
        bound, bound_words = self._find_bound_spans(position)
        return request is not None and earlier_requests.leaves_scope_open(
            self.text[slice(*request)], parameter, bound=bound, bound_words=bound_words
        )

    def _refers_back(self, position: int, parameter: ToolParameter) -> bool:
        """Whether a request refers to an earlier one; if it may do more than read, plainly so."""
        step = self.steps[position]
        is_ordered = self.guard.orders[position] is Order.PLAIN
        if not (is_ordered and earlier_requests.refers_back(self.text, step, parameter)):
            return False
        bound, _ = self._find_bound_spans(position)
        part = self.text[slice(*(step.request or (0, 0)))]
        return step.is_read_only or not earlier_requests.excludes_anything(part, bound=bound)

    def _find_bound_spans(self, position: int) -> tuple[list[tuple[int, int]], Words]:
        """Return where a request states what its step takes, and words of these parameters."""
        start, end = self.steps[position].request or (0, 0)
        named = [
            (name, argument.stated)
            for name, argument in self.found_arguments[position].items()
            if argument.stated is not None
            and start <= argument.stated.start
            and argument.stated.end <= end
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
        is_scope = bool(parameter.name_words & SCOPE_WORDS)
        if is_scope and not self._leaves_scope_open(position, parameter):
            return None
        for other in range(position - 1, -1, -1):
            candidate = earlier_requests.find_namesake(
                self.found_arguments[other], self.schemas[other].parameters, parameter
            )
            is_near = self.steps[other].tool.server == step.tool.server
            if is_near and candidate is not None and candidate.stated is not None:
                is_protected = self.guard.is_protected(position, candidate.stated)
                return None if is_protected else candidate
        return self._find_referred_place(position, parameter)

    def _find_referred_place(
        self, position: int, parameter: ToolParameter
    ) -> BoundArgument | None:
        """Return the only place that earlier tasks are stated to be about, if "there" means it."""
        request = self.steps[position].request
        if request is None or not _is_place(parameter):
            return None
        if not earlier_requests.says_there(self.text, *request):
            return None
        stated = [
            argument
            for earlier, found in zip(self.schemas[:position], self.found_arguments, strict=False)
            for name, argument in found.items()
            if argument.stated is not None and _is_place(earlier.parameters.get(name))
        ]
        if len({str(argument.value) for argument in stated}) != 1 or stated[0].stated is None:
            return None
        if self.guard.is_protected(position, stated[0].stated):
            return None
        value = convert_value(parameter, stated[0].stated)
        if value is NOT_CONVERTIBLE or (takes_time_zone(parameter) and "/" not in str(value)):
            return None
        return replace(stated[0], value=value)


def _is_place(parameter: ToolParameter | None) -> bool:
    """Whether a parameter takes the name of a place, or the time zone of one."""
    return (
        parameter is not None
        and parameter.is_text
        and not parameter.members
        and bool(parameter.name_words & _PLACE_WORDS)
    )
