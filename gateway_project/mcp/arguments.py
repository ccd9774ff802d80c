"""Arguments of the meta-tools, validated against their published schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from execution.planning.parse_task import describe_value
from gateway_project.foundation import json_size, schema, schema_conversion
from gateway_project.foundation.schema_conversion import Conversion
from gateway_project.foundation.user_error import UserError
from gateway_project.mcp.meta_tool import MetaTool

MAX_SHOWN = 200
"""Characters of an unknown name that an error quotes."""
MAX_STEPS: Final = 5_000
"""Limit of validation steps, which run on the event loop: about 20 ms."""
_ANY_WORKFLOW: Final[dict[str, Any]] = {"description": "an object with tasks"}


class InvalidRequest(UserError):
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


class UnknownMetaTool(UserError):
    """The gateway has no tool of that name."""

    code = "unknown_tool"

    def __init__(self, name: str, hint: str) -> None:
        shown = name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…"
        super().__init__(f"this gateway has no tool {shown!r}: {hint}")


def read_arguments(
    tool: MetaTool, arguments: Mapping[str, Any] | None
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
        return check_arguments(tool, given), converted
    except RequestTooCostly:
        raise
    except InvalidRequest as invalid:
        found = schema_conversion.convert_arguments(
            {key: value for key, value in given.items() if value is not None},
            lambda changed: _find_problems(tool, changed),
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


def _find_problems(tool: MetaTool, args: Mapping[str, Any]) -> tuple[schema.ArgumentProblem, ...]:
    try:
        check_arguments(tool, args)
    except InvalidRequest as error:
        return error.problems
    return ()


def check_arguments(tool: MetaTool, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a meta-tool, without nulls, once they match its schema.

    Raises:
        InvalidRequest: If they do not match; names each field, its value and what is expected.
    """
    # Some clients send null for omitted arguments.
    args = {key: value for key, value in (arguments or {}).items() if value is not None}
    try:
        problems = schema.validate_arguments(
            _build_validation_schema(tool),
            args,
            cache_key=f"meta:{tool.name}",
            steps=schema.StepBudget(MAX_STEPS),
        )
    except schema.StepBudgetExceeded:
        raise RequestTooCostly(tool.name) from None
    if problems:
        raise InvalidRequest(tool.name, problems)
    return args


def _build_validation_schema(tool: MetaTool) -> dict[str, Any]:
    """Return the schema that arguments are validated against.

    It accepts any `workflow`: the workflow's parser finds more problems and locates each one.
    """
    published = tool.input_schema
    properties = published["properties"]
    if "workflow" not in properties:
        return published
    return {**published, "properties": {**properties, "workflow": _ANY_WORKFLOW}}


def refuse(name: str, path: str, expected: str, why: str) -> InvalidRequest:
    """Return the error for the field at a path, a JSON pointer, in a call of a meta-tool."""
    message = f"{path[1:]} must be {expected}: {why}"
    problem = schema.ArgumentProblem(path=path, message=message, expected=expected)
    return InvalidRequest(name, (problem,))


def read_seconds(
    name: str, path: str, given: float | None, *, max_s: float, advice: str = ""
) -> float | None:
    """Return the seconds at a path within their bounds, which the published schema leaves out.

    Raises:
        InvalidRequest: If it is out of bounds.
    """
    if given is None or 0 < given <= max_s:
        return given
    expected = f"seconds, more than 0 and at most {max_s:,.10g}"
    message = f"{path[1:]} must be {expected}, not {describe_value(given)}{advice}"
    problem = schema.ArgumentProblem(path=path, message=message, expected=expected)
    raise InvalidRequest(name, (problem,))
