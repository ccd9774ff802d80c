"""Parses an arbitrary byte stream into server-sent events, in bounded memory."""

from __future__ import annotations

import re
from typing import NamedTuple

from tools.upstream.lines import KEPT_EDGE_BYTES

_HEAD = 8  # pieces joined for the head of an oversize event, so that not all of it is copied
_BOM = b"\xef\xbb\xbf"
MAX_ID_BYTES, MAX_RETRY_DIGITS = 1024, 9
_ID = re.compile(rb"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")  # valid in a header


class ServerSentEvent(NamedTuple):
    """One event.

    Attributes:
        name: Event type.
        data: Data lines, joined by newlines.
        is_too_long: Whether the event exceeds the cap; `data` is then its beginning.
    """

    name: str
    data: bytes
    is_too_long: bool = False


class EventParser:
    r"""Splits chunks into events.

    Args:
        max_bytes: Longest event returned whole.

    Attributes:
        last_id: Id of the last event that had one, or empty.
        retry_ms: Reconnection delay requested by the server, in milliseconds, or None.
        wasted: Bytes so far that belong to no event.

    Example:
        >>> EventParser(max_bytes=100).feed(b"data: {}\n\n")
        [ServerSentEvent(name='message', data=b'{}', is_too_long=False)]

    References:
        HTML Living Standard, section 9.2.6, Interpreting an event stream.
    """

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._held = 0
        self._name = ""
        self._skipping = False
        self._dropped_of_line = False
        self._after_cr = False
        self._at_start = True
        self.last_id = ""
        self.retry_ms: int | None = None
        self.wasted = 0

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Process a chunk and return the events it completed, in order.

        An oversize event is returned as soon as it exceeds the cap; the rest of it is dropped.
        """
        events: list[ServerSentEvent] = []
        *ends, rest = self._normalise_newlines(chunk).split(b"\n")
        for end in ends:
            line = self._end_line(end, events)
            if line:
                self._read_field(line)
            elif line is not None:
                self._dispatch(events)
        self._buffer_piece(rest, events)
        return events

    def _normalise_newlines(self, chunk: bytes) -> bytes:
        """Convert CRLF and CR line ends to LF, and strip a byte order mark."""
        if self._at_start and chunk:
            self._at_start = False
            chunk = chunk.removeprefix(_BOM)
        if self._after_cr:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), not chunk
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _end_line(self, end: bytes, events: list[ServerSentEvent]) -> bytes | None:
        """Return the completed line; None if it belongs to a dropped event."""
        self._buffer_piece(end, events)
        pieces, self._line = self._line, []
        if self._skipping:
            # Only an empty line ends the event; a line was empty if nothing of it was dropped.
            line_is_empty, self._dropped_of_line = not self._dropped_of_line, False
            if not line_is_empty:
                return None
            self._skipping = False
            self._reset()
            return None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _buffer_piece(self, piece: bytes, events: list[ServerSentEvent]) -> None:
        if self._skipping:
            self.wasted += len(piece)
            self._dropped_of_line = self._dropped_of_line or bool(piece)
            return
        if not piece:
            return
        self._line.append(piece)
        self._held += len(piece)
        if self._held > self._max_bytes:
            head = b"\n".join(self._data[:_HEAD]) or _read_value(b"".join(self._line[:_HEAD]))
            head = head[:KEPT_EDGE_BYTES]
            events.append(ServerSentEvent(self._name or "message", head, is_too_long=True))
            self._line, self._data = [], []
            self._skipping = self._dropped_of_line = True

    def _read_field(self, line: bytes) -> None:
        name, value = line.partition(b":")[0], _read_value(line)
        if name == b"data":
            self._data.append(value)
            return
        self._held -= len(line)
        self.wasted += len(line) + 1
        if name == b"event":
            self._name = value[:100].decode(errors="replace")
        elif name == b"id":
            self._store_id(value)
        elif name == b"retry" and value.isdigit() and len(value) <= MAX_RETRY_DIGITS:
            self.retry_ms = int(value)

    def _store_id(self, value: bytes) -> None:
        if not value or (len(value) <= MAX_ID_BYTES and _ID.fullmatch(value)):
            self.last_id = value.decode("ascii")

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if self._data:
            events.append(ServerSentEvent(self._name or "message", b"\n".join(self._data)))
        else:
            self.wasted += 1
        self._reset()

    def _reset(self) -> None:
        self._data, self._held, self._name = [], 0, ""


def _read_value(line: bytes) -> bytes:
    return line.partition(b":")[2].removeprefix(b" ")
