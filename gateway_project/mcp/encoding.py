"""Encodes messages to clients as JSON they can parse; an unencodable answer becomes an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import structlog
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCResponse,
    RequestId,
)
from pydantic_core import PydanticSerializationError, to_json

from gateway_project.foundation import json_pieces, json_size, surrogates
from gateway_project.foundation.computing import run_in_message_thread
from gateway_project.mcp.results import ERROR_KEY

MAX_DEPTH: Final = 200
"""Nesting limit of a message. The parser in the SDK's clients accepts no more, and a client waits
forever for an answer that it cannot parse."""
_ENCODER_DEPTH: Final = 255
"""Nesting at which the encoder itself fails; not configurable."""
_WRAPPING_DEPTH: Final = _ENCODER_DEPTH - MAX_DEPTH
_CODE: Final = "internal_error"

log = structlog.get_logger(__name__)


class UnencodableMessage(ValueError):
    """A message is nested too deeply or holds values that JSON in UTF-8 cannot represent."""


def encode_message(message: Mapping[str, Any], *, is_large: bool = False) -> bytes:
    r"""Return a message as JSON; NaN and infinities become null.

    Args:
        message: The message.
        is_large: Whether to encode in pieces, for a side thread.

    Raises:
        UnencodableMessage: If no client could parse it.

    Example:
        >>> encode_message({"id": 1, "result": {"a": "é", "b": float("nan")}}).decode()
        '{"id":1,"result":{"a":"é","b":null}}'
        >>> encode_message({"a": "\ud83d"})
        Traceback (most recent call last):
        ...
        gateway_project.mcp.encoding.UnencodableMessage: 'utf-8' codec can't encode...
    """
    # Wrapped in this many lists, the message fails in the encoder exactly where it would fail in
    # a parser. That costs nothing; checking each value of a large result would block the loop.
    try:
        if is_large:
            return json_pieces.encode_in_pieces(message, outer_levels=_WRAPPING_DEPTH)
        wrapped: Any = message
        for _ in range(_WRAPPING_DEPTH):
            wrapped = [wrapped]
        return to_json(wrapped, inf_nan_mode="null")[_WRAPPING_DEPTH:-_WRAPPING_DEPTH]
    except PydanticSerializationError as error:
        reason = str(error).rpartition("Error: ")[2]
        raise UnencodableMessage(reason) from None
    except (ValueError, RecursionError) as error:
        raise UnencodableMessage(str(error)) from None


async def write_message(message: JSONRPCMessage) -> bytes | None:
    """Encode as `message_to_json` does; a large message in a side thread."""
    if json_size.is_large_to_write(json_size.collect_set_members(message)):
        return await run_in_message_thread(message_to_json, message, is_large=True)
    return message_to_json(message)


async def write_answer(request_id: RequestId, outcome: Mapping[str, Any]) -> bytes:
    """Encode as `answer_to_json` does; a large answer in a side thread."""
    if json_size.is_large_to_write(outcome):
        return await run_in_message_thread(answer_to_json, request_id, outcome, is_large=True)
    return answer_to_json(request_id, outcome)


def message_to_json(message: JSONRPCMessage, *, is_large: bool = False) -> bytes | None:
    """Return a message as JSON; an unencodable answer becomes an error under its id.

    Args:
        message: The message.
        is_large: Whether to encode in pieces, for a side thread.

    Returns:
        None for any other unencodable message. Both cases are logged.
    """
    try:
        return encode_message(json_size.collect_set_members(message), is_large=is_large)
    except UnencodableMessage as error:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            return _write_error_answer(message.id, error)
        _log_unsent(message.method, error)
        return None


def notification_to_json(message: Mapping[str, Any]) -> bytes | None:
    """Return a notification as JSON; None, with a log entry, if it cannot be encoded."""
    try:
        return encode_message(message)
    except UnencodableMessage as error:
        _log_unsent(str(message.get("method")), error)
        return None


def answer_to_json(
    request_id: RequestId, outcome: Mapping[str, Any], *, is_large: bool = False
) -> bytes:
    """Return an answer as JSON; an error if it cannot be encoded.

    Args:
        request_id: Of the request.
        outcome: The JSON-RPC member `result` or `error`.
        is_large: Whether to encode in pieces, for a side thread.
    """
    try:
        return encode_message({"jsonrpc": "2.0", "id": request_id, **outcome}, is_large=is_large)
    except UnencodableMessage as error:
        return _write_error_answer(request_id, error)


def describe_unsent(why: str = "cannot be written as JSON") -> ErrorData:
    """Return the error for the sender of a request to the client that was not sent."""
    return ErrorData(code=INTERNAL_ERROR, message=f"the request {why}; it was not sent")


def _log_unsent(method: str, error: UnencodableMessage) -> None:
    log.error("mcp.message_not_sent", method=method, reason=str(error))


def _write_error_answer(request_id: RequestId | None, reason: UnencodableMessage) -> bytes:
    log.error("mcp.answer_not_sent", request=repr(request_id)[:100], reason=str(reason))
    text = (
        f"{_CODE}: the answer cannot be written as JSON that a client can read: it is nested "
        "too deeply or holds an unpaired surrogate; see the gateway's log"
    )
    error = {"code": INTERNAL_ERROR, "message": text, "data": {ERROR_KEY: {"code": _CODE}}}
    identifier = None if surrogates.has_lone_surrogate(request_id) else request_id
    return encode_message({"jsonrpc": "2.0", "id": identifier, "error": error})
