"""The output schema of run_intent."""

from __future__ import annotations

from typing import Any, Final

from execution.mode import SuggestionMode
from execution.status import RunStatus

_TEXT: Final = {"type": "string"}
_STRINGS: Final = {"type": "array", "items": _TEXT}
_PROBABILITY: Final = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT: Final = {"type": "integer", "minimum": 0}

_WORKFLOW: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": _TEXT,
                    "tool": _TEXT,
                    "arguments": {
                        "type": "object",
                        "description": '{"$ref": task, "pointer": "/…"} is a value in its result',
                    },
                    "depends_on": _STRINGS,
                },
                "required": ["id", "tool", "arguments"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["tasks"],
    "additionalProperties": False,
}
_EVIDENCE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "history": {**_COUNT, "description": "Past intents learned from"},
        "similar": {**_COUNT, "description": "Those among the nearest that are similar"},
        "same_tools": {**_COUNT, "description": "Of these, those that used the same tools"},
        "successes": {**_COUNT, "description": "Successful runs of these"},
        "failures": {**_COUNT, "description": "Failed runs of these"},
        "nearest": {"type": ["number", "null"], "description": "Cosine similarity of the nearest"},
        "context": {
            "type": "object",
            "properties": {"suggestions": {"type": "number"}, "right": {"type": "number"}},
            "description": "Outcomes of earlier suggestions for this kind of work",
        },
        "threshold": {
            "type": ["number", "null"],
            "description": "Confidence from which it would be run ahead; null: suspended",
        },
        "above_threshold": {
            "type": "boolean",
            "description": "Whether confidence reaches the threshold",
        },
    },
    "required": [
        "history",
        "similar",
        "same_tools",
        "successes",
        "failures",
        "nearest",
        "threshold",
        "above_threshold",
    ],
}
_BINDING: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "task": _TEXT,
        "pointer": {"type": "string", "description": "JSON pointer into the arguments"},
        "source": {"enum": ["user", "literal", "learned", "ref", "default"]},
        "evidence": _TEXT,
        "confidence": _PROBABILITY,
    },
    "required": ["task", "pointer", "source", "evidence", "confidence"],
}
_NEEDED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "task": _TEXT,
        "pointer": _TEXT,
        "why": _TEXT,
        "schema": {"type": "object"},
    },
    "required": ["task", "pointer", "why", "schema"],
}
_PATH: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "tools": _STRINGS,
        "hops": {"type": "integer", "minimum": 1},
        "confidence": _PROBABILITY,
        "says": _STRINGS,
    },
    "required": ["tools", "hops", "confidence", "says"],
}
_ALTERNATIVE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"tools": _STRINGS, "confidence": _PROBABILITY},
    "required": ["tools", "confidence"],
}

INTENT_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "mode": {"enum": [mode.value for mode in SuggestionMode]},
        "confidence": {**_PROBABILITY, "description": "That exactly these tools are right"},
        "evidence": _EVIDENCE,
        "workflow": _WORKFLOW,
        "draft_workflow": {
            **_WORKFLOW,
            "description": "Instead of workflow if mode is explicit_required",
        },
        "reads": {"type": "boolean", "description": "True: read_workflow may run it"},
        "results": {
            "type": "object",
            "description": "By task, of calls made ahead; pass speculation_id as "
            "options.from_speculation to run the workflow with them",
        },
        "status": {
            "enum": [RunStatus.SUCCEEDED.value, RunStatus.PARTIAL_SUCCESS.value],
            "description": "With results: of all tasks, or of those that succeeded in time",
        },
        "results_age_ms": {**_COUNT, "description": "Age of the oldest result"},
        "contents": {"type": "object", "description": "By task: content blocks not in results"},
        "fallback_reason": {
            "type": "string",
            "description": "Why it was not run ahead; empty if it was",
        },
        "order": {**_STRINGS, "description": "Task ids in sequential order"},
        "bindings": {"type": "array", "items": _BINDING},
        "needs_input": {"type": "array", "items": _NEEDED, "description": "Required but unknown"},
        "explanation": _STRINGS,
        "dependency_paths": {"type": "array", "items": _PATH},
        "alternatives": {"type": "array", "items": _ALTERNATIVE},
        "warnings": _STRINGS,
        "instructions": {"type": "object", "description": "What servers say about their use"},
        "speculation_id": {"type": "string", "description": "Identifies this answer"},
    },
    "required": [
        "mode",
        "confidence",
        "evidence",
        "order",
        "bindings",
        "needs_input",
        "explanation",
        "dependency_paths",
        "alternatives",
        "warnings",
        "fallback_reason",
        "speculation_id",
    ],
}
