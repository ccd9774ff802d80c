"""Builds the envelope of a request: its `_meta`, and its headers over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    RequestId,
)

from tools.definition import Definition
from tools.mcp_tasks import EXTENSION, ID_FIELD, TASK_METHODS
from tools.upstream.client import LISTING_EXTENSIONS
from tools.upstream.downstream import NO_CLIENT
from tools.upstream.handshake import modern_meta
from tools.upstream.peer import ServerPeer
from tools.upstream.request import CALL_METHOD, UpstreamRequest

_RESERVED_META_KEYS = frozenset(
    {
        "progressToken",
        CLIENT_CAPABILITIES_META_KEY,
        CLIENT_INFO_META_KEY,
        LOG_LEVEL_META_KEY,
        PROTOCOL_VERSION_META_KEY,
        SUBSCRIPTION_ID_META_KEY,
    }
)
"""Keys that are hop-by-hop, never passed through."""
_NAME_FIELDS = {**NAME_BEARING_METHODS, **dict.fromkeys(TASK_METHODS, ID_FIELD)}


class RequestEnvelope:
    """Builds requests to one server in the form of its protocol version.

    Args:
        peer: The server.
        over_http: Whether requests carry headers.
    """

    def __init__(self, peer: ServerPeer, *, over_http: bool) -> None:
        self._version = peer.protocol_version
        self._is_modern = peer.era == "modern"
        self._over_http = over_http
        self._mirrored: dict[str, dict[tuple[str, ...], str]] | None = None

    def build_params(self, request: UpstreamRequest, request_id: RequestId) -> dict[str, Any]:
        """Return a request's parameters with their `_meta`."""
        meta = {
            key: value
            for key, value in (request.meta or {}).items()
            if key not in _RESERVED_META_KEYS
        }
        if request.wants_progress:
            meta["progressToken"] = request_id
        if self._is_modern:
            downstream = request.downstream
            has_client = downstream is not NO_CLIENT
            offered = downstream.capabilities if has_client else {"extensions": LISTING_EXTENSIONS}
            extensions = {**offered.get("extensions", {}), EXTENSION: {}}
            meta.update(modern_meta(self._version, {**offered, "extensions": extensions}))
            if downstream.log_level is not None:
                meta[LOG_LEVEL_META_KEY] = downstream.log_level
        return {**request.params, "_meta": meta} if meta else {**request.params}

    def build_headers(self, request: UpstreamRequest) -> dict[str, str] | None:
        """Return a request's headers; None if not over HTTP."""
        if not self._over_http:
            return None
        headers = {MCP_PROTOCOL_VERSION_HEADER: self._version}
        if self._is_modern:
            headers[MCP_METHOD_HEADER] = request.method
            name = request.params.get(_NAME_FIELDS.get(request.method, ""))
            if isinstance(name, str):
                headers[MCP_NAME_HEADER] = encode_header_value(name)
                headers.update(self._mirrored_headers(request, name))
        return headers

    def may_be_task(self, request: UpstreamRequest) -> bool:
        """Whether the server may answer a request with a task: it was told that we follow one."""
        return self._is_modern and request.method == CALL_METHOD

    def learn_headers(self, tools: Iterable[Definition]) -> None:
        """Record which arguments of which tools must be mirrored as headers."""
        if self._over_http and self._is_modern:
            maps = ((tool.name, x_mcp_header_map(tool.input_schema)) for tool in tools)
            self._mirrored = {name: mirrored for name, mirrored in maps if mirrored}

    def is_missing_headers(self, request: UpstreamRequest) -> bool:
        """Whether the tools must be listed before this call to know its headers."""
        return (
            self._over_http
            and self._is_modern
            and self._mirrored is None
            and request.method == CALL_METHOD
        )

    def _mirrored_headers(self, request: UpstreamRequest, tool: str) -> Mapping[str, str]:
        mirrored = (self._mirrored or {}).get(tool)
        if not mirrored or request.method != CALL_METHOD:
            return {}
        return mcp_param_headers(mirrored, request.params.get("arguments") or {})
