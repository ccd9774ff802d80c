"""What servers ask of a client's user, between whatever eras the two sides speak.

A server of the handshake era sends a request in the middle of ours; a later one returns that it
needs input and is called again. A client of the handshake era takes requests in the middle of its
own; a later one is returned what is needed and calls again. So there are four ways, and all of
`tools/call`, `prompts/get` and `resources/read` go through `conclude`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import structlog
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import INTERNAL_ERROR
from pydantic import BaseModel, RootModel, ValidationError

from execution.call import Progress
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.mcp import client_state, questions, request_state
from gateway_project.mcp.parking import Call, NotParked, Parking, Questions
from gateway_project.mcp.questions import CannotAsk
from gateway_project.mcp.request_state import InvalidRequestState, Round, Subject
from tools.upstream.downstream import Ask, Downstream, Tell
from tools.upstream.errors import UpstreamRefused

MAX_ROUNDS: Final = 10
"""Times a server may ask for input in one call, as in the SDKs."""
FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 0.25
_TOLD: Final = "notifications/message"
_HANDSHAKE_ONLY: Final = "notifications/elicitation/complete"

Context = ServerRequestContext[Any]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a server answered.

    Attributes:
        raw: As it came.
        meta: What the gateway has to say of it.
    """

    raw: Mapping[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One request to a server.

    Attributes:
        downstream: The client, and how it is asked.
        progress: Told what the server reports; None: not asked for.
        consult: Asks the client's user on behalf of the gateway itself; None: it cannot be asked.
        responses: Answers to what the server asked before.
        state: What the server gave to be handed back.
    """

    downstream: Downstream
    progress: Progress | None
    consult: Ask | None = None
    responses: Mapping[str, Any] | None = None
    state: str | None = None


Operation = Callable[[Turn], Awaitable[Reply]]


class _Passed(BaseModel):
    """A request or notification to the client, as the server sent it."""

    method: str
    params: dict[str, Any]


class _Answer(RootModel[dict[str, Any]]):
    """A client's result, as it came."""


async def conclude(ctx: Context, subject: Subject, sealer: Sealer, operation: Operation) -> Reply:
    """Send a request to a server, and have its client asked whatever the server asks.

    Args:
        ctx: Of the client's request.
        subject: What is requested.
        sealer: Of the installation.
        operation: Sends the request.

    Returns:
        The server's result; for a client of 2026-07-28 perhaps one that says that input is needed.

    Raises:
        InvalidRequestState: If the client hands back what it was not given.
        CannotAsk: If the server needs what the client cannot give.
    """
    if client_state.modern(ctx):
        return await _stateless(ctx, subject, sealer, operation)
    return await _handshake(ctx, subject, operation)


def progress_of(ctx: Context) -> Progress | None:
    """Return where progress goes, if the client wants it."""
    wanted = bool(ctx.meta) and "progress_token" in (ctx.meta or {})
    return ctx.session.report_progress if wanted else None


def downstream_of(ctx: Context, caller: Caller) -> Downstream:
    """Return the client as servers get to see it, with no way to ask it."""
    return Downstream(
        session=client_state.session_key(ctx, caller),
        user=caller.user,
        capabilities=client_state.capabilities(ctx),
        tell=_teller(ctx),
        log_level=client_state.log_level(ctx),
    )


async def _handshake(ctx: Context, subject: Subject, operation: Operation) -> Reply:
    ask = _asker(ctx, subject)
    turn = Turn(
        downstream=replace(downstream_of(ctx, subject.caller), ask=ask),
        progress=progress_of(ctx),
        consult=_sender(ctx),
    )
    reply = await operation(turn)
    pause_s = FIRST_PAUSE_S
    for _ in range(MAX_ROUNDS):
        if not questions.needs_input(reply.raw):
            return reply
        requests = questions.requests_of(reply.raw)
        if not requests:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        state = reply.raw.get("requestState")
        responses = await _ask_all(ask, requests) if requests else None
        reply = await operation(replace(turn, responses=responses, state=state))
    raise CannotAsk(f"the server asked for input {MAX_ROUNDS} times and was not content")


async def _stateless(
    ctx: Context, subject: Subject, sealer: Sealer, operation: Operation
) -> Reply:
    given = ctx.params or {}
    token, responses = given.get("requestState"), given.get("inputResponses")
    answers = responses if isinstance(responses, Mapping) else None
    standing = Round() if token is None else request_state.unseal(sealer, subject, token)
    try:
        outcome = await _run(ctx, subject, operation, standing=standing, answers=answers)
    except UpstreamRefused as refusal:
        visits = questions.visits(refusal, client_state.capabilities(ctx))
        if not visits:
            raise
        outcome = Questions(parked="", requests=_signed(visits, subject))
    if isinstance(outcome, Questions):
        then = Round(parked=outcome.parked, answered=bool(outcome.parked))
        return _input_required(outcome.requests, request_state.seal(sealer, subject, then))
    if questions.needs_input(outcome.raw):
        return _sealed(outcome, client_state.capabilities(ctx), subject, sealer)
    return outcome


async def _run(
    ctx: Context,
    subject: Subject,
    operation: Operation,
    *,
    standing: Round,
    answers: Mapping[str, Any] | None,
) -> Reply | Questions:
    lot: Parking = ctx.lifespan_context.parking
    progress = progress_of(ctx)
    if standing.parked:
        try:
            resumed: Reply | Questions = await lot.resume(
                standing.parked, answers or {}, caller=subject.caller, progress=progress
            )
        except NotParked:
            raise InvalidRequestState(
                "the call it belongs to has ended, or waits in another process"
            ) from None
        return resumed
    downstream = downstream_of(ctx, subject.caller)
    turn = Turn(
        downstream=downstream,
        progress=progress,
        responses=answers if standing.answered else None,
        state=standing.upstream,
    )
    if not downstream.capabilities:
        return await operation(replace(turn, downstream=replace(downstream, ask=_refuse)))

    async def parkable(call: Call[Reply]) -> Reply:
        async def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            questions.require(downstream.capabilities, method, params)
            return await call.ask(method, _to_client(method, params, subject))

        async def consult(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            questions.require(downstream.capabilities, method, params)
            return await call.ask(method, params)

        report = call.report if progress is not None else None
        asked = replace(downstream, ask=ask)
        return await operation(replace(turn, downstream=asked, progress=report, consult=consult))

    return await lot.run(parkable, caller=subject.caller, progress=progress)


def _asker(ctx: Context, subject: Subject) -> Ask:
    """Return what asks a client of the handshake era for a server."""
    send = _sender(ctx)

    async def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return await send(method, _to_client(method, params, subject))

    return ask


def _sender(ctx: Context) -> Ask:
    """Return what sends requests to a client of the handshake era, on its request's stream."""

    async def send(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        questions.require(client_state.capabilities(ctx), method, params)
        ours = questions.for_handshake(method, dict(params))
        asked: Any = _Passed(method=method, params=ours)
        metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            answer = await ctx.session.send_request(asked, _Answer, metadata=metadata)
        except ValidationError:
            raise MCPError(INTERNAL_ERROR, f"the client's answer to {method} is not one") from None
        return answer.root

    return send


def _to_client(method: str, params: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
    """Return a server's question as it goes on to the client."""
    return questions.signed(method, questions.without_hop(params), server=subject.server)


def _signed(
    requests: Mapping[str, Mapping[str, Any]], subject: Subject
) -> dict[str, Mapping[str, Any]]:
    return {
        key: {
            **request,
            "params": questions.signed(
                request["method"], request.get("params") or {}, server=subject.server
            ),
        }
        for key, request in requests.items()
    }


async def _refuse(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Answer for a client that can be asked nothing."""
    questions.require({}, method, params)
    raise AssertionError  # unreachable: nothing is declared


def _teller(ctx: Context) -> Tell:
    wanted = client_state.log_level(ctx)
    modern = client_state.modern(ctx)

    async def tell(method: str, params: Mapping[str, Any]) -> None:
        if method == _TOLD:
            if not client_state.severe_enough(params.get("level"), wanted):
                return
        elif modern or method != _HANDSHAKE_ONLY:
            return
        note: Any = _Passed(method=method, params=dict(params))
        await ctx.session.send_notification(note, related_request_id=ctx.request_id)

    return tell


async def _ask_all(
    ask: Ask,
    requests: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Ask everything at once, as far as the client manages that.

    Raises:
        CannotAsk: If one of the questions is refused.
    """
    answers: dict[str, Any] = {}

    async def put(key: str, method: str, params: Mapping[str, Any]) -> None:
        answers[key] = await ask(method, params)

    try:
        async with asyncio.TaskGroup() as group:
            for key, request in requests.items():
                group.create_task(put(key, request["method"], request["params"]))
    except* MCPError as refused:
        first = next(_leaves(refused))
        raise CannotAsk(f"the server needs input, and the client refuses: {first}") from None
    return answers


def _leaves(group: BaseExceptionGroup[Any]) -> Any:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _sealed(
    reply: Reply, capabilities: Mapping[str, Any], subject: Subject, sealer: Sealer
) -> Reply:
    """Hand a server's questions on, with what it wants back sealed.

    Raises:
        CannotAsk: If it asks what the client never said it could be asked.
    """
    requests = questions.requests_of(reply.raw)
    for request in requests.values():
        try:
            questions.require(capabilities, request["method"], request["params"])
        except MCPError as refused:
            raise CannotAsk(f"the server needs input, and {refused}") from None
    changed: dict[str, Any] = {}
    if requests:
        changed["inputRequests"] = _signed(reply.raw["inputRequests"], subject)
    state = reply.raw.get("requestState")
    if isinstance(state, str):
        sealed = request_state.seal(sealer, subject, Round(upstream=state))
        changed["requestState"] = sealed
    return replace(reply, raw={**reply.raw, **changed})


def _input_required(requests: Mapping[str, Any], state: str) -> Reply:
    return Reply(
        raw={
            "resultType": "input_required",
            "inputRequests": dict(requests),
            "requestState": state,
        }
    )
