"""The SDK's dispatcher, handing out results exactly as they came over the wire.

The SDK's session reads a result into its models, which drops every field they do not know,
refuses what does not conform, and checks structured content against the output schema. A
gateway has no business doing so. Here the raw result is put aside for the caller who asked
for it, and the session gets a stand-in that always conforms.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus
from mcp.client._transport import TransportStreams
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import RequestId

# Valid for every method this gateway puts results aside of, in every protocol version.
_STAND_IN: Mapping[str, Any] = {
    "content": [],
    "tools": [],
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}


@dataclass(kw_only=True)
class Answer:
    """Where a raw result is put aside.

    Attributes:
        raw: The `result` member of the response.
    """

    raw: dict[str, Any] = field(default_factory=dict)


_wanted: contextvars.ContextVar[Answer | None] = contextvars.ContextVar("_wanted", default=None)


@contextmanager
def raw_answer() -> Iterator[Answer]:
    """Ask for the raw result of the request sent inside."""
    answer = Answer()
    token = _wanted.set(answer)
    try:
        yield answer
    finally:
        _wanted.reset(token)


class RawDispatcher(JSONRPCDispatcher[TransportContext]):
    """A dispatcher that can put results aside and tells when it has stopped.

    Args:
        streams: The transport's two streams.
        stopped: Called when no request can be answered any more.
    """

    def __init__(self, streams: TransportStreams, *, stopped: Callable[[], None]) -> None:
        super().__init__(*streams)
        self._stopped = stopped

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        """Drive the receive loop until the stream ends."""
        try:
            await super().run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self._stopped()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: RequestId | None = None,
    ) -> dict[str, Any]:
        """Send a request; put its result aside if the caller asked for that."""
        answer = _wanted.get()
        raw = await super().send_raw_request(
            method, params, opts, _related_request_id=_related_request_id
        )
        if answer is None:
            return raw
        answer.raw = raw
        return dict(_STAND_IN)
