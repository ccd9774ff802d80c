"""A direct call that outlasts its client's patience, and goes on as a run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import structlog

from execution.call import CallOutcome
from execution.call_errors import CallError
from execution.runs import AdoptedCall, NobodyToAsk
from gateway_project.effects import Effects
from gateway_project.foundation import json_size
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import run_in_message_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.runs.direct_call import Patience, plan_admitted_call
from gateway_project.runs.request import MAX_WAIT_S
from tools.catalogue import Catalogue
from tools.upstream.errors import UpstreamRefused
from tools.upstream.request import ProgressListener, UpstreamRequest

MakeCall = Callable[[UpstreamRequest], Awaitable[CallOutcome]]

log = structlog.get_logger(__name__)


class CallContinues(CallError):
    """The call is in flight, and goes on as a run.

    Attributes:
        run: Id of its run.
    """

    code = "call_continues"

    def __init__(self, tool: str, run: UUID, *, wait_s: float) -> None:
        super().__init__(
            f"{tool} is still at work and goes on as run {run}; get_run with this run_id returns "
            f"its result, with wait_s up to {min(wait_s, MAX_WAIT_S):g} once it is there. Do not "
            "call it again: that would be a second call"
        )
        self.run = run


async def call_with_patience(
    effects: Effects,
    caller: Caller,
    request: UpstreamRequest,
    catalogue: Catalogue,
    *,
    make_call: MakeCall,
    patience: Patience,
) -> CallOutcome:
    """Make a call, and let it go on as a run if it takes longer than its client waits.

    If it cannot, it is waited for, as without patience. A result that is there before the run is
    the answer all the same; the run then ends with it at once. Cancelling this cancels the call,
    unless its hand-over has begun and a run comes of it.

    Args:
        effects: Runs and digests.
        caller: Whose call it is.
        request: The call.
        catalogue: Servers and tools, by which the call is admitted.
        make_call: Makes it.
        patience: Of its client.

    Raises:
        CallContinues: If it goes on.
    """
    wait = _ClientWait(patience)
    sending = asyncio.create_task(wait.send(request, make_call), name="patient call")
    handing_over: asyncio.Task[UUID | None] | None = None
    try:
        if not await wait.until_over(sending):
            handing_over = asyncio.create_task(
                _continue_as_run(effects, caller, request, wait, sending, catalogue),
                name="hand-over of a call",
            )
            await asyncio.wait({sending, handing_over}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() and (run := handing_over.result()) is not None:
                raise CallContinues(request.tool, run, wait_s=patience.call_s)
        return await sending
    finally:
        if handing_over is not None:
            handing_over.add_done_callback(partial(_cancel_unless_continued, sending))
        elif not sending.done():
            sending.cancel()
            await asyncio.wait({sending})


def _cancel_unless_continued(
    sending: asyncio.Task[CallOutcome], handing_over: asyncio.Task[UUID | None]
) -> None:
    """Cancel a call that nobody waits for, if no run came of its hand-over."""
    if handing_over.cancelled() or handing_over.result() is None:
        sending.cancel()


class _ClientWait:
    """The wait of a client for a call, which progress and answered questions prolong."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._listener: ProgressListener | None = None
        self._limit: asyncio.Timeout | None = None
        self._open_questions = 0
        self._is_answered = False
        self._was_asked_in_vain = False

    async def send(self, request: UpstreamRequest, make_call: MakeCall) -> CallOutcome:
        """Make a call, watched.

        Raises:
            NobodyToAsk: If its server refuses it for want of what it could ask nobody any more.
        """
        try:
            return await make_call(self.watch(request))
        except UpstreamRefused as refusal:
            if self._was_asked_in_vain:
                raise NobodyToAsk(request.tool) from refusal
            raise

    def watch(self, request: UpstreamRequest) -> UpstreamRequest:
        """Return the call with its reports and questions passing through here."""
        self._listener, downstream = request.progress, request.downstream
        if (ask := downstream.ask) is not None:
            downstream = replace(downstream, ask=partial(self._ask, ask))
        return replace(request, progress=self._report, downstream=downstream)

    async def until_over(self, sending: asyncio.Future[Any]) -> bool:
        """Wait for a call; return whether it has ended before the client's patience."""
        try:
            async with asyncio.timeout(self._patience.left_s) as self._limit:
                await asyncio.wait({sending})
        except TimeoutError:
            return False
        finally:
            self._limit = None
        return True

    def forward_progress(self, listener: ProgressListener) -> None:
        """Have reports go to a listener instead of the client, which has its answer."""
        self._listener, self._is_answered = listener, True

    async def _report(self, progress: float, total: float | None, message: str | None) -> None:
        if self._listener is None:
            return
        if self._patience.extends:
            self._start_anew()
        await self._listener(progress, total, message)

    async def _ask(
        self,
        ask: Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]],
        method: str,
        params: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Ask the client; its user may take longer than any patience."""
        self._open_questions += 1
        self._start_anew()
        try:
            return await ask(method, params)
        except Exception:
            self._was_asked_in_vain = self._is_answered
            raise
        finally:
            self._open_questions -= 1
            self._start_anew()

    def _start_anew(self) -> None:
        if self._limit is not None and not self._limit.expired():
            now = asyncio.get_running_loop().time()
            until = None if self._open_questions else now + self._patience.call_s
            self._limit.reschedule(until)


async def _continue_as_run(
    effects: Effects,
    caller: Caller,
    request: UpstreamRequest,
    wait: _ClientWait,
    sending: asyncio.Task[CallOutcome],
    catalogue: Catalogue,
) -> UUID | None:
    """Return the run that a call in flight goes on as; None: it cannot."""
    plan_call = partial(
        plan_admitted_call, request, caller=caller, catalogue=catalogue, sealer=effects.sealer
    )
    try:
        if json_size.is_small(request.arguments):
            prepared, planned = plan_call()
        else:
            prepared, planned = await run_in_message_thread(plan_call)
        if planned.problems:
            return None
        # It was sent without approval; a rule made since does not undo it.
        adopted = AdoptedCall(
            prepared=replace(prepared, approval_reason=""),
            sending=sending,
            forward_progress=wait.forward_progress,
        )
        started = await effects.runs.start(caller, planned, is_direct=True, adopts=adopted)
    except Exception as error:  # noqa: BLE001 - top of a task; the call is waited for instead
        log.warning("call.cannot_continue", tool=request.tool, reason=summarize_error(error))
        return None
    log.info("call.continues", tool=prepared.tool, run=str(started.run))
    return started.run
