"""What stands between a caller and a tool: a stable code and one line that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from gateway_project.foundation import schema
from gateway_project.foundation.caller import Caller


class CallError(Exception):
    """Root of what stands between a caller and a tool.

    Attributes:
        code: Stable word for programs.
    """

    code: str = "call_failed"


class NotPermitted(CallError):
    """The caller may not call tools."""

    code = "not_permitted"

    def __init__(self, caller: Caller) -> None:
        super().__init__(
            f"{caller.user!r} may not call tools; an admin can grant the scope 'call'"
        )


class ToolUnavailable(CallError):
    """The tool is known but may not be called now.

    Attributes:
        reason: disabled, pending, quarantined, removed or server_disabled.
        findings: What is doubtful in its texts, a line each.
    """

    code = "tool_unavailable"

    def __init__(self, tool: str, reason: str, *, findings: tuple[str, ...] = ()) -> None:
        super().__init__(f"{tool} {_REASONS[reason]}")
        self.reason = reason
        self.findings = findings


_REASONS: Mapping[str, str] = {
    "disabled": "is switched off; an admin can enable it in the console",
    "pending": "waits for an admin to approve it, in the console or by `manage.py approve_tools`",
    "quarantined": "changed since it was approved; an admin must look at the difference and "
    "approve it, in the console or by `manage.py approve_tools`",
    "removed": "is no longer offered by its server; search_tools finds others",
    "server_disabled": "belongs to a server that is switched off; an admin can enable it in the "
    "console",
}


class InvalidArguments(CallError):
    """The arguments do not fit the tool's schema.

    Attributes:
        problems: What is wrong, field by field.
    """

    code = "invalid_arguments"

    def __init__(self, tool: str, problems: tuple[schema.Problem, ...]) -> None:
        listed = "; ".join(problem.message for problem in problems)
        super().__init__(f"the arguments of {tool} do not fit: {listed}")
        self.problems = problems


class TooLargeToApprove(CallError):
    """A person has to approve the call, and nobody can look at so much."""

    code = "arguments_too_large"

    def __init__(self, tool: str, most_bytes: int) -> None:
        super().__init__(
            f"{tool} needs a person's approval, and its arguments are larger than "
            f"{most_bytes:,} bytes, which nobody looks through; pass less, or a file"
        )


class DefinitionUnusable(CallError):
    """Arguments cannot be judged by the schema that the server publishes."""

    code = "definition_unusable"

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(
            f"{tool} cannot be called safely: {reason}; its server's author must mend the schema"
        )


class DeadlineExceeded(CallError):
    """The call was not answered in time and has been cancelled."""

    code = "deadline_exceeded"

    def __init__(self, tool: str, timeout_s: float) -> None:
        super().__init__(f"{tool} was not answered within {timeout_s:g} s and was cancelled")


class ApprovalRequired(CallError):
    """A person has to approve the call, and nobody has yet.

    Attributes:
        tool: Canonical id.
        asks: Why a person is asked.
        run: Id of the run that makes the call once it is approved; None: there is none.
        approval: Primary key of what is to be approved; None: nothing was asked for yet.
        link: Page of the console where it is decided; empty: none is served.
    """

    code = "approval_required"

    def __init__(
        self,
        tool: str,
        asks: str,
        *,
        run: UUID | None = None,
        approval: UUID | None = None,
        link: str = "",
    ) -> None:
        where = f"at {link} or by" if link else "by"
        how = (
            f"; it is decided {where} `manage.py approvals`, and then called by the gateway: "
            f"call again with the same arguments, or get_run {run}, to have the result"
            if run
            else ""
        )
        super().__init__(f"{tool} needs a person's approval, since {asks}{how}")
        self.tool = tool
        self.asks = asks
        self.run = run
        self.approval = approval
        self.link = link

    @property
    def data(self) -> dict[str, Any]:
        """What programs are told of it."""
        given = {"run_id": self.run, "approval": self.approval, "link": self.link}
        return {name: str(value) for name, value in given.items() if value}
