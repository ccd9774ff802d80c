"""Serves requests that have passed the gate, of both eras.

A request is answered in the task that received it; a session of the handshake era has no task,
queue or loop of its own, and a request of the stateless era is complete in itself.

References:
    MCP 2025-11-25 and 2026-07-28, Transports, Streamable HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

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
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from gateway_project.foundation.shares import Bound
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import client_state, meta_tools
from gateway_project.mcp.client_state import ClientState
from gateway_project.mcp.http import messages
from gateway_project.mcp.http.answers import HttpAnswer, RequestRejected, refuse
from gateway_project.mcp.http.exchange import Exchange
from gateway_project.mcp.http.messages import HTTP_BAD_REQUEST
from gateway_project.mcp.http.request import (
    HttpRequest,
    answer_wrong_method,
    check_version,
    has_envelope,
    header_text,
)
from gateway_project.mcp.http.session import SESSION_HEADER, Session
from gateway_project.mcp.runtime import Runtime
from gateway_project.mcp.server import LISTEN_METHOD, ServerLifespan
from tools.mcp_tasks import ID_FIELD, TASK_METHODS
from tools.upstream.request import CALL_METHOD

_PARAM_PREFIX: Final = MCP_PARAM_HEADER_PREFIX.lower()
_NO_REQUEST: Final = "Body must be a single JSON-RPC request or notification object"
Headers = Mapping[str, str]
_HTTP_ACCEPTED: Final = 202
_HTTP_NOT_ACCEPTABLE: Final = 406
SESSIONS: Final = Bound(total=2_000, each=200)
"""Sessions of the process, and of one user."""
SESSION_IDLE_S: Final = 8 * 3_600.0
"""As long as a person may be away: many clients fail for good once their session is unknown. An
idle one takes some 22 KB, and gives way to newer ones of its user."""
_VERSION: Final = b"mcp-protocol-version"
_NOT_FOUND, _UNAVAILABLE = 404, 503


class Sessions:
    """Serves requests that have passed the gate, of both eras.

    A session belongs to the user, team and tool group whose token and path opened it; for anybody
    else it does not exist.

    Args:
        server: Of the SDK.
        runtime: Knows the tools.
        idle_s: Seconds without a request after which a session ends.
        bound: How many sessions there may be.
    """

    def __init__(
        self,
        server: Server[Any],
        runtime: Runtime,
        *,
        idle_s: float = SESSION_IDLE_S,
        bound: Bound = SESSIONS,
    ) -> None:
        self._server = server
        self.idle_s = idle_s
        self.bound = bound
        self._sessions: dict[str, Session] = {}
        self._runtime = runtime
        self._lifespan: ServerLifespan | None = None
        self._group: TaskGroup | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the context is open."""
        async with self._server.lifespan(self._server) as lifespan, TaskGroup() as self._group:
            self._lifespan = lifespan
            try:
                yield
            finally:
                for session in tuple(self._sessions.values()):
                    session.end()

    async def serve(self, request: HttpRequest) -> None:
        """Serve a request.

        Raises:
            RequestRejected: If it is not valid.
        """
        version = header_text(request.headers, _VERSION)
        if request.verb != "POST":
            if _is_stateless(version) and not _names_session(request, version):
                raise answer_wrong_method()
            await self._find_session(request).serve(request)
            return
        value = await messages.parse(request.body)
        params = value.get("params") if isinstance(value, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if has_envelope(meta):
            check_version(_VERSION in request.headers, value)
        elif isinstance(value, dict) and value.get("method") == "initialize":
            # It opens a session, whichever one its client lost, and negotiates the version.
            await self._open_session(request, value)
            return
        elif _names_session(request, version):
            version = ""
        if _is_stateless(version):
            await self._serve_stateless(request, value)
            return
        await self._find_session(request).receive(request, value)

    async def _open_session(self, request: HttpRequest, value: Any) -> None:
        """Answer the handshake; the session stays if it succeeds."""
        messages.check_accepted(request)
        message = messages.read_message(value)
        if not isinstance(message, JSONRPCRequest):
            raise refuse(400, INVALID_REQUEST, "Bad Request: Missing session ID")
        session = self._admit_session(request)
        established = False
        try:
            established = await session.answer(request, message.model_dump(exclude_unset=True))
        finally:
            if not established:
                session.end()

    def _find_session(self, request: HttpRequest) -> Session:
        """Return the session that a request names.

        Raises:
            RequestRejected: If it names none of its caller's.
        """
        key = header_text(request.headers, SESSION_HEADER)
        if not key:
            raise refuse(400, INVALID_REQUEST, "Bad Request: Missing session ID")
        session = self._sessions.get(key)
        if session is None or session.owner != _find_owner(request):
            raise refuse(_NOT_FOUND, INVALID_REQUEST, "Session not found")
        return session

    def _admit_session(self, request: HttpRequest) -> Session:
        """Return a new session.

        Raises:
            RequestRejected: If its user has too many in use.
        """
        assert self._lifespan is not None  # noqa: S101 - `run` has been entered
        assert self._group is not None  # noqa: S101
        owner = _find_owner(request)
        owned = [one for one in self._sessions.values() if one.owner[0] == owner[0]]
        has_room = self.bound.admits(held=len(owned), in_all=len(self))
        if not has_room and not _end_longest_idle(owned):
            raise refuse(_UNAVAILABLE, INTERNAL_ERROR, "Too many open sessions")
        key = uuid4().hex
        session = self._sessions[key] = Session(
            key,
            owner,
            self._server,
            replace(self._lifespan, client=ClientState()),
            group=self._group,
            idle_s=self.idle_s,
            forget=lambda: self._sessions.pop(key, None),
        )
        return session

    async def _serve_stateless(self, request: HttpRequest, value: Any) -> None:
        """Serve a request of the stateless era, whose body is this JSON value.

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
        mismatch = self._check_mirrored(request, method, params or {}, headers)
        if mismatch is not None:
            raise _reject(mismatch, identifier)
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        runner = ServerRunner(self._server, connection, self._lifespan)
        await Exchange(request, identifier, params).serve(runner, method)

    def _check_mirrored(
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
        if name in meta_tools.TOOLS or not isinstance(arguments, Mapping):
            return None
        if not arguments and not any(name.startswith(_PARAM_PREFIX) for name in headers):
            return None
        # Loaded by now, not at start.
        from gateway_project.mcp import exposure  # noqa: PLC0415

        caller = request.find_caller(gateway.caller).limit_to_group(request.group)
        client, _ = client_state.read_client_info(params.get("_meta") or {})
        view = exposure.find_view(gateway.effects.exposure, caller, name=client)
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


def _end_longest_idle(owned: list[Session]) -> bool:
    """End the session of these that has been idle for longest; return whether one was idle.

    Many clients never close theirs; one that comes back after all is told that the session is
    unknown, and opens another (MCP 2025-11-25, Transports, Session Management).
    """
    idle = [session for session in owned if session.idle_since is not None]
    if not idle:
        return False
    min(idle, key=lambda session: session.idle_since or 0.0).end()
    return True


def _find_owner(request: HttpRequest) -> tuple[str, int | None, str | None]:
    """Return the user, team and tool group that a session belongs to."""
    caller = request.caller
    if caller is None:
        return "", None, request.group
    return caller.user, caller.team, request.group or caller.group


def _is_stateless(version: str) -> bool:
    """Whether a version in the headers is of the stateless era, or of none that is known."""
    return bool(version) and version not in HANDSHAKE_PROTOCOL_VERSIONS


def _names_session(request: HttpRequest, version: str) -> bool:
    """Whether a request is of a session although its headers name a stateless version.

    Some clients name the newest version that they know in every header; one that names a session
    too, and has no envelope, is of the handshake era.
    """
    return SESSION_HEADER in request.headers and version in MODERN_PROTOCOL_VERSIONS
