"""Encodes messages to a server as JSON, within a size limit."""

from __future__ import annotations

from mcp_types import JSONRPCMessage
from pydantic_core import PydanticSerializationError

from gateway_project.foundation import json_pieces, json_size
from gateway_project.foundation.computing import run_in_message_thread
from tools.upstream.errors import MessageTooLarge, UnsendableRequest


async def encode_message(message: JSONRPCMessage, *, server: str, max_bytes: int) -> bytes:
    """Encode a message as `encode_inline` does, a large one in a worker thread."""
    members = json_size.collect_set_members(message)
    if json_size.is_large_to_write(members):
        return await run_in_message_thread(
            encode_inline, message, server=server, max_bytes=max_bytes, is_large=True
        )
    return encode_inline(message, server=server, max_bytes=max_bytes)


def encode_inline(
    message: JSONRPCMessage, *, server: str, max_bytes: int, is_large: bool = False
) -> bytes:
    """Return a message as JSON in UTF-8.

    Args:
        message: The message.
        server: The receiving server, for errors.
        max_bytes: Maximum length.
        is_large: Whether to encode it in pieces, for use in a worker thread.

    Raises:
        UnsendableRequest: If it is nested too deeply or contains an unpaired surrogate.
        MessageTooLarge: If it is too long. Nothing was sent in either case.
    """
    try:
        if is_large:
            text = json_pieces.encode_in_pieces(json_size.collect_set_members(message))
        else:
            text = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise UnsendableRequest(server, why=str(error).rpartition("Error: ")[2]) from None
    if len(text) > max_bytes:
        raise MessageTooLarge(
            server=server, what="the request", limit_bytes=max_bytes, is_unsent=True
        )
    return text
