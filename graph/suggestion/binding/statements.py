"""Bind what an intent states for a task, as the learned reader reads it."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.binding.arguments import NOT_CONVERTIBLE, convert_value, split_joined
from graph.suggestion.binding.instances import find_listed, list_conjunctions
from graph.suggestion.binding.orders import is_grave, is_ordered
from graph.suggestion.binding.protected_values import PROTECTING_PHRASE
from graph.suggestion.binding.questions import ask_about, list_members
from graph.suggestion.binding.schemas import spell_out
from graph.suggestion.binding.tasks import BindingSource, BoundArgument
from graph.suggestion.binding.value_patterns import PATTERNS, SECRET, SPACED_PATH, ValueKind
from graph.suggestion.binding.values import StatedValue, extract_values, group_values
from graph.suggestion.binding.vocabulary import PATH_WORDS, normalize_words
from tools.embed.stated_words import (
    MIN_ITEM,
    StatedSpan,
    iterate_items,
    leave_out,
    share_words,
    weigh_values,
)

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ArgumentSchema, ToolParameter
    from graph.suggestion.binding.tasks import SuggestedTask
    from tools.embed.embedder import Vectors
    from tools.embed.reader import Answer, MarkedWord, ReadStatements, Span

MIN_READING: Final = 0.5
"""Least probability of a value for a tool that is known to be read-only."""
MIN_CHANGING: Final = 0.65
"""The same for any other tool."""
MIN_GRAVE: Final = 0.85
"""The same for a tool that may destroy something, or whose effects are hard to take back."""
MAX_QUESTIONS: Final = 40
"""Parameters of a task that are asked about, in the order of the schema."""
MAX_OF_ALL: Final = 160
"""The same of all tasks of an intent: each costs some 2 ms."""
_CHANGES_DATA: Final = re.compile(
    r"\b(?:insert\s+into|update\s+\S+\s+set|delete\s+from"
    r"|(?:alter|create|drop|truncate)\s+(?:database|index|schema|table|view))\b",
    re.IGNORECASE,
)
"""SQL that does something by itself: "explain what delete from users would do"."""
_QUERY_WORDS: Final = normalize_words(["query", "sql", "statement"])
"""Of parameters that take such a statement only in quotation marks: all of it, and no more."""
_PATH: Final = dict(PATTERNS)[ValueKind.PATH]
_WHOLE_KINDS: Final = frozenset({ValueKind.QUOTED, ValueKind.URL, ValueKind.PATH, ValueKind.EMAIL})
ParameterRow: TypeAlias = tuple[int, str]
"""Position of a step and name of a parameter of its tool."""
_NUMBER_KINDS: Final = frozenset({ValueKind.NUMBER, ValueKind.NUMBER_WORD})


def bind_statements(
    steps: Sequence[SuggestedTask],
    schemas: Sequence[ArgumentSchema],
    *,
    text: str,
    forbidden: Sequence[Span],
    found: Sequence[Mapping[str, BoundArgument]],
    read: ReadStatements,
) -> dict[ParameterRow, BoundArgument]:
    """Bind what an intent states for each task; each part of it serves one parameter of a task.

    Args:
        steps: The tasks.
        schemas: Of each step.
        text: The intent.
        forbidden: Spans of values that the intent protects from what may do more than read.
        found: What is bound of each step already.
        read: The reader.
    """
    bound: dict[ParameterRow, BoundArgument] = {}
    occurring, occurred = Counter(step.tool.pk for step in steps), Counter[int]()
    left = MAX_OF_ALL
    lists = [*list_conjunctions(text), *group_values(extract_values(text))]
    for position, (step, schema, known) in enumerate(zip(steps, schemas, found, strict=True)):
        part = step.request or (0, len(text))  # of what is read from all of it, no place is known
        parameters = _select_parameters(schema, text, known)[:left]
        left -= len(parameters)
        questions = [ask_about(step.tool, one) for one in parameters]
        answers = read(text, questions)
        if not step.is_read_only and step.request:
            in_part = read(text[slice(*part)], [one for one in questions if one.members])
            members = iter(one.members for one in in_part)
            answers = [
                one._replace(members=next(members)) if question.members else one
                for question, one in zip(questions, answers, strict=True)
            ]
        asked = list(zip(parameters, answers, strict=True))
        if occurring[step.tool.pk] > 1:
            asked = list(_take_turns(step, asked, lists, occurred[step.tool.pk]))
            occurred[step.tool.pk] += 1
        stated = (one.stated for one in known.values() if one.stated is not None)
        serving = [one.span for one in stated if one.span != part]
        others = [(0, part[0]), (part[1], len(text))]  # that is for `SharedValues` to weigh
        kept = [] if step.is_read_only else forbidden
        is_lost = step.request is None and len(steps) > 1
        task = _Task(
            step=step, text=text, is_lost=is_lost, kept=kept, taken=[*kept, *serving, *others]
        )
        read_here = task.bind(asked)
        bound |= {(position, name): argument for name, argument in read_here.items()}
    return bound


def _take_turns(
    step: SuggestedTask,
    asked: Sequence[tuple[ToolParameter, Answer]],
    lists: Sequence[tuple[StatedValue, ...]],
    number: int,
) -> Iterator[tuple[ToolParameter, Answer]]:
    """Leave to the task of this number its one of the values that a list states for its tool.

    Of what is stated once, a tool that may do more than read is asked about it: "a viewer and b
    owner" gives nobody both.
    """
    for parameter, answer in asked:
        parts = find_listed(parameter, answer, lists)
        others = [one.span for place, one in enumerate(parts) if place != number]
        if parts or step.is_read_only:
            yield parameter, answer._replace(words=leave_out(answer.words, others))


def _select_parameters(
    schema: ArgumentSchema, text: str, known: Container[str]
) -> list[ToolParameter]:
    """Return the parameters that the text could state a value for.

    Private ones are asked about for every server, so that a secret is no neighbour's value; which
    servers get it, the guard decides.
    """
    has_number = any(map(str.isdigit, text)) or any(
        one.kind in _NUMBER_KINDS for one in extract_values(text)
    )
    return [
        one
        for one in schema.parameters.values()
        if (one.takes_values or one.is_boolean)
        and one.name not in known
        and (has_number or not one.is_number)
    ][:MAX_QUESTIONS]


@dataclass(kw_only=True)
class _Task:
    """A task with the parts of the intent that serve one of its parameters already.

    Attributes:
        is_lost: Whether it is one of several, and nobody knows which part asks for it.
        kept: What the intent protects from it.
        taken: That, what serves other parameters, and the parts of other tasks.
    """

    step: SuggestedTask
    text: str
    is_lost: bool
    kept: Sequence[Span]
    taken: list[Span]
    found: dict[str, BoundArgument] = field(default_factory=dict)

    def bind(self, asked: Sequence[tuple[ToolParameter, Answer]]) -> dict[str, BoundArgument]:
        """Bind parameters, the surest first; one that comes too late takes what is left."""
        likely = self._weigh(asked)
        waiting = [(-self._locate(n, asked, likely)[0], n) for n in range(len(asked))]
        heapq.heapify(waiting)
        while waiting:
            expected, number = heapq.heappop(waiting)
            confidence, spans = self._locate(number, asked, likely)
            if confidence < self._least:
                continue
            if -confidence > expected:  # what it would have taken is taken
                heapq.heappush(waiting, (-confidence, number))
                continue
            self._bind_value(asked[number][0], confidence, spans)
        self._split_joined([parameter for parameter, _ in asked])
        for parameter, answer in asked:
            self._bind_member(parameter, answer)
        return self.found

    def _split_joined(self, parameters: Sequence[ToolParameter]) -> None:
        """Give each of two parameters its part of what is written as one value: "acme/web"."""
        stated = {name: one.stated for name, one in self.found.items() if one.stated}
        least = min((one.confidence for one in self.found.values()), default=0.0)
        parts = split_joined(parameters, stated)
        for parameter in parameters:
            part = parts.get(parameter.name)
            value = convert_value(parameter, part) if part else NOT_CONVERTIBLE
            if part and value is not NOT_CONVERTIBLE:
                self._add(parameter, value, least, part)

    @property
    def _least(self) -> float:
        if self.step.is_read_only and not self.is_lost:
            return MIN_READING
        return MIN_GRAVE if is_grave(self.step) else MIN_CHANGING

    def _weigh(self, asked: Sequence[tuple[ToolParameter, Answer]]) -> dict[int, Vectors]:
        """Return by place how likely each run of words is the value of a parameter that takes one.

        Words of lists are left to the lists as far as they are likely to be of one.
        """
        single = [n for n, (one, _) in enumerate(asked) if not (one.is_array or one.is_boolean)]
        if not asked or not asked[0][1].words:
            return {}
        words = asked[0][1].words
        free = np.ones(len(words))
        for parameter, answer in asked:
            if parameter.is_array:
                inside = np.array([one.inside for one in answer.words])
                free *= 1 - answer.probability * np.where(inside > MIN_ITEM, inside, 0)
        free *= ~self._find_taken(words)
        wholes = self._wholes
        weights = [
            (asked[n][1].probability, weigh_values(asked[n][1].words, wholes)) for n in single
        ]
        return dict(zip(single, share_words(weights, 1 - free), strict=True))

    def _find_taken(self, words: Sequence[MarkedWord]) -> NDArray[np.bool_]:
        return np.array(
            [any(a < word.end and word.start < z for a, z in self.taken) for word in words],
            dtype=bool,
        )

    def _locate(
        self,
        number: int,
        asked: Sequence[tuple[ToolParameter, Answer]],
        likely: Mapping[int, Vectors],
    ) -> tuple[float, Sequence[StatedSpan]]:
        """Return the probability and the places of what a parameter may still take."""
        parameter, answer = asked[number]
        if number in likely:
            until = np.concatenate([[0], self._find_taken(answer.words).cumsum()])
            is_free = until[None, 1:] == until[:-1, None]
            runs = np.where(is_free, likely[number], 0.0)
            first, last = np.unravel_index(runs.argmax(), runs.shape)
            probability = float(runs[first, last])
            start, end = answer.words[first].start, answer.words[last].end
            return probability, [StatedSpan(start, end, probability)]
        if not parameter.is_array:
            return 0.0, []
        spans = list(iterate_items(leave_out(answer.words, self.taken)))
        least = min((one.probability for one in spans), default=0.0)
        return answer.probability * least, spans

    @property
    def _wholes(self) -> list[Span]:
        return [
            one.span
            for one in extract_values(self.text)
            if one.kind in _WHOLE_KINDS
            and not any(one.start < end and start < one.end for start, end in self.taken)
        ]

    def _bind_value(
        self, parameter: ToolParameter, confidence: float, spans: Sequence[StatedSpan]
    ) -> None:
        values = [_to_value(self.text, start, end) for start, end, _ in spans]
        if parameter.name_words & PATH_WORDS:
            values = [_find_path(self.text, one) for one in values]
        whole = values[0] if len(values) == 1 else _join(values, self.text)
        if SECRET.fullmatch(whole.text) and not parameter.is_private:
            return
        is_query = bool(parameter.name_words & _QUERY_WORDS) and _CHANGES_DATA.search(self.text)
        if is_query and (self.step.is_read_only or whole.kind is not ValueKind.QUOTED):
            return
        value = convert_value(parameter, whole)
        first, last = self.step.request or (0, len(self.text))
        part = self.text[first:last]
        if value is not NOT_CONVERTIBLE and is_ordered(
            self.step, parameter, whole, part=part, start=first
        ):
            self.taken += [one.span for one in values]
            self._add(parameter, value, confidence, whole)

    def _bind_member(self, parameter: ToolParameter, answer: Answer) -> None:
        members = zip(list_members(parameter), answer.members, strict=True)
        member, probability = max(members, key=lambda one: one[1], default=(None, 0.0))
        if parameter.name in self.found or probability < self._least:
            return
        stated = None if self.step.is_read_only else self._find_member(member)
        if self.step.is_read_only or self._may_take_member(parameter, member, stated):
            value = [member] if parameter.is_array else member
            self._add(parameter, value, probability, stated)

    def _find_member(self, member: Any) -> StatedValue | None:
        """Return where a member is named; where the intent protects it, if it does so anywhere."""
        words = r"[\W_]+".join(map(re.escape, spell_out(str(member)).split()))
        named = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
        first, last = self.step.request or (0, len(self.text))
        places = [one.span() for one in named.finditer(self.text, first, last)]
        kept = (one for one in places if any(one[0] < z and a < one[1] for a, z in self.kept))
        place = next(kept, next(iter(places), None))
        if place is None:
            return None
        named_by, (start, end) = self.text[slice(*place)], place
        # As sure as a quoted text: "the logs of production" names it, whatever stands before.
        return StatedValue(
            text=named_by, value=member, kind=ValueKind.QUOTED, start=start, end=end
        )

    def _may_take_member(
        self, parameter: ToolParameter, member: Any, stated: StatedValue | None
    ) -> bool:
        """Whether a tool that may do more than read takes a member: plainly asked for.

        One that is not named has no place that protects it or belongs to another order.
        """
        first, last = self.step.request or (0, len(self.text))
        part = self.text[first:last]
        if stated is None:
            is_kept = PROTECTING_PHRASE.search(part) is not None
            return not is_grave(self.step) and (member is False or not is_kept)
        return is_ordered(self.step, parameter, stated, part=part, start=first)

    def _add(
        self, parameter: ToolParameter, value: Any, confidence: float, stated: StatedValue | None
    ) -> None:
        words = stated.text if stated else str(value).lower()
        self.found[parameter.name] = BoundArgument(
            value=value,
            source=BindingSource.LITERAL,
            evidence=f"the intent states “{words}”",
            confidence=confidence,
            stated=stated,
        )


def _to_value(text: str, start: int, end: int) -> StatedValue:
    """Return what stands at a span: as it was extracted by its form, or else its words."""
    inside = [
        one
        for one in extract_values(text)
        if one.kind is not ValueKind.LIST and start <= one.start and one.end <= end
    ]
    forms = (one for one in inside if one.kind not in (ValueKind.PHRASE, ValueKind.WORD))
    exact = next((one for one in forms if one.span == (start, end)), None)
    if exact is not None:
        return exact
    numbers = [one for one in inside if one.kind in _NUMBER_KINDS]
    content, number = text[start:end], numbers[0] if len(numbers) == 1 else None
    return StatedValue(
        text=content,
        value=number.value if number else content,
        kind=ValueKind.PHRASE,
        start=start,
        end=end,
        unit=number.unit if number else "",
    )


def _find_path(text: str, value: StatedValue) -> StatedValue:
    """Return the only path within a value, which may have a word for it too, or else the value.

    One in quotation marks is a path, too, which other tasks may share.
    """
    is_quoted = value.kind is ValueKind.QUOTED
    if is_quoted and any(one.fullmatch(value.text) for one in (_PATH, SPACED_PATH)):
        return replace(value, kind=ValueKind.PATH)
    inside = [
        one
        for one in extract_values(text)
        if one.kind is ValueKind.PATH and value.start <= one.start and one.end <= value.end
    ]
    return inside[0] if len(inside) == 1 else value


def _join(values: Sequence[StatedValue], text: str) -> StatedValue:
    start, end = values[0].start, values[-1].end
    return StatedValue(
        text=text[start:end],
        value=[one.value for one in values],
        kind=ValueKind.LIST,
        start=start,
        end=end,
        parts=tuple(values),
    )
