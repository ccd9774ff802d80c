"""Server-sent events out of a byte stream, whatever it holds, in bounded memory."""

from __future__ import annotations

import re
from typing import NamedTuple

from tools.upstream.lines import KEPT_BYTES

_HEAD = 8  # pieces that an event's beginning is made of, so that not all of it is copied
_BOM = b"\xef\xbb\xbf"
MAX_ID_BYTES, MAX_RETRY_DIGITS = 1024, 9
_ID = re.compile(rb"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")  # what fits into a header


class Event(NamedTuple):
    """One event.

    Attributes:
        name: Its type.
        data: Its data, lines joined by newlines.
        too_long: The event is longer than the cap; `data` is its beginning.
    """

    name: str
    data: bytes
    too_long: bool = False


class EventParser:
    r"""Cuts chunks into events.

    Args:
        max_bytes: Longest event that is handed on.

    Attributes:
        last_id: Id of the last event that had one, empty if there was none.
        retry_ms: Milliseconds to wait before connecting again, as the server asks; None if it
            does not.
        wasted: Bytes so far that belong to no event.

    Example:
        >>> EventParser(max_bytes=100).feed(b"data: {}\n\n")
        [Event(name='message', data=b'{}', too_long=False)]

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

    def feed(self, chunk: bytes) -> list[Event]:
        """Take a chunk and return the events it completed, in order.

        An event beyond the cap is returned as soon as it reaches it, and the rest of it dropped.
        """
        events: list[Event] = []
        *ends, rest = self._with_newlines(chunk).split(b"\n")
        for end in ends:
            line = self._end_of_line(end, events)
            if line:
                self._field(line)
            elif line is not None:
                self._dispatch(events)
        self._hold(rest, events)
        return events

    def _with_newlines(self, chunk: bytes) -> bytes:
        """Have every line end in a newline; a lone carriage return counts as one."""
        if self._at_start and chunk:
            self._at_start = False
            chunk = chunk.removeprefix(_BOM)
        if self._after_cr:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), not chunk
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _end_of_line(self, end: bytes, events: list[Event]) -> bytes | None:
        """Return the line that ends here, None if it is part of what is being dropped."""
        self._hold(end, events)
        pieces, self._line = self._line, []
        if self._skipping:
            # Only an empty line ends the event; a line is empty if nothing was dropped of it.
            line_is_empty, self._dropped_of_line = not self._dropped_of_line, False
            if not line_is_empty:
                return None
            self._skipping = False
            self._reset()
            return None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _hold(self, piece: bytes, events: list[Event]) -> None:
        if self._skipping:
            self.wasted += len(piece)
            self._dropped_of_line = self._dropped_of_line or bool(piece)
            return
        if not piece:
            return
        self._line.append(piece)
        self._held += len(piece)
        if self._held > self._max_bytes:
            head = b"\n".join(self._data[:_HEAD]) or _value(b"".join(self._line[:_HEAD]))
            head = head[:KEPT_BYTES]
            events.append(Event(self._name or "message", head, too_long=True))
            self._line, self._data = [], []
            self._skipping = self._dropped_of_line = True

    def _field(self, line: bytes) -> None:
        name, value = line.partition(b":")[0], _value(line)
        if name == b"data":
            self._data.append(value)
            return
        self._held -= len(line)
        self.wasted += len(line) + 1
        if name == b"event":
            self._name = value[:100].decode(errors="replace")
        elif name == b"id":
            self._remember(value)
        elif name == b"retry" and value.isdigit() and len(value) <= MAX_RETRY_DIGITS:
            self.retry_ms = int(value)

    def _remember(self, value: bytes) -> None:
        if not value or (len(value) <= MAX_ID_BYTES and _ID.fullmatch(value)):
            self.last_id = value.decode("ascii")

    def _dispatch(self, events: list[Event]) -> None:
        if self._data:
            events.append(Event(self._name or "message", b"\n".join(self._data)))
        else:
            self.wasted += 1
        self._reset()

    def _reset(self) -> None:
        self._data, self._held, self._name = [], 0, ""


def _value(line: bytes) -> bytes:
    return line.partition(b":")[2].removeprefix(b" ")
