"""Forwards questions of servers to a client's user, whichever eras the two sides speak.

A server of the handshake era sends a request in the middle of ours; a stateless one returns
`input_required` and is called again with the answers. Likewise a client of the handshake era takes
requests in the middle of its own, while a stateless one receives `input_required` and calls again.
`ClientRequest.conclude_request` bridges all four combinations for `tools/call`, `prompts/get` and
`resources/read`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import INTERNAL_ERROR
from pydantic import BaseModel, RootModel, ValidationError

from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import client_state, questions, request_state
from gateway_project.mcp.parking import NoParkedCall, ParkedCall, ParkedCalls, ServerQuestions
from gateway_project.mcp.questions import InputUnavailable
from gateway_project.mcp.request_state import (
    FindTarget,
    InvalidRequestState,
    RequestRound,
    StateSubject,
)
from gateway_project.mcp.results import ServerReply
from tools import ids, mcp_tasks
from tools.upstream.errors import UpstreamRefused
from tools.upstream.request import AskClient, Downstream, ProgressListener, TellClient

MAX_ROUNDS: Final = 10
"""Times a server may ask for input in one call, as in the SDKs."""
FIRST_PAUSE_S: Final = 0.05
MAX_PAUSE_S: Final = 0.25
_LOG_MESSAGE_METHOD: Final = "notifications/message"
_HANDSHAKE_ONLY: Final = "notifications/elicitation/complete"

Context = ServerRequestContext[Any]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class UpstreamTurn:
    """One request to a server.

    Attributes:
        downstream: The client, and how to ask it.
        progress: Receives the server's progress reports; None if the client wants none.
        consult: Asks the client's user on behalf of the gateway itself; None if impossible.
        responses: Answers to the server's earlier questions.
        state: The server's own `requestState`, returned to it unchanged.
        asked_s: Seconds that the client has taken to answer so far.
    """

    downstream: Downstream
    progress: ProgressListener | None
    consult: AskClient | None = None
    responses: Mapping[str, Any] | None = None
    state: str | None = None
    asked_s: float = 0.0

    def without_tasks(self) -> UpstreamTurn:
        """Return the same, for a call whose result is needed here: a server's task is held."""
        capabilities = dict(self.downstream.capabilities)
        extensions = capabilities.get("extensions", {})
        if mcp_tasks.EXTENSION not in extensions:
            return self
        capabilities["extensions"] = {
            name: settings for name, settings in extensions.items() if name != mcp_tasks.EXTENSION
        }
        return replace(self, downstream=replace(self.downstream, capabilities=capabilities))


UpstreamOperation = Callable[[UpstreamTurn], Awaitable[ServerReply]]


class _RelayedRequest(BaseModel):
    """A request or notification to the client, as the server sent it."""

    method: str
    params: dict[str, Any]


class _ClientAnswer(RootModel[dict[str, Any]]):
    """A client's result, unaltered."""


def find_progress(ctx: Context) -> ProgressListener | None:
    """Return the listener for progress; None if the client wants none."""
    wants_progress = bool(ctx.meta) and "progress_token" in (ctx.meta or {})
    return ctx.session.report_progress if wants_progress else None


def build_downstream(ctx: Context, *, ask: AskClient | None = None) -> Downstream:
    """Return how servers reach the client; without `ask`, they cannot ask it."""
    return Downstream(
        capabilities=client_state.read_capabilities(ctx),
        ask=ask,
        tell=_make_teller(ctx),
        log_level=client_state.read_log_level(ctx),
    )


async def conclude_handshake(
    ctx: Context, target: FindTarget, operation: UpstreamOperation
) -> ServerReply:
    """Send a request of a client of the handshake era to a server, and forward its questions.

    Args:
        ctx: Context of the client's request.
        target: Returns the id of the requested item.
        operation: Sends the request.

    Returns:
        The server's result.

    Raises:
        InputUnavailable: If the server needs input that the client cannot provide.
    """
    ask = _make_asker(ctx, target)
    turn = UpstreamTurn(
        downstream=build_downstream(ctx, ask=ask),
        progress=find_progress(ctx),
        consult=_make_sender(ctx),
    )
    reply = await operation(turn)
    pause_s = FIRST_PAUSE_S
    for _ in range(MAX_ROUNDS):
        if not questions.is_input_required(reply.raw):
            return reply
        requests = questions.read_input_requests(reply.raw)
        if not requests:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)
        state = reply.raw.get("requestState")
        begun = time.monotonic()
        responses = await _ask_all(ask, requests) if requests else None
        asked_s = turn.asked_s + time.monotonic() - begun
        turn = replace(turn, responses=responses, state=state, asked_s=asked_s)
        reply = await operation(turn)
    raise InputUnavailable(
        f"the server asked for input {MAX_ROUNDS} times without completing the request"
    )


async def conclude_stateless(
    ctx: Context, subject: StateSubject, sealer: Sealer, operation: UpstreamOperation
) -> ServerReply:
    """Send a request of a stateless client to a server, and return its questions.

    Args:
        ctx: Context of the client's request.
        subject: The request that sealed state is bound to.
        sealer: Of the installation.
        operation: Sends the request.

    Returns:
        The server's result, or one that requires input.

    Raises:
        InvalidRequestState: If the client returns a state that was not issued to it.
        InputUnavailable: If the server needs input that the client cannot provide.
    """
    params = ctx.params or {}
    token, responses = params.get("requestState"), params.get("inputResponses")
    answers = responses if isinstance(responses, Mapping) else None
    request_round = (
        RequestRound() if token is None else request_state.unseal_state(sealer, subject, token)
    )
    try:
        outcome = await _run_parkable(
            ctx, subject, operation, request_round=request_round, answers=answers
        )
    except UpstreamRefused as refusal:
        visits = questions.read_visits(refusal, client_state.read_capabilities(ctx))
        if not visits:
            raise
        outcome = ServerQuestions(parked_call="", requests=_sign_requests(visits, subject))
    if isinstance(outcome, ServerQuestions):
        next_round = RequestRound(
            parked_call=outcome.parked_call, has_answers=bool(outcome.parked_call)
        )
        return _build_input_required(
            outcome.requests, request_state.seal_state(sealer, subject, next_round)
        )
    if questions.is_input_required(outcome.raw):
        return _seal_questions(outcome, client_state.read_capabilities(ctx), subject, sealer)
    return outcome


async def _run_parkable(
    ctx: Context,
    subject: StateSubject,
    operation: UpstreamOperation,
    *,
    request_round: RequestRound,
    answers: Mapping[str, Any] | None,
) -> ServerReply | ServerQuestions:
    parking: ParkedCalls = ctx.lifespan_context.parking
    progress = find_progress(ctx)
    if request_round.parked_call:
        try:
            resumed: ServerReply | ServerQuestions = await parking.resume(
                request_round.parked_call, answers or {}, caller=subject.caller, progress=progress
            )
        except NoParkedCall:
            raise InvalidRequestState(
                "the call it belongs to has ended, or waits in another process"
            ) from None
        return resumed
    downstream = build_downstream(ctx)
    turn = UpstreamTurn(
        downstream=downstream,
        progress=progress,
        responses=answers if request_round.has_answers else None,
        state=request_round.upstream_state,
    )
    if not downstream.capabilities:
        return await operation(replace(turn, downstream=replace(downstream, ask=_refuse_question)))

    async def run_operation(call: ParkedCall[ServerReply]) -> ServerReply:
        async def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            questions.require_askable(downstream.capabilities, method, params)
            return await call.ask(method, _prepare_question(method, params, subject.server))

        async def consult(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            questions.require_askable(downstream.capabilities, method, params)
            return await call.ask(method, params)

        report = call.report if progress is not None else None
        askable = replace(downstream, ask=ask)
        return await operation(replace(turn, downstream=askable, progress=report, consult=consult))

    return await parking.run(run_operation, caller=subject.caller, progress=progress)


def _make_asker(ctx: Context, target: FindTarget) -> AskClient:
    """Return a function that forwards a server's question to a client of the handshake era."""
    send = _make_sender(ctx)

    async def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return await send(method, _prepare_question(method, params, ids.split_id(target())[0]))

    return ask


def _make_sender(ctx: Context) -> AskClient:
    """Return a function that sends requests to a handshake-era client on its request's stream."""

    async def send(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        questions.require_askable(client_state.read_capabilities(ctx), method, params)
        question_params = questions.add_visit_id(method, dict(params))
        question: Any = _RelayedRequest(method=method, params=question_params)
        metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            answer = await ctx.session.send_request(question, _ClientAnswer, metadata=metadata)
        except ValidationError:
            raise MCPError(
                INTERNAL_ERROR, f"the client's answer to {method} is not valid"
            ) from None
        return answer.root

    return send


def _prepare_question(method: str, params: Mapping[str, Any], server: str) -> dict[str, Any]:
    """Return the parameters of a server's question as the client receives them."""
    return questions.sign_question(method, questions.strip_hop_metadata(params), server=server)


def _sign_requests(
    requests: Mapping[str, Mapping[str, Any]], subject: StateSubject
) -> dict[str, Mapping[str, Any]]:
    return {
        key: {
            **request,
            "params": questions.sign_question(
                request["method"], request.get("params") or {}, server=subject.server
            ),
        }
        for key, request in requests.items()
    }


async def _refuse_question(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a question to a client that declares no capabilities."""
    questions.require_askable({}, method, params)
    raise AssertionError  # unreachable: nothing is declared


def _make_teller(ctx: Context) -> TellClient:
    told = {_LOG_MESSAGE_METHOD, *(() if client_state.is_modern(ctx) else (_HANDSHAKE_ONLY,))}

    async def tell(method: str, params: Mapping[str, Any]) -> None:
        if method not in told:
            return
        notification: Any = _RelayedRequest(method=method, params=dict(params))
        await ctx.session.send_notification(notification, related_request_id=ctx.request_id)

    return tell


async def _ask_all(
    ask: AskClient,
    requests: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Ask all questions concurrently.

    Raises:
        InputUnavailable: If one of the questions is refused.
    """
    answers: dict[str, Any] = {}

    async def ask_one(key: str, method: str, params: Mapping[str, Any]) -> None:
        answers[key] = await ask(method, params)

    try:
        async with TaskGroup() as group:
            for key, request in requests.items():
                group.create_task(ask_one(key, request["method"], request["params"]))
    except MCPError as refusal:
        raise InputUnavailable(
            f"the server needs input, but the client refused: {refusal}"
        ) from None
    return answers


def _seal_questions(
    reply: ServerReply, capabilities: Mapping[str, Any], subject: StateSubject, sealer: Sealer
) -> ServerReply:
    """Forward a server's questions to a stateless client, with the server's state sealed.

    Raises:
        InputUnavailable: If a question needs a capability that the client never declared.
    """
    changed: dict[str, Any] = {}
    if requests := questions.sign_requests(reply.raw, capabilities, server=subject.server):
        changed["inputRequests"] = requests
    state = reply.raw.get("requestState")
    if isinstance(state, str):
        sealed = request_state.seal_state(sealer, subject, RequestRound(upstream_state=state))
        changed["requestState"] = sealed
    return replace(reply, raw={**reply.raw, **changed})


def _build_input_required(requests: Mapping[str, Any], state: str) -> ServerReply:
    return ServerReply(
        raw={
            "resultType": "input_required",
            "inputRequests": dict(requests),
            "requestState": state,
        }
    )
