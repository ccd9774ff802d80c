"""Builders of tools and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.schemas import spell_out
from graph.suggestion.binding.tasks import SuggestedTask, WorkflowTool
from graph.suggestion.intent import reading
from tests.stated import read_stated
from tools.embed.reader import Answer, MarkedWord, Question, ReadStatements
from tools.embed.stated_words import split_words

_KEYS = count(1)


def tool(
    fields: Mapping[str, Any], *, required: Sequence[str] = (), name: str = "act", **root: Any
) -> WorkflowTool:
    """Build a tool whose parameters have these schemas."""
    pk = next(_KEYS)
    schema = {"type": "object", "properties": dict(fields), "required": list(required), **root}
    return WorkflowTool(pk=pk, tool=f"server:{name}", name=name, input_schema=schema)


def text(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def steps(*tools: WorkflowTool) -> list[SuggestedTask]:
    """Build one step for each tool, called t0, t1…."""
    return [SuggestedTask(id=f"t{place}", tool=one) for place, one in enumerate(tools)]


def bound(intent: str, *tools: WorkflowTool, **known: Any) -> tuple[SuggestedTask, ...]:
    """Bind tools to an intent, one step for each."""
    read = known.pop("read", read_stated)
    return bind_arguments(steps(*tools), reading=reading.read_intent(intent), read=read, **known)


def arguments(intent: str, *tools: WorkflowTool, **known: Any) -> list[dict[str, Any]]:
    return [dict(one.arguments) for one in bound(intent, *tools, **known)]


def stating(*, sure: float = 0.99, **stated: str | Sequence[str]) -> ReadStatements:
    """Return a reader that is sure of the words that state each parameter, and of no others.

    A member of an enumeration, or "true" and "false", is chosen by its name.
    """
    given = {
        spell_out(name): [words] if isinstance(words, str) else words
        for name, words in stated.items()
    }

    def read(intent: str, questions: Sequence[Question]) -> list[Answer]:
        named = [given.get(one.text.partition(" (")[0], ()) for one in questions]
        return [
            _state(intent, question, values, sure)
            for question, values in zip(questions, named, strict=True)
        ]

    return read


def _state(intent: str, question: Question, values: Sequence[str], sure: float) -> Answer:
    spans = [(intent.index(one), intent.index(one) + len(one)) for one in values if one in intent]
    words = tuple(
        MarkedWord(
            one.start,
            one.end,
            0.99 if any(start <= one.start < end for start, end in spans) else 0.001,
            0.98 if one.start in {start for start, _ in spans} else 0.001,
        )
        for one in split_words(intent, [(0, len(intent))])
    )
    members = tuple(
        sure if question.text[slice(*one)] in values else 0.0 for one in question.members
    )
    return Answer(sure if spans else 0.001, words, members)


def needs(step: SuggestedTask) -> list[str]:
    return [one.pointer.removeprefix("/") for one in step.needs_input]


def located(
    intent: str,
    parts: Sequence[str],
    *tools: WorkflowTool,
    reading_tools: Sequence[WorkflowTool] = (),
    read: ReadStatements = read_stated,
) -> list[dict[str, Any]]:
    """Bind each tool with the part of the intent that asks for it; some are read-only."""
    known = [replace(one, is_read_only=one in reading_tools) for one in tools]
    placed = [
        replace(step, request=(intent.index(part), intent.index(part) + len(part)))
        for step, part in zip(steps(*known), parts, strict=True)
    ]
    bound = bind_arguments(placed, reading=reading.read_intent(intent), read=read)
    return [dict(one.arguments) for one in bound]
