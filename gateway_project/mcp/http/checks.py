"""Checks of a request's headers, before its body is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp_types import HEADER_MISMATCH, PROTOCOL_VERSION_META_KEY

from gateway_project.mcp.http.answers import HttpAnswer, RequestRejected, reject
from gateway_project.mcp.http.names import AllowedNames

ALLOWED_METHODS: Final = frozenset({"GET", "POST", "DELETE"})
ALLOW_HEADER: Final = (b"allow", b"GET, POST, DELETE, OPTIONS")
_PREFLIGHT_HEADERS: Final = (
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, accept, last-event-id, mcp-protocol-version, "
        b"mcp-session-id, mcp-method, mcp-name",
    ),
    (b"access-control-max-age", b"600"),
)

HeaderMap = Mapping[bytes, bytes]
"""Headers of a request by lower-case name."""


def header_text(headers: HeaderMap, name: bytes) -> str:
    """Return a header; empty if it is missing."""
    return headers.get(name, b"").decode("latin-1")


def check_names(headers: HeaderMap, names: AllowedNames) -> None:
    """Check the host and origin of a request.

    Raises:
        RequestRejected: If it names another host or comes from a page that may not call.
    """
    host = header_text(headers, b"host")
    if not names.is_own_host(host):
        raise reject(
            421,
            "host_not_allowed",
            f"this gateway does not answer to the host {host[:100]!r}; an admin can add it to "
            "FOREGATE_ALLOWED_HOSTS",
        )
    if b"origin" in headers and not names.is_allowed_origin(
        header_text(headers, b"origin"), host=host
    ):
        raise reject(
            403,
            "origin_not_allowed",
            f"pages of {header_text(headers, b'origin')[:100]!r} may not call this gateway; an "
            "admin can add it to FOREGATE_ALLOWED_ORIGINS",
        )


def check_method(verb: str, headers: HeaderMap) -> None:
    """Check the method and the content type of a request.

    Raises:
        RequestRejected: If the endpoint does not accept it; also carries the answer to a
            browser's preflight request.
    """
    if verb == "OPTIONS" and b"access-control-request-method" in headers:
        raise RequestRejected(_answer_preflight(headers))
    if verb not in ALLOWED_METHODS:
        raise answer_wrong_method(ALLOW_HEADER)
    if verb != "POST":
        return
    kind = header_text(headers, b"content-type").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise reject(415, "unsupported_media_type", "send Content-Type: application/json")
    if header_text(headers, b"content-encoding").lower() not in ("", "identity"):
        raise reject(415, "unsupported_media_type", "send the body uncompressed")


def answer_wrong_method(allowed: tuple[bytes, bytes] = (b"allow", b"POST")) -> RequestRejected:
    """Return the answer to a request whose method is not served."""
    return reject(405, "method_not_allowed", "use POST", headers=(allowed,))


def _answer_preflight(headers: HeaderMap) -> HttpAnswer:
    """Return the answer to a preflight request; `Mcp-Param-` headers may have any name."""
    requested = header_text(headers, b"access-control-request-headers").lower().split(",")
    params = [name.strip() for name in requested if name.strip().startswith("mcp-param-")]
    methods, (name, allowed), age = _PREFLIGHT_HEADERS
    listed = b", ".join([allowed, *(param.encode("latin-1") for param in params)])
    return HttpAnswer(status=204, headers=(methods, (name, listed), age))


def has_envelope(meta: Any) -> bool:
    """Whether the `_meta` of a request is the envelope of the stateless era."""
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta


def check_version(is_declared: bool, request: Mapping[str, Any]) -> None:
    """Check that a request with an envelope declares its version in the headers, too.

    The header decides which era serves a request; without it, a stateless request would be treated
    as an invalid one of the handshake era.

    Raises:
        RequestRejected: If it does not.
    """
    if is_declared:
        return
    identifier = request.get("id")
    raise reject(
        400,
        "header_mismatch",
        "the header MCP-Protocol-Version is missing; send the version given in the body there too",
        code=HEADER_MISMATCH,
        request_id=identifier if isinstance(identifier, str | int) else None,
    )
