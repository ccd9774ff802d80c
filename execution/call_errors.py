"""Errors of calls: each has a stable code and one line that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from gateway_project.foundation import schema
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.user_error import UserError


class CallError(UserError):
    """Base class of the reasons why a call is not made."""

    code = "call_failed"


class CallNotPermitted(CallError):
    """The caller may not call tools."""

    code = "not_permitted"

    def __init__(self, caller: Caller) -> None:
        super().__init__(
            f"{caller.user!r} may not call tools; an admin can grant the scope 'call'"
        )


class NotRead(CallError):
    """The tool is not known to only read, and the call asked for nothing else.

    Attributes:
        tool: Canonical id.
    """

    code = "not_a_read"

    def __init__(self, tool: str, doubt: str) -> None:
        super().__init__(
            f"{tool} is not known to only read: {doubt}; call it by call_tool, in a workflow by "
            "run_workflow"
        )
        self.tool = tool


class ToolUnavailable(CallError):
    """The tool is known but may not be called now.

    Attributes:
        reason: disabled, for_pages, pending, quarantined, removed or server_disabled.
        findings: Suspicious passages in its texts, one line each.
    """

    code = "tool_unavailable"

    def __init__(
        self,
        tool: str,
        reason: str,
        *,
        findings: tuple[str, ...] = (),
        places: tuple[str, ...] = (),
    ) -> None:
        differences = f" (it differs at {', '.join(places)})" if places else ""
        super().__init__(f"{tool} {_REASONS[reason]}{differences}")
        self.reason = reason
        self.findings = findings


_REASONS: Mapping[str, str] = {
    "disabled": "is disabled; an admin can enable it in the console",
    "for_pages": "is for the pages of its server (MCP Apps); search_tools finds others",
    "pending": (
        "waits for an admin to approve it, in the console or with `manage.py approve_tools`"
    ),
    "quarantined": "changed since it was approved; an admin must review the change and approve "
    "it, in the console or with `manage.py approve_tools`",
    "removed": "is no longer offered by its server; search_tools finds others",
    "server_disabled": "belongs to a server that is disabled; an admin can enable it in the "
    "console",
}


class InvalidArguments(CallError):
    """The arguments do not fit the tool's schema."""

    code = "invalid_arguments"

    def __init__(self, tool: str, problems: tuple[schema.ArgumentProblem, ...]) -> None:
        listed = "; ".join(problem.message for problem in problems)
        super().__init__(f"invalid arguments for {tool}: {listed}")
        self.problems = problems


class ArgumentsTooCostly(CallError):
    """Validating the arguments against the tool's schema takes too long."""

    code = "arguments_too_costly"

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(
            f"the arguments of {tool} were neither checked nor sent: {reason}; pass fewer or "
            "smaller items at a time, or a file. If they are few already, its server's author "
            "must simplify the schema"
        )


class TooLargeToApprove(CallError):
    """The call needs a person's approval, but its arguments are too large to review."""

    code = "arguments_too_large"

    def __init__(self, tool: str, max_bytes: int) -> None:
        super().__init__(
            f"{tool} needs a person's approval, and its arguments exceed {max_bytes:,} bytes, "
            "too many to review; pass less, or a file"
        )


class DefinitionUnusable(CallError):
    """The schema that the server publishes cannot be used for validation."""

    code = "definition_unusable"

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(
            f"{tool} cannot be called safely: {reason}; its server's author must fix the schema"
        )


class DeadlineExceeded(CallError):
    """The call was not answered in time and was cancelled."""

    code = "deadline_exceeded"

    def __init__(self, tool: str, timeout_s: float) -> None:
        super().__init__(
            f"{tool} was not answered within {timeout_s:g} s and was cancelled; if it "
            "needs longer, pass a longer timeout_s"
        )


class ApprovalRequired(CallError):
    """The call needs a person's approval and has none yet.

    Attributes:
        tool: Canonical id.
        approval_reason: Why approval is required.
        run: Id of the run that makes the call once approved; None: no run.
        approval: Primary key of the requested approval; None: none requested yet.
        link: Console page on which to decide; empty: no console.
    """

    code = "approval_required"

    def __init__(
        self,
        tool: str,
        approval_reason: str,
        *,
        run: UUID | None = None,
        approval: UUID | None = None,
        link: str = "",
    ) -> None:
        page = f"at {link} (`manage.py open_console` on that machine explains how to sign in) or "
        where = f"{page if link else ''}with"
        how = (
            f"; decide {where} `manage.py approvals`. The gateway then makes the call: call "
            f"again with the same arguments, or get_run {run}, for the result"
            if run
            else ""
        )
        super().__init__(f"{tool} needs a person's approval because {approval_reason}{how}")
        self.tool = tool
        self.approval_reason = approval_reason
        self.run = run
        self.approval = approval
        self.link = link

    @property
    def data(self) -> dict[str, Any]:
        """Machine-readable details: run id, approval and link, as far as present."""
        fields = {"run_id": self.run, "approval": self.approval, "link": self.link}
        return {name: str(value) for name, value in fields.items() if value}
