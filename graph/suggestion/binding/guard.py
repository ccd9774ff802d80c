"""Decide which values that an intent states its tasks may take, whoever read them.

A tool that is only known to read may take almost everything: its errors are cheap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding import secrets
from graph.suggestion.binding.knowledge import compute_stated_rate
from graph.suggestion.binding.orders import find_unordered, read_task_order
from graph.suggestion.binding.protected_values import (
    PROTECTING_PHRASE,
    find_protected_spans,
    is_shunned,
)
from graph.suggestion.binding.protection import (
    ANOTHER_BEFORE,
    MAX_LEAD_CHARS,
    may_be_output,
    may_destroy,
)
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import (
    FILE_WORDS,
    RANK_WORDS,
    REMOVAL_WORDS,
    SECRET_NAME_WORDS,
    normalize_word,
    normalize_words,
)
from graph.suggestion.intent.orders import Order

if TYPE_CHECKING:
    from graph.suggestion.binding.knowledge import BindingKnowledge
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.tasks import BoundArgument, SuggestedTask
    from graph.suggestion.binding.values import StatedValue
    from graph.suggestion.intent.reading import IntentReading

ADDRESS_KINDS: Final = frozenset({ValueKind.PATH, ValueKind.URL, ValueKind.IP})
"""Kinds of values that tools of one server share under the same parameter name."""
RARELY_STATED_RATE: Final = 0.25
"""Share of past uses stated in intents up to which a value has to be surer."""
MAX_THRESHOLD: Final = 0.95
_PLACE_KINDS: Final = frozenset({ValueKind.URL, ValueKind.IP})
_COUNT_KINDS: Final = frozenset({ValueKind.NUMBER, ValueKind.NUMBER_WORD})
_NUMBER_WORDS: Final = normalize_words(["number"])
_WORD: Final = re.compile(r"[^\W_]+")
_CONNECTIVE: Final = re.compile(r"\b(?:and|then|but|before|after)\b|[.;!?]\s")
_OWNER: Final = re.compile(r"['’]s$")  # noqa: RUF001
"""End of what only says whose the thing is: "Ann's"."""
_GOES_ON: Final = re.compile(r"\s+[A-Z0-9(]")
"""Behind a path without quotation marks, what may be more of it: "/home/ann/Tax 2023"."""
SECRET_WINDOW: Final = 3
"""Words before a value that may call it a secret; behind it, one less."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BindingGuard:
    """What the tasks of one workflow may take of the values that its intent states.

    Attributes:
        steps: The tasks.
        text: The intent.
        knowledge: Counts from the scope's past runs.
        protected_spans: Spans of the values that the intent protects.
        orders: Whether the intent orders each task.
        unordered: Of each task, the spans of requests of which it may take nothing.
    """

    steps: Sequence[SuggestedTask]
    text: str
    knowledge: BindingKnowledge
    protected_spans: Sequence[tuple[int, int]]
    orders: Sequence[Order]
    unordered: Sequence[Sequence[tuple[int, int]]]

    def is_possible(
        self, position: int, parameter: ToolParameter, argument: BoundArgument
    ) -> bool:
        """Whether a step may take what was read for it.

        What past runs rarely took from intents is believed only if it is sure, or stated in the
        part that asks for the task.
        """
        stated, step = argument.stated, self.steps[position]
        if self.orders[position] is not Order.PLAIN:
            return False
        if stated is None:
            return True
        if _touches(stated, self.unordered[position]):
            return False
        rate = compute_stated_rate(step.tool.pk, parameter.name, self.knowledge)
        is_rare = step.request is None and rate is not None and rate <= RARELY_STATED_RATE
        if is_rare and argument.confidence < min(MAX_THRESHOLD, 1 - (rate or 0.0)):
            return False
        return self.is_permitted(position, parameter, stated)

    def is_permitted(self, position: int, parameter: ToolParameter, stated: StatedValue) -> bool:
        """Whether a step may take a value, however sure it is."""
        step, span = self.steps[position], stated.span
        if stated.kind in _PLACE_KINDS and is_shunned(self.text, *span):
            return False
        if not step.tool.is_trusted and (parameter.is_private or self._is_secret(stated)):
            return False
        if step.is_read_only:
            return True
        is_path = stated.kind is ValueKind.PATH
        return not (
            self.is_protected(position, stated)
            or (stated.kind is not ValueKind.QUOTED and _OWNER.search(stated.text) is not None)
            or (is_path and not may_be_output(step, parameter, text=self.text, start=span[0]))
            or (_names_one(step, parameter) and self._is_count(stated))
            or _names_tool(step, stated)
            or (may_destroy(step) and self._is_of_another(position, stated))
        )

    def is_protected(self, position: int, stated: StatedValue) -> bool:
        """Whether the intent protects a value from a step, which may do more than read it."""
        return not self.steps[position].is_read_only and _touches(stated, self.protected_spans)

    def _is_of_another(self, position: int, stated: StatedValue) -> bool:
        """Whether a value may be of another task, or is not what the task acts on."""
        step, first = self.steps[position], max(0, stated.start - MAX_LEAD_CHARS)
        return (
            (step.request is None and len(self.steps) > 1)
            or self._precedes_order(step, stated)
            or (
                stated.kind is ValueKind.PATH and _GOES_ON.match(self.text, stated.end) is not None
            )
            or PROTECTING_PHRASE.fullmatch(stated.text) is not None
            or ANOTHER_BEFORE.search(self.text, first, stated.start) is not None
        )

    def _precedes_order(self, step: SuggestedTask, stated: StatedValue) -> bool:
        """Whether a tool is named only after a value and a conjunction.

        Example: "Read /etc/hosts and delete the old log".
        """
        names = normalize_words(split_raw_name(step.tool.name)) - FILE_WORDS
        names |= REMOVAL_WORDS if names & REMOVAL_WORDS else frozenset()
        words = _WORD.finditer(self.text)
        first = next((one.start() for one in words if normalize_word(one[0].lower()) & names), 0)
        return _CONNECTIVE.search(self.text, stated.end, first) is not None

    def _is_count(self, stated: StatedValue) -> bool:
        """Whether a value says how many, not which: "close the 3 oldest issues"."""
        before = _WORD.findall(self.text[: stated.start].lower())[-1:]
        after = _WORD.findall(self.text[stated.end :].lower())[:1]
        return stated.kind in _COUNT_KINDS and not RANK_WORDS.isdisjoint((*before, *after))

    def _is_secret(self, stated: StatedValue) -> bool:
        """Whether a value looks like a secret, or the intent calls it so."""
        before = _WORD.findall(self.text[: stated.start].lower())[-SECRET_WINDOW:]
        after = _WORD.findall(self.text[stated.end :].lower())[: SECRET_WINDOW - 1]
        return secrets.has_secret_pattern(stated.text) or any(
            normalize_word(word) & SECRET_NAME_WORDS for word in (*before, *after)
        )


def make_guard(
    steps: Sequence[SuggestedTask], *, reading: IntentReading, knowledge: BindingKnowledge
) -> BindingGuard:
    """Read what an intent protects, and what its tools may not take.

    Args:
        steps: The tasks.
        reading: The prepared intent.
        knowledge: Counts from the scope's past runs.
    """
    return BindingGuard(
        steps=steps,
        text=reading.text,
        knowledge=knowledge,
        protected_spans=find_protected_spans(reading),
        orders=[read_task_order(step, reading) for step in steps],
        unordered=[find_unordered(step, reading) for step in steps],
    )


def _touches(stated: StatedValue, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < stated.end and stated.start < end for start, end in spans)


def _names_one(step: SuggestedTask, parameter: ToolParameter) -> bool:
    """Whether a parameter names one thing: an identifier, or `issue_number` of `close_issue`."""
    of_tool = parameter.name_words & normalize_words(split_raw_name(step.tool.name))
    return parameter.is_identifier or bool(of_tool and parameter.name_words & _NUMBER_WORDS)


def _names_tool(step: SuggestedTask, stated: StatedValue) -> bool:
    """Whether a value is only what the tool is called after: "pod" of `delete_pod`."""
    words = normalize_words(_WORD.findall(stated.text.lower()))
    is_name = stated.kind in (ValueKind.WORD, ValueKind.PHRASE, ValueKind.NAME)
    return is_name and words <= normalize_words(split_raw_name(step.tool.name))
