"""What a client says of a suggestion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from execution.planning import parse
from execution.speculation.outcome import Verdict
from execution.store.speculations import UnknownSpeculation
from execution.workflow import WorkflowTask
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.text import strip_invisible
from tools.catalogue import Catalogue

MAX_ID_LENGTH: Final = 100
"""Characters of an invalid id that an error repeats."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FeedbackRequest:
    """A verdict on a suggestion.

    Attributes:
        speculation: Id of the suggestion, as received.
        verdict: What the client says of it.
        workflow: For `modify`: what would have been right, as received; None: not stated.
    """

    speculation: str
    verdict: Verdict
    workflow: Any = None


def parse_speculation_id(text: str) -> UUID:
    """Return the id of a suggestion.

    Raises:
        UnknownSpeculation: If it is malformed.
    """
    try:
        return UUID(text)
    except ValueError:
        raise UnknownSpeculation(strip_invisible(text[:MAX_ID_LENGTH])) from None


def find_stated_tasks(
    request: FeedbackRequest, *, caller: Caller, catalogue: Catalogue
) -> tuple[WorkflowTask, ...] | None:
    """Return the tasks of the workflow that would have been right; None: not stated.

    Raises:
        InvalidWorkflow: If the workflow is malformed.
        UnknownTool: If the caller sees no such tool.
    """
    if request.verdict is not Verdict.MODIFY or request.workflow is None:
        return None
    tasks = parse.parse(request.workflow).tasks
    found = ((task, catalogue.find_tool(task.tool, caller)) for task in tasks)
    return tuple(replace(task, tool=tool.tool, pk=tool.pk) for task, tool in found)
