"""What is asked of run_intent and what it answers, as it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from execution.mode import Mode
from gateway_project import intent_needs
from gateway_project.foreign_text import WITHHELD, told
from gateway_project.tool_card import clean
from graph import wording
from graph.relations import NO_DETAIL

if TYPE_CHECKING:
    from graph.explain import Path
    from graph.rank_intent import Ranked
    from graph.suggest.types import Evidence, Suggestion, Task

MAX_EVIDENCE: Final = 200
"""Characters of why an argument has its value."""
MAX_SENTENCE: Final = 400
MAX_BYTES: Final = 32_000
"""Of all that stands beside the workflow, as JSON; the workflow itself is never shortened."""
FEW: Final = 10
SHORT: Final = 60
MAX_BINDINGS: Final = 100
SHORTENED: Final = "what stands beside the workflow is shortened, since it is long"
MAX_LIKELY: Final = 10
_DIGITS: Final = 2
_WORKFLOWS: Final = frozenset({"workflow", "draft_workflow"})


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
        """Return what is sent: as much as a model can read, whatever servers wrote."""
        suggestion = self.suggestion
        is_draft = self.mode is Mode.EXPLICIT_REQUIRED
        answer = {
            "mode": self.mode.value,
            "confidence": round(suggestion.confidence, _DIGITS),
            "evidence": _evidence(suggestion.evidence),
            "draft_workflow" if is_draft else "workflow": {
                "tasks": [_task(task) for task in suggestion.tasks]
            },
            "order": list(suggestion.order),
            "bindings": list(_bindings(suggestion)),
            "needs_input": intent_needs.needs(suggestion),
            "explanation": [_sentence(text) for text in suggestion.explanation],
            "dependency_paths": [self._path(path) for path in suggestion.paths],
            "alternatives": [
                {
                    "tools": [self.name(pk) for pk in one.tools],
                    "confidence": round(one.confidence, _DIGITS),
                }
                for one in suggestion.alternatives
            ],
            "warnings": [
                WITHHELD if intent_needs.instructing(text) else _sentence(text)
                for text in (
                    *self.warnings,
                    *suggestion.warnings,
                    *intent_needs.beyond(suggestion),
                )
            ],
            "speculation_id": self.speculation_id,
        }
        return _bounded(answer)

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
                "pointer": intent_needs.pointer(one.pointer),
                "source": one.source.value,
                "evidence": told(one.evidence, most=MAX_EVIDENCE),
                "confidence": round(one.confidence, _DIGITS),
            }


def _sentence(text: str) -> str:
    cleaned = clean(text[: 2 * MAX_SENTENCE])
    return cleaned if len(cleaned) <= MAX_SENTENCE else f"{cleaned[: MAX_SENTENCE - 1]}…"


def _bounded(answer: dict[str, Any]) -> dict[str, Any]:
    """Shorten what stands beside the workflow until it is no larger than `MAX_BYTES`."""
    for shorten in (_plain_schemas, _first_paths, _short_evidence, _first_bindings):
        if _size(answer) <= MAX_BYTES:
            return answer
        answer = shorten(answer)
        if SHORTENED not in answer["warnings"]:
            answer = answer | {"warnings": [*answer["warnings"], SHORTENED]}
    return answer


def _size(answer: Mapping[str, Any]) -> int:
    beside = {key: value for key, value in answer.items() if key not in _WORKFLOWS}
    return len(json.dumps(beside, ensure_ascii=False, default=str).encode())


def _plain_schemas(answer: dict[str, Any]) -> dict[str, Any]:
    needs = [
        one | {"schema": intent_needs.type_of(one["schema"])} for one in answer["needs_input"]
    ]
    return answer | {"needs_input": needs}


def _first_paths(answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {
        "dependency_paths": answer["dependency_paths"][:2],
        "explanation": answer["explanation"][:FEW],
        "warnings": answer["warnings"][:FEW],
    }


def _short_evidence(answer: dict[str, Any]) -> dict[str, Any]:
    rows = [one | {"evidence": one["evidence"][:SHORT]} for one in answer["bindings"]]
    return answer | {"bindings": rows}


def _first_bindings(answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {"bindings": answer["bindings"][:MAX_BINDINGS]}
