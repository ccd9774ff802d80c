"""What was sent on each stream, so that a client whose stream broke off can take it up again."""

from __future__ import annotations

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage


class Events(EventStore):
    """Remembers everything, as a fixture may."""

    def __init__(self) -> None:
        self._sent: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._sent.append((stream_id, message))
        return str(len(self._sent))

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        number = int(last_event_id) if last_event_id.isdecimal() else 0
        if not 0 < number <= len(self._sent):
            return None
        stream = self._sent[number - 1][0]
        later = [
            (place, message)
            for place, (of, message) in enumerate(self._sent[number:], start=number + 1)
            if of == stream and message is not None
        ]
        for place, message in later:
            await send_callback(EventMessage(message, str(place)))
        return stream
