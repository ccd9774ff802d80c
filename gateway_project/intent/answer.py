"""The request and the answer of run_intent, and the answer's JSON."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from execution.mode import SUGGESTION_THRESHOLD, SuggestionMode
from execution.predicted_workflow import PredictedTask
from gateway_project.foundation.rounding import round_apart
from gateway_project.foundation.text import cut_at_word, strip_invisible
from gateway_project.intent import open_needs
from gateway_project.intent.ahead_outcome import NOT_CONSIDERED, AheadOutcome
from gateway_project.intent.planned_calls import list_planned_calls
from graph import wording
from graph.relations import NO_DETAIL
from tools.foreign_text import WITHHELD_TEXT, quote_foreign

if TYPE_CHECKING:
    from graph.explain import ToolPath
    from graph.rank_intent import RankedIntent
    from graph.suggestion.next_call.call import PlannedCall
    from graph.suggestion.workflow.types import SuggestedTask, Suggestion, SuggestionEvidence

MAX_EVIDENCE_CHARS: Final = 200
"""Characters of the evidence of an argument's value."""
MAX_SENTENCE_CHARS: Final = 400
MAX_BYTES: Final = 32_000
"""Size of the answer as JSON without the workflow, which is never shortened."""
MAX_SHORT_LIST: Final = 10
SHORT_EVIDENCE_CHARS: Final = 60
MAX_BINDINGS: Final = 100
SHORTENED_WARNING: Final = "the details beside the workflow are shortened because they are long"
MAX_PROBABILITIES: Final = 10
MAX_LIKELY: Final = 8
"""Likely tools that are recorded; prediction looks at no more."""
_DIGITS: Final = 2
_WORKFLOW_KEYS: Final = frozenset({"workflow", "draft_workflow"})


@dataclass(frozen=True, kw_only=True)
class IntentRequest:
    """An intent with its parameters.

    Attributes:
        intent: The task, in words.
        parameters: Values by name.
        considered: Ids of tools that are always considered.
        mode: `auto`, or `suggest`: never run anything unasked.
        context: Kind of work: `workflow_type`, `domain`, `complexity`.
    """

    intent: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    considered: tuple[str, ...] = ()
    mode: Literal["auto", "suggest"] = "auto"
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class IntentAnswer:
    """A suggested workflow and its mode.

    Attributes:
        speculation_id: Id of this answer.
        mode: How the client should treat it.
        suggestion: The workflow.
        ranked_confidence: Its confidence before it was corrected by earlier outcomes.
        ranked: The ranking it was built from; None: there was none.
        name_tool: Returns the id of a tool, as visible to the caller, by primary key.
        warnings: Warnings beside the suggestion's own.
        threshold: Confidence required to run it ahead; None: speculation is suspended.
        would_speculate: Whether it is sure enough to be run ahead.
        ahead: What became of running it ahead.
        instructions: What the servers of its tools say about their use, by name.
    """

    speculation_id: str
    mode: SuggestionMode
    suggestion: Suggestion
    ranked_confidence: float = 0.0
    ranked: RankedIntent | None = None
    name_tool: Callable[[int], str] = str
    warnings: tuple[str, ...] = ()
    threshold: float | None = None
    would_speculate: bool = False
    ahead: AheadOutcome = NOT_CONSIDERED
    instructions: Mapping[str, str] = field(default_factory=dict)

    @property
    def predicted_tasks(self) -> tuple[PredictedTask, ...]:
        """The calls that the caller is predicted to make."""
        return tuple(
            PredictedTask(
                id=task.id, tool=task.tool, arguments=task.arguments, depends_on=task.depends_on
            )
            for task in self.suggestion.tasks
        )

    @property
    def likely_tools(self) -> dict[int, float]:
        """The likeliest tools, suggested or not, best first, with the probability of each."""
        known = dict.fromkeys(
            (task.tool for task in self.suggestion.tasks), self.suggestion.confidence
        )
        if self.ranked is not None:
            known |= self.ranked.ranking.tool_probabilities
        best = heapq.nsmallest(MAX_LIKELY, known, key=lambda pk: (-known[pk], pk))
        return {pk: known[pk] for pk in best}

    @property
    def planned_calls(self) -> tuple[PlannedCall, ...]:
        """The suggested calls, as prediction takes them in."""
        probabilities = {} if self.ranked is None else self.ranked.ranking.tool_probabilities
        return list_planned_calls(self.suggestion, probabilities)

    @property
    def is_runnable(self) -> bool:
        """Whether the workflow could be run as it is: all required arguments are known."""
        return bool(self.suggestion.tasks) and not self.suggestion.needs_input

    @property
    def workflow(self) -> dict[str, Any]:
        """The workflow as run_workflow takes it."""
        return {"tasks": [_task_to_json(task) for task in self.suggestion.tasks]}

    @property
    def log_fields(self) -> dict[str, Any]:
        """Fields safe to log: nothing of the request."""
        return {
            "speculation_id": self.speculation_id,
            "mode": self.mode.value,
            "confidence": round(self.suggestion.confidence, _DIGITS),
            "tasks": len(self.suggestion.tasks),
            "fallback": self.ahead.fallback_code,
        }

    def as_json(self) -> dict[str, Any]:
        """Return the answer as sent: bounded in size, with servers' texts made harmless."""
        suggestion = self.suggestion
        is_draft = self.mode is SuggestionMode.EXPLICIT_REQUIRED
        confidence, threshold, _ = round_apart(
            suggestion.confidence,
            suggestion.confidence if self.threshold is None else self.threshold,
            SUGGESTION_THRESHOLD,
            digits=_DIGITS,
        )
        answer = {
            "mode": self.mode.value,
            "confidence": confidence,
            "evidence": {
                **_evidence_to_json(suggestion.evidence),
                "threshold": None if self.threshold is None else threshold,
                "above_threshold": self.would_speculate,
            },
            "draft_workflow" if is_draft else "workflow": self.workflow,
            "fallback_reason": _clean_sentence(self.ahead.fallback_reason),
            "order": list(suggestion.order),
            "bindings": list(_iterate_bindings(suggestion)),
            "needs_input": open_needs.list_needs(suggestion),
            "explanation": [_clean_sentence(text) for text in suggestion.explanation],
            "dependency_paths": [self._path_to_json(path) for path in suggestion.paths],
            "alternatives": [
                {
                    "tools": [self.name_tool(pk) for pk in alternative.tools],
                    "confidence": round(alternative.confidence, _DIGITS),
                }
                for alternative in suggestion.alternatives
            ],
            "warnings": [
                WITHHELD_TEXT if open_needs.is_instructing(text) else _clean_sentence(text)
                for text in (
                    *self.warnings,
                    *suggestion.warnings,
                    *open_needs.summarize_further_needs(suggestion),
                )
            ],
            "speculation_id": self.speculation_id,
        }
        shortened = _shorten_answer(answer)
        return shortened | ({"instructions": self.instructions} if self.instructions else {})

    def explain_json(self) -> dict[str, Any]:
        """Return the probability of each tool, and the nearest past intents.

        Past intents are listed without their words, which may be confidential.
        """
        if self.ranked is None:
            return {"tool_probabilities": [], "neighbours": []}
        ranking = self.ranked.ranking
        by_probability = sorted(
            ranking.tool_probabilities.items(), key=lambda item: (-item[1], item[0])
        )
        return {
            "tool_probabilities": [
                {"tool": self.name_tool(pk), "probability": round(value, _DIGITS)}
                for pk, value in by_probability[:MAX_PROBABILITIES]
            ],
            "neighbours": [
                {
                    "similarity": round(neighbour.similarity, _DIGITS),
                    "tools": [self.name_tool(pk) for pk in neighbour.tools],
                    "successes": neighbour.successes,
                    "failures": neighbour.failures,
                }
                for neighbour in ranking.neighbours
            ],
        }

    def _path_to_json(self, path: ToolPath) -> dict[str, Any]:
        relations = [hop.relation._replace(detail=NO_DETAIL) for hop in path.hops]
        return {
            "tools": [self.name_tool(pk) for pk in path.tools],
            "hops": len(relations),
            "confidence": round(path.confidence, _DIGITS),
            "says": [wording.write_sentence(relation, self.name_tool) for relation in relations],
        }


def _task_to_json(task: SuggestedTask) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": task.id,
        "tool": task.name,
        "arguments": dict(task.arguments),
    }
    return row | ({"depends_on": list(task.depends_on)} if task.depends_on else {})


def _evidence_to_json(evidence: SuggestionEvidence) -> dict[str, Any]:
    return {
        "history": evidence.past_intent_count,
        "similar": evidence.similar_count,
        "same_tools": evidence.same_tools_count,
        "successes": evidence.successes,
        "failures": evidence.failures,
        "nearest": None
        if evidence.nearest_similarity is None
        else round(evidence.nearest_similarity, _DIGITS),
        "context": {
            "suggestions": round(evidence.context_count, _DIGITS),
            "right": round(evidence.context_successes, _DIGITS),
        },
    }


def _iterate_bindings(suggestion: Suggestion) -> Iterator[dict[str, Any]]:
    for task, bindings in suggestion.bindings.items():
        for binding in bindings:
            yield {
                "task": task,
                "pointer": open_needs.sanitize_pointer(binding.pointer),
                "source": binding.source.value,
                "evidence": quote_foreign(binding.evidence, most=MAX_EVIDENCE_CHARS),
                "confidence": round(binding.confidence, _DIGITS),
            }


def _clean_sentence(text: str) -> str:
    cleaned = strip_invisible(text[: 2 * MAX_SENTENCE_CHARS])
    if len(cleaned) <= MAX_SENTENCE_CHARS:
        return cleaned
    return f"{cut_at_word(cleaned, MAX_SENTENCE_CHARS - 1)}…"


def _shorten_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """Shorten the details beside the workflow until they fit `MAX_BYTES`."""
    for shorten in (_reduce_schemas, _keep_first_paths, _shorten_evidence, _keep_first_bindings):
        if _size_beside_workflow(answer) <= MAX_BYTES:
            return answer
        answer = shorten(answer)
        if SHORTENED_WARNING not in answer["warnings"]:
            answer = answer | {"warnings": [*answer["warnings"], SHORTENED_WARNING]}
    return answer


def _size_beside_workflow(answer: Mapping[str, Any]) -> int:
    details = {key: value for key, value in answer.items() if key not in _WORKFLOW_KEYS}
    return len(json.dumps(details, ensure_ascii=False, default=str).encode())


def _reduce_schemas(answer: dict[str, Any]) -> dict[str, Any]:
    needs = [
        need | {"schema": open_needs.keep_type_only(need["schema"])}
        for need in answer["needs_input"]
    ]
    return answer | {"needs_input": needs}


def _keep_first_paths(answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {
        "dependency_paths": answer["dependency_paths"][:2],
        "explanation": answer["explanation"][:MAX_SHORT_LIST],
        "warnings": answer["warnings"][:MAX_SHORT_LIST],
    }


def _shorten_evidence(answer: dict[str, Any]) -> dict[str, Any]:
    rows = [
        binding | {"evidence": binding["evidence"][:SHORT_EVIDENCE_CHARS]}
        for binding in answer["bindings"]
    ]
    return answer | {"bindings": rows}


def _keep_first_bindings(answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {"bindings": answer["bindings"][:MAX_BINDINGS]}
