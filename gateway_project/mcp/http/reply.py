"""The response of a request, watched on its way out."""

from __future__ import annotations

from starlette.types import Message, Send

from gateway_project.mcp.http.answers import Answer, Headers


class Reply:
    """Sends the response with headers that every response has, and remembers how far it came.

    Attributes:
        status: Of HTTP; 0 while none was sent.
    """

    def __init__(self, send: Send, *, headers: Headers) -> None:
        self._send = send
        self._headers = headers
        self._finished = False
        self.status = 0

    async def send(self, message: Message) -> None:
        """Send a message of ASGI."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            message = {**message, "headers": [*message.get("headers", ()), *self._headers]}
        elif message["type"] == "http.response.body":
            self._finished = not message.get("more_body", False)
        await self._send(message)

    async def answer(self, answer: Answer) -> None:
        """Answer, or end what was begun."""
        if not self.status:
            await answer.send(self.send)
        elif not self._finished:
            await self.send({"type": "http.response.body", "body": b""})
