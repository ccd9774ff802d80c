"""The tools that run workflows: translate, call the flow once, translate back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from mcp_types import CallToolResult
from pydantic_core import to_json

from execution.planning.plan import Plan
from execution.view import ApprovalView, RunView
from gateway_project import flow
from gateway_project.mcp import arguments, consent, large_results, meta_tools, results
from gateway_project.mcp.asked import Asked
from gateway_project.mcp.interaction import Reply, Turn
from gateway_project.mcp.run_progress import watcher
from gateway_project.run_face import answer as run_answer
from gateway_project.run_face import given as run_given
from gateway_project.run_face import timeline as run_timeline
from gateway_project.run_face.answer import Told
from gateway_project.run_face.given import Given
from gateway_project.run_face.plan import Controlled
from gateway_project.run_face.request import ControlRequest
from gateway_project.use_cases import decide_approval

BEGINS: Final = 500
"""Characters of a result that stand beside the link to it."""
WHO: Final = "foregate"
"""Who asks the client's user where it is no server."""
_PEOPLE_DECIDE: Final = frozenset({"approve", "reject"})

log = structlog.get_logger(__name__)


async def run_workflow(asked: Asked, given: Mapping[str, Any]) -> CallToolResult:
    """Serve run_workflow."""
    request = arguments.run_request(given)

    async def operation(turn: Turn) -> Reply:
        watch = watcher(asked.effects.runs, asked.caller, turn.progress)
        told = await flow.run_workflow(asked.effects, asked.caller, request, watch=watch)
        if isinstance(told, Plan):
            return _structured(told.as_json())
        view = await _settled(asked, turn, told, wait_s=request.wait_s)
        return await _told(asked, turn, Controlled(view=view))

    return await _conclude(asked, meta_tools.RUN, operation)


async def get_run(asked: Asked, given: Mapping[str, Any]) -> CallToolResult:
    """Serve get_run."""
    wait_s = float(given.get("wait_s", 0))

    async def operation(turn: Turn) -> Reply:
        watch = watcher(asked.effects.runs, asked.caller, turn.progress)
        view = await flow.get_run(
            asked.effects, asked.caller, given["run_id"], wait_s=wait_s, watch=watch
        )
        return await _told(asked, turn, Controlled(view=view))

    return await _conclude(asked, meta_tools.GET_RUN, operation)


async def control_run(asked: Asked, given: Mapping[str, Any]) -> CallToolResult:
    """Serve control_run; on approvals only a person decides, who is asked if that is possible."""
    request = arguments.control_request(given)

    async def operation(turn: Turn) -> Reply:
        if request.action in _PEOPLE_DECIDE:
            return await _decided(asked, turn, request)
        watch = watcher(asked.effects.runs, asked.caller, turn.progress)
        controlled = await flow.control_run(asked.effects, asked.caller, request, watch=watch)
        view = await _settled(asked, turn, controlled.view, wait_s=request.wait_s)
        return await _told(asked, turn, Controlled(view=view, merged=controlled.merged))

    return await _conclude(asked, meta_tools.CONTROL_RUN, operation)


async def _conclude(
    asked: Asked, name: str, operation: Callable[[Turn], Awaitable[Reply]]
) -> CallToolResult:
    reply = await asked.conclude(lambda: f"{WHO}:{name}", operation)
    results.carry(reply.raw)
    return CallToolResult(content=[], _meta=dict(reply.meta) or None)


async def _decided(asked: Asked, turn: Turn, request: ControlRequest) -> Reply:
    """Have the person asked whose decision it is, and tell how the run stands then.

    Raises:
        UnknownApproval: If the run has none such.
        NotPending: If it waits no more.
        NotPossible: If none does.
    """
    effects, caller = asked.effects, asked.caller
    view = await flow.get_run(effects, caller, request.run)
    pending = decide_approval.waiting(view, request.action, request.approval)
    if await _ask(asked, turn, pending):
        watch = watcher(effects.runs, caller, turn.progress)
        view = await flow.get_run(effects, caller, request.run, wait_s=request.wait_s, watch=watch)
    return await _told(asked, turn, Controlled(view=view))


async def _settled(asked: Asked, turn: Turn, view: RunView, *, wait_s: float) -> RunView:
    """Have the client's user asked for what a run waits for, until it waits for nothing more."""
    while wait_s and view.pending and await _ask(asked, turn, view.pending):
        watch = watcher(asked.effects.runs, asked.caller, turn.progress)
        view = await flow.get_run(
            asked.effects, asked.caller, str(view.id), wait_s=wait_s, watch=watch
        )
    return view


async def _ask(asked: Asked, turn: Turn, pending: Iterable[ApprovalView]) -> bool:
    """Have the client's user asked; say whether anything is decided now."""
    return await consent.ask(turn, asked.caller, pending, link=asked.effects.approval_link)


async def _told(asked: Asked, turn: Turn, controlled: Controlled) -> Reply:
    view = controlled.view
    links = await _links(asked, run_given.given(view))
    told = Told(
        link=asked.effects.approval_link,
        links=links,
        merged=controlled.merged,
        is_askable=consent.is_askable(turn),
    )
    reply = _structured(run_answer.as_json(view, told))
    blocks = [*reply.raw["content"], *(_block(task, link) for task, link in links.items())]
    timed = {run_timeline.META_KEY: run_timeline.timeline(view).as_json()}
    return Reply(raw={**reply.raw, "content": blocks}, meta=timed)


async def _links(asked: Asked, given: tuple[Given, ...]) -> dict[str, Mapping[str, Any]]:
    """Keep the largest results, until the others fit into an answer together."""
    limit = asked.effects.result_link_bytes
    left = sum(one.size_bytes for one in given)
    links: dict[str, Mapping[str, Any]] = {}
    for one in sorted(given, key=lambda one: -one.size_bytes):
        if not limit or left <= limit:
            break
        try:
            kept = await asked.effects.kept.keep(one.whole, asked.caller)
        except OSError as error:
            log.warning("results.not_kept", reason=str(error))
            break
        expires = datetime.fromtimestamp(kept.expires_at, UTC).isoformat(timespec="seconds")
        links[one.task] = {
            "uri": kept.uri,
            "bytes": kept.size_bytes,
            "expires_at": expires,
            "begins": large_results.preview(_first(one))[:BEGINS],
        }
        left -= one.size_bytes
    return links


def _first(given: Given) -> Mapping[str, Any]:
    """Return what was given first; empty: nothing."""
    return next((raw for raw in given.raws if raw is not None), {})


def _block(task: str, link: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "resource_link",
        "uri": link["uri"],
        "name": task,
        "description": "What the task gave, as JSON.",
        "mimeType": large_results.MIME_TYPE,
        "size": link["bytes"],
    }


def _structured(value: dict[str, Any]) -> Reply:
    """Return a value both as structured content and as text, for clients that read one only."""
    text = to_json(value, inf_nan_mode="null").decode()
    return Reply(raw={"content": [{"type": "text", "text": text}], "structuredContent": value})
