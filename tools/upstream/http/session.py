"""What a transport remembers between the requests of one session."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

VERSION_HEADER = "mcp-protocol-version"
SESSION_HEADER = "mcp-session-id"
POSTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
LISTENED = {"accept": "text/event-stream", "cache-control": "no-store"}
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1024}")


class HttpSession:
    """The id and the protocol version that requests carry.

    Attributes:
        id: As the server gave it, empty if it gave none.
    """

    def __init__(self) -> None:
        self.id = ""
        self._version = ""

    @property
    def is_modern(self) -> bool:
        """Whether the protocol knows neither sessions nor requests of the server."""
        return self._version in MODERN_PROTOCOL_VERSIONS

    def post_headers(self, method: str | None, stamped: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of a message to the server.

        Args:
            method: Of the message, None for an answer.
            stamped: What the SDK wants the message to carry.
        """
        if method == "initialize":
            self._version = ""  # it settles the version, so that no earlier one applies
        else:
            self._version = stamped.get(VERSION_HEADER, self._version)
        return {**POSTED, **self._common(), **stamped}

    def listen_headers(self, last_event_id: str = "") -> dict[str, str]:
        """Return the headers of a request for a stream.

        Args:
            last_event_id: After which event to go on, empty for a new stream.
        """
        resume = {"last-event-id": last_event_id} if last_event_id else {}
        return {**LISTENED, **self._common(), **resume}

    def begin(self, headers: Mapping[str, str]) -> None:
        """Take the id that the answer to `initialize` gives."""
        given = headers.get(SESSION_HEADER, "")
        self.id = given if _SESSION_ID.fullmatch(given) else ""

    def _common(self) -> dict[str, str]:
        common = {SESSION_HEADER: self.id} if self.id else {}
        if self._version:
            common[VERSION_HEADER] = self._version
        return common
