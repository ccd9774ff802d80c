"""Sentences with the arguments that they state, judged by their rate and not one by one.

The tools are terse ("act", with parameters that have only a name), so most are hard to read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.orders import is_grave
from graph.suggestion.binding.tasks import SuggestedTask, WorkflowTool
from graph.suggestion.binding.values import is_same_value
from graph.suggestion.intent.reading import read_intent
from tests.stated import read_stated

SENTENCES = Path(__file__).parent / "sentences.jsonl"
"""First the tools, which the tasks of the sentences behind them name by their line."""
MIN_RECALL = 0.62
MIN_PRECISION = 0.73
MAX_GRAVE = 3
"""Most values bound into tools that may destroy something or are hard to take back, beside the
right ones; each was looked at, and is no value that its sentence forbids."""


def test_sentences_are_read_at_the_rates_that_were_reached() -> None:
    counts: Counter[str] = Counter()
    grave: list[tuple[str, str, Any]] = []
    for text, steps, stated in _read_sentences():
        bound = bind_arguments(steps, reading=read_intent(text), read=read_stated)
        for step, expected, found in zip(steps, stated, bound, strict=True):
            right = {
                name for name, one in found.arguments.items() if _is_right(expected, name, one)
            }
            counts.update(stated=len(expected), bound=len(found.arguments), right=len(right))
            if is_grave(step) and not step.is_read_only:
                wrong = found.arguments.keys() - right
                grave += [(text, name, found.arguments[name]) for name in sorted(wrong)]
    assert counts["right"] >= MIN_RECALL * counts["stated"], counts
    assert counts["right"] >= MIN_PRECISION * counts["bound"], counts
    assert len(grave) <= MAX_GRAVE, grave


def _is_right(expected: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in expected and is_same_value(expected[name], value)


def _read_sentences() -> Iterator[tuple[str, list[SuggestedTask], list[Mapping[str, Any]]]]:
    tools: list[WorkflowTool] = []
    for line in SENTENCES.read_text("utf-8").splitlines():
        row = json.loads(line)
        if "tasks" not in row:
            schema = row.pop("schema")
            row.setdefault("tool", f"server:{row['name']}")
            tools.append(
                WorkflowTool(pk=len(tools), input_schema={"type": "object", **schema}, **row)
            )
            continue
        steps = [
            SuggestedTask(
                id=f"t{place}",
                tool=replace(tools[task["tool"]], is_read_only=task.get("is_read_only", False)),
                request=tuple(task["request"]) if "request" in task else None,
            )
            for place, task in enumerate(row["tasks"])
        ]
        yield row["text"], steps, [task["arguments"] for task in row["tasks"]]
