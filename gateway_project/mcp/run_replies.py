"""Answers about workflow runs, and the questions to the client's user that precede them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pydantic_core import to_json

from execution.planning.plan import Plan
from execution.view import ApprovalView, RunView
from gateway_project import flow
from gateway_project.effects import MakeApprovalLink, open_no_console
from gateway_project.foundation import json_pieces, json_size
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.mcp import consent, large_results
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.interaction import UpstreamOperation, UpstreamTurn
from gateway_project.mcp.results import ServerReply
from gateway_project.mcp.run_progress import make_watcher
from gateway_project.runs import answer as run_answer
from gateway_project.runs import task_results as run_results
from gateway_project.runs import timeline as run_timeline
from gateway_project.runs.request import ControlRequest
from gateway_project.runs.task_results import TaskResults
from gateway_project.use_cases import decide_approval
from tools import ids

PREVIEW_LENGTH: Final = 500
"""Characters of a result that are shown beside its link."""
ASKER_NAME: Final = "foregate"
"""Names the gateway itself where a question has no server."""
MAX_LOOP_TASKS: Final = 100
"""Largest run, in tasks and items, whose answer is encoded on the event loop: about 2 ms."""
MAX_LOOP_BYTES: Final = 64 * 1024
"""The same limit in bytes of results."""


async def conclude_call(
    request: ClientRequest, name: str, operation: UpstreamOperation
) -> ServerReply:
    """Answer a call of a meta-tool, whose turns may have the client's user asked."""
    return await request.conclude_request(lambda: f"{ASKER_NAME}:{name}", operation)


async def wait_for_run(
    request: ClientRequest, turn: UpstreamTurn, run: str, *, wait_s: float
) -> RunView:
    """Return a run once it is at rest or the wait is over; the client hears of its progress."""
    watch = make_watcher(request.effects.runs, request.caller, turn.progress)
    return await flow.get_run(request.effects, request.caller, run, wait_s=wait_s, watch=watch)


async def ask_for_decision(
    request: ClientRequest, turn: UpstreamTurn, control: ControlRequest
) -> ServerReply:
    """Ask the client's user to decide the run's approvals and reply with its status afterwards.

    Raises:
        UnknownApproval: If the run has no such approval.
        ApprovalNotPending: If it is already decided or expired.
        ActionNotPossible: If no approval is pending.
    """
    effects, caller = request.effects, request.caller
    view = await flow.get_run(effects, caller, control.run)
    pending = decide_approval.load_waiting(view, control.action, control.approval)
    if await _ask_user(request, turn, pending):
        view = await wait_for_run(request, turn, control.run, wait_s=control.wait_s)
    return await build_run_reply(request, view, turn=turn)


async def ask_until_settled(
    request: ClientRequest, turn: UpstreamTurn, view: RunView, *, wait_s: float
) -> RunView:
    """Ask the client's user about pending approvals until the run waits for none."""
    while (
        wait_s
        and view.pending_approvals
        and await _ask_user(request, turn, view.pending_approvals)
    ):
        view = await wait_for_run(request, turn, str(view.id), wait_s=wait_s)
    return view


async def _ask_user(
    request: ClientRequest, turn: UpstreamTurn, pending: Iterable[ApprovalView]
) -> bool:
    """Ask the client's user; return whether any approval is now decided."""
    return await consent.ask_user(
        turn, request.caller, pending, open_console=request.effects.open_console
    )


async def build_run_reply(
    request: ClientRequest,
    view: RunView,
    *,
    turn: UpstreamTurn | None = None,
) -> ServerReply:
    """Return the answer that describes a run: its status, results, errors and approvals.

    Args:
        request: The client's request.
        view: The run, with its results.
        turn: In which the client may be asked about approvals; None: it is not.
    """
    for task in view.tasks:
        server, _ = ids.split_id(task.tool)
        request.effects.item_lists.note_links(server, task.result or {}, caller=request.caller)
    # A small answer costs less than the hand-over to a thread.
    is_large = _is_large_view(view)
    task_results = (
        await run_in_worker_thread(run_results.collect_results, view)
        if is_large
        else run_results.collect_results(view)
    )
    links = await _link_largest_results(request, task_results)
    link_blocks = [_make_link_block(task, link) for task, link in links.items()]
    write_answer = partial(
        run_answer.answer_to_json,
        view,
        await _open_approval_link(request, view),
        result_links=links,
        can_ask_user=turn is not None and consent.can_ask_user(turn),
    )
    answer = await run_in_worker_thread(write_answer) if is_large else write_answer()
    answer, media = await large_results.lift_media(request, answer)
    blocks = [*media, *link_blocks]
    reply = (
        await run_in_worker_thread(_write_reply, view, answer, blocks)
        if is_large
        else _write_reply(view, answer, blocks)
    )
    inline = (task for task in task_results if task.task not in links and not view.has_expired)
    return replace(reply, meta={**reply.meta, **run_results.describe_meta(inline)})


def _is_large_view(view: RunView) -> bool:
    size_bytes = sum(task.result_bytes or 0 for task in view.tasks)
    return len(view.tasks) > MAX_LOOP_TASKS or size_bytes > MAX_LOOP_BYTES


def _write_reply(
    view: RunView, answer: dict[str, Any], blocks: Sequence[Mapping[str, Any]]
) -> ServerReply:
    raw = _write_structured(answer).raw
    meta = {run_timeline.META_KEY: run_timeline.build_timeline(view).as_json()}
    return ServerReply(raw={**raw, "content": [*raw["content"], *blocks]}, meta=meta)


async def _open_approval_link(request: ClientRequest, view: RunView) -> MakeApprovalLink:
    """Return the function for approval links; starts the console if an approval is pending."""
    return await (request.effects.open_console if view.pending_approvals else open_no_console)()


async def _link_largest_results(
    request: ClientRequest, task_results: tuple[TaskResults, ...]
) -> dict[str, Mapping[str, Any]]:
    """Store the largest results until the rest fits into one answer; return links by task."""
    limit = request.effects.result_link_bytes
    left = sum(task.size_bytes for task in task_results)
    links: dict[str, Mapping[str, Any]] = {}
    for task in sorted(task_results, key=lambda task: -task.size_bytes):
        if not limit or left <= limit:
            break
        stored = await large_results.store_result(
            request.effects, request.caller, task.full_result
        )
        if stored is None:
            break
        begins = large_results.preview_text(_find_first_result(task))[:PREVIEW_LENGTH]
        links[task.task] = {**large_results.describe_link(stored), "begins": begins}
        left -= task.size_bytes
    return links


def _find_first_result(task: TaskResults) -> Mapping[str, Any]:
    """Return the first result of a task; empty if there is none."""
    return next((raw for raw in task.raw_results if raw is not None), {})


def _make_link_block(task: str, link: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "resource_link",
        "uri": link["uri"],
        "name": task,
        "description": "The result of the task, as JSON.",
        "mimeType": large_results.MIME_TYPE,
        "size": link["bytes"],
    }


def write_plan_reply(plan: Plan) -> ServerReply:
    """Return the answer to a dry run."""
    return _write_structured(plan.to_json())


def _encode_at_once(value: dict[str, Any]) -> bytes:
    return to_json(value, inf_nan_mode="null")


def _write_structured(value: dict[str, Any]) -> ServerReply:
    """Return a value both as structured content and as text, for clients that read one only."""
    write = json_pieces.encode_in_pieces if json_size.is_large_to_write(value) else _encode_at_once
    text = write(value).decode()
    return ServerReply(
        raw={"content": [{"type": "text", "text": text}], "structuredContent": value}
    )
