"""One request to a remote server over HTTP, in its session, with its response or stream."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

import aiohttp
from mcp_types import (
    METHOD_NOT_FOUND,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tools.upstream.errors import (
    ConnectionLost,
    HttpRefused,
    MessageTooLarge,
    ProtocolViolation,
    ServerUnreachable,
    SessionExpired,
    SignInRequired,
    UpstreamError,
)
from tools.upstream.http.body import BodyTooLong, EventStream, is_stream, read_body
from tools.upstream.http.endpoint import HttpEndpoint
from tools.upstream.http.events import ServerSentEvent
from tools.upstream.http.problems import PROXY_SIGN_IN, advise_proxy, translate_errors
from tools.upstream.parse import examine_line, make_unreadable_error, receive_message
from tools.upstream.wire import Wire

VERSION_HEADER = "mcp-protocol-version"
SESSION_HEADER = "mcp-session-id"
POST_HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
LISTEN_HEADERS = {"accept": "text/event-stream", "cache-control": "no-store"}
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1024}")

OK, ACCEPTED, REDIRECTION, NOT_FOUND, NOT_ALLOWED = 200, 202, 300, 404, 405
TOO_MANY_REQUESTS, SERVER_FAILED = 429, 500
# Sent by servers for a session they have forgotten. The protocol says 404; the others mean that
# only if the session fails for a request that cannot be wrong, too.
SESSION_STATUSES = frozenset({400, 401, 403, NOT_FOUND, 409, 410, 412, 422, SERVER_FAILED, 503})
_SESSION_WORDS = re.compile(r"session|initiali[sz]", re.IGNORECASE)
PROOFS = frozenset({"ping", "tools/list", "prompts/list", "resources/list"})
ERROR_BYTES = 1024 * 1024  # of an error's body
RESUME_WAIT_S, RESUME_LONGEST_S = 1.0, 60.0
RESUME_FAILURES = 3


class HttpSession:
    """The session id and the protocol version that requests carry.

    Attributes:
        id: Assigned by the server, or empty.
        proof: The last request without effects that the server answered in the session; None:
            none yet.
        is_listening: Whether the server's stream of unsolicited messages is open.
    """

    def __init__(self) -> None:
        self.id = ""
        self.proof: JSONRPCRequest | None = None
        self.is_listening = False
        self._version = ""

    @property
    def is_modern(self) -> bool:
        """Whether the protocol version is of the stateless era."""
        return self._version in MODERN_PROTOCOL_VERSIONS

    def post_headers(self, method: str | None, stamped: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a message to the server.

        Args:
            method: Method of the message; None for an answer.
            stamped: Headers from the message's metadata.
        """
        if method == "initialize":
            self.id = self._version = ""  # a handshake that was refused left none
        else:
            self._version = stamped.get(VERSION_HEADER, self._version)
        return {**POST_HEADERS, **self._common_headers(), **stamped}

    def listen_headers(self, last_event_id: str = "") -> dict[str, str]:
        """Return the headers of a request for a stream.

        Args:
            last_event_id: Event after which to resume; empty for a new stream.
        """
        resume = {"last-event-id": last_event_id} if last_event_id else {}
        return {**LISTEN_HEADERS, **self._common_headers(), **resume}

    def begin_session(self, headers: Mapping[str, str]) -> None:
        """Take the session id from the response to `initialize`."""
        session_id = headers.get(SESSION_HEADER, "")
        self.id = session_id if _SESSION_ID.fullmatch(session_id) else ""

    def _common_headers(self) -> dict[str, str]:
        common = {SESSION_HEADER: self.id} if self.id else {}
        if self._version:
            common[VERSION_HEADER] = self._version
        return common


class HttpExchange:
    """Sends a request and delivers all messages that belong to it.

    Args:
        request: The request.
        endpoint: The server.
        session: The session whose headers it carries.
        wire: Receives the messages.
    """

    def __init__(
        self, request: JSONRPCRequest, *, endpoint: HttpEndpoint, session: HttpSession, wire: Wire
    ) -> None:
        self._request = request
        self._modern = session.is_modern
        self._endpoint = endpoint
        self._server = endpoint.server
        self._session = session
        self._wire = wire
        self._limits = wire.origin.limits

    async def run(
        self,
        headers: Mapping[str, str],
        body: bytes,
    ) -> aiohttp.ClientResponse | None:
        """Send the request and deliver its answer.

        Args:
            headers: Request headers.
            body: The request as JSON.

        Returns:
            The HTTP response if its stream is still open; pass it to `drain_answer` so that its
            connection can be reused.

        Raises:
            UpstreamError: If there is no answer to deliver.
        """
        try:
            self._answer = await self._endpoint.open("POST", headers, body)
        except SignInRequired:
            if not self._endpoint.has_sign_in and await self._is_session_gone():
                raise SessionExpired(self._server) from None
            raise
        try:
            if self._request.method == "initialize":
                self._session.begin_session(self._answer.headers)
            with translate_errors(self._server, self._endpoint.url):
                await self._handle_answer(self._answer)
        except BaseException:
            self._answer.close()
            raise
        if self._answer.content.at_eof():
            self._answer.release()
        return None if self._answer.closed else self._answer

    async def _handle_answer(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status >= REDIRECTION:
            await self._handle_failure(answer)
            return
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            await self._follow_until_answered()
            return
        text = await self._read_body(answer)
        if answer.status == ACCEPTED and not text and self._session.is_listening:
            return  # some servers send all answers there
        if kind == "application/json" or text.lstrip().startswith(b"{"):
            await self._deliver_body(text)
        else:
            raise ProtocolViolation(_explain_no_answer(answer.status, kind), server=self._server)

    async def _read_body(self, answer: aiohttp.ClientResponse) -> bytes:
        cap = self._limits.max_result_bytes
        try:
            return await read_body(answer, max_bytes=cap)
        except BodyTooLong:
            raise self._make_too_large_error() from None

    async def _deliver_body(self, text: bytes) -> None:
        try:
            message = await receive_message(text)
        except ValueError as error:
            self._wire.count_unusable(text)
            raise make_unreadable_error(error, server=self._server) from None
        await self._check_session(message)
        if not self._deliver_answer(message):
            raise make_unreadable_error(None, server=self._server)

    async def _check_session(self, message: JSONRPCMessage) -> None:
        """Raise an error if the server refuses the session in an answer of status 200."""
        if (
            isinstance(message, JSONRPCError)
            and _names_session(message)
            and await self._is_session_gone()
        ):
            raise SessionExpired(self._server)

    def _deliver_answer(self, message: JSONRPCMessage) -> bool:
        """Deliver a message if it is an answer; return whether it was."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return False
        if not _is_same_id(message.id, self._request.id):
            raise ProtocolViolation(
                "answered a request with the answer to another; repair or update the server",
                server=self._server,
            )
        message.id = self._request.id
        if isinstance(message, JSONRPCResponse) and _is_proof(self._request):
            self._session.proof = self._request
        self._wire.receive(message)
        return True

    async def _handle_failure(self, answer: aiohttp.ClientResponse) -> None:
        """Deliver the JSON-RPC error of a failed response; raise if it carries none."""
        body, error = await self._read_failure(answer)
        status = answer.status
        if status == NOT_FOUND and not _lacks_method(error):
            if self._session.id and not self._modern:
                raise SessionExpired(self._server)
        elif status in SESSION_STATUSES and await self._is_session_gone():
            # Only a refusal for the session's sake says that nothing was carried out.
            is_refusal = status < SERVER_FAILED and b"session" in body.lower()
            raise SessionExpired(self._server, status=0 if is_refusal else status)
        if error is None:
            raise HttpRefused(server=self._server, status=status, advice=_advise(status))
        # Its id may be missing: the request may have been refused before it was parsed.
        error.id = self._request.id
        self._wire.receive(error)

    async def _read_failure(
        self, answer: aiohttp.ClientResponse
    ) -> tuple[bytes, JSONRPCError | None]:
        """Return the body of a failed response, and the JSON-RPC error in it."""
        try:
            body = await read_body(answer, max_bytes=ERROR_BYTES)
            message = await receive_message(body)
        except BodyTooLong:
            return b"", None
        except ValueError:
            return body, None
        return body, message if isinstance(message, JSONRPCError) else None

    async def _is_session_gone(self) -> bool:
        """Whether the server refuses even a request that it answered before in the session."""
        if self._modern or not self._session.id or self._request.method == "initialize":
            return False
        proof = self._session.proof or JSONRPCRequest(jsonrpc="2.0", id=0, method="ping")
        probe = proof.model_copy(update={"id": f"session-{self._request.id}"})
        body = probe.model_dump_json(by_alias=True, exclude_unset=True).encode()
        try:
            answer = await self._endpoint.open(
                "POST", self._session.post_headers(probe.method, {}), body
            )
        except UpstreamError as error:
            return isinstance(error, SignInRequired)
        try:
            if answer.status not in {OK, *SESSION_STATUSES} or is_stream(answer):
                return False
            _, failure = await self._read_failure(answer)
            if answer.status == OK:
                return _names_session(failure)
            return not _lacks_method(failure)
        finally:
            answer.close()

    async def _follow_until_answered(self) -> None:
        """Follow the request's stream to the answer, resuming it in the handshake era."""
        last_id, failures = "", 0
        while True:
            stream = EventStream(
                self._answer,
                origin=self._wire.origin,
                max_event_bytes=self._limits.max_result_bytes,
            )
            try:
                if await self._follow(stream):
                    return
            except aiohttp.ClientError:
                if self._modern or not (stream.last_id or last_id):
                    raise
            last_id = stream.last_id or last_id
            if self._modern or not last_id:
                raise ConnectionLost(
                    "ended the stream before the answer came; the request may still have been "
                    "carried out",
                    server=self._server,
                )
            failures = 0 if stream.events else failures + 1
            self._answer.close()
            self._answer = await self._resume_stream(last_id, stream.retry_s, failures)

    async def _follow(self, stream: EventStream) -> bool:
        """Deliver events up to the answer; False if the stream ends before it."""
        while (events := await stream.next()) is not None:
            for event in events:
                if await self._handle_event(event, stream):
                    return True
        return False

    async def _handle_event(self, event: ServerSentEvent, stream: EventStream) -> bool:
        if event.is_too_long:
            raise self._make_too_large_error()
        if event.name != "message" or not event.data:
            return False
        try:
            message = await receive_message(event.data)
        except ValueError as error:
            stream.count_waste(len(event.data))
            self._wire.count_unusable(event.data)
            if examine_line(event.data).kind == "answer":
                raise make_unreadable_error(error, server=self._server) from None
            return False
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            await self._check_session(message)
            return self._deliver_answer(message)
        if self._modern and isinstance(message, JSONRPCRequest):
            self._wire.count_unusable(event.data)
        elif not self._wire.receive(message, related=self._request.id):
            stream.count_waste(len(event.data))
        return False

    async def _resume_stream(
        self, last_id: str, retry_s: float | None, failures: int
    ) -> aiohttp.ClientResponse:
        """Resume the request's stream after an event id."""
        wait_s = RESUME_WAIT_S if retry_s is None else min(retry_s, RESUME_LONGEST_S)
        while failures < RESUME_FAILURES:
            await asyncio.sleep(wait_s)
            try:
                answer = await self._endpoint.open("GET", self._session.listen_headers(last_id))
            except (ServerUnreachable, ConnectionLost):
                failures += 1
                continue
            if answer.status == OK and is_stream(answer):
                return answer
            answer.close()
            break
        raise ConnectionLost(
            "ended the stream before the answer came and does not resume it; the request may "
            "still have been carried out",
            server=self._server,
        )

    def _make_too_large_error(self) -> MessageTooLarge:
        what = "the result" if self._request.method == "tools/call" else "its answer"
        return MessageTooLarge(
            server=self._server, what=what, limit_bytes=self._limits.max_result_bytes
        )


def _is_same_id(answered: RequestId | None, requested: RequestId) -> bool:
    """Whether an answer's id is the request's; some servers answer with a string, or null."""
    return answered is None or str(answered) == str(requested)


def _is_proof(request: JSONRPCRequest) -> bool:
    return request.method in PROOFS and "cursor" not in (request.params or {})


def _names_session(error: JSONRPCError | None) -> bool:
    return error is not None and _SESSION_WORDS.search(error.error.message) is not None


def _lacks_method(error: JSONRPCError | None) -> bool:
    return error is not None and error.error.code == METHOD_NOT_FOUND


def _explain_no_answer(status: int, kind: str) -> str:
    if kind:
        return (
            f"answered with {kind[:100]!r} where MCP has JSON or a stream; check that its address "
            "is that of an MCP endpoint"
        )
    return f"answered a request with HTTP status {status} and nothing else; repair the server"


def _advise(status: int) -> str:
    if status in (NOT_FOUND, NOT_ALLOWED):
        return "check that its address is that of an MCP endpoint"
    if status >= SERVER_FAILED:
        return "see the server's log, or try again later"
    if status == PROXY_SIGN_IN:
        return advise_proxy(status)
    if status == TOO_MANY_REQUESTS:
        return "it wants fewer requests; try again later"
    return "check its address and headers"
