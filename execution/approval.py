"""Decide which calls need a person's approval, and say why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from execution.call_errors import TooLargeToApprove
from gateway_project.foundation import canonical
from gateway_project.foundation.caller import Caller
from tools.catalogue import Catalogue, CatalogueTool
from tools.danger import SEVERITY, Danger
from tools.upstream import nesting

ALWAYS = "always"
NEVER = "never"
MAX_BYTES: Final = 1024 * 1024
"""Approximate JSON size of arguments that a person can review."""


def explain_approval(tool: CatalogueTool, *, caller: Caller, catalogue: Catalogue) -> str:
    """Explain why a caller's calls of a tool need approval; empty: they do not.

    An admin's setting on the tool decides. Otherwise approval is required for curated dangerous
    tools, and for those that their server, trusted or not, or an admin marks destructive; a team
    may require it from a lower danger class up.

    Args:
        tool: From the catalogue.
        caller: The caller, whose team's rule applies.
        catalogue: Holds the teams' rules.
    """
    if tool.approval == NEVER:
        return ""
    if tool.approval == ALWAYS:
        return "an admin requires approval for each call of it"
    if tool.danger is Danger.DANGEROUS:
        return f"it is dangerous: {_explain_danger(tool)}"
    if tool.danger is Danger.DESTRUCTIVE and tool.destructive_by:
        return f"it is destructive: {_explain_danger(tool)}"
    approval_level = catalogue.approve_from.get(caller.team) if caller.team is not None else None
    if approval_level is not None and SEVERITY[tool.danger] >= SEVERITY[approval_level]:
        return (
            f"its danger is {tool.danger.value}, and your team requires approval from "
            f"{approval_level.value} up"
        )
    return ""


def warn_danger(tool: CatalogueTool, *, caller: Caller, catalogue: Catalogue) -> str:
    """Say that a tool is dangerous or destructive, why, and what a call of it needs.

    Returns:
        A clause without the tool's name; empty: it is neither.
    """
    if SEVERITY[tool.danger] < SEVERITY[Danger.DESTRUCTIVE]:
        return ""
    asks = explain_approval(tool, caller=caller, catalogue=catalogue)
    need = "each call needs a person's approval" if asks else "it runs without anybody's approval"
    return f"{tool.danger.value}: {_explain_danger(tool)}; {need}"


def explain_call_approval(
    tool: CatalogueTool, arguments: Mapping[str, Any], *, caller: Caller, catalogue: Catalogue
) -> str:
    """Explain why a call needs approval; empty: it does not.

    Raises:
        TooLargeToApprove: If it does, and its arguments are too large to review.
    """
    reason = explain_approval(tool, caller=caller, catalogue=catalogue)
    if reason:
        size = nesting.measure_value(arguments, max_depth=canonical.MAX_DEPTH, max_bytes=MAX_BYTES)
        if size == "large":
            raise TooLargeToApprove(tool.tool, MAX_BYTES)
    return reason


def _explain_danger(tool: CatalogueTool) -> str:
    return tool.danger_reasons[0] if tool.danger_reasons else "it is marked as such"
