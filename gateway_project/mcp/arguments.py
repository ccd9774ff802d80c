"""Arguments of the gateway's own tools: judged by their published schemas, then typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from execution.workflow import OnError, Options
from gateway_project.find_request import FindRequest
from gateway_project.foundation import schema
from gateway_project.intent_answer import IntentRequest
from gateway_project.mcp import meta_tools
from gateway_project.run_face.request import DEFAULT_WAIT_S, ControlRequest, RunRequest

MAX_SHOWN = 200
"""Characters of an unknown name that an error repeats."""
_ANYTHING: Final[dict[str, Any]] = {}


class InvalidRequest(Exception):
    """Arguments of one of the gateway's own tools do not fit.

    Attributes:
        problems: What is wrong, field by field.
    """

    code = "invalid_arguments"

    def __init__(self, name: str, problems: tuple[schema.Problem, ...]) -> None:
        listed = "; ".join(problem.message for problem in problems)
        super().__init__(f"the arguments of {name} do not fit: {listed}")
        self.problems = problems


class UnknownMetaTool(InvalidRequest):
    """The gateway itself has no tool of that name.

    Attributes:
        hint: What to do instead.
    """

    code = "unknown_tool"

    def __init__(self, name: str, hint: str) -> None:
        shown = name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…"
        Exception.__init__(self, f"this gateway has no tool {shown!r}: {hint}")
        self.problems = ()


def check(name: str, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return arguments that fit the schema of one of the gateway's tools.

    Raises:
        InvalidRequest: Naming each field, what was given and what is expected.
    """
    # Some clients send null for what they leave out.
    given = {key: value for key, value in (arguments or {}).items() if value is not None}
    problems = schema.validate(_judged(name), given, cache_key=f"meta:{name}")
    if problems:
        raise InvalidRequest(name, problems)
    return given


def _judged(name: str) -> dict[str, Any]:
    """Return the schema that arguments are judged by.

    A workflow is judged where it is read, which finds more and names each place.
    """
    published = meta_tools.BY_NAME[name].input_schema
    properties = published["properties"]
    if "workflow" not in properties:
        return published
    return {**published, "properties": {**properties, "workflow": _ANYTHING}}


def find_request(given: Mapping[str, Any]) -> FindRequest:
    """Read the arguments of search_tools."""
    return FindRequest(
        query=given["query"],
        limit=int(given.get("limit", meta_tools.DEFAULT_LIMIT)),
        server=given.get("server"),
        category=given.get("category"),
        token_budget=given.get("token_budget"),
        context_tools=tuple(given.get("context_tools", ())),
        detail=given.get("detail", meta_tools.DEFAULT_DETAIL),
    )


def intent_request(given: Mapping[str, Any]) -> IntentRequest:
    """Read the arguments of run_intent."""
    return IntentRequest(
        intent=given["intent"],
        parameters=given.get("parameters", {}),
        considered=tuple(given.get("tools_considered", ())),
        mode=given.get("mode", "auto"),
        context=given.get("context", {}),
    )


def run_request(given: Mapping[str, Any]) -> RunRequest:
    """Read the arguments of run_workflow."""
    options = given.get("options", {})
    on_error = options.get("on_error")
    return RunRequest(
        workflow=given["workflow"],
        intent=given.get("intent", ""),
        options=Options(
            on_error=OnError(on_error) if on_error else OnError.STOP,
            per_layer_validation=options.get("per_layer_validation", False),
            deadline_s=options.get("deadline_s"),
        ),
        dry_run=options.get("dry_run", False),
        wait_s=float(options.get("wait_s", DEFAULT_WAIT_S)),
        idempotency_key=options.get("idempotency_key"),
    )


def control_request(given: Mapping[str, Any]) -> ControlRequest:
    """Read the arguments of control_run."""
    return ControlRequest(
        run=given["run_id"],
        action=given["action"],
        workflow=given.get("workflow"),
        approval=given.get("approval", ""),
        wait_s=float(given.get("wait_s", DEFAULT_WAIT_S)),
    )
