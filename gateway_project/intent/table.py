"""Render a suggested workflow and its evidence on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from gateway_project.foundation.references import parse_reference

MAX_VALUE_CHARS: Final = 60
"""Characters of an argument's value."""
_MODE_TEXTS: Final = {
    "suggestion": "[green]suggestion[/green]: confident enough to run once no input is missing",
    "speculative_execution": (
        "[green]speculative_execution[/green]: run already, its results came with the answer"
    ),
    "explicit_required": (
        "[yellow]explicit_required[/yellow]: not confident enough, a draft to decide on"
    ),
}


def workflow_table(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Render an answer of run_intent: mode, confidence, tasks, missing values and warnings.

    Args:
        answer: As sent to the client.
    """
    mode = answer["mode"]
    yield f"{_MODE_TEXTS.get(mode, escape(mode))}; confidence {answer['confidence']:.2f}"
    tasks = (answer.get("workflow") or answer.get("draft_workflow") or {}).get("tasks", [])
    if tasks:
        yield _make_task_table(tasks, answer)
    for need in answer["needs_input"]:
        place = f"{need['task']}{need['pointer']}"
        yield f"[yellow]needs input[/yellow] {escape(place)}: {escape(need['why'])}"
    if answer.get("fallback_reason"):
        yield f"[yellow]not run ahead[/yellow]: {escape(answer['fallback_reason'])}"
    for warning in answer["warnings"]:
        yield f"[yellow]{escape(warning)}[/yellow]"


def explanation_lines(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Render the explanation, the dependency paths and the alternatives."""
    for sentence in answer["explanation"]:
        yield f"  {escape(sentence)}"
    yield f"  {_describe_threshold(answer['evidence'])}"
    for path in answer["dependency_paths"]:
        hops = f"{path['hops']} hop{'s' if path['hops'] > 1 else ''}"
        yield f"  {escape('; '.join(path['says']))} ({hops}, {path['confidence']:.2f})"
    for other in answer["alternatives"]:
        yield f"  or: {escape(', '.join(other['tools']))} ({other['confidence']:.2f})"


def bindings_table(answer: Mapping[str, Any]) -> RenderableType:
    """Render the source of each argument."""
    table = _make_table("task", "argument", "from", "confidence", "why")
    for binding in answer["bindings"]:
        table.add_row(
            escape(binding["task"]),
            escape(binding["pointer"]),
            binding["source"],
            f"{binding['confidence']:.2f}",
            escape(binding["evidence"]),
        )
    return table


def likelihood_table(ranking: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Render the probability of each tool, and the tools of the nearest past intents.

    Args:
        ranking: As `IntentAnswer.explain_json` returns it.
    """
    if ranking["tool_probabilities"]:
        table = _make_table("tool", "probability")
        for tool in ranking["tool_probabilities"]:
            table.add_row(escape(tool["tool"]), f"{tool['probability']:.2f}")
        yield table
    if ranking["neighbours"]:
        table = _make_table("similarity", "succeeded", "tools of a past intent")
        for neighbour in ranking["neighbours"]:
            runs = neighbour["successes"] + neighbour["failures"]
            tools = escape(", ".join(neighbour["tools"]))
            successes = f"{neighbour['successes']} of {runs}"
            table.add_row(f"{neighbour['similarity']:.2f}", successes, tools)
        yield table


def _make_task_table(tasks: Iterable[Mapping[str, Any]], answer: Mapping[str, Any]) -> Table:
    missing: dict[str, list[str]] = {}
    for need in answer["needs_input"]:
        missing.setdefault(need["task"], []).append(need["pointer"].lstrip("/"))
    table = _make_table("task", "tool", "waits for", "arguments")
    for task in tasks:
        values = [f"{name} = {_format_value(value)}" for name, value in task["arguments"].items()]
        values += [f"{name} = ?" for name in missing.get(task["id"], ())]
        table.add_row(
            escape(task["id"]),
            escape(task["tool"]),
            escape(", ".join(task.get("depends_on", ()))) or "-",
            escape("\n".join(values)) or "-",
        )
    return table


def _format_value(value: Any) -> str:
    target = parse_reference(value)
    if target is not None:
        selected = f" | {target.select}" if target.select else ""
        return f"← {target.task}{target.pointer}{selected}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"


def _make_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _describe_threshold(evidence: Mapping[str, Any]) -> str:
    """Say from which confidence such a workflow would be run ahead."""
    threshold = evidence["threshold"]
    if threshold is None:
        return "it would not be run ahead: too few such suggestions were right"
    place = "at or above" if evidence["above_threshold"] else "below"
    return f"{place} the threshold for running it ahead, {threshold:.2f}"
