"""Builders of tools and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.steps import BindingStep, BindTool, BoundStep
from graph.suggestion.intent import reading

_KEYS = count(1)


def tool(
    fields: Mapping[str, Any], *, required: Sequence[str] = (), name: str = "act", **root: Any
) -> BindTool:
    """Build a tool whose parameters have these schemas."""
    pk = next(_KEYS)
    schema = {"type": "object", "properties": dict(fields), "required": list(required), **root}
    return BindTool(pk=pk, tool=f"server:{name}", name=name, input_schema=schema)


def text(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def steps(*tools: BindTool) -> list[BindingStep]:
    """Build one step for each tool, called t0, t1…."""
    return [BindingStep(id=f"t{place}", tool=one) for place, one in enumerate(tools)]


def bound(intent: str, *tools: BindTool, **known: Any) -> tuple[BoundStep, ...]:
    """Bind tools to an intent, one step for each."""
    return bind_arguments(steps(*tools), reading=reading.read_intent(intent), **known)


def arguments(intent: str, *tools: BindTool, **known: Any) -> list[dict[str, Any]]:
    return [dict(one.arguments) for one in bound(intent, *tools, **known)]


def needs(step: BoundStep) -> list[str]:
    return [one.name for one in step.needs_input]


def located(
    intent: str, parts: Sequence[str], *tools: BindTool, reading_tools: Sequence[BindTool] = ()
) -> list[dict[str, Any]]:
    """Bind each tool with the part of the intent that asks for it; some are read-only."""
    placed = [
        replace(
            step,
            request=(intent.index(part), intent.index(part) + len(part)),
            is_read_only=any(step.tool is one for one in reading_tools),
        )
        for step, part in zip(steps(*tools), parts, strict=True)
    ]
    read = reading.read_intent(intent)
    return [dict(one.arguments) for one in bind_arguments(placed, reading=read)]
