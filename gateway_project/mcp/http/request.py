"""A request over HTTP and its response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.types import Message, Receive, Scope, Send

from gateway_project.mcp.http.answers import HeaderPairs, HttpAnswer
from gateway_project.mcp.http.checks import HeaderMap, header_text

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller

_JSON: Final = frozenset({"*/*", "application/*", "application/json"})
_EVENTS: Final = frozenset({"*/*", "text/*", "text/event-stream"})


class AcceptedForms(NamedTuple):
    """In which forms a client takes an answer; it should take both, and many name one alone.

    Attributes:
        json: A JSON body.
        events: A stream of events.
    """

    json: bool
    events: bool


class HttpRequest:
    """A request, and its response with the headers common to all responses.

    Args:
        scope: Of ASGI.
        receive: Of ASGI.
        send: Of ASGI.
        common: Headers of all responses.

    Attributes:
        verb: Method of HTTP.
        path: Of its address.
        pairs: Its headers as they came, in which one may occur twice.
        headers: The same by lower-case name.
        address: Of the client; empty if unknown.
        receive: Of ASGI; after the body, it tells of the client's disconnecting.
        status: Of the response; 0 until one is sent.
        caller: Whom it acts for, once authenticated; None: the local caller.
        is_local: Whether no tokens are asked for, so that it is the local caller's.
        token: Digest of its bearer token; empty: there is none.
        group: Name of the tool group in its path; None: there is none.
        body: Its whole body, once received.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, *, common: HeaderPairs = ()
    ) -> None:
        self.verb: str = scope["method"]
        self.path: str = scope["path"]
        self.pairs: list[tuple[bytes, bytes]] = scope["headers"]
        self.headers: HeaderMap = dict(self.pairs)
        self.address: str = (scope.get("client") or ("",))[0]
        self.receive = receive
        self.status = 0
        self.caller: Caller | None = None
        self.is_local = False
        self.token = ""
        self.group: str | None = None
        self.body = b""
        self._send = send
        self._common = common
        self._finished = False

    def find_caller(self, local: Caller) -> Caller:
        """Return whose rights it carries: where no tokens are asked for, the local caller's.

        Raises:
            RuntimeError: If nobody admitted it.
        """
        if self.caller is not None:
            return self.caller
        if not self.is_local:
            raise RuntimeError("a request that nobody admitted has no caller")
        return local

    @property
    def user(self) -> str:
        """Name of its user; empty: the local one."""
        return self.caller.user if self.caller else ""

    @property
    def accepted(self) -> AcceptedForms:
        """What its client accepts; without the header, everything.

        References:
            RFC 9110, section 12.5.1.
        """
        if b"accept" not in self.headers:
            return AcceptedForms(json=True, events=True)
        kinds = {
            kind.partition(";")[0].strip()
            for kind in header_text(self.headers, b"accept").lower().split(",")
        }
        return AcceptedForms(
            json=not _JSON.isdisjoint(kinds), events=not _EVENTS.isdisjoint(kinds)
        )

    async def send(self, message: Message) -> None:
        """Send an ASGI message of the response."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            message = {**message, "headers": [*message.get("headers", ()), *self._common]}
        elif message["type"] == "http.response.body":
            self._finished = not message.get("more_body", False)
        await self._send(message)

    async def send_answer(self, answer: HttpAnswer) -> None:
        """Send a whole answer, or end a response that has already started."""
        if not self.status:
            await answer.send(self.send)
        elif not self._finished:
            await self.send({"type": "http.response.body", "body": b""})
