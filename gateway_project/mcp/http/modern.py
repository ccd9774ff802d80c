"""Serves requests of 2026-07-28: each is complete in itself, and answered by itself.

References:
    MCP 2026-07-28, Transports, Streamable HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    InboundLadderRejection,
    classify_inbound_request,
    decode_header_value,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
)
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)
from pydantic import ValidationError

from gateway_project.mcp import callers, client_state, meta_tools
from gateway_project.mcp.http import messages
from gateway_project.mcp.http.answers import HttpAnswer, RequestRejected, refuse
from gateway_project.mcp.http.body import HTTP_BAD_REQUEST
from gateway_project.mcp.http.exchange import Exchange
from gateway_project.mcp.http.request import HttpRequest
from gateway_project.mcp.runtime import Runtime
from gateway_project.mcp.server import LISTEN_METHOD, ServerLifespan
from tools.mcp_tasks import ID_FIELD, TASK_METHODS
from tools.upstream.request import CALL_METHOD

_PARAM_PREFIX: Final = MCP_PARAM_HEADER_PREFIX.lower()
_NO_REQUEST: Final = "Body must be a single JSON-RPC request or notification object"
Headers = Mapping[str, str]
_HTTP_ACCEPTED: Final = 202
_HTTP_NOT_ACCEPTABLE: Final = 406


class ModernHandler:
    """Serves requests of the stateless era.

    Args:
        server: Of the SDK.
        runtime: Knows the tools.

    Attributes:
        lifespan: Of the server; set before the first request.
    """

    def __init__(self, server: Server[Any], runtime: Runtime) -> None:
        self.lifespan: ServerLifespan | None = None
        self._server = server
        self._runtime = runtime

    async def serve(self, request: HttpRequest, value: Any) -> None:
        """Serve a request whose body is this JSON value.

        Raises:
            RequestRejected: If it is not valid.
        """
        accepted = request.accepted
        if not any(accepted):
            raise RequestRejected(HttpAnswer(status=_HTTP_NOT_ACCEPTABLE))
        if isinstance(value, dict) and "id" not in value:
            await _acknowledge(request, value)
            return
        message = _read_request(value)
        identifier, method, params = message["id"], message["method"], message.get("params")
        if method == LISTEN_METHOD and not accepted.events:
            raise RequestRejected(HttpAnswer(status=_HTTP_NOT_ACCEPTABLE))
        pairs = [(one.decode("latin-1"), other.decode("latin-1")) for one, other in request.pairs]
        headers = dict(pairs)
        if (duplicate := find_duplicated_routing_header(pairs)) is not None:
            text = f"{duplicate} header appears more than once"
            raise _reject(InboundLadderRejection(code=HEADER_MISMATCH, message=text), identifier)
        route = classify_inbound_request(value, headers=headers)
        if isinstance(route, InboundLadderRejection):
            raise _reject(route, identifier)
        mismatch = self._check_params(request, method, params or {}, headers)
        if mismatch is not None:
            raise _reject(mismatch, identifier)
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        runner = ServerRunner(self._server, connection, self.lifespan)
        await Exchange(request, identifier, params).serve(runner, method)

    def _check_params(
        self, request: HttpRequest, method: str, params: Mapping[str, Any], headers: Headers
    ) -> InboundLadderRejection | None:
        """Return why headers that mirror parameters contradict them; None: they do not."""
        if method in TASK_METHODS:
            return _check_task_id(params, headers)
        if method != CALL_METHOD:
            return None
        name, arguments = params.get("name"), params.get("arguments") or {}
        gateway = self._runtime.readiness.current
        if not isinstance(name, str) or gateway is None:
            return None
        if name in meta_tools.BY_NAME or not isinstance(arguments, Mapping):
            return None
        if not arguments and not _mirrors_any(headers):
            return None
        # Loaded by now, not at start.
        from gateway_project.mcp import exposure, exposure_choice  # noqa: PLC0415

        caller = callers.limit_caller(request.find_caller(gateway.caller), request.group)
        client, _ = client_state.read_client_info(params.get("_meta") or {})
        view = exposure_choice.find_view(gateway.effects.exposure, caller, name=client)
        schema = exposure.find_input_schema(
            gateway.effects.catalogue(),
            caller,
            view.exposure,
            name,
            name_limit=view.form.name_limit,
        )
        return validate_mcp_param_headers(schema, arguments, headers) if schema else None


def _check_task_id(params: Mapping[str, Any], headers: Headers) -> InboundLadderRejection | None:
    """Return why `Mcp-Name` contradicts a request about an MCP task; None: it does not.

    References:
        SEP-2663, Streamable HTTP: Routing Headers.
    """
    if decode_header_value(headers.get(MCP_NAME_HEADER)) == params.get(ID_FIELD):
        return None
    text = f"{MCP_NAME_HEADER} header does not match the request body's {ID_FIELD!r} parameter"
    return InboundLadderRejection(code=HEADER_MISMATCH, message=text)


def _mirrors_any(names: Iterable[str]) -> bool:
    return any(name.startswith(_PARAM_PREFIX) for name in names)


async def _acknowledge(request: HttpRequest, value: Any) -> None:
    """Acknowledge a notification, which has no effect: this era defines none over HTTP."""
    try:
        JSONRPCNotification.model_validate(value)
    except ValidationError:
        raise refuse(HTTP_BAD_REQUEST, INVALID_REQUEST, _NO_REQUEST) from None
    version = request.headers.get(b"mcp-protocol-version", b"").decode("latin-1")
    if (unsupported := unsupported_protocol_version_rejection(version)) is not None:
        raise _reject(unsupported, None)
    await HttpAnswer(status=_HTTP_ACCEPTED).send(request.send)


def _read_request(value: Any) -> Mapping[str, Any]:
    """Return the request that a JSON value is.

    Raises:
        RequestRejected: If it is none.
    """
    if messages.is_plain_request(value):
        request: Mapping[str, Any] = value
        return request
    try:
        return JSONRPCRequest.model_validate(value).model_dump(exclude_unset=True)
    except ValidationError:
        raise refuse(HTTP_BAD_REQUEST, INVALID_REQUEST, _NO_REQUEST) from None


def _reject(rejection: InboundLadderRejection, identifier: RequestId | None) -> RequestRejected:
    error = ErrorData(code=rejection.code, message=rejection.message, data=rejection.data)
    answer = JSONRPCError(jsonrpc="2.0", id=identifier, error=error)
    status = ERROR_CODE_HTTP_STATUS.get(rejection.code, HTTP_BAD_REQUEST)
    return RequestRejected.from_message(answer, status)
