"""A suggested workflow on a terminal: as a table of tasks, and what speaks for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from graph.references import as_reference

MAX_VALUE: Final = 60
"""Characters of an argument."""
_MODES: Final = {
    "suggestion": "[green]suggestion[/green]: sure enough to run once nothing is needed any more",
    "explicit_required": "[yellow]explicit_required[/yellow]: too unsure, a draft to decide on",
}


def workflow(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Show an answer of run_intent: the tasks, what they wait for, what is needed, how sure.

    Args:
        answer: As it is sent.
    """
    mode = answer["mode"]
    yield f"{_MODES.get(mode, escape(mode))}; confidence {answer['confidence']:.2f}"
    tasks = (answer.get("workflow") or answer.get("draft_workflow") or {}).get("tasks", [])
    if tasks:
        yield _tasks(tasks, answer)
    for needed in answer["needs_input"]:
        place = f"{needed['task']}{needed['pointer']}"
        yield f"[yellow]needs input[/yellow] {escape(place)}: {escape(needed['why'])}"
    for warning in answer["warnings"]:
        yield f"[yellow]{escape(warning)}[/yellow]"


def reasons(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Show why: the explanation, how tools lead to one another, and what else was considered."""
    for sentence in answer["explanation"]:
        yield f"  {escape(sentence)}"
    for path in answer["dependency_paths"]:
        hops = f"{path['hops']} hop{'s' if path['hops'] > 1 else ''}"
        yield f"  {escape('; '.join(path['says']))} ({hops}, {path['confidence']:.2f})"
    for other in answer["alternatives"]:
        yield f"  or: {escape(', '.join(other['tools']))} ({other['confidence']:.2f})"


def bindings(answer: Mapping[str, Any]) -> RenderableType:
    """Show where each argument comes from."""
    table = _table("task", "argument", "from", "confidence", "why")
    for one in answer["bindings"]:
        table.add_row(
            escape(one["task"]),
            escape(one["pointer"]),
            one["source"],
            f"{one['confidence']:.2f}",
            escape(one["evidence"]),
        )
    return table


def likely(why: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Show how likely each tool is, and what the nearest past intents were served by.

    Args:
        why: As `IntentAnswer.why_json` returns it.
    """
    if why["tool_probabilities"]:
        table = _table("tool", "probability")
        for one in why["tool_probabilities"]:
            table.add_row(escape(one["tool"]), f"{one['probability']:.2f}")
        yield table
    if why["neighbours"]:
        table = _table("similarity", "succeeded", "tools of a past intent")
        for one in why["neighbours"]:
            runs = one["successes"] + one["failures"]
            tools = escape(", ".join(one["tools"]))
            table.add_row(f"{one['similarity']:.2f}", f"{one['successes']} of {runs}", tools)
        yield table


def _tasks(tasks: Iterable[Mapping[str, Any]], answer: Mapping[str, Any]) -> Table:
    missing: dict[str, list[str]] = {}
    for needed in answer["needs_input"]:
        missing.setdefault(needed["task"], []).append(needed["pointer"].lstrip("/"))
    table = _table("task", "tool", "waits for", "arguments")
    for task in tasks:
        values = [f"{name} = {_value(value)}" for name, value in task["arguments"].items()]
        values += [f"{name} = ?" for name in missing.get(task["id"], ())]
        table.add_row(
            escape(task["id"]),
            escape(task["tool"]),
            escape(", ".join(task.get("depends_on", ()))) or "-",
            escape("\n".join(values)) or "-",
        )
    return table


def _value(value: Any) -> str:
    target = as_reference(value)
    if target is not None:
        return f"← {target.task}{target.pointer}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
