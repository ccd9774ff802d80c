"""call_tool calls a server's tool, and read_tool one that only reads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation.schema_parts import OBJECT
from gateway_project.mcp.meta_tool import MAY_DESTROY, READS_OUTSIDE, MetaTool
from gateway_project.mcp.results import ServerReply

if TYPE_CHECKING:
    from gateway_project.mcp.client_request import ClientRequest
    from gateway_project.mcp.large_results import WantedSize

_CALL: Final = "call_tool"
_READ: Final = "read_tool"
_TAKES: Final = {
    "tool": {"type": "string", "description": "server:tool"},
    "arguments": OBJECT,
    "fresh": {"type": "boolean"},
    "timeout_s": {"type": "number"},
    "select": {"type": "string", "description": "JMESPath"},
    "max_tokens": {"type": "integer"},
}


def read_timeout_s(args: Mapping[str, Any], *, name: str = _CALL, max_s: float) -> float | None:
    """Read the time limit of a call, at most `max_s`; None: it has none of its own.

    Raises:
        InvalidRequest: If it is out of bounds.
    """
    from gateway_project.mcp import arguments

    advice = "; what takes longer can be a task of run_workflow"
    return arguments.read_seconds(
        name, "/timeout_s", args.get("timeout_s"), max_s=max_s, advice=advice
    )


def read_wanted_size(args: Mapping[str, Any], *, name: str = _CALL) -> WantedSize:
    """Read what a client wants of a result.

    Raises:
        InvalidRequest: If `select` is no JMESPath, or `max_tokens` no limit.
    """
    from gateway_project.mcp.large_results import WantedSize

    expression, max_tokens = args.get("select", ""), args.get("max_tokens")
    if not args.keys() & {"select", "max_tokens"}:  # as nearly every call
        return WantedSize()

    from execution.planning.parse_task import describe_value
    from gateway_project.foundation import selection
    from gateway_project.mcp import arguments

    if "select" in args:
        try:
            selection.check_selection(expression)
        except selection.InvalidSelection as error:
            expected = "a JMESPath expression"
            raise arguments.refuse(name, "/select", expected, str(error)) from None
    if max_tokens is not None and max_tokens < 1:
        why = f"it is {describe_value(max_tokens)}"
        raise arguments.refuse(name, "/max_tokens", "1 or more", why)
    return WantedSize(
        select=expression, max_tokens=None if max_tokens is None else int(max_tokens)
    )


async def _serve(
    request: ClientRequest, args: Mapping[str, Any], *, only_reads: bool = False
) -> ServerReply:
    from gateway_project.mcp import call_results, tool_calls

    name = _READ if only_reads else _CALL
    await request.require_for_model(args["tool"])
    reply = await tool_calls.make_call(
        request,
        {"name": args["tool"], "arguments": args.get("arguments", {})},
        linkable=True,
        is_fresh=args.get("fresh", False),
        timeout_s=read_timeout_s(args, name=name, max_s=request.effects.max_call_s),
        only_reads=only_reads,
        wanted=read_wanted_size(args, name=name),
    )
    return call_results.name_page(request, args["tool"], reply)


READ_TOOL: Final = MetaTool(
    name=_READ,
    description="As call_tool, for tools marked reads.",
    takes=_TAKES,
    requires=["tool"],
    annotations=READS_OUTSIDE,
    serve=partial(_serve, only_reads=True),
    begins=True,
    carries_results=True,
    serves_every_task=True,
)
CALL_TOOL: Final = MetaTool(
    name=_CALL,
    description="Call any found tool; returns the server's own result.",
    takes=_TAKES,
    requires=["tool"],
    annotations=MAY_DESTROY,
    serve=_serve,
    begins=True,
    carries_results=True,
    serves_every_task=True,
)
