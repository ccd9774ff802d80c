"""One request to a remote server and what comes back for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import aiohttp
from mcp_types import (
    METHOD_NOT_FOUND,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from tools.upstream.errors import (
    ConnectionLost,
    HttpRefused,
    MessageTooLarge,
    ProtocolViolation,
    SessionExpired,
    Unreachable,
    UpstreamError,
)
from tools.upstream.http.body import TooLong, read_body
from tools.upstream.http.endpoint import Endpoint
from tools.upstream.http.events import Event
from tools.upstream.http.intake import Intake
from tools.upstream.http.problems import translated
from tools.upstream.http.session import HttpSession
from tools.upstream.http.stream import EventStream
from tools.upstream.limits import Limits
from tools.upstream.parse import TooDeep, read_message
from tools.upstream.salvage import examine

OK, REDIRECTION, BAD_REQUEST, NOT_FOUND, NOT_ALLOWED = 200, 300, 400, 404, 405
TOO_MANY_REQUESTS, SERVER_FAILED = 429, 500
ERROR_BYTES = 1024 * 1024  # of an error's body
RESUME_WAIT_S, RESUME_LONGEST_S = 1.0, 60.0
RESUME_FAILURES = 3
SETTLE_S, SETTLE_BYTES = 1.0, 64 * 1024  # for what follows the answer on its stream

_SERVER_ERROR = -32000  # the TypeScript SDK's examples answer so if they do not know the session


class Exchange:
    """Sends a request and hands on all that belongs to it.

    Args:
        request: The request.
        modern: Whether it is one of the protocol without sessions.
        endpoint: Where it goes.
        session: What it carries of the session.
        intake: Takes what comes back.
        limits: Caps on that.
    """

    def __init__(
        self,
        request: JSONRPCRequest,
        *,
        modern: bool,
        endpoint: Endpoint,
        session: HttpSession,
        intake: Intake,
        limits: Limits,
    ) -> None:
        self._request = request
        self._modern = modern
        self._endpoint = endpoint
        self._server = endpoint.server
        self._session = session
        self._intake = intake
        self._limits = limits

    async def run(
        self,
        headers: Mapping[str, str],
        body: bytes,
        *,
        opened: Callable[[aiohttp.ClientResponse], None] | None = None,
    ) -> aiohttp.ClientResponse | None:
        """Send the request and hand on its answer.

        Args:
            headers: Of the request.
            body: The request as JSON.
            opened: Called with the answer when its headers are there.

        Returns:
            The answer if its stream has not ended yet: settle it to use its connection again.

        Raises:
            UpstreamError: If there is no answer to hand on.
        """
        self._answer = await self._endpoint.open("POST", headers, body)
        try:
            if opened is not None:
                opened(self._answer)
            with translated(self._server, self._endpoint.url):
                await self._take(self._answer)
        except BaseException:
            self._answer.close()
            raise
        if self._answer.content.at_eof():
            self._answer.release()
        return None if self._answer.closed else self._answer

    async def _take(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status >= REDIRECTION:
            await self._failure(answer)
            return
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            self._answered(await self._body(answer))
        elif kind == "text/event-stream":
            await self._until_answered()
        else:
            raise ProtocolViolation(_no_answer(answer.status, kind), server=self._server)

    async def _body(self, answer: aiohttp.ClientResponse) -> bytes:
        cap = self._limits.max_result_bytes
        try:
            return await read_body(answer, max_bytes=cap)
        except TooLong:
            raise self._too_large() from None

    def _answered(self, text: bytes) -> None:
        try:
            message = read_message(text)
        except ValueError as error:
            self._intake.unusable(text)
            raise self._unreadable(error) from None
        if not self._is_answer(message):
            raise self._unreadable(None)

    def _is_answer(self, message: JSONRPCMessage) -> bool:
        """Hand on an answer; say whether it was one."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return False
        if not _same(message.id, self._request.id):
            raise ProtocolViolation(
                "answered a request with the answer to another; repair or update the server",
                server=self._server,
            )
        message.id = self._request.id
        self._intake.answer(message)
        return True

    async def _failure(self, answer: aiohttp.ClientResponse) -> None:
        """Hand on the error of JSON-RPC that a refusal may carry, else raise one."""
        error = await self._rpc_error(answer)
        if self._session.id and not self._modern and _session_unknown(answer.status, error):
            raise SessionExpired(self._server)
        if error is None:
            raise HttpRefused(
                server=self._server, status=answer.status, advice=_advice(answer.status)
            )
        self._intake.answer(error)

    async def _rpc_error(self, answer: aiohttp.ClientResponse) -> JSONRPCError | None:
        if "json" not in answer.headers.get("Content-Type", "").lower():
            answer.close()
            return None
        try:
            message = read_message(await read_body(answer, max_bytes=ERROR_BYTES))
        except (ValueError, TooLong):
            return None
        if not isinstance(message, JSONRPCError):
            return None
        # Its own id may be missing: the request may have been refused before it was read.
        message.id = self._request.id
        return message

    async def _until_answered(self) -> None:
        """Follow the request's stream, over interruptions where the protocol has that."""
        last_id, failures = "", 0
        while True:
            stream = self._stream(self._answer)
            try:
                if await self._follow(stream):
                    return
            except aiohttp.ClientError:
                if self._modern or not (stream.last_id or last_id):
                    raise
            last_id = stream.last_id or last_id
            if self._modern or not last_id:
                raise ConnectionLost(
                    "ended the stream before the answer came; the request may have been carried "
                    "out all the same",
                    server=self._server,
                )
            failures = 0 if stream.events else failures + 1
            self._answer.close()
            self._answer = await self._resumed(last_id, stream.retry_s, failures)

    async def _follow(self, stream: EventStream) -> bool:
        """Hand on events until the answer has come; False if the stream ends before that."""
        while (events := await stream.next()) is not None:
            for event in events:
                if self._take_event(event, stream):
                    return True
        return False

    def _take_event(self, event: Event, stream: EventStream) -> bool:
        if event.too_long:
            raise self._too_large()
        if event.name != "message" or not event.data:
            return False
        try:
            message = read_message(event.data)
        except ValueError as error:
            stream.wasted(len(event.data))
            self._intake.unusable(event.data)
            if examine(event.data).kind == "answer":
                raise self._unreadable(error) from None
            return False
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            return self._is_answer(message)
        if self._modern and isinstance(message, JSONRPCRequest):
            self._intake.unusable(event.data)
        elif not self._intake.unasked(message, during=self._request.id):
            stream.wasted(len(event.data))
        return False

    async def _resumed(
        self, last_id: str, retry_s: float | None, failures: int
    ) -> aiohttp.ClientResponse:
        """Ask for the rest of the request's stream."""
        wait_s = RESUME_WAIT_S if retry_s is None else min(retry_s, RESUME_LONGEST_S)
        while failures < RESUME_FAILURES:
            await asyncio.sleep(wait_s)
            try:
                answer = await self._endpoint.open("GET", self._session.listen_headers(last_id))
            except (Unreachable, ConnectionLost):
                failures += 1
                continue
            if answer.status == OK and _is_stream(answer):
                return answer
            answer.close()
            break
        raise ConnectionLost(
            "ended the stream before the answer came and does not go on with it; the request may "
            "have been carried out all the same",
            server=self._server,
        )

    def _stream(self, answer: aiohttp.ClientResponse) -> EventStream:
        return EventStream(
            answer,
            server=self._server,
            max_event_bytes=self._limits.max_result_bytes,
            max_rubbish_bytes=self._limits.max_rubbish_bytes,
            flowing=self._intake.flowing,
        )

    def _too_large(self) -> MessageTooLarge:
        what = "the result" if self._request.method == "tools/call" else "its answer"
        return MessageTooLarge(
            server=self._server, what=what, limit_bytes=self._limits.max_result_bytes
        )

    def _unreadable(self, error: ValueError | None) -> UpstreamError:
        if isinstance(error, TooDeep):
            problem = f"sent an answer that {error}; ask it for less"
        else:
            problem = (
                "sent an answer that is not valid JSON-RPC in UTF-8; update or repair the server"
            )
        return ProtocolViolation(problem, server=self._server)


async def settle(answer: aiohttp.ClientResponse) -> None:
    """Read what is left of a stream after its answer, so that its connection is used again."""
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


def _is_stream(answer: aiohttp.ClientResponse) -> bool:
    return answer.headers.get("Content-Type", "").lower().startswith("text/event-stream")


def _same(given: RequestId | None, asked: RequestId) -> bool:
    """Whether an answer's id is the request's; some servers answer with a string, or null."""
    return given is None or str(given) == str(asked)


def _session_unknown(status: int, error: JSONRPCError | None) -> bool:
    if status == NOT_FOUND:
        return error is None or error.error.code != METHOD_NOT_FOUND
    return (
        status == BAD_REQUEST
        and error is not None
        and error.error.code == _SERVER_ERROR
        and "session" in error.error.message.lower()
    )


def _no_answer(status: int, kind: str) -> str:
    if kind:
        return (
            f"answered with {kind[:100]!r} where MCP has JSON or a stream; check that its address "
            "is that of an MCP endpoint"
        )
    return f"answered a request with HTTP status {status} and nothing else; repair the server"


def _advice(status: int) -> str:
    if status in (NOT_FOUND, NOT_ALLOWED):
        return (
            "check that its address is that of an MCP endpoint; an older server may need the "
            "transport sse"
        )
    if status >= SERVER_FAILED:
        return "see the server's log, or try again later"
    if status == TOO_MANY_REQUESTS:
        return "it wants fewer requests; try again later"
    return "check its address and headers"
