"""The JSON-RPC message in the body of a request."""

from __future__ import annotations

from typing import Any, Final

from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from gateway_project.foundation.json_pieces import TooManyValues
from gateway_project.mcp import refused_lines
from gateway_project.mcp.http import body
from gateway_project.mcp.http.answers import RequestRejected, refuse
from gateway_project.mcp.http.request import HttpRequest

_REQUEST_MEMBERS: Final = {"jsonrpc", "id", "method", "params"}
_NO_MESSAGE: Final = "not a single JSON-RPC message"


def check_accepted(request: HttpRequest) -> None:
    """Check that a client takes an answer in any form.

    Raises:
        RequestRejected: If it takes none.
    """
    if not any(request.accepted):
        raise refuse(
            406,
            INVALID_REQUEST,
            "Not Acceptable: take application/json or text/event-stream",
        )


async def parse(content: bytes) -> Any:
    """Return the JSON value of a body.

    Raises:
        RequestRejected: If it cannot be parsed, or holds too many values.
    """
    try:
        return await body.parse_body(content)
    except TooManyValues as error:
        answer, status = body.answer_too_many_values(content, error)
        raise RequestRejected.from_message(answer, status) from None
    except ValueError as error:
        refusal = body.answer_unreadable(content, error)
        raise RequestRejected.from_message(refusal, body.HTTP_BAD_REQUEST) from None


def is_plain_request(value: Any) -> bool:
    """Whether a JSON value is a request at a glance."""
    return (
        isinstance(value, dict)
        and value.keys() <= _REQUEST_MEMBERS
        and value.get("jsonrpc") == "2.0"
        and type(value.get("id")) in (int, str)
        and isinstance(value.get("method"), str)
        and isinstance(value.get("params", {}), dict)
    )


def read_message(
    value: Any,
) -> JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError:
    """Return the message that a JSON value is.

    Raises:
        RequestRejected: If it is none.
    """
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        raise refuse(400, INVALID_PARAMS, _NO_MESSAGE) from None
    if (invalid := refused_lines.answer_wrong_id(message, value)) is not None:
        raise RequestRejected.from_message(invalid, body.HTTP_BAD_REQUEST)
    return message
