"""Events of a run as server-sent events, from any number on, as they happen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final, cast
from uuid import UUID

from django.db import connection
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request

from execution.changes import RunEvent
from execution.store.runs import UnknownRun
from gateway_project.access.roles import READ
from gateway_project.api import authentication
from gateway_project.api.authentication import HasRight
from gateway_project.api.operations import Operation
from gateway_project.api.problems import InvalidInput, answer_too_many_open
from gateway_project.api.views import ApiView
from gateway_project.effects import Effects
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.mcp.http import gate
from gateway_project.runs import run_json
from gateway_project.use_cases import control_run

HEARTBEAT_S: Final = 15.0
"""Longest silence of a stream: a comment shows that it is alive."""
RIGHT_CHECK_S: Final = 0.5
"""Interval at which a silent stream learns that its reader has lost the right to it."""
RETRY_MS: Final = 1_000
"""After which a client connects again, with the number of the last event it has."""
MAX_NUMBER_CHARS: Final = 12
CONTENT_TYPE: Final = "text/event-stream"


@Operation(
    "GET runs/<uuid:run>/events/",
    READ,
    in_groups=True,
    parameters=[
        OpenApiParameter(
            "Last-Event-ID",
            OpenApiTypes.INT,
            OpenApiParameter.HEADER,
            description="Number of the last event that is known",
        ),
        OpenApiParameter(
            "after", OpenApiTypes.INT, description="The same, for a first connection"
        ),
    ],
    answers={
        (200, CONTENT_TYPE): OpenApiResponse(
            {"type": "string"},
            description="Each event has its number as `id`, its kind as `event`, and JSON as "
            "`data`; the stream ends with an event `end` once the run is at rest",
        )
    },
)
def stream_run_events(call: ApiView, run: UUID) -> Any:
    """Stream the events of a run until it is at rest."""
    after = _read_number(call.request)
    view = control_run.find_run(call.caller, run, sealer=call.payload_sealer)
    is_superuser, user = call.caller.has_scope(SCOPE_ALL), call.caller.user
    if not gate.open_requests.has_room(user, is_privileged=is_superuser):
        raise answer_too_many_open(gate.open_requests.count_of(user))
    owner = Caller(user=view.user, team=view.team, person=None, scopes=frozenset(), kind="http")
    has_right = authentication.watch_right(call.request, READ)
    events = _stream(call.effects, owner, run, after, has_right)
    response = StreamingHttpResponse(_hold_place(call.caller, events), content_type=CONTENT_TYPE)
    response["X-Accel-Buffering"] = "no"
    if not connection.in_atomic_block:
        connection.close()  # this thread needs none while the stream lasts
    return response


async def _hold_place(caller: Caller, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield events while the caller has a place for an open request; none if there is no room.

    The place is taken here, not by the view: a stream that never begins would not return it.
    """
    if not gate.open_requests.take(caller.user, is_privileged=caller.has_scope(SCOPE_ALL)):
        return
    try:
        async for event in events:
            yield event
    finally:
        gate.open_requests.give_back(caller.user)
        await cast("AsyncGenerator[bytes]", events).aclose()


async def _stream(
    effects: Effects, owner: Caller, run: UUID, after: int, has_right: HasRight
) -> AsyncIterator[bytes]:
    """Yield the events of a run; ends when it is at rest, or the reader has lost the right."""
    yield f"retry: {RETRY_MS}\n\n".encode()
    waiting: asyncio.Queue[RunEvent | None] = asyncio.Queue(maxsize=100)

    async def read_events() -> None:
        try:
            async for event in effects.runs.follow_events(owner, run, after=after):
                await waiting.put(event)
        except UnknownRun:  # it was deleted meanwhile
            pass
        await waiting.put(None)

    reading = asyncio.create_task(read_events(), name="run events")
    try:
        silent_s = 0.0
        while await has_right():
            try:
                async with asyncio.timeout(RIGHT_CHECK_S):
                    event = await waiting.get()
            except TimeoutError:
                silent_s += RIGHT_CHECK_S
                if silent_s >= HEARTBEAT_S:
                    silent_s = 0.0
                    yield b": alive\n\n"
                continue
            silent_s = 0.0
            if event is None:
                yield b"event: end\ndata: {}\n\n"
                return
            yield _encode_event(event)
    finally:
        reading.cancel()


def _encode_event(event: RunEvent) -> bytes:
    data = json.dumps(run_json.event_to_json(event), separators=(",", ":"), default=str)
    return f"id: {event.seq}\nevent: {event.kind}\ndata: {data}\n\n".encode()


def _read_number(request: Request) -> int:
    text = request.headers.get("Last-Event-ID") or request.query_params.get("after") or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_NUMBER_CHARS):
        raise InvalidInput("after, Last-Event-ID: the number of an event, from 0")
    return int(text)
