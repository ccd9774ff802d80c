"""The interface of readers: which arguments a text states, and where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]


class Question(NamedTuple):
    """A question about one parameter of a tool.

    Attributes:
        text: Words about the parameter and its tool.
        members: Places of the values in `text` to choose from; empty: any value.
        is_number: Whether only numbers are values.
    """

    text: str
    members: tuple[Span, ...] = ()
    is_number: bool = False


class MarkedWord(NamedTuple):
    """A word of a text, without punctuation around it.

    Attributes:
        start: Of its first character.
        end: After its last character.
        inside: Probability that it is part of a value, in [0, 1].
        begins: Probability that it begins one, in [0, 1].
    """

    start: int
    end: int
    inside: float
    begins: float


class Answer(NamedTuple):
    """What a text states for a question.

    Attributes:
        probability: That it states a value, in [0, 1].
        words: Of the text, with what they are of the value; see `stated_words`.
        members: Of each member of the question, the probability that it is stated.
    """

    probability: float
    words: tuple[MarkedWord, ...] = ()
    members: tuple[float, ...] = ()


ReadStatements: TypeAlias = Callable[[str, Sequence[Question]], Sequence[Answer]]
"""Answers questions about a text, one for each, in order; thread-safe."""


def read_nothing(_text: str, questions: Sequence[Question]) -> Sequence[Answer]:
    """Answer that a text states nothing."""
    return [Answer(0.0, members=(0.0,) * len(one.members)) for one in questions]


def keep_answers(read: ReadStatements) -> ReadStatements:
    """Return a reader that asks each question about one text only once."""
    kept: dict[tuple[str, Question], Answer] = {}

    def read_once(text: str, questions: Sequence[Question]) -> Sequence[Answer]:
        new = [one for one in dict.fromkeys(questions) if (text, one) not in kept]
        kept.update(zip(((text, one) for one in new), read(text, new), strict=True))
        return [kept[text, one] for one in questions]

    return read_once
