"""Arguments of the meta-tools: validated against their published schemas, then typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from execution.planning.parse_task import describe_value
from execution.speculation.outcome import Verdict
from execution.workflow import OnError, RunOptions
from gateway_project.find.answers import FindRequest
from gateway_project.foundation import json_size, schema, schema_conversion, selection
from gateway_project.foundation.schema_conversion import Conversion
from gateway_project.intent.answer import IntentRequest
from gateway_project.intent.feedback import FeedbackRequest
from gateway_project.mcp import meta_tools
from gateway_project.mcp.large_results import WantedSize
from gateway_project.runs.request import (
    DEFAULT_WAIT_S,
    MAX_DEADLINE_S,
    ControlRequest,
    RunRequest,
)

MAX_SHOWN = 200
"""Characters of an unknown name that an error quotes."""
MAX_STEPS: Final = 5_000
"""Limit of validation steps, which run on the event loop: about 20 ms."""
_ANY_WORKFLOW: Final[dict[str, Any]] = {"description": "an object with tasks"}


class InvalidRequest(Exception):
    """Arguments of a meta-tool do not match its schema.

    Attributes:
        problems: The problems, field by field.
    """

    code = "invalid_arguments"

    def __init__(self, name: str, problems: tuple[schema.ArgumentProblem, ...]) -> None:
        listed = "; ".join(problem.message for problem in problems)
        super().__init__(f"invalid arguments for {name}: {listed}")
        self.problems = problems


class RequestTooCostly(InvalidRequest):
    """Arguments are so large that finding their problems would take too long."""

    code = "arguments_too_costly"

    def __init__(self, name: str) -> None:
        Exception.__init__(self, f"invalid arguments for {name}, too large to say why; pass less")
        self.problems = ()


class UnknownMetaTool(InvalidRequest):
    """The gateway has no tool of that name.

    Attributes:
        hint: What to do instead.
    """

    code = "unknown_tool"

    def __init__(self, name: str, hint: str) -> None:
        shown = name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…"
        Exception.__init__(self, f"this gateway has no tool {shown!r}: {hint}")
        self.problems = ()


def read_arguments(
    name: str, arguments: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[Conversion]]:
    """Return the arguments of a meta-tool as `check_arguments` does, converted where needed.

    Texts that are the JSON of what the schema wants are read, also as a workflow and as the
    arguments of its tasks.

    Returns:
        The arguments, and what was converted.

    Raises:
        InvalidRequest: If they do not match even then.
    """
    given: dict[str, Any] = dict(arguments or {})
    converted: list[Conversion] = []
    if json_size.is_small(given):
        given, converted = schema_conversion.replace_half_surrogates(given)
    if "workflow" in given:
        given, read = _read_workflow(given)
        converted += read
    try:
        return check_arguments(name, given), converted
    except RequestTooCostly:
        raise
    except InvalidRequest as invalid:
        found = schema_conversion.convert_arguments(
            {key: value for key, value in given.items() if value is not None},
            lambda changed: _find_problems(name, changed),
        )
        if found is None:
            raise invalid from None
        return found[0], [*converted, *found[1]]


def _read_workflow(given: dict[str, Any]) -> tuple[dict[str, Any], list[Conversion]]:
    """Read the texts in place of a workflow, of its tasks and of their arguments."""
    given, converted = schema_conversion.read_text_at(given, "/workflow")
    given, read = schema_conversion.read_text_at(given, "/workflow/tasks")
    converted += read
    workflow = given["workflow"]
    tasks = workflow.get("tasks") if isinstance(workflow, Mapping) else None
    for index, task in enumerate(tasks if isinstance(tasks, list) else ()):
        if isinstance(task, Mapping) and isinstance(task.get("arguments"), str):
            pointer = f"/workflow/tasks/{index}/arguments"
            given, read = schema_conversion.read_text_at(given, pointer)
            converted += read
    return given, converted


def _find_problems(name: str, args: Mapping[str, Any]) -> tuple[schema.ArgumentProblem, ...]:
    try:
        check_arguments(name, args)
    except InvalidRequest as error:
        return error.problems
    return ()


def check_arguments(name: str, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a meta-tool, without nulls, once they match its schema.

    Raises:
        InvalidRequest: If they do not match; names each field, its value and what is expected.
    """
    # Some clients send null for omitted arguments.
    args = {key: value for key, value in (arguments or {}).items() if value is not None}
    try:
        problems = schema.validate_arguments(
            _build_validation_schema(name),
            args,
            cache_key=f"meta:{name}",
            steps=schema.StepBudget(MAX_STEPS),
        )
    except schema.StepBudgetExceeded:
        raise RequestTooCostly(name) from None
    if problems:
        raise InvalidRequest(name, problems)
    return args


def _build_validation_schema(name: str) -> dict[str, Any]:
    """Return the schema that arguments are validated against.

    It accepts any `workflow`: the workflow's parser finds more problems and locates each one.
    """
    published = meta_tools.BY_NAME[name].input_schema
    properties = published["properties"]
    if "workflow" not in properties:
        return published
    return {**published, "properties": {**properties, "workflow": _ANY_WORKFLOW}}


def read_timeout_s(name: str, args: Mapping[str, Any], *, max_s: float) -> float | None:
    """Read the time limit of a call; None: it has none of its own.

    Args:
        name: The meta-tool.
        args: Its arguments.
        max_s: Longest limit of a call that its client waits for.

    Raises:
        InvalidRequest: If it is out of bounds.
    """
    advice = f"; what takes longer can be a task of {meta_tools.RUN}"
    return _read_seconds(name, "/timeout_s", args.get("timeout_s"), max_s=max_s, advice=advice)


def read_wanted_size(name: str, args: Mapping[str, Any]) -> WantedSize:
    """Read what a client wants of a result.

    Args:
        name: The meta-tool.
        args: Its arguments.

    Raises:
        InvalidRequest: If `select` is no JMESPath, or `max_tokens` no limit.
    """
    expression, max_tokens = args.get("select", ""), args.get("max_tokens")
    if "select" in args:
        try:
            selection.check_selection(expression)
        except selection.InvalidSelection as error:
            raise _refuse(name, "/select", "a JMESPath expression", str(error)) from None
    if max_tokens is not None and max_tokens < 1:
        raise _refuse(name, "/max_tokens", "1 or more", f"it is {describe_value(max_tokens)}")
    return WantedSize(
        select=expression, max_tokens=None if max_tokens is None else int(max_tokens)
    )


def _refuse(name: str, path: str, expected: str, why: str) -> InvalidRequest:
    message = f"{path[1:]} must be {expected}: {why}"
    problem = schema.ArgumentProblem(path=path, message=message, expected=expected)
    return InvalidRequest(name, (problem,))


def _read_seconds(
    name: str, path: str, given: float | None, *, max_s: float, advice: str = ""
) -> float | None:
    """Return a number of seconds within its bounds, which the published schema leaves out."""
    if given is None or 0 < given <= max_s:
        return given
    expected = f"seconds, more than 0 and at most {max_s:,.10g}"
    message = f"{path[1:]} must be {expected}, not {describe_value(given)}{advice}"
    problem = schema.ArgumentProblem(path=path, message=message, expected=expected)
    raise InvalidRequest(name, (problem,))


def read_find_request(args: Mapping[str, Any]) -> FindRequest:
    """Read the arguments of search_tools."""
    return FindRequest(
        query=args["query"],
        limit=int(args.get("limit", meta_tools.DEFAULT_LIMIT)),
        server=args.get("server"),
        category=args.get("category"),
        token_budget=args.get("token_budget"),
        context_tools=tuple(args.get("context_tools", ())),
        detail=args.get("detail", meta_tools.DEFAULT_DETAIL),
    )


def read_intent_request(args: Mapping[str, Any]) -> IntentRequest:
    """Read the arguments of run_intent."""
    return IntentRequest(
        intent=args["intent"],
        parameters=args.get("parameters", {}),
        considered=tuple(args.get("tools_considered", ())),
        mode=args.get("mode", "auto"),
        context=args.get("context", {}),
    )


def read_run_request(args: Mapping[str, Any]) -> RunRequest:
    """Read the arguments of run_workflow.

    Raises:
        InvalidRequest: If the deadline is out of bounds.
    """
    options = args.get("options", {})
    on_error = options.get("on_error")
    return RunRequest(
        workflow=args["workflow"],
        intent=args.get("intent", ""),
        options=RunOptions(
            on_error=OnError(on_error) if on_error else OnError.STOP,
            per_layer_validation=options.get("per_layer_validation", False),
            deadline_s=_read_seconds(
                meta_tools.RUN,
                "/options/deadline_s",
                options.get("deadline_s"),
                max_s=MAX_DEADLINE_S,
            ),
        ),
        dry_run=options.get("dry_run", False),
        wait_s=float(options.get("wait_s", DEFAULT_WAIT_S)),
        idempotency_key=options.get("idempotency_key"),
        from_speculation=options.get("from_speculation"),
    )


def read_feedback_request(args: Mapping[str, Any]) -> FeedbackRequest:
    """Read the arguments of give_feedback."""
    return FeedbackRequest(
        speculation=args["speculation_id"],
        verdict=Verdict(args["verdict"]),
        workflow=args.get("workflow"),
    )


def read_control_request(args: Mapping[str, Any]) -> ControlRequest:
    """Read the arguments of control_run."""
    return ControlRequest(
        run=args["run_id"],
        action=args["action"],
        workflow=args.get("workflow"),
        approval=args.get("approval", ""),
        wait_s=float(args.get("wait_s", DEFAULT_WAIT_S)),
    )
