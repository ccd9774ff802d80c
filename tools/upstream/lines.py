"""Splits an arbitrary byte stream into lines, in bounded memory and linear time."""

from __future__ import annotations

from dataclasses import dataclass

KEPT_EDGE_BYTES = 4096  # enough to find a JSON-RPC id at either end of a message


@dataclass(frozen=True, kw_only=True)
class OversizeLine:
    """A line longer than the cap, of which only both ends are kept.

    Reported twice: when it reaches the cap, and when it ends.

    Attributes:
        head: First bytes of the line.
        tail: Last bytes of the line; empty until it has ended.
        size: Bytes received so far.
        ended: Whether the line has ended.
    """

    head: bytes
    tail: bytes
    size: int
    ended: bool


class LineSplitter:
    r"""Splits chunks into lines without their newline.

    Reads each byte once and buffers at most `max_bytes` plus one chunk.

    Args:
        max_bytes: Longest line returned whole.

    Example:
        >>> splitter = LineSplitter(max_bytes=10)
        >>> splitter.feed(b"one\ntw"), splitter.feed(b"o\n")
        ([b'one'], [b'two'])
    """

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._dropped_bytes = 0
        self._head = b""
        self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes | OversizeLine]:
        """Process a chunk and return the lines it completed, in order."""
        *ends, rest = chunk.split(b"\n")
        out: list[bytes | OversizeLine] = []
        for end in ends:
            self._end_line(end, out)
        self._buffer_piece(rest, out)
        return out

    def close(self) -> list[bytes | OversizeLine]:
        """Return the unterminated last line, if any."""
        out: list[bytes | OversizeLine] = []
        if self._buffer or self._dropped_bytes:
            self._end_line(b"", out)
        return out

    def _buffer_piece(self, piece: bytes, out: list[bytes | OversizeLine]) -> None:
        if self._dropped_bytes:
            self._dropped_bytes += len(piece)
            self._tail = (self._tail + piece[-KEPT_EDGE_BYTES:])[-KEPT_EDGE_BYTES:]
            return
        self._buffer += piece
        if len(self._buffer) > self._max_bytes:
            self._dropped_bytes = len(self._buffer)
            self._head = bytes(self._buffer[:KEPT_EDGE_BYTES])
            self._tail = bytes(self._buffer[-KEPT_EDGE_BYTES:])
            self._buffer = bytearray()
            out.append(
                OversizeLine(head=self._head, tail=b"", size=self._dropped_bytes, ended=False)
            )

    def _end_line(self, piece: bytes, out: list[bytes | OversizeLine]) -> None:
        if not self._buffer and not self._dropped_bytes and len(piece) <= self._max_bytes:
            out.append(piece)
            return
        self._buffer_piece(piece, out)
        if self._dropped_bytes:
            size, self._dropped_bytes = self._dropped_bytes, 0
            out.append(OversizeLine(head=self._head, tail=self._tail, size=size, ended=True))
        else:
            out.append(bytes(self._buffer))
            self._buffer = bytearray()
