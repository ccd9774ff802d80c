"""The workflow of a run as text that people edit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from gateway_project.api.problems import InvalidInput

MAX_PROBLEMS: Final = 20


def format_workflow(workflow: Mapping[str, Any] | None) -> str:
    """Return a workflow as indented JSON; empty: it is no longer stored."""
    return "" if workflow is None else json.dumps(workflow, indent=2, ensure_ascii=False)


def read_workflow(text: str) -> dict[str, Any]:
    """Return the JSON object that a person wrote as a workflow, not validated yet.

    Raises:
        InvalidInput: If it is not a JSON object.
    """
    try:
        workflow = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"this is not JSON: {error}") from None
    except RecursionError:
        raise InvalidInput("the JSON is nested too deeply") from None
    if not isinstance(workflow, dict):
        raise InvalidInput("a workflow is a JSON object with the field `tasks`")
    return workflow


def list_problems(error: Exception) -> tuple[str, ...]:
    """Return what is wrong with a workflow, one line for each problem."""
    problems = getattr(error, "problems", ())
    found = [problem.message for problem in problems[:MAX_PROBLEMS]]
    if more := len(problems) - len(found):
        found.append(f"and {more} more")
    return tuple(found) or (str(error),)
