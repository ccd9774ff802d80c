"""Carries upstream results to the client unaltered.

The SDK parses a handler's return value into its models and drops unknown fields. An upstream
result bypasses that: the handler stores it here, and middleware merges it into the envelope that
the SDK built.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

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
"""Methods whose results may come from a server or bypass the models."""
PRIVATE_SCOPE = "private"
OWN_META_PREFIX = "foregate/"
"""Prefix of the gateway's own keys of `_meta`: errors, links and provenance, which no server may
state in its name."""
_ENVELOPE_KEYS = ("resultType", "ttlMs", "cacheScope")
"""Fields of every result of 2026-07-28, absent in the handshake era."""


@dataclass(kw_only=True)
class _ResultSlot:
    raw: Mapping[str, Any] | None = None


_slot: ContextVar[_ResultSlot | None] = ContextVar("carried_result", default=None)


def carry_result(raw: Mapping[str, Any]) -> None:
    """Set the result of the request being handled."""
    slot = _slot.get()
    if slot is None:
        raise RuntimeError("no request is being handled")
    slot.raw = raw


async def apply_carried_result(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Merge a carried result into its envelope, as middleware of the SDK's server."""
    if ctx.method not in CARRIED_METHODS:
        return await call_next(ctx)
    slot = _ResultSlot()
    token = _slot.set(slot)
    try:
        envelope = await call_next(ctx)
    finally:
        _slot.reset(token)
    if slot.raw is None or not isinstance(envelope, dict):
        return envelope
    return merge_result(
        slot.raw, envelope, modern=ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    )


def merge_result(
    raw: Mapping[str, Any], envelope: Mapping[str, Any], *, modern: bool
) -> dict[str, Any]:
    """Merge a server's result into the gateway's envelope.

    Only fields that belong to the hop change: the gateway's `_meta` is added to the server's,
    which may state nothing in the gateway's name; a caller-dependent result is never publicly
    cacheable, even if its server says so; and the shape follows the client's era, where the
    handshake era needs structured content that is not an object wrapped as the SDK wraps it.

    Example:
        >>> merge_result({"content": [], "x": 1}, {"content": [], "_meta": {"ours": 2}},
        ...     modern=False)
        {'content': [], 'x': 1, '_meta': {'ours': 2}}
        >>> merge_result({"structuredContent": [1]}, {}, modern=False)
        {'structuredContent': {'result': [1]}}
    """
    result = dict(raw)
    server_meta = raw.get("_meta")
    own_meta = envelope.get("_meta") or {}
    if isinstance(server_meta, dict):
        kept = {k: v for k, v in server_meta.items() if not k.startswith(OWN_META_PREFIX)}
        result["_meta"] = {**kept, **own_meta}
    elif own_meta:
        result["_meta"] = own_meta
    if modern:
        return _add_envelope(result, envelope)
    for key in _ENVELOPE_KEYS:
        result.pop(key, None)
    structured = raw.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        result["structuredContent"] = {"result": structured}
    return result


def _add_envelope(result: dict[str, Any], envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Add the fields of every result of 2026-07-28."""
    result.setdefault("resultType", envelope.get("resultType", "complete"))
    if result["resultType"] == "complete":
        for key in _ENVELOPE_KEYS:
            if key in envelope:
                result.setdefault(key, envelope[key])
        if envelope.get("cacheScope") == PRIVATE_SCOPE:
            result["cacheScope"] = PRIVATE_SCOPE
    return result
