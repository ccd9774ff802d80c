"""Reads response bodies, bounded in memory and in the time between yields."""

from __future__ import annotations

import asyncio

import aiohttp

SLICE_BYTES = 16 * 1024
YIELD_BYTES = 128 * 1024  # read in a row before yielding to other tasks
# A large body is read at no more than 100 MB/s, which leaves gaps for other tasks.
LARGE_BYTES, GAP_S = 1024 * 1024, 0.001


class BodyTooLong(Exception):
    """A body is longer than the cap; the rest was not read."""


async def read_body(answer: aiohttp.ClientResponse, *, max_bytes: int) -> bytes:
    """Read a whole body, decompressed in slices.

    Args:
        answer: The response.
        max_bytes: Maximum length after decompression.

    Raises:
        BodyTooLong: As soon as it is known to be longer; the connection is closed.
        aiohttp.ClientError: If it is truncated or cannot be decoded.
    """
    declared = answer.content_length
    if declared is not None and declared > max_bytes:
        answer.close()
        raise BodyTooLong
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
            # Decompression alone never awaits the peer.
            await asyncio.sleep(GAP_S if len(body) > LARGE_BYTES else 0)
    answer.close()
    raise BodyTooLong
