"""The state of an HTTP session: its id and protocol version."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mcp_types import JSONRPCRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

VERSION_HEADER = "mcp-protocol-version"
SESSION_HEADER = "mcp-session-id"
POST_HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
LISTEN_HEADERS = {"accept": "text/event-stream", "cache-control": "no-store"}
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1024}")


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
