"""Shapes results for the client's era.

The SDK parses a handler's return value into its models and drops unknown fields. What a server
answers is sent on unaltered instead, but for what belongs to the hop.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp.server.caching import CacheHint
from mcp_types import SERVER_INFO_META_KEY
from pydantic import BaseModel

CARRIED_METHODS = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/call",
        "tools/list",
    }
)
"""Methods whose results may come from a server."""
ERROR_KEY = "foregate/error"
"""Key in `_meta` of the code of a failure, and what programs can use of it."""
CONVERTED_KEY = "foregate/converted"
"""Key in `_meta` of what was converted in the arguments of a call."""
PRIVATE_SCOPE = "private"
OWN_META_PREFIX = "foregate/"
"""Prefix of the gateway's own keys of `_meta`: errors, links and provenance, which no server may
state in its name."""
_ENVELOPE_KEYS = ("resultType", "ttlMs", "cacheScope")
"""Fields of every result of 2026-07-28, absent in the handshake era."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerReply:
    """The answer to a request, of a server or of the gateway itself.

    Attributes:
        raw: The result, unaltered.
        meta: Metadata that the gateway adds.
    """

    raw: Mapping[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_model(cls, result: BaseModel) -> ServerReply:
        """Return a result of the gateway's own as it is sent."""
        raw = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return cls(raw=raw, meta=raw.pop("_meta", {}))


def build_structured_reply(value: dict[str, Any]) -> ServerReply:
    """Return a value both as structured content and as text, for clients that read one only."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return ServerReply(
        raw={"content": [{"type": "text", "text": text}], "structuredContent": value}
    )


def report_failure(
    code: str, message: str, *, hint: str = "", data: Mapping[str, Any] | None = None
) -> ServerReply:
    """Report a failure inside a result, where the model reads it, not as a protocol error.

    Args:
        code: Stable word for programs, listed in docs/errors.md.
        message: One line that says what to do.
        hint: More lines for the model.
        data: More fields for programs.
    """
    text = f"{code}: {message}" + (f"\n{hint}" if hint else "")
    return ServerReply(
        raw={"content": [{"type": "text", "text": text}], "isError": True},
        meta={ERROR_KEY: {"code": code, **(data or {})}},
    )


def shape_result(
    reply: ServerReply, *, info: Mapping[str, Any] | None, hint: CacheHint | None
) -> dict[str, Any]:
    """Return an answer as it is sent.

    Only fields that belong to the hop change: the gateway's `_meta` is added to the server's,
    which may state nothing in the gateway's name; a caller-dependent result is never publicly
    cacheable, even if its server says so; and the shape follows the client's era, where the
    handshake era needs structured content that is not an object wrapped as the SDK wraps it.

    Args:
        reply: The answer.
        info: What identifies the gateway, in each result of 2026-07-28; None: the client is of
            the handshake era.
        hint: How long it may be cached, where it does not say so itself.

    Example:
        >>> shape_result(ServerReply(raw={"content": [], "x": 1}, meta={"ours": 2}), info=None,
        ...     hint=None)
        {'content': [], 'x': 1, '_meta': {'ours': 2}}
        >>> shape_result(ServerReply(raw={"structuredContent": [1]}), info=None, hint=None)
        {'structuredContent': {'result': [1]}}
    """
    result = dict(reply.raw)
    own_meta = reply.meta if info is None else {SERVER_INFO_META_KEY: info, **reply.meta}
    server_meta = result.get("_meta")
    if isinstance(server_meta, dict):
        result["_meta"] = {**strip_own_keys(server_meta), **own_meta}
    elif own_meta:
        result["_meta"] = dict(own_meta)
    if info is not None:
        return _add_envelope(result, hint)
    for key in _ENVELOPE_KEYS:
        result.pop(key, None)
    structured = result.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        result["structuredContent"] = {"result": structured}
    return result


def nest_result(reply: ServerReply) -> dict[str, Any]:
    """Return a result as it stands inside another, such as the state of its MCP task.

    Example:
        >>> nest_result(ServerReply(raw={"content": [], "_meta": {"foregate/x": 1, "y": 2}}))
        {'content': [], '_meta': {'y': 2}}
    """
    result = dict(reply.raw)
    server_meta = result.pop("_meta", None)
    stated = strip_own_keys(server_meta) if isinstance(server_meta, Mapping) else {}
    meta = {**stated, **reply.meta}
    return {**result, "_meta": meta} if meta else result


def strip_own_keys(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server's `_meta` without what it states in the gateway's name.

    Example:
        >>> strip_own_keys({"foregate/error": {}, "x": 1})
        {'x': 1}
    """
    return {key: value for key, value in meta.items() if not key.startswith(OWN_META_PREFIX)}


def _add_envelope(result: dict[str, Any], hint: CacheHint | None) -> dict[str, Any]:
    """Add the fields of every result of 2026-07-28."""
    if result.setdefault("resultType", "complete") == "complete" and hint is not None:
        result.setdefault("ttlMs", hint.ttl_ms)
        result.setdefault("cacheScope", hint.scope)
        if hint.scope == PRIVATE_SCOPE:
            result["cacheScope"] = PRIVATE_SCOPE
    return result
