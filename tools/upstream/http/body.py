"""Reads response bodies, bounded in memory and in the time between yields."""

from __future__ import annotations

import asyncio

import aiohttp

SLICE_BYTES = 16 * 1024
YIELD_BYTES = 128 * 1024  # read in a row before yielding to other tasks
# A large body is read at no more than 100 MB/s, which leaves gaps for other tasks.
LARGE_BYTES, GAP_S = 1024 * 1024, 0.001

SETTLE_S, SETTLE_BYTES = 1.0, 64 * 1024  # for data after the answer on its stream


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


async def drain_answer(answer: aiohttp.ClientResponse) -> None:
    """Read the rest of a stream after its answer, so that its connection can be reused."""
    try:
        async with asyncio.timeout(SETTLE_S):
            left = SETTLE_BYTES
            while left > 0 and (piece := await answer.content.read(left)):
                left -= len(piece)
    except (TimeoutError, aiohttp.ClientError):
        pass
    finally:
        if answer.content.at_eof():
            answer.release()
        else:
            answer.close()


def is_stream(answer: aiohttp.ClientResponse) -> bool:
    """Whether a response is a stream of events."""
    return answer.headers.get("Content-Type", "").lower().startswith("text/event-stream")
