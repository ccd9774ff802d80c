"""Messages to clients as JSON: none that a client could not read, and no silence in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import structlog
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic_core import PydanticSerializationError, to_json

from gateway_project.foundation import surrogates
from gateway_project.mcp.failure import META_KEY

MAX_DEPTH: Final = 200
"""Levels of a message. The parser that the SDK's clients read with takes no more, and a client
waits for ever for the answer that it cannot read."""
_ENCODER_DEPTH: Final = 255
"""Levels at which the encoder itself gives up; it can be told no other number."""
_AROUND: Final = _ENCODER_DEPTH - MAX_DEPTH
_CODE: Final = "internal_error"

log = structlog.get_logger(__name__)


class Unencodable(ValueError):
    """A message that is nested too deeply, or holds what JSON in UTF-8 has no form for."""


def encoded(message: Mapping[str, Any]) -> bytes:
    r"""Return a message as JSON; numbers that JSON has no form for are null in it.

    Raises:
        Unencodable: If no client could read it.

    Example:
        >>> encoded({"id": 1, "result": {"a": "é", "b": float("nan")}}).decode()
        '{"id":1,"result":{"a":"é","b":null}}'
        >>> encoded({"a": "\ud83d"})
        Traceback (most recent call last):
        ...
        gateway_project.mcp.encoding.Unencodable: 'utf-8' codec can't encode character '\ud83d'...
    """
    # Within so many lists the encoder gives up just where a reader would. That costs nothing,
    # while looking at each value of a large result would hold up all other clients.
    wrapped: Any = message
    for _ in range(_AROUND):
        wrapped = [wrapped]
    try:
        return to_json(wrapped, inf_nan_mode="null")[_AROUND:-_AROUND]
    except PydanticSerializationError as error:
        reason = str(error).rpartition("Error: ")[2]
        raise Unencodable(reason) from None
    except (ValueError, RecursionError) as error:
        raise Unencodable(str(error)) from None


def message_text(message: JSONRPCMessage) -> bytes | None:
    """Return a message as JSON; of an answer that cannot be written, an error under its id.

    Returns:
        None for another message that cannot be written. That is logged, like all of it.
    """
    try:
        return encoded(_fields(message))
    except Unencodable as error:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            return _in_place_of_answer(message.id, error)
        _log_lost(message.method, error)
        return None


def news_text(message: Mapping[str, Any]) -> bytes | None:
    """Return a notification as JSON; None, and that is logged, if it cannot be written."""
    try:
        return encoded(message)
    except Unencodable as error:
        _log_lost(str(message.get("method")), error)
        return None


def answer_text(request_id: RequestId, outcome: Mapping[str, Any]) -> bytes:
    """Return an answer as JSON; an error, if it cannot be written.

    Args:
        request_id: Of the request.
        outcome: Member of JSON-RPC that the answer has.
    """
    try:
        return encoded({"jsonrpc": "2.0", "id": request_id, **outcome})
    except Unencodable as error:
        return _in_place_of_answer(request_id, error)


def not_asked(request: JSONRPCRequest) -> JSONRPCError:
    """Return what the asker is told whose request could not be written for the client."""
    said = "the request cannot be written as JSON; it was not sent"
    return JSONRPCError(
        jsonrpc="2.0", id=request.id, error=ErrorData(code=INTERNAL_ERROR, message=said)
    )


def _log_lost(method: str, why: Unencodable) -> None:
    log.error("mcp.message_not_sent", method=method, reason=str(why))


def _in_place_of_answer(request_id: RequestId | None, why: Unencodable) -> bytes:
    log.error("mcp.answer_not_sent", request=repr(request_id)[:100], reason=str(why))
    said = (
        f"{_CODE}: the answer cannot be written as JSON that a client can read: it is nested too "
        "deeply or holds half a surrogate pair; the log of the gateway says more"
    )
    error = {"code": INTERNAL_ERROR, "message": said, "data": {META_KEY: {"code": _CODE}}}
    identifier = None if surrogates.any_half(request_id) else request_id
    return encoded({"jsonrpc": "2.0", "id": identifier, "error": error})


def _fields(message: JSONRPCMessage) -> dict[str, Any]:
    """Return the members of a message that are set, without a copy of what they hold."""
    given = _set(message)
    if isinstance(message, JSONRPCError):
        given["error"] = _set(message.error)
    return given


def _set(model: JSONRPCMessage | ErrorData) -> dict[str, Any]:
    names = (name for name in type(model).model_fields if name in model.model_fields_set)
    return {name: getattr(model, name) for name in names}
