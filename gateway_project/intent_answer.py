"""What is asked of run_intent and what it answers, as it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from execution.mode import Mode
from gateway_project.foreign_text import told
from gateway_project.tool_card import clean
from graph import wording
from graph.relations import NO_DETAIL

if TYPE_CHECKING:
    from graph.explain import Path
    from graph.rank_intent import Ranked
    from graph.suggest.types import Evidence, Suggestion, Task

MAX_EVIDENCE: Final = 200
"""Characters of why an argument has its value."""
MAX_SCHEMA: Final = 1_000
"""Characters of a missing field's schema; of a larger one only its type is told."""
MAX_LIKELY: Final = 10
_DIGITS: Final = 2
_TEXTS: Final = frozenset({"description", "title", "$comment"})


@dataclass(frozen=True, kw_only=True)
class IntentRequest:
    """What somebody wants done.

    Attributes:
        intent: In words.
        parameters: Values by name.
        considered: Ids of tools to consider in any case.
        mode: `auto`, or `suggest`: never run anything unasked. Nothing is run unasked yet.
        context: What kind of work it is: `workflow_type`, `domain`, `complexity`.
    """

    intent: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    considered: tuple[str, ...] = ()
    mode: Literal["auto", "suggest"] = "auto"
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class IntentAnswer:
    """A suggested workflow, and what becomes of it.

    Attributes:
        speculation_id: Names this answer.
        mode: What becomes of it.
        suggestion: The workflow.
        ranked: What it was made from; None: nothing was.
        name: Id of a tool by primary key, as the caller may see it.
        warnings: What to know of how it was made, beside the suggestion's own.
    """

    speculation_id: str
    mode: Mode
    suggestion: Suggestion
    ranked: Ranked | None = None
    name: Callable[[int], str] = str
    warnings: tuple[str, ...] = ()

    @property
    def figures(self) -> dict[str, Any]:
        """What a log may hold of it: nothing of what was asked."""
        return {
            "speculation_id": self.speculation_id,
            "mode": self.mode.value,
            "confidence": round(self.suggestion.confidence, _DIGITS),
            "tasks": len(self.suggestion.tasks),
        }

    def as_json(self) -> dict[str, Any]:
        """Return what is sent."""
        suggestion = self.suggestion
        is_draft = self.mode is Mode.EXPLICIT_REQUIRED
        return {
            "mode": self.mode.value,
            "confidence": round(suggestion.confidence, _DIGITS),
            "evidence": _evidence(suggestion.evidence),
            "draft_workflow" if is_draft else "workflow": {
                "tasks": [_task(task) for task in suggestion.tasks]
            },
            "order": list(suggestion.order),
            "bindings": list(_bindings(suggestion)),
            "needs_input": list(_needs(suggestion)),
            "explanation": [clean(text) for text in suggestion.explanation],
            "dependency_paths": [self._path(path) for path in suggestion.paths],
            "alternatives": [
                {
                    "tools": [self.name(pk) for pk in one.tools],
                    "confidence": round(one.confidence, _DIGITS),
                }
                for one in suggestion.alternatives
            ],
            "warnings": [clean(text) for text in (*self.warnings, *suggestion.warnings)],
            "speculation_id": self.speculation_id,
        }

    def why_json(self) -> dict[str, Any]:
        """Return what it rests on: how likely each tool is, and the nearest past intents.

        Of these only numbers and tools are told: their words are somebody's.
        """
        if self.ranked is None:
            return {"tool_probabilities": [], "neighbours": []}
        ranking = self.ranked.ranking
        likely = sorted(ranking.tool_probabilities.items(), key=lambda item: (-item[1], item[0]))
        return {
            "tool_probabilities": [
                {"tool": self.name(pk), "probability": round(value, _DIGITS)}
                for pk, value in likely[:MAX_LIKELY]
            ],
            "neighbours": [
                {
                    "similarity": round(one.similarity, _DIGITS),
                    "tools": [self.name(pk) for pk in one.tools],
                    "successes": one.successes,
                    "failures": one.failures,
                }
                for one in ranking.neighbours
            ],
        }

    def _path(self, path: Path) -> dict[str, Any]:
        bare = [hop.relation._replace(detail=NO_DETAIL) for hop in path.hops]
        return {
            "tools": [self.name(pk) for pk in path.tools],
            "hops": len(bare),
            "confidence": round(path.confidence, _DIGITS),
            "says": [wording.sentence(relation, self.name) for relation in bare],
        }


def _task(task: Task) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": task.id,
        "tool": task.name,
        "arguments": dict(task.arguments),
    }
    return row | ({"depends_on": list(task.depends_on)} if task.depends_on else {})


def _evidence(said: Evidence) -> dict[str, Any]:
    return {
        "history": said.history,
        "similar": said.similar,
        "same_tools": said.same_tools,
        "successes": said.successes,
        "failures": said.failures,
        "nearest": None if said.nearest is None else round(said.nearest, _DIGITS),
    }


def _bindings(suggestion: Suggestion) -> Iterator[dict[str, Any]]:
    for task, bindings in suggestion.bindings.items():
        for one in bindings:
            yield {
                "task": task,
                "pointer": one.pointer,
                "source": one.source.value,
                "evidence": told(one.evidence, most=MAX_EVIDENCE),
                "confidence": round(one.confidence, _DIGITS),
            }


def _needs(suggestion: Suggestion) -> Iterator[dict[str, Any]]:
    for task, needed in suggestion.needs_input.items():
        for one in needed:
            schema = one.schema
            if one.description and "description" not in schema:
                schema = {**schema, "description": one.description}
            yield {
                "task": task,
                "pointer": one.pointer,
                "why": told(one.why, most=MAX_EVIDENCE),
                "schema": _told_schema(schema),
            }


def _told_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field's schema with its texts made harmless; of a large one, its type."""
    shown: dict[str, Any] = _harmless(schema)
    if len(json.dumps(shown, ensure_ascii=False, default=str)) <= MAX_SCHEMA:
        return shown
    return {key: shown[key] for key in ("type", "description") if key in shown}


def _harmless(value: Any, *, key: str = "") -> Any:
    if isinstance(value, str):
        return told(value) if key in _TEXTS else clean(value)
    if isinstance(value, Mapping):
        return {name: _harmless(item, key=name) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_harmless(item) for item in value]
    return value
