"""The schemas of run_workflow, get_run and control_run, and of what run_intent answers."""

from __future__ import annotations

from typing import Any, Final

from execution.mode import SuggestionMode
from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError
from gateway_project.runs import request as run_request

_TEXT: Final = {"type": "string"}
_STRINGS: Final = {"type": "array", "items": _TEXT}
_OBJECT: Final = {"type": "object"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_PROBABILITY: Final = {"type": "number", "minimum": 0, "maximum": 1}
_ON_ERROR: Final = {"enum": [word.value for word in OnError]}
_WAIT: Final = {
    "type": "number",
    "minimum": 0,
    "maximum": int(run_request.MAX_WAIT_S),
    "default": int(run_request.DEFAULT_WAIT_S),
}

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
                        "description": '{"$ref": task, "pointer": "/…"} refers to a value in '
                        "its result",
                    },
                    "depends_on": _STRINGS,
                    "for_each": {
                        "type": "object",
                        "description": 'Reference to a list; {"$item": "/…"} is its item',
                    },
                    "on_error": _ON_ERROR,
                    "timeout_s": {"type": "number"},
                },
                "required": ["id", "tool"],
            },
        }
    },
    "required": ["tasks"],
}
RUN_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "workflow": _WORKFLOW,
        "intent": {
            "type": "string",
            "description": "Purpose",
            "maxLength": run_request.MAX_INTENT_LENGTH,
        },
        "options": {
            "type": "object",
            "properties": {
                "dry_run": {"type": "boolean", "description": "Plan only"},
                "wait_s": _WAIT,
                "on_error": _ON_ERROR,
                "per_layer_validation": {
                    "type": "boolean",
                    "description": "After each layer, wait for continue, replan or abort",
                },
                "idempotency_key": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": run_request.MAX_KEY_LENGTH,
                },
                "deadline_s": {"type": "number"},
                "from_speculation": {"type": "string", "description": "speculation_id"},
            },
            "additionalProperties": False,
        },
    },
    "required": ["workflow"],
    "additionalProperties": False,
}
READ_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"workflow": _OBJECT, "intent": _TEXT, "options": _OBJECT},
    "required": ["workflow"],
    "additionalProperties": False,
}
GET_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"run_id": _TEXT, "wait_s": {**_WAIT, "default": 0}},
    "required": ["run_id"],
    "additionalProperties": False,
}
CONTROL_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "run_id": _TEXT,
        "action": {"enum": list(run_request.CONTROL_ACTIONS)},
        "workflow": {"type": "object", "description": "For replan; finished tasks stay"},
        "approval": {"type": "string", "description": "Id, if several wait"},
        "wait_s": _WAIT,
    },
    "required": ["run_id", "action"],
    "additionalProperties": False,
}

_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"code": _TEXT, "message": _TEXT},
    "required": ["code", "message"],
}
_TASK_ERROR: Final[dict[str, Any]] = {
    **_ERROR,
    "properties": {
        **_ERROR["properties"],
        "items": {
            "type": "object",
            "additionalProperties": _ERROR,
            "description": "By item, for a for_each task",
        },
        "more_items": {**_COUNT, "description": "Number of further failed items"},
    },
}
_LINK: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"uri": _TEXT, "bytes": _COUNT, "expires_at": _TEXT, "begins": _TEXT},
    "required": ["uri", "bytes", "expires_at"],
}
_APPROVAL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "task": _TEXT,
        "item": _COUNT,
        "tool": _TEXT,
        "reason": _TEXT,
        "arguments": {"type": "string", "description": "As JSON, shortened"},
        "expires_at": _TEXT,
        "link": {
            "type": "string",
            "description": "Where a person decides after signing in, or use `manage.py approvals`",
        },
    },
    "required": ["id", "task", "tool", "reason", "link"],
}
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"path": _TEXT, "message": _TEXT, "expected": _TEXT},
    "required": ["path", "message"],
}
_STATE: Final[dict[str, Any]] = {
    "run_id": _TEXT,
    "status": {"enum": [status.value for status in RunStatus]},
    "tasks": {
        "type": "object",
        "additionalProperties": {"enum": [status.value for status in TaskStatus]},
        "description": "Status by task",
    },
    "results": {
        **_OBJECT,
        "description": "By task: structured content, else the JSON in its text, else the text; "
        "for for_each a list, with null for items without a result",
    },
    "contents": {**_OBJECT, "description": "By task: content blocks not in results"},
    "links": {
        "type": "object",
        "additionalProperties": _LINK,
        "description": "By task: results too large to send; use resources/read",
    },
    "errors": {"type": "object", "additionalProperties": _TASK_ERROR, "description": "By task"},
    "error": {**_ERROR, "description": "Error of the run as a whole"},
    "pending_approvals": {"type": "array", "items": _APPROVAL},
    "more_approvals": {**_COUNT, "description": "Number of further approvals"},
    "decision": {
        "type": "object",
        "properties": {
            "reason": {"enum": ["layer_complete", "paused", "unknown"]},
            "layer": {"type": "integer"},
            "of": {"type": "integer"},
            "actions": _STRINGS,
        },
        "required": ["reason", "actions"],
        "description": "What the run waits for",
    },
    "converted": {
        "type": "array",
        "items": {"type": "object"},
        "description": "What of the workflow's arguments was converted to fit",
    },
    "replanned": {
        "type": "object",
        "properties": dict.fromkeys(("kept", "changed", "added", "removed"), _STRINGS),
        "description": "Task ids by effect of the last replan",
    },
    "next": {"type": "string", "description": "What to do next"},
}
_PLANNED: Final[dict[str, Any]] = {
    "plan": {
        "type": "array",
        "items": _OBJECT,
        "description": "Dry run: what each task would call and wait for",
    },
    "layers": {"type": "array", "items": _STRINGS},
    "validation_errors": {"type": "array", "items": _PROBLEM},
    "side_effects": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "task": _TEXT,
                "tool": _TEXT,
                "danger": _TEXT,
                "repeatable": {
                    "type": "boolean",
                    "description": "Whether it may be called again if its outcome is unknown",
                },
            },
            "required": ["task", "tool", "danger", "repeatable"],
        },
        "description": "Tasks that do more than read",
    },
    "approvals_needed": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"task": _TEXT, "tool": _TEXT, "reason": _TEXT},
            "required": ["task", "tool", "reason"],
        },
    },
    "warnings": _STRINGS,
}
STATE_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": _STATE,
    "required": ["run_id", "status", "tasks", "results", "errors", "pending_approvals"],
}
RUN_OUTPUT: Final[dict[str, Any]] = {"type": "object", "properties": {**_STATE, **_PLANNED}}

_SUGGESTED: Final[dict[str, Any]] = {
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
        "schema": _OBJECT,
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
        "workflow": _SUGGESTED,
        "draft_workflow": {
            **_SUGGESTED,
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
