"""Which calls a person has to approve first, and why."""

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
"""Of the arguments of a call that a person looks at before it is made, as JSON, about."""


def reason(tool: CatalogueTool, *, caller: Caller, catalogue: Catalogue) -> str:
    """Say why a person has to approve a caller's calls of a tool; empty: nobody has to.

    An admin's word on the tool decides. Else what is curated as dangerous asks, and what a
    trusted server or an admin says destroys; a team may ask from a lower danger on.

    Args:
        tool: From the catalogue.
        caller: Who calls it; their team's rule counts.
        catalogue: What holds the teams' rules.
    """
    if tool.approval == NEVER:
        return ""
    if tool.approval == ALWAYS:
        return "an admin wants each call of it approved"
    if tool.danger is Danger.DANGEROUS:
        return f"it is dangerous: {_why(tool)}"
    if tool.danger is Danger.DESTRUCTIVE and tool.destructive_by:
        return f"it destroys: {_why(tool)}"
    least = catalogue.approve_from.get(caller.team) if caller.team is not None else None
    if least is not None and SEVERITY[tool.danger] >= SEVERITY[least]:
        return f"its danger is {tool.danger.value}, and your team asks from {least.value} on"
    return ""


def of_call(
    tool: CatalogueTool, arguments: Mapping[str, Any], *, caller: Caller, catalogue: Catalogue
) -> str:
    """Say why a person has to approve a call; empty: nobody has to.

    Raises:
        TooLargeToApprove: If somebody has to, and could not look at it.
    """
    asks = reason(tool, caller=caller, catalogue=catalogue)
    if asks:
        size = nesting.measure(arguments, max_depth=canonical.MAX_DEPTH, max_bytes=MAX_BYTES)
        if size == "large":
            raise TooLargeToApprove(tool.tool, MAX_BYTES)
    return asks


def _why(tool: CatalogueTool) -> str:
    return tool.danger_reasons[0] if tool.danger_reasons else "it is curated as such"
