"""What a request has to be before anybody looks at its body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_types import HEADER_MISMATCH, PROTOCOL_VERSION_META_KEY

from gateway_project.mcp.http.answers import Answer, Rejected, rejected
from gateway_project.mcp.http.names import Names

METHODS: Final = frozenset({"GET", "POST", "DELETE"})
ALLOW: Final = (b"allow", b"GET, POST, DELETE, OPTIONS")
_ENVELOPE: Final = PROTOCOL_VERSION_META_KEY.encode()
_PREFLIGHT: Final = (
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, accept, last-event-id, mcp-protocol-version, "
        b"mcp-session-id, mcp-method, mcp-name",
    ),
    (b"access-control-max-age", b"600"),
)

Given = Mapping[bytes, bytes]
"""Headers of a request by name in lower case."""


def text(given: Given, name: bytes) -> str:
    """Return a header, empty if it is not there."""
    return given.get(name, b"").decode("latin-1")


def place(given: Given, names: Names) -> None:
    """Check the names a request uses.

    Raises:
        Rejected: If it was meant for another host, or comes from a page that may not call.
    """
    host = text(given, b"host")
    if not names.answer_to(host):
        raise rejected(
            421,
            "host_not_allowed",
            f"this gateway does not answer to the host {host[:100]!r}; an admin can add it to "
            "FOREGATE_ALLOWED_HOSTS",
        )
    if b"origin" in given and not names.admit(text(given, b"origin"), host=host):
        raise rejected(
            403,
            "origin_not_allowed",
            f"pages of {text(given, b'origin')[:100]!r} may not call this gateway; an admin can "
            "add it to FOREGATE_ALLOWED_ORIGINS",
        )


def method(verb: str, given: Given) -> None:
    """Check the method of a request and the form its content has.

    Raises:
        Rejected: If the endpoint does not take it; also the answer to a browser that asks what
            it may send.
    """
    if verb == "OPTIONS" and b"access-control-request-method" in given:
        raise Rejected(_preflight(given))
    if verb not in METHODS:
        raise rejected(405, "method_not_allowed", "use POST", headers=(ALLOW,))
    if verb != "POST":
        return
    kind = text(given, b"content-type").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise rejected(415, "unsupported_media_type", "send Content-Type: application/json")
    if text(given, b"content-encoding").lower() not in ("", "identity"):
        raise rejected(415, "unsupported_media_type", "send the body uncompressed")


def _preflight(given: Given) -> Answer:
    """Tell a browser what its page may send; `Mcp-Param-` headers have any name."""
    asked = text(given, b"access-control-request-headers").lower().split(",")
    params = [name.strip() for name in asked if name.strip().startswith("mcp-param-")]
    methods, (name, allowed), age = _PREFLIGHT
    listed = b", ".join([allowed, *(param.encode("latin-1") for param in params)])
    return Answer(status=204, headers=(methods, (name, listed), age))


def era(given: Given, body: bytes) -> None:
    """Check that a request of the stateless era says so in its headers.

    The header decides which era serves a request; without it one of the stateless era would be
    taken for a broken one of the other.

    Raises:
        Rejected: If the body speaks of a version that the headers leave out.
    """
    if b"mcp-protocol-version" in given or _ENVELOPE not in body:
        return
    request = _object(body)
    params = request.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta:
        given_id = request.get("id")
        raise rejected(
            400,
            "header_mismatch",
            "the header MCP-Protocol-Version is missing; send the version of the body there too",
            code=HEADER_MISMATCH,
            request_id=given_id if isinstance(given_id, str | int) else None,
        )


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):  # the protocol says what is wrong with it
        return {}
    return value if isinstance(value, dict) else {}
