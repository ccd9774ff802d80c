"""Cut a byte stream into lines, whatever it holds, in bounded memory and linear time."""

from __future__ import annotations

from dataclasses import dataclass

KEPT_BYTES = 4096  # enough to find a JSON-RPC id at either end of a message


@dataclass(frozen=True, kw_only=True)
class Oversize:
    """A line longer than the cap; its bytes are gone but for both ends.

    It is reported twice: when it reaches the cap, and when it ends.

    Attributes:
        head: First bytes of the line.
        tail: Last bytes of the line; empty while it has not ended.
        size: Bytes seen of it.
        ended: Whether its end was seen.
    """

    head: bytes
    tail: bytes
    size: int
    ended: bool


class LineSplitter:
    r"""Cuts chunks into lines without their newline.

    Each byte is looked at once, and at most `max_bytes` plus a chunk are held.

    Args:
        max_bytes: Longest line that is handed on.

    Example:
        >>> splitter = LineSplitter(max_bytes=10)
        >>> splitter.feed(b"one\ntw"), splitter.feed(b"o\n")
        ([b'one'], [b'two'])
    """

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held = bytearray()
        self._dropped_bytes = 0
        self._head = b""
        self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes | Oversize]:
        """Take a chunk and return the lines it completed, in order."""
        *ends, rest = chunk.split(b"\n")
        out: list[bytes | Oversize] = []
        for end in ends:
            self._end_line(end, out)
        self._hold(rest, out)
        return out

    def close(self) -> list[bytes | Oversize]:
        """Return what is left at the end of the stream, if anything."""
        out: list[bytes | Oversize] = []
        if self._held or self._dropped_bytes:
            self._end_line(b"", out)
        return out

    def _hold(self, piece: bytes, out: list[bytes | Oversize]) -> None:
        if self._dropped_bytes:
            self._dropped_bytes += len(piece)
            self._tail = (self._tail + piece[-KEPT_BYTES:])[-KEPT_BYTES:]
            return
        self._held += piece
        if len(self._held) > self._max_bytes:
            self._dropped_bytes = len(self._held)
            self._head = bytes(self._held[:KEPT_BYTES])
            self._tail = bytes(self._held[-KEPT_BYTES:])
            self._held = bytearray()
            out.append(Oversize(head=self._head, tail=b"", size=self._dropped_bytes, ended=False))

    def _end_line(self, piece: bytes, out: list[bytes | Oversize]) -> None:
        if not self._held and not self._dropped_bytes and len(piece) <= self._max_bytes:
            out.append(piece)
            return
        self._hold(piece, out)
        if self._dropped_bytes:
            size, self._dropped_bytes = self._dropped_bytes, 0
            out.append(Oversize(head=self._head, tail=self._tail, size=size, ended=True))
        else:
            out.append(bytes(self._held))
            self._held = bytearray()
