"""Messages to a server as JSON, within their limit."""

from __future__ import annotations

from mcp_types import JSONRPCMessage
from pydantic_core import PydanticSerializationError

from tools.upstream.errors import MessageTooLarge, Unsendable


def encoded(message: JSONRPCMessage, *, server: str, max_bytes: int) -> bytes:
    """Return a message as JSON in UTF-8.

    Args:
        message: The message.
        server: Whom it is for.
        max_bytes: Longest that it may be.

    Raises:
        Unsendable: If it is nested too deeply, or holds half a surrogate pair.
        MessageTooLarge: If it is too long. Nothing was sent in either case.
    """
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise Unsendable(server, why=str(error).rpartition("Error: ")[2]) from None
    if len(text) > max_bytes:
        raise MessageTooLarge(
            server=server, what="the request", limit_bytes=max_bytes, is_unsent=True
        )
    return text
