"""Reading what servers send, bounded in memory and in the time it keeps others waiting."""

from __future__ import annotations

import asyncio

import aiohttp

SLICE_BYTES = 16 * 1024
YIELD_BYTES = 128 * 1024  # read in a row before other tasks get a turn
# A body larger than most is read at 100 MB/s at the fastest, which leaves gaps for the others.
LARGE_BYTES, GAP_S = 1024 * 1024, 0.001


class TooLong(Exception):
    """A body is longer than the cap; nothing more was read of it."""


async def read_body(answer: aiohttp.ClientResponse, *, max_bytes: int) -> bytes:
    """Read a body, decompressed in slices, to its end.

    Args:
        answer: Whose body.
        max_bytes: Longest body, after decompression.

    Raises:
        TooLong: As soon as it is known to be longer; the connection is closed.
        aiohttp.ClientError: If it is cut off or cannot be decoded.
    """
    declared = answer.content_length
    if declared is not None and declared > max_bytes:
        answer.close()
        raise TooLong
    stream = answer.content
    first = await stream.read(SLICE_BYTES)
    if stream.at_eof() and len(first) <= max_bytes:
        return first
    body, since_yield = bytearray(first), 0
    while len(body) <= max_bytes:
        piece = await stream.read(SLICE_BYTES)
        if not piece:
            return bytes(body)
        body += piece
        since_yield += len(piece)
        if since_yield >= YIELD_BYTES:
            since_yield = 0
            # Decompressing goes on without ever waiting for the peer.
            await asyncio.sleep(GAP_S if len(body) > LARGE_BYTES else 0)
    answer.close()
    raise TooLong
